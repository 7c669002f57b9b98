"""Bounds on gaps from noisy counts: they hold as often as stated, for few rows and many, and say nothing in vain."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from scipy.stats import binom

from fairpriv_core.notions.catalog import notions
from fairpriv_core.notions.certified import certify_gaps, limit_difference, limit_rate

# by group and label: the chance of a positive decision; by group and label: how many rows
CHANCES = np.array([[0.05, 0.6], [0.25, 0.7], [0.1, 0.98]])
SIZES = {
    "many": np.array([[3000, 900], [700, 300], [400, 200]]),
    "few": np.array([[25, 8], [12, 3], [6, 2]]),
}
BOUNDED = {name: notion for name, notion in notions().items() if notion.compares == "decisions"}


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


@pytest.mark.parametrize(
    ("failure", "noise", "size"), [(0.05, 0.0, "many"), (0.5, 0.0, "few"), (0.05, 4.0, "few"), (0.5, 4.0, "many")]
)
def test_all_bounds_hold_together_as_often_as_stated(size: str, noise: float, failure: float) -> None:
    draw, rounds, broken = np.random.default_rng(3), 400, 0
    true = true_values(SIZES[size])
    for _ in range(rounds):
        found = certify_gaps(draw_counts(SIZES[size], noise, draw), noise, failure=failure)
        exceeded = [bound is not None and true[notion] > bound for notion, bound in found["bounds"].items()]
        broken += any(exceeded) or true["accuracy"] < found["accuracy_at_least"]
    assert broken <= failure * rounds


def limits(size: int, tail: float, *, alike: bool, sure: int = 0) -> list[float]:
    """Return the upper limit for each number of hits, `sure` of which are sure."""
    return [float(limit_rate(sure + hits, size - hits, np.array(tail), alike=alike)) for hits in range(size + 1)]


@pytest.mark.parametrize(("size", "rate"), list(product([1, 2, 7, 60], [0.0, 0.01, 0.3, 0.9, 0.999, 1.0])))
def test_a_limit_misses_with_at_most_its_chance_at_every_size(size: int, rate: float) -> None:
    """Written out over all outcomes, without noise: exact where a normal limit would miss."""
    tail, probabilities = 0.05, binom.pmf(np.arange(size + 1), size, rate)
    for alike in (True, False):
        ends = limits(size, tail, alike=alike)
        missed = sum(chance for chance, high in zip(probabilities, ends, strict=True) if rate > high)
        assert missed <= tail + 1e-12


def test_coins_of_different_chances_are_covered_too() -> None:
    """A group's rows with one label all get a yes, the others hardly miss one: there a binomial's limit falls short."""
    tail, most = 0.225, {True: 0.0, False: 0.0}
    for sure, other, part in product([10, 200], [5, 50], np.linspace(0.2, 1.1, 91)):
        size = sure + other
        mean = (1 - part * tail) ** (1 / size)  # a binomial would miss once or more with a chance near the tail
        probabilities = binom.pmf(np.arange(other + 1), other, 1 - (1 - mean) * size / other)
        for alike in (True, False):
            ends = limits(other, tail, alike=alike, sure=sure)
            missed = sum(chance for chance, high in zip(probabilities, ends, strict=True) if mean > high)
            most[alike] = max(most[alike], missed)
    assert most[False] <= tail + 1e-12 < most[True]


@pytest.mark.parametrize(
    ("sizes", "rates"), list(product([(3, 3), (40, 40), (60, 5)], [(0.5, 0.5), (0.97, 0.2), (0.05, 0.9)]))
)
def test_two_groups_share_one_chance_to_miss(sizes: tuple[int, int], rates: tuple[float, float]) -> None:
    """Written out over all pairs of outcomes, and how much less far they are apart than with a chance for each."""
    tail, missed, apart = 0.1, 0.0, []
    pairs = [binom.pmf(np.arange(size + 1), size, rate) for size, rate in zip(sizes, rates, strict=True)]
    true = sum(rates) - 1.0
    each = [limits(size, tail / 2, alike=True) for size in sizes]
    for (one, first), (two, second) in product(enumerate(pairs[0]), enumerate(pairs[1])):
        both = ((one, sizes[0] - one), (two, sizes[1] - two))
        limit = limit_difference(*both, tail, alike=True)
        missed += float(first * second) * (true > limit)
        apart.append((float(first * second), each[0][one] + each[1][two] - 1.0 - limit))
    assert missed <= tail + 1e-12
    if sizes == (40, 40) and rates == (0.5, 0.5):
        assert sum(chance * gained for chance, gained in apart) > 0.01


def test_noise_only_widens() -> None:
    counts = np.array([[[900.0, 100.0], [50.0, 250.0]], [[400.0, 50.0], [30.0, 120.0]]])
    found = [certify_gaps(counts, noise, failure=0.05) for noise in (0.0, 2.0, 8.0)]
    for name in BOUNDED:
        bounds = [each["bounds"][name] for each in found]
        assert bounds == sorted(bounds) and bounds[0] < bounds[1]
    assert found[0]["accuracy_at_least"] > found[1]["accuracy_at_least"] > found[2]["accuracy_at_least"]


@pytest.mark.parametrize("sizes", [np.full((2, 2), 2_500), np.array([[2_940, 360], [4_620, 2_080]])])
def test_at_ten_thousand_rows_parity_is_certified_within_five_points_of_its_gap(sizes: np.ndarray) -> None:
    """With the noise of a record's epsilon = 1, in groups alike and of Adult's shares."""
    draw, chances = np.random.default_rng(5), np.array([[0.08, 0.55], [0.12, 0.62]])
    true = float(np.ptp((chances * sizes).sum(axis=1) / sizes.sum(axis=1)))
    above = []
    for _ in range(20):
        yes = draw.binomial(sizes, chances)
        noisy = np.stack([sizes - yes, yes], axis=-1) + 4.2 * draw.normal(size=(2, 2, 2))
        above.append(certify_gaps(noisy, 4.2, failure=0.05)["bounds"]["demographic_parity"] - true)
    assert 0.0 < np.mean(above) < 0.05


def test_what_says_nothing_is_none_and_no_bound_is_outside_0_and_1() -> None:
    nothing = certify_gaps(np.zeros((2, 2, 2)), 5.0, failure=0.05)
    assert nothing["bounds"] == dict.fromkeys(BOUNDED)
    assert (nothing["accuracy"], nothing["accuracy_at_least"]) == (None, 0.0)
    below = certify_gaps(np.full((2, 2, 2), -9.0), 5.0, failure=0.05)
    assert below["bounds"] == dict.fromkeys(BOUNDED)
    counts = np.array([[[900.0, 100.0], [50.0, 250.0]], [[400.0, 50.0], [0.4, -3.0]]])
    found = certify_gaps(counts, 5.0, failure=0.05)
    bounds = found["bounds"]  # of the other group nothing is known
    assert 250 / 300 < bounds["equal_opportunity"] == bounds["equalized_odds"] < 1.0
    assert 0.0 < found["bounds"]["demographic_parity"] < 1.0
    assert found["accuracy_at_least"] < found["accuracy"] == pytest.approx(1547 / 1747.4)
    assert found["constant_accuracy"] == pytest.approx(1450 / 1747.4)


def test_the_constant_answer_is_certified_small_and_not_zero() -> None:
    constant = np.array([[[3000.0, 0.0], [900.0, 0.0]], [[700.0, 0.0], [300.0, 0.0]]])
    bound = certify_gaps(constant, 0.0, failure=0.05)["bounds"]["demographic_parity"]
    assert 1 - (0.05 / 14) ** (1 / 1000) < bound < 1 - (0.05 / 14) ** (1 / 500)
