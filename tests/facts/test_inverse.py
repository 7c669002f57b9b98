"""The inverse question: the smallest ε that reaches what is wanted, and what is nearest where none does."""

from __future__ import annotations

from typing import Any

import pytest

from fairpriv_core.errors import BadInput
from fairpriv_core.facts.tables import TableRow, run_table
from fairpriv_core.figures.inverse import format_answer, smallest_epsilon
from tests.figures.samples import record


def rows(*found: tuple[float, float, float | None], **changes: Any) -> list[TableRow]:
    """Return rows of (ε, accuracy, gap) with two seeds each; `changes` are the record's."""
    return [
        row
        for index, (epsilon, accuracy, gap) in enumerate(found)
        for row in run_table(
            {
                **record(seed, **changes),
                "key": f"{index}-{seed}-{changes}",
                "config": {**record(seed)["config"], "epsilon": epsilon, **changes.get("config", {})},
                "metrics": {"accuracy": accuracy + 0.002 * seed, "demographic_parity_gap": gap},
            }
            for seed in (0, 1)
        )
    ]


SWEEP = ((0.1, 0.76, 0.01), (0.5, 0.80, 0.03), (1.0, 0.83, 0.05), (3.0, 0.84, 0.09))


def test_the_smallest_epsilon_that_reaches_both_is_found_in_any_order() -> None:
    for order in (SWEEP, SWEEP[::-1]):
        [answer] = smallest_epsilon(rows(*order), accuracy=0.80, gap=0.06)
        assert answer.found is not None and answer.found.epsilon == 0.5
        assert (answer.nearest, answer.accuracy_short, answer.gap_over, answer.rows) == (answer.found, 0.0, 0.0, 4)


def test_of_two_settings_at_the_smallest_epsilon_the_more_accurate_one_is_found() -> None:
    for order in (((0.5, 0.80, 0.01), (0.5, 0.82, 0.03)), ((0.5, 0.82, 0.03), (0.5, 0.80, 0.01))):
        [answer] = smallest_epsilon(rows(*order), accuracy=0.79, gap=0.06)
        assert answer.found is not None and answer.found.accuracy.mean == pytest.approx(0.821)


def test_the_mean_counts_and_a_wish_that_is_just_met_is_met() -> None:
    assert [smallest_epsilon(rows(*SWEEP), accuracy=wish)[0].found for wish in (0.841, 0.8411)][1] is None
    [answer] = smallest_epsilon(rows(*SWEEP), accuracy=0.841)
    assert answer.found is not None and answer.found.epsilon == 3.0


def test_where_none_reaches_it_the_nearest_says_what_it_misses_by() -> None:
    [answer] = smallest_epsilon(rows(*SWEEP), accuracy=0.835, gap=0.04)
    assert answer.found is None and answer.nearest is not None and answer.nearest.epsilon == 1.0
    assert [answer.accuracy_short, answer.gap_over] == pytest.approx([0.004, 0.01])
    said = format_answer(answer, accuracy=0.835, gap=0.04)
    assert "none of 4 stored settings reaches it" in said
    assert "misses by 0.40 percentage points of accuracy and 1.00 percentage points of gap" in said


def test_claims_are_never_mixed() -> None:
    attribute = rows((2.0, 0.83, 0.02))
    published = rows((0.2, 0.83, 0.02), variant="published")
    record_wise = rows((0.1, 0.83, 0.02), threat_model="record")
    other_delta = rows((0.05, 0.83, 0.02), delta=1e-3)
    answers = smallest_epsilon([*attribute, *published, *record_wise, *other_delta], accuracy=0.8)
    assert [(a.threat_model, a.variant, a.delta, a.rows) for a in answers] == [
        ("attribute", "proved", 1e-5, 1),
        ("attribute", "published", 1e-5, 1),
        ("record", "proved", 1e-5, 1),
        ("attribute", "proved", 1e-3, 1),
    ]
    assert [a.found.epsilon for a in answers if a.found] == [2.0, 0.2, 0.1, 0.05]
    assert "as published, not proved" in format_answer(answers[1], accuracy=0.8)
    assert "protects the whole record" in format_answer(answers[2], accuracy=0.8)


def test_runs_without_epsilon_are_left_out_and_other_questions_are_refused() -> None:
    assert smallest_epsilon(rows((1.0, 0.9, 0.0), config={"epsilon": None}, threat_model=None), accuracy=0.1) == ()
    other = rows((1.0, 0.9, 0.0), config={"notion": "equalized_odds"})
    with pytest.raises(BadInput, match="different data, groups or notions"):
        smallest_epsilon([*rows(*SWEEP), *other], accuracy=0.8)


def test_a_missing_gap_is_no_small_gap() -> None:
    [answer] = smallest_epsilon(rows((1.0, 0.9, None)), gap=0.5)
    assert answer.found is None and answer.nearest is None
    assert (
        format_answer(answer, gap=0.5)
        == "A gap of at most 50.00 percentage points: none of 1 stored setting has these numbers."
    )
    [free] = smallest_epsilon(rows((1.0, 0.9, None)), accuracy=0.5)
    assert free.found is not None and "gap – " in format_answer(free, accuracy=0.5)


def test_the_sentence_has_all_that_belongs_beside_epsilon() -> None:
    [answer] = smallest_epsilon(rows(*SWEEP), accuracy=0.8)
    assert format_answer(answer, accuracy=0.8) == (
        "Accuracy of at least 80.00 %: the smallest ε of 4 stored settings is ε = 0.500 (δ = 1 in 100,000, proved, "
        "protects the sensitive attribute of each person). PF-LD has accuracy 80.10 % ± 1.27, gap 3.00 percentage "
        "points ± 0.00 there. 2 seeds, mean ± 95 %."
    )
