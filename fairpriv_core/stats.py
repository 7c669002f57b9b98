"""The intervals that the project shows: Wilson's of a share, Student's of a mean over seeds. Both are 95 %."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from scipy.special import stdtrit

_NORMAL_QUANTILE = 1.959963984540054  # two-sided 95 %
_TENTH = 0.0015  # of a point, as rounded


@dataclass(frozen=True)
class Mean:
    """A mean over seeds and its 95 % t interval; the interval is None for one seed, all is None without values."""

    mean: float | None
    low: float | None
    high: float | None
    n: int

    @property
    def half(self) -> float | None:
        """Half the interval's length: the number after ±."""
        return None if self.low is None or self.high is None else (self.high - self.low) / 2


def number(share: float) -> str:
    """Return a share in per cent, or a gap in percentage points, with one decimal.

    >>> number(0.1757), number(-0.004)
    ('17.6', '−0.4')
    """
    return f"{100 * share:.1f}".replace("-", "−")


def spread(mean: Mean) -> str:
    """Return a mean with its interval: ± where both sides are as long to a tenth, else its two ends.

    >>> spread(Mean(0.034, 0.019, 0.049, 3)), spread(Mean(0.034, 0.0, 0.09, 1)), spread(Mean(0.034, None, None, 1))
    ('3.4 ± 1.5', '3.4 (0.0 to 9.0)', '3.4')
    """
    if mean.mean is None:
        return "–"
    if mean.low is None or mean.high is None:
        return number(mean.mean)
    down, up = mean.mean - mean.low, mean.high - mean.mean
    alike = abs(up - down) < _TENTH
    ends = f" ± {number(max(down, up))}" if alike else f" ({number(mean.low)} to {number(mean.high)})"
    return f"{number(mean.mean)}{ends}"


def prediction_interval(values: Sequence[float]) -> Mean:
    """Return the mean of at least two values, and where one more falls with 95 % (Student's t; Hahn and Meeker 1991).

    >>> prediction_interval([1.0, 2.0, 3.0]).low < mean_interval([1.0, 2.0, 3.0]).low
    True
    """
    own = mean_interval(values)
    assert own.mean is not None and own.half is not None
    half = own.half * math.sqrt(1 + own.n)  # s * sqrt(1 + 1 / n) in place of s / sqrt(n)
    return Mean(own.mean, own.mean - half, own.mean + half, own.n)


def wilson_interval(successes: int, trials: int) -> tuple[float, float]:
    """Return the 95 % interval of a share (Wilson 1927), within [0, 1]; (NaN, NaN) without trials."""
    if trials == 0:
        return float("nan"), float("nan")
    z2 = _NORMAL_QUANTILE**2
    share = successes / trials
    centre = (share + z2 / (2 * trials)) / (1 + z2 / trials)
    half = _NORMAL_QUANTILE * (share * (1 - share) / trials + z2 / (4 * trials**2)) ** 0.5 / (1 + z2 / trials)
    return max(0.0, centre - half), min(1.0, centre + half)


def mean_interval(values: Iterable[float | None]) -> Mean:
    """Return the mean with its 95 % t interval (Student 1908); None values, NaN and infinities are left out."""
    finite = [value for value in values if value is not None and math.isfinite(value)]
    n = len(finite)
    if n == 0:
        return Mean(None, None, None, 0)
    mean = math.fsum(finite) / n
    if n == 1:
        return Mean(mean, None, None, 1)
    error = math.sqrt(math.fsum((value - mean) ** 2 for value in finite) / (n - 1) / n)
    half = float(stdtrit(n - 1, 0.975)) * error
    return Mean(mean, mean - half, mean + half, n)
