"""Inequality indices over per-group accuracies (FairDP adaptive clipping, appendix D.4; U.S. Census Bureau 2016).

Where the groups are the classes, as in that paper, these are the classes' accuracies. Each takes values (k,) >= 0 and
is 0 when all are equal. NaN where undefined: no value, a NaN among them, or all zero.
"""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


def atkinson(values: Floats, aversion: float = 1.0) -> float:
    """1 - [mean((v/mean)^(1-e))]^(1/(1-e)), in [0, 1]; at e = 1, one minus geometric over arithmetic mean.

    `aversion` e > 0 weighs the low end. The Census Bureau prints e = 0.25, 0.5, 0.75; the paper's values are near
    the mean log deviation, which is e = 1.
    """
    share = _relative(values)
    if share is None:
        return math.nan
    if aversion >= 1.0 and bool((share == 0.0).any()):
        return 1.0
    if aversion == 1.0:
        return float(-np.expm1(np.log(share).mean()))
    return float(1.0 - (share ** (1.0 - aversion)).mean() ** (1.0 / (1.0 - aversion)))


def gini(values: Floats) -> float:
    """Mean absolute difference of two values over twice the mean, in [0, 1 - 1/k]."""
    share = _relative(values)
    if share is None:
        return math.nan
    return float(np.abs(share[:, None] - share[None, :]).mean() / 2.0)


def mean_log_deviation(values: Floats) -> float:
    """mean(log(mean/v)), >= 0; NaN where a value is 0 (it would be infinite)."""
    share = _relative(values)
    if share is None or bool((share == 0.0).any()):
        return math.nan
    return float(-np.log(share).mean())


def theil(values: Floats) -> float:
    """mean((v/mean) log(v/mean)), in [0, log k]; a value of 0 adds 0."""
    share = _relative(values)
    if share is None:
        return math.nan
    present = share[share > 0.0]
    return float((present * np.log(present)).sum() / len(share))


def _relative(values: Floats) -> Floats | None:
    values = np.asarray(values, dtype=np.float64)
    if values.size == 0 or not bool(np.isfinite(values).all()) or bool((values < 0).any()) or values.sum() == 0.0:
        return None
    return np.asarray(values / values.mean(), dtype=np.float64)
