"""Bounds on a model's gaps that hold but for a stated chance, from noisy counts of its decisions.

The counts are of people whom neither training nor any choice of settings saw. Given who is in which group with which
label, their decisions are independent of each other, and a group's number of positive ones is a sum of independent
coins. Every end of every interval is exact for any number of rows (Clopper and Pearson, 1934), and is taken at the
worst counts that the noise leaves possible. Nothing rests on large samples.
"""

from __future__ import annotations

import math
from statistics import NormalDist
from typing import Any

import numpy as np
from scipy.special import betaincinv

from fairpriv_core.notions.catalog import notions

_RATES = 3  # of a group: among everyone, and among the rows of each label
_GRID = 2.0**-20  # what rounding a release may move it by, in standard deviations of its noise
Interval = tuple[float, float]


def certify_gaps(counts: np.ndarray, noise: float, *, failure: float) -> dict[str, Any]:
    """Return upper bounds on the gaps, and a lower one on the accuracy, of the model that made `counts`; JSON.

    `counts` (k, 2, 2) are over group, label and decision, each with Gaussian noise of deviation `noise` >= 0. All
    bounds hold together but for a chance of `failure`, in (0, 1), over rows and noise. `bounds` has for each notion
    about positive decisions its bound in [0, 1), None where it would be 1, which says nothing. `accuracy` and
    `constant_accuracy` (of the more frequent label) are estimates, None where too few rows are left;
    `accuracy_at_least` holds.
    """
    cells = np.asarray(counts, dtype=np.float64)
    share = failure / (_RATES * len(cells) + 1)  # of each interval, the accuracy's being one more
    asked = {name: notion.populations for name, notion in notions().items() if notion.target == "score"}
    known = {labels for each in asked.values() for labels in each}
    found = {labels: _group_intervals(cells, labels, noise, share) for labels in known}
    bounds = {notion: max(_widest(found[labels]) for labels in each) for notion, each in asked.items()}
    right, wrong = cells[:, 0, 0] + cells[:, 1, 1], cells[:, 0, 1] + cells[:, 1, 0]
    least, _ = rate_interval(right.sum(), wrong.sum(), noise=noise * math.sqrt(right.size * 2), share=share)
    whole = cells.sum()
    counted = whole > 0
    return {
        "bounds": {notion: bound if bound < 1.0 else None for notion, bound in bounds.items()},
        "accuracy": _within(right.sum() / whole) if counted else None,
        "accuracy_at_least": least,
        "constant_accuracy": _within(cells.sum(axis=(0, 2)).max() / whole) if counted else None,
    }


def rate_interval(positive: float, negative: float, *, noise: float, share: float) -> Interval:
    """Return an interval that misses the rate of positive decisions with a chance of at most `share`.

    `positive` and `negative` are numbers of decisions, each with Gaussian noise of deviation `noise`. An end has half
    of `share`: a quarter of `share` for the sample, and an eighth for the noise of either number.
    """
    reach = noise * (NormalDist().inv_cdf(1.0 - share / 8.0) + _GRID)
    # of coins with different chances the number can fall short of a binomial's bound at its last value alone; there the
    # chance to do so is at most alpha / (1 - alpha) (Hoeffding, 1956, and the union bound)
    tail = share / 4.0 / (1.0 + share / 4.0)
    high = _upper(math.floor(positive + reach), math.ceil(negative - reach), tail)
    low = 1.0 - _upper(math.floor(negative + reach), math.ceil(positive - reach), tail)
    return low, high


def _upper(hits: int, misses: int, tail: float) -> float:
    """Return Clopper and Pearson's upper limit of a rate; 1 where no miss is sure."""
    return float(betaincinv(max(hits, 0) + 1, misses, 1.0 - tail)) if misses > 0 else 1.0


def _group_intervals(cells: np.ndarray, labels: tuple[int, ...], noise: float, share: float) -> list[Interval]:
    among = cells[:, labels].sum(axis=1)
    reach = noise * math.sqrt(len(labels))
    return [rate_interval(yes, no, noise=reach, share=share) for no, yes in among]


def _widest(groups: list[Interval]) -> float:
    """Return how far apart two groups' rates can be."""
    pairs = [
        high - low for one, (_, high) in enumerate(groups) for other, (low, _) in enumerate(groups) if one != other
    ]
    return min(max(pairs, default=0.0), 1.0)


def _within(value: float) -> float:
    return min(max(float(value), 0.0), 1.0)
