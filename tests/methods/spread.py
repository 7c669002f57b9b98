"""The gap of a randomised classifier, in expectation: written out over chances, not over drawn decisions."""

from __future__ import annotations

import numpy as np

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.notions.notion import Notion


def spread(notion: Notion, probabilities: np.ndarray, data: Dataset) -> float:
    """Return the largest difference between two groups' means of `probabilities` (n,) of a 1, or of an error."""
    values = np.abs(probabilities - data.y) if notion.target == "loss" else probabilities
    gaps = []
    for label in notion.conditions:
        inside = np.ones(data.n, bool) if label is None else data.y == label
        means = [values[inside & (data.group == group)].mean() for group in range(data.groups)]
        gaps.append(max(means) - min(means))
    return float(max(gaps))
