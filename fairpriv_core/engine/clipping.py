"""Clipping to an L2 bound, with room for float32 rounding."""

from __future__ import annotations

import numpy as np

MARGIN = 1e-5  # clip to bound * (1 - MARGIN): a contribution that is rounded to float32 then stays within the bound


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


def share_clipped(norms: np.ndarray, bound: float) -> float:
    """Return the share of norms above `bound`; 0.0 for no norms."""
    return float((norms > bound).mean()) if norms.size else 0.0
