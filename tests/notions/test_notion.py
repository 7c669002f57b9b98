"""What a person reads about a notion: on their own data, with direction and ideal value."""

from __future__ import annotations

import pytest

from fairpriv_core.notions.catalog import notions
from fairpriv_core.notions.notion import explain, list_names
from fairpriv_core.notions.rates import rates_of


def test_the_four_notions_and_what_they_condition_on() -> None:
    assert {name: (notion.conditions, notion.target) for name, notion in notions().items()} == {
        "demographic_parity": ((None,), "score"),
        "equalized_odds": ((0, 1), "score"),
        "equal_opportunity": ((1,), "score"),
        "accuracy_parity": ((None,), "loss"),
    }


@pytest.mark.parametrize("name", notions())
def test_every_notion_explains_itself(name: str) -> None:
    notion = notions()[name]
    text = explain(notion, ["Female", "Male"], ["<=50K", ">50K"])
    for needed in ("Female and Male", ">50K", "0 is ideal", "percentage points", "whichever group is ahead"):
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
    if name == "equal_opportunity":
        assert text == "Equal opportunity is about the positive label, and of 3 labels none is positive."
    else:
        assert "Female and Male" in text and "0 is ideal" in text and "class" in text


def test_where_groups_are_classes_parity_of_decisions_says_what_it_asks() -> None:
    digits = [str(digit) for digit in range(10)]
    assert "the better the decisions, the larger this gap" in explain(notions()["demographic_parity"], digits, digits)
    assert "the groups are the classes" not in explain(notions()["accuracy_parity"], digits, digits)
