"""The differentiable h of each notion, as a function of the logit (PF-LD, eq. 1)."""

from __future__ import annotations

import torch
from torch import Tensor

from fairpriv_core.notions.notion import Target


def output(target: Target, logits: Tensor, labels: Tensor) -> Tensor:
    """Return h for each record: the positive label's probability, or the cross-entropy; never negative."""
    if target == "score":
        return torch.sigmoid(logits)
    return torch.nn.functional.softplus(logits).sub_(labels * logits).clamp_(min=0.0)


def slope(target: Target, probability: Tensor, labels: Tensor) -> Tensor:
    """Return dh/do, the derivative of h with respect to the logit o, from `probability` = sigmoid(o)."""
    if target == "score":
        return probability * (1.0 - probability)
    return probability - labels
