"""Theorems 4 and 5 of PF-LD (eq. 12, 13): the expected error of a clipped, noised release as a function of its bound.

Clipping at C loses what exceeds it (bias) and needs noise in proportion to it (variance):
error(C) <= noise * C + weight * E[max(0, value - C)]. Convex in C; its minimiser is a quantile of the values.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

POINTS = 512
_LEAST_SHARE = 0.01  # an automatic bound keeps at least this quantile of the values, however large the noise


@dataclass(frozen=True)
class ClippingCurve:
    """The two terms of the bound at each of `bounds`, all (m,), and the bound that minimises their sum.

    `minimiser` is None where the sum only rises with the bound: the noise outweighs all that clipping loses.
    """

    bounds: tuple[float, ...]
    bias: tuple[float, ...]
    variance: tuple[float, ...]
    minimiser: float | None


@dataclass(frozen=True)
class Warmup:
    """What a public warm-up model shows: quantiles of |dh| and of |h| over all records; P, n and k."""

    norms: tuple[float, ...]
    outputs: tuple[float, ...]
    parameters: int
    rows: int
    groups: int


@runtime_checkable
class ChoosesClipping(Protocol):
    """A method that can say, before it trains, what its clipping bounds cost."""

    def clipping_curves(self, warmup: Warmup) -> dict[str, ClippingCurve]:
        """Return the curve of each bound, by the bound's name; {} where nothing is clipped."""


def quantiles(values: np.ndarray) -> tuple[float, ...]:
    """Return POINTS evenly spaced quantiles of `values`, smallest to largest."""
    return tuple(np.quantile(np.asarray(values, dtype=np.float64), np.linspace(0.0, 1.0, POINTS)).tolist())


def best_bound(values: Sequence[float] | np.ndarray, *, noise: float, weight: float) -> float:
    """Return the minimiser of noise * C + weight * E[max(0, value - C)]: where P(value >= C) = noise / weight."""
    below = 1.0 - noise / weight if weight > 0 else 0.0
    quantile = float(
        np.quantile(np.asarray(values, dtype=np.float64), min(max(below, _LEAST_SHARE), 1.0), method="inverted_cdf")
    )
    return max(quantile, 1e-6)


def build_curve(values: Sequence[float], *, noise: float, weight: float) -> ClippingCurve:
    """Return the curve over bounds from far below the values to far above them."""
    sample = np.asarray(values, dtype=np.float64)
    top = max(float(sample.max()), 1e-6)
    bounds = np.geomspace(top / 1000.0, top * 20.0, 80)
    excess = np.maximum(sample[None, :] - bounds[:, None], 0.0).mean(axis=1)
    return ClippingCurve(
        bounds=tuple(bounds.tolist()),
        bias=tuple((weight * excess).tolist()),
        variance=tuple((noise * bounds).tolist()),
        minimiser=best_bound(sample, noise=noise, weight=weight) if noise < weight else None,
    )


def proved_noise(*, size: int, noise_multiplier: float, rate: float, counts: np.ndarray) -> float:
    """Return the expected norm of the proved variant's primal noise for C_p = 1 and multipliers of +-1.

    sqrt(P) sigma_p r with r at its largest: neighbouring multipliers of unlike sign on the two smallest cells.
    """
    smallest = np.sort(np.asarray(counts, dtype=np.float64))[:2]
    return math.sqrt(size) * noise_multiplier * float((1.0 / smallest).sum()) / (2.0 * rate)
