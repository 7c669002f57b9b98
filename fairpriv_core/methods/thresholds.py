"""Places of a score's thresholds by group, from noisy running counts of the score: post-processing of one release."""

from __future__ import annotations

from typing import Any

import numpy as np

from fairpriv_core.methods.group_thresholds import choose_thresholds
from fairpriv_core.notions.notion import Notion

_ROUNDING = 1e-9
_WIDER = 0.005  # by what the gap is widened where no thresholds keep it


def place_thresholds(below: np.ndarray, notion: Notion, *, gap: float) -> np.ndarray:
    """Return each group's place (k,), in 0..m: rows from that place on are given 1.

    `below` (k, 2, m) are (estimated) numbers of rows by group and label whose score is at or below each of m places.
    Groups' means of h (the decision, or whether it is wrong) differ by at most `gap` among the people of each
    condition, as far as the counts tell; by the least that is possible, in steps of 0.005, where no places do that.
    """
    ones, totals = count_ones(below)
    errors = ones[:, 0] + totals[:, 1, None] - ones[:, 1]  # (k, m + 1)
    means, groups, allowed = _means(ones, totals, notion), np.arange(len(below)), gap
    while True:
        places = choose_thresholds(means, errors, allowed)
        if allowed >= 1.0 or np.ptp(means[:, groups, places], axis=1).max() <= allowed + _WIDER + _ROUNDING:
            return places
        allowed += _WIDER


def count_ones(below: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return how many rows of each group and label are given 1 from each place on (k, 2, m + 1), and in all (k, 2).

    Noisy counts are made to rise, from 0 on, by isotonic regression (Barlow et al., 1972).
    """
    from scipy.optimize import isotonic_regression

    fitted = [isotonic_regression(row).x for row in below.reshape(-1, below.shape[2])]
    rising = np.maximum(np.reshape(fitted, below.shape), 0.0)
    totals = np.maximum(rising[..., -1], 1.0)
    under = np.concatenate([np.zeros_like(totals)[..., None], np.minimum(rising, totals[..., None])], axis=2)
    ones: np.ndarray = totals[..., None] - under
    return ones, totals


def _means(ones: np.ndarray, totals: np.ndarray, notion: Notion) -> np.ndarray:
    """Return the mean of h for each population, group and place: (populations, k, m + 1)."""
    h = ones.copy()
    if notion.target == "loss":
        h[:, 1] = totals[:, 1, None] - ones[:, 1]
    means: Any = [
        h[:, list(labels)].sum(axis=1) / totals[:, list(labels)].sum(axis=1)[:, None] for labels in notion.populations
    ]
    return np.stack(means)
