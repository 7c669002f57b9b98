"""How groups lie along a public score: one noisy count by group, label and bin of the score, and what it tells.

A row is in one bin, so that the count is a statistic (group_statistic.py) whose features are one-hot: a person who
changes group moves it by 1 for two groups, of which one is counted, and by sqrt(2) for more. Bins are as full as each
other, and how many rows of each label a bin has is public: within a bin, every row has the same p(a | score, y).
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.training import Training
from fairpriv_core.methods.cell_counts import require_rows
from fairpriv_core.methods.shared.group_estimate import (
    Estimate,
    Redraws,
    add_up_to,
    draw_noise,
    known_statistic,
    sample_rows,
)
from fairpriv_core.methods.shared.group_statistic import (
    PublicFeatures,
    Releases,
    bin_score,
    release_statistic,
    statistic_sensitivity,
)
from fairpriv_core.notions.cells import LABELS


@dataclass(frozen=True)
class _Told:
    """Of one label: `shares` (k, B), p(a | bin, y), the bins' public sizes (B,), and which rows (m,) have it."""

    shares: np.ndarray
    sizes: np.ndarray
    rows: np.ndarray


def count_groups(method: Releases, train: Dataset, training: Training, score: np.ndarray) -> Estimate:
    """Return what the counts tell of every row's group; they are released unless known. RunFailed for small cells."""
    edges, bins = bin_score(train, method.score_bins, score)
    features = PublicFeatures(np.eye(method.score_bins)[bins], 1.0, 0, edges)
    statistic = known_statistic(training)
    if statistic is None:
        statistic = release_statistic(method, train, training, features=features)
    noise = method.noise() * statistic_sensitivity(train.groups)
    sums = statistic.reshape(LABELS, -1, method.score_bins)
    histograms = [_read_sums(train, bins, label, sums[label]) for label in range(LABELS)]
    probabilities = np.empty((train.n, train.groups))
    for histogram in histograms:
        probabilities[histogram.rows] = histogram.shares[:, bins[histogram.rows]].T
    estimate = Estimate(statistic, probabilities, train.y, lambda: _redraw(histograms, bins, noise))
    require_rows(estimate.sizes(), training.notion, train.group_names)
    return estimate


def _read_sums(train: Dataset, bins: np.ndarray, label: int, sums: np.ndarray) -> _Told:
    """Return the shares that noisy counts (k or 1, B) of a label give; what is below 0 is 0."""
    rows = np.flatnonzero(train.y == label)
    sizes = np.bincount(bins[rows], minlength=sums.shape[1]).astype(np.float64)
    counts = np.maximum(add_up_to(sizes, sums, train.groups), 0.0)
    total = counts.sum(axis=0)
    return _Told(np.where(total > 0, counts / np.where(total > 0, total, 1.0), 1.0 / train.groups), sizes, rows)


def _redraw(histograms: list[_Told], bins: np.ndarray, noise: float) -> Redraws:
    """Return the shares under further draws of the counts' noise, on a public sample of the rows."""
    rows, parts = [], []
    for label, histogram in enumerate(histograms):
        own = sample_rows(histogram.rows)
        moved = histogram.shares + draw_noise(label, histogram.shares.shape, noise) / np.maximum(histogram.sizes, 1.0)
        rows.append(own)
        parts.append(len(histogram.rows) / max(len(own), 1) * moved[:, :, bins[own]])
    return Redraws(np.concatenate(rows), np.concatenate(parts, axis=2).astype(np.float32))
