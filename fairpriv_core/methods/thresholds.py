"""Thresholds by group: of a score's running counts, the ones of fewest errors whose gaps are at most so large.

It reads released counts alone, so it is post-processing (Hardt, Price and Srebro, 2016; with noisy histograms after
Say, Denis and Pinot, 2025).
"""

from __future__ import annotations

from typing import Any

import numpy as np

from fairpriv_core.notions.notion import Notion

BANDS = 200  # places at which a band's lower end is tried, for each population
_ROUNDING = 1e-9
_WIDER = 0.005  # by what the band is widened where no thresholds fit it


def choose_thresholds(below: np.ndarray, notion: Notion, *, gap: float) -> np.ndarray:
    """Return each group's place (k,), in 0..m: rows from that place on are given 1.

    `below` (k, 2, m) are (estimated) numbers of rows by group and label whose score is at or below each of m places.
    Groups' means of h (the decision, or whether it is wrong) differ by at most `gap` among the people of each
    condition, as far as the counts tell; by the least that is possible, in steps of 0.005, where no places do that.
    """
    ones, totals = count_ones(below)
    right = ones[:, 1] + totals[:, 0, None] - ones[:, 0]  # (k, m + 1)
    means = _means(ones, totals, notion)
    allowed = gap
    while True:
        found = _search(means, right, allowed)
        if found is not None:
            return found
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


def _search(means: np.ndarray, right: np.ndarray, gap: float) -> np.ndarray | None:
    """Return the places of most rows that are right within a band of each population; None where no band has any."""
    lows = np.linspace(0.0, 1.0, BANDS + 1)[:, None, None]
    bands = [(mean >= lows) & (mean <= lows + gap + _ROUNDING) for mean in means]  # each (bands, k, m + 1)
    others = bands[1] if len(bands) > 1 else np.ones((1, *right.shape), dtype=bool)
    best, chosen = -np.inf, None
    for one in bands[0]:
        within = np.where(one & others, right, -np.inf)
        totals = within.max(axis=2).sum(axis=1)
        band = int(totals.argmax())
        if totals[band] > best:
            best, chosen = totals[band], within[band].argmax(axis=1)
    return chosen
