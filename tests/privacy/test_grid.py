"""A release on its grid: the same bits wherever it is written, and values that are too large are refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fairpriv_core.errors import RunFailed
from fairpriv_core.privacy.noise import release_on_grid

DRAW = np.random.default_rng(3)
MOST = 2.0**50  # grid steps in a value
VALUE, NOISE = DRAW.normal(size=1000) * 5.0, DRAW.normal(size=1000)


def grid_of(std: float) -> float:
    return math.ldexp(1.0, math.frexp(std)[1] - 21)


def test_a_release_is_the_same_wherever_it_is_written() -> None:
    for std in [0.0, 0.7, 3.0]:
        for dtype in [np.float32, np.float64]:
            out = np.full(1000, np.nan, dtype=dtype)
            written = release_on_grid(VALUE, std, NOISE.copy(), out=out)
            assert written is out
            assert np.array_equal(out, release_on_grid(VALUE, std, NOISE.copy()).astype(dtype))


def test_a_release_is_a_multiple_of_the_grid_near_value_and_noise() -> None:
    grid = grid_of(0.7)
    released = release_on_grid(VALUE, 0.7, NOISE.copy())
    assert np.array_equal(np.rint(released / grid) * grid, released)
    assert np.abs(released - (VALUE + 0.7 * NOISE)).max() <= grid / 2 * (1 + 1e-9)


def test_what_is_too_large_is_told_at_any_scale() -> None:
    """One pass over the squares decides where it can; where they overflow, underflow or add up, the values do."""
    for std in [0.7, 1e-200, 1e200]:
        bound = MOST * grid_of(std)
        near = np.full(9, np.nextafter(bound, 0.0))
        assert np.isfinite(release_on_grid(near, std, np.zeros(9))).all()
        for wrong in (bound, -bound):
            with pytest.raises(RunFailed, match="too large"):
                release_on_grid(np.append(np.zeros(9), wrong), std, np.zeros(10))


def test_a_value_beyond_the_grid_is_refused() -> None:
    value = VALUE.copy()
    value[7] = 1.5 * MOST * grid_of(0.7)
    with pytest.raises(RunFailed, match="too large"):
        release_on_grid(value, 0.7, NOISE.copy())
    value[7] = np.nan
    with pytest.raises(RunFailed, match="not finite"):
        release_on_grid(value, 0.7, NOISE.copy())
