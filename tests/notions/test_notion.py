"""What a person reads about a notion: on their own data, with direction and ideal value."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from operator import attrgetter

import pytest

from fairpriv_core.errors import BadInput
from fairpriv_core.methods.catalog import methods
from fairpriv_core.notions.catalog import list_gaps, notions
from fairpriv_core.notions.cells import build_cells
from fairpriv_core.notions.notion import Notion, explain, list_names
from fairpriv_core.notions.rates import rates_of


def test_the_first_five_notions_and_what_they_compare() -> None:
    known = {
        "demographic_parity": ((None,), "score", ((0, 1),), ("positive_rate",)),
        "equalized_odds": ((0, 1), "score", ((0,), (1,)), ("true_positive_rate", "false_positive_rate")),
        "equal_opportunity": ((1,), "score", ((1,),), ("true_positive_rate",)),
        "predictive_equality": ((0,), "score", ((0,),), ("false_positive_rate",)),
        "accuracy_parity": ((None,), "loss", ((0, 1),), ("accuracy",)),
    }
    own = {name: notions()[name] for name in known}
    found = {name: (each.conditions, each.target, each.populations, each.rates) for name, each in own.items()}
    assert found == known


def test_what_else_is_compared_has_no_h_of_a_row_and_is_refused_where_one_is_needed() -> None:
    others = {name: notion for name, notion in notions().items() if notion.compares not in ("decisions", "errors")}
    assert {name: each.compares for name, each in others.items()}.items() >= {
        ("predictive_parity", "labels"),
        ("calibration_within_groups", "scores"),
        ("worst_group_loss", "losses"),
    }
    uses: tuple[Callable[[Notion], object], ...] = (
        attrgetter("target"),
        attrgetter("populations"),
        lambda notion: build_cells(notion, ["a", "b"]),
    )
    for notion, use in product(others.values(), uses):
        with pytest.raises(BadInput, match=rf"{notion.title.lower()} compares {notion.compares}"):
            use(notion)
    assert others["predictive_parity"].rates == ("positive_predictive_value",)
    assert others["worst_group_loss"].metric == "worst_group_loss" and others["worst_group_loss"].is_level
    assert others["calibration_within_groups"].metric == "calibration_within_groups_gap"


@pytest.mark.parametrize("name", methods())
def test_exactly_those_methods_offer_a_notion_that_pursue_it_and_those_that_pursue_none(name: str) -> None:
    info = methods()[name].info
    offered = {notion.compares for notion in notions().values() if notion.name in info.notions}
    assert "losses" not in offered, "a level is asked for of none"
    assert offered == (set(info.pursued) if info.pursued else offered)
    assert {each for each in info.notions if info.pursues(notions()[each])} == set(info.notions if info.pursued else ())
    assert ("predictive_parity" in info.notions) == (name == "raco_dp" or (not info.pursued and info.only is None))


def test_a_notion_among_the_negative_label_alone_is_undefined_of_many_labels() -> None:
    among_negative = notions()["predictive_equality"]
    assert among_negative.conditions_among(2) == (0,) and among_negative.conditions_among(3) == ()


def test_a_run_shows_its_own_gap_first_and_then_those_that_any_run_shows() -> None:
    usual = ["demographic_parity_gap", "equalized_odds_gap"]
    assert list_gaps("demographic_parity") == usual
    assert list_gaps("equal_opportunity") == ["equal_opportunity_gap", *usual]


@pytest.mark.parametrize("name", notions())
def test_every_notion_explains_itself(name: str) -> None:
    notion = notions()[name]
    text = explain(notion, ["Female", "Male"], ["<=50K", ">50K"])
    between_groups = ("percentage points", "whichever is ahead")
    known = {"losses": ("level", "largest"), "scores": ("percentage points", "group where that is most")}
    for needed in ("Female and Male", ">50K", "0 is ideal", *known.get(notion.compares, between_groups)):
        assert needed in text
    assert ("gap" in text) is not notion.is_level
    assert "{" not in text
    assert notion.sentence.endswith(".") and notion.sentence.count(".") == 1
    assert notion.misleads.endswith(".")
    assert notion.citation
    assert len(rates_of(notion)) == (len(notion.conditions) if notion.is_rate else 0)


def test_a_positive_label_with_braces_is_only_text() -> None:
    assert "{x}" in explain(notions()["demographic_parity"], ["a", "b"], ["y", "{x}"])


def test_many_groups_are_counted_not_listed() -> None:
    assert list_names(["a"]) == "a"
    assert list_names(["a, x", "b, x", "b, y"]) == "a, x; b, x; and b, y"
    assert list_names([str(i) for i in range(9)]) == "0, 1, 2, 3, 4 and 4 more groups"


@pytest.mark.parametrize("name", notions())
def test_every_notion_explains_itself_on_many_classes(name: str) -> None:
    text = explain(notions()[name], ["Female", "Male"], ["young", "middle", "old"])
    assert "{" not in text and "predicted '" not in text
    if notions()[name].needs_positive:
        assert text == f"{notions()[name].title} is about the positive label, and of 3 labels none is positive."
    else:
        assert "Female and Male" in text and "0 is ideal" in text and "class" in text


def test_where_groups_are_classes_parity_of_decisions_says_what_it_asks() -> None:
    digits = [str(digit) for digit in range(10)]
    assert "the better the decisions, the larger this gap" in explain(notions()["demographic_parity"], digits, digits)
    assert "the groups are the classes" not in explain(notions()["accuracy_parity"], digits, digits)
