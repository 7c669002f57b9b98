"""Sums over protected rows that keep their bound in floating point; no other code sums over such rows.

The neighbour of a data set has one row nulled *in place*: it keeps its number, its coin in every sample and its place
in every product, with weight 0. A sum may then move by one row's contribution C, and by what rounding makes of that.

*Products* of float32 matrices are taken over at most BLOCK rows at fixed places, and those of the blocks are added in
float64. The sum of b rounded products of length C or less is off by at most (b + 2) b 2^-24 C, in whatever order they
are added (Higham, 2002, section 3.1), and a changed row is in one block. EXCESS is at least

    2 (b + 2) b 2^-24     0.00198   the block, in both data sets
    2 n^2 / (64 b) 2^-53  0.00027   float64, of n = MOST_ROWS rows; 64 blocks are added up before they join the rest
    (w + l + 4) 2^-24     0.00025   norms and clipping factors, of l layers of w = 4,096 units (engine/clipping.py)

It is a constant: the size of a sample is secret. `sensitivity` is what a mechanism is told.

*Values on a grid*, multiples of 2^-24 of a power of two, have exact sums in float64, whatever the order: rows may come
in any order, and groups' sums may be added in any. Their bound needs no excess beyond the rounding of each value.
"""

from __future__ import annotations

from typing import TypeVar

import numpy as np

BLOCK = 128
EXCESS = 0.003
MOST_ROWS = 100_000_000
TOGETHER = 64  # blocks that are added up before they join the rest
_GRID_BITS = 24  # 2^28 values of up to twice the scale add up exactly in the 53 bits of float64

Bound = TypeVar("Bound", float, np.ndarray)


def sensitivity(bound: Bound) -> Bound:
    """Return how far a row whose contribution is at most `bound` long moves a sum of `add_products`, rounding too."""
    return bound * (1.0 + EXCESS)


def add_products(left: np.ndarray, right: np.ndarray, out: np.ndarray) -> None:
    """Write left @ right, (..., a, B) times (..., B, c) float32 over B rows, into `out` (..., a, c) float64."""
    count = left.shape[-1]
    if count <= BLOCK:
        np.copyto(out, left @ right)
        return
    whole, step = count - count % BLOCK, BLOCK * TOGETHER
    for start in range(0, whole, step):
        blocks = _multiply_blocks(left, right, slice(start, min(start + step, whole)))
        if start:
            out += blocks.sum(axis=-3, dtype=np.float64)
        else:
            np.add.reduce(blocks, axis=-3, dtype=np.float64, out=out)
    if whole < count:
        out += left[..., whole:] @ right[..., whole:, :]


def on_grid(values: np.ndarray, bound: float | np.ndarray) -> np.ndarray:
    """Return `values` of size `bound` or less, float64, rounded to a grid on which float64 adds them exactly.

    `bound` > 0 is a public number, or one for each of what it broadcasts to. A value moves by at most 2^-24 of it.
    """
    step = np.ldexp(1.0, np.frexp(bound)[1] - _GRID_BITS)
    rounded: np.ndarray = np.rint(np.asarray(values, dtype=np.float64) / step) * step
    return rounded


def _multiply_blocks(left: np.ndarray, right: np.ndarray, rows: slice) -> np.ndarray:
    """Return the products over each whole block of `rows`: (..., blocks, a, c) float32."""
    own, other = left[..., rows], right[..., rows, :]
    by_block = own.reshape(*own.shape[:-1], -1, BLOCK)
    products: np.ndarray = np.moveaxis(by_block, -2, -3) @ other.reshape(*other.shape[:-2], -1, BLOCK, other.shape[-1])
    return products
