"""Products of matrices of K models, those of S streams of rows with as many models each.

Rows are taken BLOCK at a time, at fixed places. BLAS multiplies small matrices without copying them first, a third
faster; and what comes of a row in a whole block depends on no other row, nor on how many there are.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairpriv_core.privacy.sums import BLOCK


def multiply(left: np.ndarray, right: np.ndarray, out: np.ndarray) -> None:
    """Write the products of matrices `left` (S or K, n, m) and `right` (S or K, m, l) into `out` (K, n, l)."""
    left, right, out = by_stream(left, right, out)
    multiply_parts(split(left), right, split(out))


def split(rows: np.ndarray) -> tuple[np.ndarray, ...]:
    """Return views of `rows` (..., n, m): the whole blocks (..., blocks, BLOCK, m), then the rest (..., 1, rest, m)."""
    count = rows.shape[-2]
    whole = count - count % BLOCK
    blocks = (rows[..., :whole, :].reshape(*rows.shape[:-2], -1, BLOCK, rows.shape[-1]),) if whole else ()
    return blocks if whole == count else (*blocks, rows[..., None, whole:, :])


def multiply_parts(left: Sequence[np.ndarray], right: np.ndarray, out: Sequence[np.ndarray]) -> None:
    """Write what `multiply` does where `left` and `out` are split already."""
    parts = right[..., None, :, :]
    for part, onto in zip(left, out, strict=True):
        np.matmul(part, parts, out=onto)


def multiply_onto_rows(left: np.ndarray, rows: np.ndarray, out: np.ndarray) -> None:
    """Write `left` (S, k, m) times the transposed `rows` (S, n, m) into `out` (S, k, n)."""
    count = rows.shape[1]
    whole = count - count % BLOCK
    if whole:
        blocks = rows[:, :whole].reshape(len(rows), -1, BLOCK, rows.shape[2])
        onto = out[:, :, :whole].reshape(*out.shape[:2], -1, BLOCK)
        np.matmul(left[:, None], blocks.transpose(0, 1, 3, 2), out=onto.transpose(0, 2, 1, 3))
    if whole < count:
        np.matmul(left, rows[:, whole:].transpose(0, 2, 1), out=out[:, :, whole:])


def by_stream(left: np.ndarray, right: np.ndarray, out: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return views of `left` and `right` (S or K, ...) and `out` (K, ...) whose products broadcast."""
    streams = min(len(left), len(right))
    if streams in (1, len(out)):
        return left, right, out
    first, second = (part.reshape(streams, len(part) // streams, *part.shape[1:]) for part in (left, right))
    return first, second, divide(out, streams)


def divide(models: np.ndarray, streams: int) -> np.ndarray:
    """Return a view of `models` (K, ...) as (streams, K / streams, ...), those that share rows together."""
    view = models.view()
    view.shape = (streams, len(models) // streams, *models.shape[1:])  # fails where it would be a copy
    return view


def expand(streams: np.ndarray, models: int) -> np.ndarray:
    """Return values of S streams (S, ...) as they are where S is 1 or K, else each as often as it has models."""
    return streams if len(streams) in (1, models) else np.repeat(streams, models // len(streams), axis=0)


def turn(weights: np.ndarray, memory: np.ndarray) -> np.ndarray:
    """Return `weights` (K, out, in) as (K, in, out), written into `memory` (K, at least out * in)."""
    models, outputs, inputs = weights.shape
    turned = memory[:, : outputs * inputs].reshape(models, inputs, outputs)
    np.copyto(turned, weights.transpose(0, 2, 1))
    return turned
