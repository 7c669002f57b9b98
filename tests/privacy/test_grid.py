"""A release on its grid: the same bits wherever it is written, and values that are too large are refused."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fairpriv_core.errors import RunFailed
from fairpriv_core.privacy.noise import _LARGEST_IN_FLOAT, _find_grid, _lies_within, release_on_grid

DRAW = np.random.default_rng(3)
VALUE, NOISE = DRAW.normal(size=1000) * 5.0, DRAW.normal(size=1000)


@pytest.mark.parametrize("std", [0.0, 0.7, 3.0])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_a_release_is_the_same_wherever_it_is_written(std: float, dtype: type) -> None:
    out = np.full(1000, np.nan, dtype=dtype)
    written = release_on_grid(VALUE, std, NOISE.copy(), out=out)
    assert written is out
    assert np.array_equal(out, release_on_grid(VALUE, std, NOISE.copy()).astype(dtype))


def test_a_release_is_a_multiple_of_the_grid_near_value_and_noise() -> None:
    grid = float(_find_grid(0.7))
    released = release_on_grid(VALUE, 0.7, NOISE.copy())
    assert np.array_equal(np.rint(released / grid) * grid, released)
    assert np.abs(released - (VALUE + 0.7 * NOISE)).max() <= grid / 2 * (1 + 1e-9)


@pytest.mark.parametrize("bound", [1.0, 1e-170, 1e-320, 1e200, math.inf])
def test_what_lies_within_a_bound_is_told_at_any_scale(bound: float) -> None:
    """One pass over the squares decides where it can; where they overflow, underflow or add up, the values do."""
    near = np.full(9, np.nextafter(min(bound, 1e300), 0.0))
    assert _lies_within(near, bound) and _lies_within(np.zeros(9), bound)
    for wrong in (bound, -bound, np.nan, np.inf):
        assert not _lies_within(np.append(np.zeros(9), wrong), bound)


def test_a_value_beyond_the_grid_is_refused() -> None:
    value = VALUE.copy()
    value[7] = 1.5 * _LARGEST_IN_FLOAT * float(_find_grid(0.7))
    with pytest.raises(RunFailed, match="too large"):
        release_on_grid(value, 0.7, NOISE.copy())
    value[7] = np.nan
    with pytest.raises(RunFailed, match="not finite"):
        release_on_grid(value, 0.7, NOISE.copy())
