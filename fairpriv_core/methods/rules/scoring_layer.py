"""The last layer of a network: its bound, and its gradients summed by micro-batch (FairDP, Algorithm 2)."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from fairpriv_core.engine.loop import Sampled
from fairpriv_core.privacy.sums import on_grid
from fairpriv_core.seeds import public_generator


def bound_scoring_layer(parameters: np.ndarray, inputs: int, bounds: np.ndarray) -> None:
    """Scale each model's last layer (K, P), inputs + 1 values with its bias, to a norm of at most `bounds` (K, 1)."""
    scoring = parameters[:, -(inputs + 1) :]
    norms = np.linalg.norm(scoring, axis=1, keepdims=True)
    with np.errstate(divide="ignore", invalid="ignore"):
        scoring *= np.nan_to_num(np.minimum(bounds / norms, 1.0), nan=1.0)


def draw_micro_batches(seed: int, *, n: int, parts: int) -> np.ndarray:
    """Return each row's micro-batch (n,), drawn publicly and independently: no row's depends on another's presence."""
    return public_generator(seed, "micro-batches").integers(0, parts, n)


def deal_micro_batches(inside: np.ndarray, parts: int) -> np.ndarray:
    """Return each sampled row's micro-batch, dealt in turn among the rows `inside` (S,): as even as can be."""
    dealt: np.ndarray = (np.cumsum(inside) - 1).clip(0) % parts
    return dealt


def sum_by_micro_batch(
    sampled: Sampled, weights: np.ndarray, micro: Sequence[np.ndarray], *, parts: int, bound: float
) -> np.ndarray:
    """Return the sums of weight times the last layer's gradient over each micro-batch: (K, parts, inputs + 1).

    `weights` (K, S), 0 where a record is left out; `micro[k]` gives the micro-batches of model k's own records. A
    gradient times its weight is at most `bound` long.
    """
    inputs = sampled.passed.embeddings[:, sampled.rows]
    factors = np.nan_to_num(weights, nan=0.0)[:, :, None]
    gradients = np.concatenate([inputs, np.ones_like(inputs[:, :, :1])], axis=2) * factors
    kept = on_grid(np.where(factors != 0, gradients, 0.0), bound)
    sums = np.zeros((len(kept), parts, kept.shape[2]))
    for total, of, rows in zip(sums, micro, kept, strict=True):
        np.add.at(total, of, rows[: len(of)])
    return sums
