"""Adding noise in floating point: value plus noise, rounded to a grid that depends on the noise's scale alone.

Sum and noise are rounded to a grid whose step is the power of two at or below std * 2**-20. The low bits of a float64
sum depend on the value that the noise hides (Mironov, 2012); on the grid they are gone: a grid cell holds some 2**30
of the values that the noise can take, whatever the value, and the rounding adds at most 2**-21 standard deviations of
error. The grid depends on the noise's scale alone, which is public.
"""

from __future__ import annotations

import math

import numpy as np

from fairpriv_core import checks
from fairpriv_core.errors import BadInput, RunFailed

_GRID_BITS = 20
_LARGEST = 2.0**50  # grid steps: with any noise, a value below it stays where rounding leaves the grid alone
_SMALLEST_SCALE = 2.0**-900


def noise_scale(bound: float, noise_multiplier: float, name: str) -> float:
    """Return bound * noise_multiplier; BadInput, naming `name`, where that cannot scale noise in float64."""
    std = float(bound) * float(noise_multiplier)
    if bound > 0 and _SMALLEST_SCALE < std < 1 / _SMALLEST_SCALE:
        return std
    checks.positive(**{name: float(bound)})
    checks.not_negative(noise_multiplier=float(noise_multiplier))
    if noise_multiplier and not _SMALLEST_SCALE < std < 1 / _SMALLEST_SCALE:
        raise BadInput(f"{name} must give noise of a scale that float64 can hold, got {bound}.", field=name)
    return std


def release_on_grid(value: np.ndarray, std: float | np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Return value + std * noise, rounded to the grid (ties to even): float64, of value's shape, in the noise's place.

    `std` is a number, or (K, 1) positive ones for the rows of `value` (K, P), each with a grid of its own. Between
    2**52 and 2**53 grid steps float64 holds multiples of the grid alone, so adding 1.5 * 2**52 of them rounds.
    """
    exact, grid = np.asarray(value), _find_grid(std)
    if not _lies_within(exact, _LARGEST * grid) and (np.any(std) or not np.isfinite(exact).all()):
        largest = float(np.max(std))
        what = f"too large for noise of standard deviation {largest:g}" if np.isfinite(exact).all() else "not finite"
        raise RunFailed(f"a sum over protected records is {what}; lower the learning rate or the clipping bound.")
    released: np.ndarray = noise.reshape(exact.shape)
    released *= std
    released += exact
    if np.ndim(std) or std:
        middle = 1.5 * 2.0**52 * grid
        released += middle
        released -= middle
    return released


def _lies_within(values: np.ndarray, bound: float | np.ndarray) -> bool:
    """Return whether every one of `values` (..., P) lies between +-bound; not where one is not a number."""
    if not values.size:
        return True
    largest, least = values.max(axis=-1, keepdims=True), values.min(axis=-1, keepdims=True)
    return bool(((largest < bound) & (least > -bound)).all())


def _find_grid(std: float | np.ndarray) -> float | np.ndarray:
    if isinstance(std, np.ndarray):
        grids: np.ndarray = np.ldexp(1.0, np.frexp(std)[1] - 1 - _GRID_BITS)
        return grids
    return math.ldexp(1.0, math.frexp(std)[1] - 1 - _GRID_BITS) if std else math.inf
