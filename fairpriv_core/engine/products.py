"""Products of matrices of K models, those of S streams of rows with as many models each."""

from __future__ import annotations

import numpy as np

_TOGETHER = 128


def multiply(left: np.ndarray, right: np.ndarray, out: np.ndarray) -> None:
    """Write the products of matrices `left` (S or K, n, m) and `right` (S or K, m, l) into `out` (K, n, l).

    Rows are taken `_TOGETHER` at a time: BLAS multiplies small matrices without copying them first, a third faster.
    """
    streams, whole = min(len(left), len(right)), left.shape[1] - left.shape[1] % _TOGETHER
    if streams not in (1, len(out)):
        by_stream = [part.reshape(streams, len(part) // streams, *part.shape[1:]) for part in (left, right)]
        np.matmul(by_stream[0], by_stream[1], out=divide(out, streams))
        return
    if whole:
        pieces = [each[:, :whole].reshape(len(each), -1, _TOGETHER, each.shape[2]) for each in (left, out)]
        np.matmul(pieces[0], right[:, None], out=pieces[1])
    if whole < left.shape[1]:
        np.matmul(left[:, whole:], right, out=out[:, whole:])


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
