"""Bounds on gaps from noisy counts: they hold as often as stated, for few rows and many, and say nothing in vain."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy.stats import binom, norm

from fairpriv_core.notions.catalog import notions
from fairpriv_core.notions.certified import certify_gaps, rate_interval

# by group and label: the chance of a positive decision; by group and label: how many rows
CHANCES = np.array([[0.05, 0.6], [0.25, 0.7], [0.1, 0.98]])
SIZES = {
    "many": np.array([[3000, 900], [700, 300], [400, 200]]),
    "few": np.array([[25, 8], [12, 3], [6, 2]]),
}
BOUNDED = {name: notion for name, notion in notions().items() if notion.target == "score"}


def draw_counts(sizes: np.ndarray, noise: float, draw: np.random.Generator) -> np.ndarray:
    yes = draw.binomial(sizes, CHANCES)
    return np.stack([sizes - yes, yes], axis=-1) + noise * draw.normal(size=(*sizes.shape, 2))


def true_values(sizes: np.ndarray) -> dict[str, float]:
    def gap(labels: tuple[int, ...]) -> float:
        among = list(labels)
        return float(np.ptp((CHANCES * sizes)[:, among].sum(axis=1) / sizes[:, among].sum(axis=1)))

    right = (1 - CHANCES[:, 0]) * sizes[:, 0] + CHANCES[:, 1] * sizes[:, 1]
    gaps = {name: max(map(gap, notion.populations)) for name, notion in BOUNDED.items()}
    return {**gaps, "accuracy": float(right.sum() / sizes.sum())}


@pytest.mark.parametrize("size", list(SIZES))
@pytest.mark.parametrize("noise", [0.0, 4.0])
@pytest.mark.parametrize("failure", [0.05, 0.5])
def test_all_bounds_hold_together_as_often_as_stated(size: str, noise: float, failure: float) -> None:
    draw, rounds, broken = np.random.default_rng(3), 400, 0
    true = true_values(SIZES[size])
    for _ in range(rounds):
        found = certify_gaps(draw_counts(SIZES[size], noise, draw), noise, failure=failure)
        exceeded = [bound is not None and true[notion] > bound for notion, bound in found["bounds"].items()]
        broken += any(exceeded) or true["accuracy"] < found["accuracy_at_least"]
    assert broken <= failure * rounds


@pytest.mark.parametrize(("size", "rate"), list(product([1, 2, 7, 60], [0.0, 0.01, 0.3, 0.9, 0.999, 1.0])))
def test_an_end_misses_with_at_most_half_of_its_share_at_every_size(size: int, rate: float) -> None:
    """Written out over all outcomes, without noise: exact where a normal interval would miss."""
    share = 0.2
    ends = [rate_interval(hits, size - hits, noise=0.0, share=share) for hits in range(size + 1)]
    probabilities = binom.pmf(np.arange(size + 1), size, rate)
    below = sum(chance for chance, (low, _) in zip(probabilities, ends, strict=True) if rate < low)
    above = sum(chance for chance, (_, high) in zip(probabilities, ends, strict=True) if rate > high)
    assert max(below, above) <= share / 4 + 1e-12


def test_coins_of_different_chances_are_covered_too() -> None:
    """A group's rows with one label all get a yes, the others hardly miss one: there a binomial's bound falls short."""
    share = 0.9
    for sure, other, part in product([10, 200], [5, 50], np.linspace(0.2, 1.1, 91)):
        size = sure + other
        mean = (1 - part * share / 4) ** (1 / size)  # a binomial would miss once or more with a chance near the tail
        miss = (1 - mean) * size / other
        probabilities = binom.pmf(np.arange(other + 1), other, 1 - miss)
        ends = [rate_interval(sure + hits, other - hits, noise=0.0, share=share) for hits in range(other + 1)]
        above = sum(chance for chance, (_, high) in zip(probabilities, ends, strict=True) if mean > high)
        below = sum(chance for chance, (low, _) in zip(probabilities, ends, strict=True) if mean < low)
        assert max(above, below) <= share / 4 + 1e-12


def test_noise_only_widens_and_leaves_room_for_its_quantile() -> None:
    draw = np.random.default_rng(0)
    low, high = rate_interval(300, 700, noise=0.0, share=0.05)
    wide = rate_interval(300, 700, noise=30.0, share=0.05)
    assert wide[0] < low < 0.3 < high < wide[1]
    reach = 30.0 * norm.isf(0.05 / 8)
    shifted = rate_interval(300 + reach, 700 - reach, noise=0.0, share=0.05)
    assert wide[1] == pytest.approx(shifted[1], abs=2e-3)
    shares = [0.5, 0.05, 0.001]
    widths = [np.ptp(rate_interval(*(100 + draw.normal(size=2)), noise=1.0, share=share)) for share in shares]
    assert widths == sorted(widths)


def test_what_says_nothing_is_none_and_no_bound_is_outside_0_and_1() -> None:
    nothing = certify_gaps(np.zeros((2, 2, 2)), 5.0, failure=0.05)
    assert nothing["bounds"] == dict.fromkeys(BOUNDED)
    assert (nothing["accuracy"], nothing["accuracy_at_least"]) == (None, 0.0)
    below = certify_gaps(np.full((2, 2, 2), -9.0), 5.0, failure=0.05)
    assert below["bounds"] == dict.fromkeys(BOUNDED)
    counts = np.array([[[900.0, 100.0], [50.0, 250.0]], [[400.0, 50.0], [0.4, -3.0]]])
    found = certify_gaps(counts, 5.0, failure=0.05)
    known = rate_interval(250.0, 50.0, noise=5.0, share=0.05 / 7)  # of the other group nothing is known
    assert found["bounds"]["equal_opportunity"] == found["bounds"]["equalized_odds"] == max(known[1], 1.0 - known[0])
    assert 0.0 < found["bounds"]["demographic_parity"] < 1.0
    assert found["accuracy_at_least"] < found["accuracy"] == pytest.approx(1547 / 1747.4)
    assert found["constant_accuracy"] == pytest.approx(1450 / 1747.4)


def test_the_constant_answer_is_certified_small_and_not_zero() -> None:
    constant = np.array([[[3000.0, 0.0], [900.0, 0.0]], [[700.0, 0.0], [300.0, 0.0]]])
    bound = certify_gaps(constant, 0.0, failure=0.05)["bounds"]["demographic_parity"]
    tail = 0.05 / 7 / 4
    assert bound == pytest.approx(1 - tail ** (1 / 1000), rel=0.01)
    assert bound > -math.log(1 - tail) / 1000
