"""Bounds on a model's gaps that hold but for a stated chance, from noisy counts of its decisions.

The counts are of people whom neither training nor any choice of settings saw. Given who is in which group with which
label, their decisions are independent of each other, and a group's number of positive ones is a sum of independent
coins. A limit of one rate is exact for any number of rows (Clopper and Pearson, 1934), and is taken at the worst counts
that the noise leaves possible. Two groups are compared at once: their limits share one chance to miss, as both are
seldom far off. Nothing rests on large samples. docs/methods/certified.md has the proof.
"""

from __future__ import annotations

import math
from functools import lru_cache
from itertools import permutations
from statistics import NormalDist
from typing import Any

import numpy as np
from scipy.special import betainccinv, ndtr

from fairpriv_core.notions.catalog import notions

_STEPS = 200  # directions in which two groups' rates are off
_CLOSE = 1e-9  # to which a reach is found, from above
_GRID = 2.0**-20  # what rounding a release may move it by, in standard deviations of its noise


def certify_gaps(counts: np.ndarray, noise: float, *, failure: float) -> dict[str, Any]:
    """Return upper bounds on the gaps, and a lower one on the accuracy, of the model that made `counts`; JSON.

    `counts` (k, 2, 2) are over group, label and decision, each with Gaussian noise of deviation `noise` >= 0. All
    bounds hold together but for a chance of `failure`, in (0, 1), over rows and noise. `bounds` has for each notion
    about positive decisions its bound in [0, 1), None where it would be 1, which says nothing; there is none of others:
    among those who are decided alike the labels are no coins given who is in which group. `accuracy` and
    `constant_accuracy` (of the more frequent label) are estimates, None where too few rows are left;
    `accuracy_at_least` holds.
    """
    cells = np.asarray(counts, dtype=np.float64)
    populations = {name: notion.populations for name, notion in notions().items() if notion.compares == "decisions"}
    known = {labels for label_sets in populations.values() for labels in label_sets}
    groups = len(cells)
    tail = failure / 2.0 / (len(known) * groups * (groups - 1) + 1)  # of rows: each ordered pair, and the accuracy
    sure = NormalDist().inv_cdf(1.0 - failure / 2.0 / (4 * len(known) * groups + 2)) + _GRID  # each number, each side
    widest = {labels: _find_widest(cells[:, labels], reach=noise * sure, tail=tail) for labels in known}
    bounds = {notion: max(widest[labels] for labels in label_sets) for notion, label_sets in populations.items()}
    right, wrong = cells[:, 0, 0] + cells[:, 1, 1], cells[:, 0, 1] + cells[:, 1, 0]
    reach = noise * sure * math.sqrt(right.size * 2)
    errors = limit_rate(*_at_worst(wrong.sum(), right.sum(), reach), np.array(tail), alike=False)
    total = cells.sum()
    has_rows = total > 0
    return {
        "bounds": {notion: bound if bound < 1.0 else None for notion, bound in bounds.items()},
        "accuracy": _within(right.sum() / total) if has_rows else None,
        "accuracy_at_least": 1.0 - float(errors),
        "constant_accuracy": _within(cells.sum(axis=(0, 2)).max() / total) if has_rows else None,
    }


def limit_rate(hits: int, misses: int, tails: np.ndarray, *, alike: bool) -> np.ndarray:
    """Return Clopper and Pearson's upper limits of a rate, each missed with a chance of at most one of `tails`.

    It is 1 where no miss is sure. Coins that are not `alike` can fall short of a binomial's limit at its last value
    alone; there the chance to do so is at most alpha / (1 - alpha) (Hoeffding, 1956, and the union bound).
    """
    if misses <= 0:
        return np.ones_like(tails)
    limits: np.ndarray = betainccinv(max(hits, 0) + 1, misses, tails if alike else tails / (1.0 + tails))
    return limits


def limit_difference(one: tuple[int, int], other: tuple[int, int], tail: float, *, alike: bool) -> float:
    """Return an upper limit of the sum of two groups' rates less 1, which is missed with a chance of at most `tail`.

    Each group has its hits and misses at worst. What is not ruled out is how far both rates together can be off: their
    deviations' squares add up to at most that of a reach, for deviations as normal ones, of which a fortunate one
    counts nothing. Between two directions the larger part of either is taken.
    """
    reach = _find_reach(tail)
    turns = np.linspace(0.0, math.pi / 2.0, _STEPS + 1)
    parts = (np.cos(turns[:-1]), np.sin(turns[1:]))
    limits = [
        limit_rate(*counts, ndtr(-reach * part), alike=alike) for counts, part in zip((one, other), parts, strict=True)
    ]
    return float(np.max(limits[0] + limits[1])) - 1.0


@lru_cache(maxsize=64)
def _find_reach(tail: float) -> float:
    """Return the r with P(min(N1, 0)^2 + min(N2, 0)^2 >= r^2) = `tail` for N1 and N2 normal and independent.

    A quarter of all pairs are both below 0, where the sum is chi-squared; half of them have one, alone.
    """
    low, high = 0.0, 40.0
    while high - low > _CLOSE:
        middle = (low + high) / 2.0
        low, high = (middle, high) if ndtr(-middle) + 0.25 * math.exp(-middle * middle / 2.0) > tail else (low, middle)
    return high


def _find_widest(cells: np.ndarray, *, reach: float, tail: float) -> float:
    """Return how far two groups' rates of positive decisions can be apart; `cells` (k, labels, 2) of some labels."""
    among, labels = cells.sum(axis=1), cells.shape[1]
    spread = reach * math.sqrt(labels)
    high, low = ([_at_worst(hits, misses, spread) for hits, misses in rows] for rows in (among[:, ::-1], among))
    pairs = [
        limit_difference(high[one], low[two], tail, alike=labels == 1) for one, two in permutations(range(len(low)), 2)
    ]
    return min(max([0.0, *pairs]), 1.0)


def _at_worst(hits: float, misses: float, reach: float) -> tuple[int, int]:
    """Return the most hits and the fewest misses that the noise leaves possible: a rate's limit is highest there."""
    return math.floor(hits + reach), math.ceil(misses - reach)


def _within(value: float) -> float:
    return min(max(float(value), 0.0), 1.0)
