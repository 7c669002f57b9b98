"""Features whose scale no network learns on, and how they are standardised where their rows are public.

Others stay as they are: one-hot columns, and what was scaled before.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

_LARGE = 10.0  # root mean square, and mean over spread, of a column that is on another scale
_SMALL = 0.01  # farthest value from the mean of a column that is
_FAR = 10.0  # where a standardised value ends: one slip of a pen must not make all others alike
_OF_NORMAL = 1.349  # standard deviations between the quartiles of a normal distribution
_ROUNDING = 4 * np.finfo(np.float64).eps


@dataclass(frozen=True)
class Scaling:
    """The value x of one of `columns` (c,) becomes (x - middle) * factor, within +-_FAR; both are (c,)."""

    columns: tuple[int, ...]
    middle: np.ndarray
    factor: np.ndarray

    def apply(self, rows: np.ndarray) -> np.ndarray:
        """Return rows (n, d) standardised, float64."""
        scaled, own = np.array(rows, dtype=np.float64), list(self.columns)
        with np.errstate(over="ignore"):  # what is so far out ends at _FAR
            scaled[:, own] = ((scaled[:, own] - self.middle) * self.factor).clip(-_FAR, _FAR)
        return scaled

    @staticmethod
    def from_json(plain: Mapping[str, Any]) -> Scaling:
        """Return the scaling whose fields these are, as lists."""
        return Scaling(tuple(plain["columns"]), *(np.array(plain[name], float) for name in ("middle", "factor")))


def find_scaling(rows: np.ndarray) -> Scaling | None:
    """Return what standardises the columns of finite `rows` (n, d) that are on another scale; None where none is.

    By the median and the quartiles, or where these are one number by the standard deviation. A large column that is
    constant becomes 0.
    """
    size = np.abs(rows).max(axis=0)
    unit = np.where(size > 0, size, 1.0)  # divided by it first: squares of large numbers would overflow
    parts = rows / unit
    mean = parts.mean(axis=0)
    reach = np.abs(parts - mean).max(axis=0)
    constant = reach <= _ROUNDING
    large = np.sqrt((parts**2).mean(axis=0)) > _LARGE / unit
    other = large | ~constant & ((reach < _SMALL / unit) | (np.abs(mean) > _LARGE * reach))
    low, middle, high = np.quantile(parts, (0.25, 0.5, 0.75), axis=0)
    spread = np.where(high - low > _ROUNDING, (high - low) / _OF_NORMAL, parts.std(axis=0))
    with np.errstate(over="ignore"):  # of numbers near 0
        factor = np.where(constant, 0.0, 1.0 / np.where(constant, 1.0, spread) / unit)
    columns = np.flatnonzero(other & np.isfinite(factor))
    if not len(columns):
        return None
    return Scaling(tuple(columns.tolist()), (middle * unit)[columns], factor[columns])
