"""Clipping to an L2 bound, and per-record norms in closed form: no per-record gradient is ever built."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

_WIDE = 512  # values whose squares are added in their own precision
MARGIN = 1e-5  # clip to bound * (1 - MARGIN): a contribution that is rounded to float32 then stays within the bound


def with_bias(rows: np.ndarray) -> np.ndarray:
    """Return the squared L2 norm of each of `rows` (..., d) with the bias's 1 appended: |x|^2 + 1.

    However wide the rows are, rounding moves it by at most _WIDE units of the last place.
    """
    if rows.shape[-1] <= _WIDE:
        squares: np.ndarray = np.vecdot(rows, rows)
        squares += 1.0
        return squares
    exact = np.ones(rows.shape[:-1])
    for start in range(0, rows.shape[-1], _WIDE):
        part = rows[..., start : start + _WIDE]
        exact += np.vecdot(part, part)
    return exact.astype(rows.dtype)


def layer_squares(
    squares: np.ndarray, hidden: np.ndarray | Sequence[np.ndarray], deltas: np.ndarray | Sequence[np.ndarray]
) -> np.ndarray:
    """Return the squared L2 norm of each record's gradient of the logit for each of L + 1 layers: (L + 1, 1 or K, B).

    `squares` (1 or K, B) is `with_bias` of the rows; `hidden` are the L hidden layers' outputs and `deltas` the logit's
    derivatives with respect to their inputs, both (L, K, B, width). A layer's gradient is the outer product of its
    delta and its input, so its squared norm is the product of theirs, and the bias adds one (Goodfellow, 2015):
    |do|^2 = sum_l |delta_l|^2 (|h_l|^2 + 1).
    """
    if not len(hidden):
        return squares[None]
    fed, above = with_bias(np.asarray(hidden)), np.asarray(deltas)
    products = np.empty((len(fed) + 1, *fed.shape[1:]), dtype=fed.dtype)
    np.vecdot(above, above, out=products[:-1])
    products[0] *= squares
    products[1:-1] *= fed[:-1]
    products[-1] = fed[-1]
    return products


def clip_weights(weights: np.ndarray, norms: np.ndarray, bound: float | np.ndarray) -> np.ndarray:
    """Return `weights` shrunk so that |weight| norm <= bound (1 - MARGIN); 0 where a norm is infinite."""
    limits = (bound * (1.0 - MARGIN)) / norms
    clipped: np.ndarray = np.minimum(weights, limits)
    np.maximum(clipped, np.negative(limits, out=limits), out=clipped)
    return clipped


def clip_positive(weights: np.ndarray, norms: np.ndarray, bound: float | np.ndarray) -> np.ndarray:
    """Return what `clip_weights` does of weights that are never negative."""
    clipped: np.ndarray = np.minimum(weights, (bound * (1.0 - MARGIN)) / norms)
    return clipped


def clip_factors(norms: np.ndarray, bound: float | np.ndarray) -> np.ndarray:
    """Return min(1, bound (1 - MARGIN) / norm) for each norm; 1 for a norm of 0, 0 for one that is not finite."""
    factors: np.ndarray = np.minimum((bound * (1.0 - MARGIN)) / norms, 1.0)
    clipped: np.ndarray = np.nan_to_num(factors, copy=False, nan=0.0)
    return clipped


def share_clipped(norms: np.ndarray, bound: np.ndarray | float) -> float:
    """Return the share of norms (m,) above `bound`, (m,) or one for all; 0.0 for no norms."""
    return float((norms > bound).mean()) if norms.size else 0.0
