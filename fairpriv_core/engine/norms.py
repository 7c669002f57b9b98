"""Per-record norms of the logit's gradient in closed form: no per-record gradient is ever built."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def with_bias(rows: np.ndarray) -> np.ndarray:
    """Return the squared L2 norm of each of `rows` (..., d) with the bias's 1 appended: |x|^2 + 1."""
    squares: np.ndarray = np.vecdot(rows, rows)
    squares += 1.0
    return squares


def jacobian_norms(squares: np.ndarray, hidden: Sequence[np.ndarray], deltas: Sequence[np.ndarray]) -> np.ndarray:
    """Return the L2 norm of each record's gradient of the logit, over all parameters: (1 or K, B).

    `squares` (1 or K, B) is `with_bias` of the rows; `hidden` are the hidden layers' outputs and `deltas` the logit's
    derivatives with respect to their inputs. A layer's gradient is the outer product of its delta and its input, so
    its squared norm is the product of theirs, and the bias adds one (Goodfellow, 2015):
    |do|^2 = sum_l |delta_l|^2 (|h_l|^2 + 1).
    """
    first, *others = _layer_squares(squares, hidden, deltas)
    total = first if others else first.copy()
    for each in others:
        total += each
    norms: np.ndarray = np.sqrt(total, out=total)
    return norms


def layer_norms(squares: np.ndarray, hidden: Sequence[np.ndarray], deltas: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Return the L2 norm of each record's gradient of the logit for each layer alone, first to last; see above."""
    return [np.sqrt(each) for each in _layer_squares(squares, hidden, deltas)]


def _layer_squares(squares: np.ndarray, hidden: Sequence[np.ndarray], deltas: Sequence[np.ndarray]) -> list[np.ndarray]:
    inputs = [squares, *(with_bias(output) for output in hidden)]
    each = [np.vecdot(delta, delta) for delta in deltas]
    for product, fed in zip(each, inputs, strict=False):
        product *= fed
    return [*each, inputs[-1]]
