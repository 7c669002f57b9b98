"""What is said of a run while it trains: each rule on curves made for it, and on none that is not."""

from __future__ import annotations

from dataclasses import replace

import pytest

from fairpriv_core.engine.training import Histogram
from fairpriv_core.facts.diagnosis import Curves, diagnose


def curve(*values: float | None) -> tuple[list[float], list[float | None]]:
    return [float(step) for step in range(len(values))], [*values]


CONSTANT = {"test/constant_accuracy": curve(*9 * [0.75])}
FINE: Curves = {
    **CONSTANT,
    "test/accuracy": curve(0.6, 0.7, 0.8, 0.82, 0.83),
    "train/loss": curve(0.7, 30.0, 4.0, 50.0),
    "multiplier/a": curve(*range(9)),
    "epsilon": curve(*range(5)),
}
NORMS = {"gradient_norm": Histogram([0.0, 1.0, 2.0, 3.0, 4.0], {"a": [50, 40, 0, 0], "b": [9, 1, 0, 0]})}
WRONG: dict[str, tuple[Curves, str]] = {
    "has diverged": ({"train/loss": curve(0.6, 20.0, None, 4e28)}, "raw"),
    "worse than one answer": ({**CONSTANT, "test/accuracy": curve(0.8, 0.7, 0.7, 0.7)}, "raw"),
    "λ swings": ({"multiplier/a": curve(1, -1, 1, -1, 1, -1, 1, -1, 1)}, "released"),
    "No gradient reaches": ({"clipped/gradient_norm/a": curve(0.0), "clipped/gradient_norm/b": curve(0.01)}, "raw"),
    "Every gradient": ({"clipped/gradient_norm/a": curve(1.0), "clipped/gradient_norm/b": curve(0.99)}, "raw"),
}


@pytest.mark.parametrize("words", WRONG)
@pytest.mark.parametrize("published", [True, False])
def test_each_rule_says_what_its_curve_shows_with_its_kind_and_no_number_of_the_rows(
    words: str, published: bool
) -> None:
    curves, kind = WRONG[words]
    [told] = diagnose({**FINE, **curves}, {}, published=published)
    assert words in told.sentence and told.source and told.kind == ("public" if published else kind)
    assert told.bound is None and not any(letter.isdigit() for letter in told.sentence)
    assert told.wrong is (words != "Every gradient")


def test_nothing_is_said_of_a_run_that_goes_well_or_has_no_curves() -> None:
    some = {"clipped/gradient_norm/a": curve(0.0), "clipped/gradient_norm/b": curve(0.5)}
    calm = {"multiplier/a": curve(1, 1.01, 1, 1.01, 1, 1.01, 1, 1.01, 1)}
    dips = {**CONSTANT, "test/accuracy": curve(0.8, 0.7, 0.76, 0.7)}
    for curves in ({}, FINE, {**FINE, **some}, {**FINE, **calm}, dips):
        assert diagnose(curves, NORMS, published=True) == []


@pytest.mark.parametrize("published", [True, False])
def test_a_group_too_small_for_its_noise_is_named_by_what_was_released(published: bool) -> None:
    [told] = diagnose({**FINE, "noise/left, yes": curve(0.14)}, {}, published=published)
    assert "'left, yes' is too small for its noise" in told.sentence and "about 14 points" in told.sentence
    assert told.kind == ("public" if published else "released") and "noisy count" in told.source
    assert diagnose({**FINE, "noise/left, yes": curve(0.04)}, {}, published=published) == []


@pytest.mark.parametrize(
    ("bound", "published", "expected"), [(20.0, True, 2.0), (20.0, False, None), (1.5, True, None)]
)
def test_a_bound_that_cuts_nothing_gets_a_smaller_one_where_everybody_has_the_rows(
    bound: float, published: bool, expected: float | None
) -> None:
    norms = {"gradient_norm": replace(NORMS["gradient_norm"], bound=bound)}
    [told] = diagnose({"clipped/gradient_norm/a": curve(0.0), "epsilon": curve(1.0)}, norms, published=published)
    assert told.bound == expected


def test_norms_that_all_lie_in_the_open_last_bin_offer_no_bound() -> None:
    norms = {"gradient_norm": Histogram([0.0, 1.0], {"a": [5]}, bound=9.0)}
    [told] = diagnose({"clipped/gradient_norm/a": curve(0.0), "epsilon": curve(1.0)}, norms, published=True)
    assert told.bound is None


def test_without_noise_no_bound_is_too_large_and_no_epsilon_helps() -> None:
    exact = {name: values for name, values in FINE.items() if name != "epsilon"}
    assert diagnose({**exact, "clipped/gradient_norm/a": curve(0.0)}, NORMS, published=True) == []
    [told] = diagnose({**exact, **WRONG["worse than one answer"][0]}, {}, published=True)
    assert "ε" not in told.sentence
