"""Clipping to an L2 bound, with room for float32 rounding."""

from __future__ import annotations

from torch import Tensor

MARGIN = 1e-5  # clip to bound * (1 - MARGIN): sums in float32 then stay within the bound (docs/privacy.md)


def clip_factors(norms: Tensor, bound: float | Tensor) -> Tensor:
    """Return min(1, bound (1 - MARGIN) / norm) for each norm; 1 for a norm of 0, 0 for one that is not finite."""
    return (bound * (1.0 - MARGIN) / norms).clamp_(max=1.0).nan_to_num_(nan=0.0)


def share_clipped(norms: Tensor, bound: float) -> float:
    """Return the share of norms above `bound`; 0.0 for no norms."""
    return float((norms > bound).double().mean()) if norms.numel() else 0.0
