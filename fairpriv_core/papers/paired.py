"""The paired t test (Student, 1908) of two sides of a claim, over the seeds that both ran."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean, stdev

from scipy.special import stdtr

from fairpriv_core.papers.status import MOST_SEEDS


def find_p(pairs: Sequence[tuple[float, float]]) -> float | None:
    """Return the two-sided p of a paired t test, in [0, 1]; None for fewer than two pairs.

    >>> round(find_p([(3.0, 1.0), (4.0, 1.0), (5.0, 2.0)]), 6)
    0.015268
    """
    return _find_p(*_standardise(pairs), len(pairs)) if len(pairs) > 1 else None


def count_pairs_needed(pairs: Sequence[tuple[float, float]], below: float) -> int | None:
    """Return with how many seeds p would be below so much, if mean and spread stay; None for more than MOST_SEEDS."""
    if len(pairs) < 2:
        return None
    mean, spread = _standardise(pairs)
    return next((n for n in range(len(pairs), MOST_SEEDS + 1) if _find_p(mean, spread, n) < below), None)


def _standardise(pairs: Sequence[tuple[float, float]]) -> tuple[float, float]:
    differences = [one - other for one, other in pairs]
    return fmean(differences), stdev(differences)


def _find_p(mean: float, spread: float, n: int) -> float:
    if not spread:
        return 0.0 if mean else 1.0
    return 2.0 * float(stdtr(n - 1, -abs(mean) / spread * math.sqrt(n)))
