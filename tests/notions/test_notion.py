"""What a person reads about a notion: on their own data, with direction and ideal value."""

from __future__ import annotations

import pytest

from fairpriv_core.notions.catalog import list_gaps, notions
from fairpriv_core.notions.notion import explain, list_names
from fairpriv_core.notions.rates import rates_of


def test_the_first_five_notions_and_what_they_compare() -> None:
    known = {
        "demographic_parity": ((None,), "score", ((0, 1),), ("positive_rate",)),
        "equalized_odds": ((0, 1), "score", ((0,), (1,)), ("true_positive_rate", "false_positive_rate")),
        "equal_opportunity": ((1,), "score", ((1,),), ("true_positive_rate",)),
        "predictive_equality": ((0,), "score", ((0,),), ("false_positive_rate",)),
        "accuracy_parity": ((None,), "loss", ((0, 1),), ("accuracy",)),
    }
    found = {name: (each.conditions, each.target, each.populations, each.rates) for name, each in notions().items()}
    assert found.items() >= known.items()


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
    for needed in ("Female and Male", ">50K", "0 is ideal", "percentage points", "whichever is ahead"):
        assert needed in text
    assert "{" not in text
    assert notion.sentence.endswith(".") and notion.sentence.count(".") == 1
    assert notion.misleads.endswith(".")
    assert notion.citation
    assert len(rates_of(notion)) == len(notion.conditions)


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
