"""Sums that keep their bound: what rounding adds to a row's contribution, at the sizes that samples have."""

from __future__ import annotations

import numpy as np
import pytest

from fairpriv_core.privacy.sums import BLOCK, EXCESS, MOST_ROWS, add_products, on_grid, sensitivity

SIZES = (1, 127, 128, 129, 256, 8_192, 8_193, 65_536, 500_000)


def _add(left: np.ndarray, right: np.ndarray) -> np.ndarray:
    out = np.empty((*left.shape[:-1], right.shape[-1]))
    add_products(left, right, out)
    return out


def _units(rows: int, width: int, seed: int = 0) -> np.ndarray:
    """Return rows (rows, width) float32 of length 1 that all point about the same way, so that sums grow."""
    drawn = 1.0 + 0.3 * np.random.default_rng(seed).normal(size=(rows, width))
    return (drawn / np.linalg.norm(drawn, axis=1, keepdims=True)).astype(np.float32)


@pytest.mark.parametrize("rows", SIZES)
def test_products_are_those_of_float64(rows: int) -> None:
    left = np.random.default_rng(1).normal(size=(2, 3, rows)).astype(np.float32)
    right = _units(rows, 5)[None]
    exact = left.astype(np.float64) @ right.astype(np.float64)
    assert np.allclose(_add(left, right), exact, atol=1e-6 * np.abs(left).sum())
    assert _add(left, right).dtype == np.float64


@pytest.mark.parametrize("rows", SIZES)
def test_a_row_moves_a_sum_by_its_own_part_and_little_more(rows: int) -> None:
    right = _units(rows, 20)
    weights = np.ones((1, rows), dtype=np.float32)
    whole, largest = _add(weights, right), 0.0
    for row in np.linspace(0, rows - 1, 7).astype(int):
        without = weights.copy()
        without[0, row] = 0.0
        largest = max(largest, float(np.linalg.norm(whole - _add(without, right))))
    length = float(np.linalg.norm(right.astype(np.float64), axis=1).max())
    assert largest <= sensitivity(length)
    assert largest == pytest.approx(length, rel=1e-4)  # the bound is for the worst case


def test_the_excess_covers_what_it_is_made_of() -> None:
    block = 2 * (BLOCK + 2) * BLOCK * 2.0**-24
    joined = 2 * MOST_ROWS**2 / (64 * BLOCK) * 2.0**-53
    lengths = (4096 + 10 + 4) * 2.0**-24
    assert block + joined + lengths <= EXCESS


def test_sums_of_values_on_a_grid_have_no_order() -> None:
    for bound in [1.0, 0.3, 7.0, 1e-6]:
        draw = np.random.default_rng(2)
        values = on_grid(draw.uniform(-bound, bound, 300_000), bound)
        assert values.sum() == values[::-1].sum() == np.cumsum(draw.permutation(values))[-1]
        assert np.abs(values).max() <= bound * (1.0 + 2.0**-24)


def test_a_value_is_rounded_by_a_sixteen_millionth_of_its_bound() -> None:
    values = np.random.default_rng(3).uniform(-0.7, 0.7, 1000)
    assert 0 < np.abs(on_grid(values, 0.7) - values).max() <= 0.7 * 2.0**-24
    assert on_grid(np.array([0.7, -0.7]), 0.7).tolist() == pytest.approx([0.7, -0.7], abs=0.7 * 2.0**-24)
    each = on_grid(np.array([[0.3], [300.0]]), np.array([[1.0], [1000.0]]))
    assert each.ravel().tolist() == [on_grid(np.array(0.3), 1.0), on_grid(np.array(300.0), 1000.0)]
