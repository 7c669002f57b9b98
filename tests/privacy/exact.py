"""Hockey-stick divergences by numerical integration: what accountants must come out at, written from definitions."""

from __future__ import annotations

import numpy as np
from scipy.stats import norm

Mixture = tuple[tuple[float, float], ...]  # (weight, mean) of unit-variance normals, in units of the noise


def sampled_pair(noise: float, rate: float, *, present: float, replaced: float | None) -> tuple[Mixture, Mixture]:
    """Return a release with a record that contributes `present`, and one with `replaced` (None: absent) instead."""
    without = ((1.0, 0.0),) if replaced is None else ((1 - rate, 0.0), (rate, replaced / noise))
    return ((1 - rate, 0.0), (rate, present / noise)), without


def delta_of(pair: tuple[Mixture, Mixture], epsilon: float, *, releases: int = 1) -> float:
    """Return the larger of both directions' divergences at `epsilon`, for 1 or 2 releases."""
    first, second = _masses(pair, releases)
    sides = ((first, second), (second, first))
    return max(float(np.maximum(one - np.exp(epsilon) * other, 0.0).sum()) for one, other in sides)


def _masses(pair: tuple[Mixture, Mixture], releases: int) -> list[np.ndarray]:
    reach = max(abs(mean) for side in pair for _, mean in side) + 8.0
    x = np.linspace(-reach, reach, 200_001 if releases == 1 else 1401)
    sides = [sum(weight * norm.pdf(x, mean) for weight, mean in side) * (x[1] - x[0]) for side in pair]
    return [np.outer(side, side) for side in sides] if releases == 2 else sides
