"""How far decisions depend on the group (ERMI), and how well scores rank the labels (ROC-AUC)."""

from __future__ import annotations

import math

import numpy as np
from numpy.typing import NDArray

Counts = NDArray[np.int64]
Floats = NDArray[np.float64]


def ermi(joint: Counts) -> float:
    """Return ERMI (DP-FERMI Definition 3.1) of counts (k, l) over group and decision: 0 if and only if independent.

    An expectation over what occurs: an empty group or a decision never made adds nothing. NaN without rows.
    """
    total = joint.sum()
    if total == 0:
        return math.nan
    product = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0, keepdims=True)
    terms = np.where(product > 0, joint.astype(np.float64) ** 2 / np.where(product > 0, product, 1), 0.0)
    return max(0.0, float(terms.sum() - 1.0))


def ermi_by_label(counts: Counts) -> float:
    """Return ERMI given the label (DP-FERMI eq. 5), weighted by the labels' shares; NaN where a label is absent."""
    sizes = counts.sum(axis=(0, 2))
    if bool((sizes == 0).any()):
        return math.nan
    return float(sum(size / sizes.sum() * ermi(counts[:, label]) for label, size in enumerate(sizes)))


def roc_auc(labels: Counts, scores: Floats) -> float:
    """Return P(a positive row scores above a negative one), ties one half; NaN unless both labels occur."""
    positives = int(labels.sum())
    negatives = len(labels) - positives
    if positives == 0 or negatives == 0:
        return math.nan
    lower, upper = np.sort(scores[labels == 0]), np.sort(scores[labels == 1])
    won = np.searchsorted(lower, upper, side="left") + np.searchsorted(lower, upper, side="right")  # in halves
    return int(won.sum()) / 2.0 / (positives * negatives)
