"""What is measured of a group's scores, and not of its decisions alone: how far off they are, and what they cost.

No count over group, label and decision tells either, so neither is released where such counts are.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from fairpriv_core.notions.notion import Compares, Notion, format_undefined
from fairpriv_core.notions.rates import Counts, Floats, divide

BINS = 10  # of the score, equally wide
LARGEST_LOSS = 5.0  # nats, of one row: that of a chance of 0.7 % for the true label
UNPAID = "it needs scores, and a private evaluation counts decisions; a histogram of scores would cost ε of its own."


def measure_scores(notion: Notion, y: Counts, score: Floats, group: Counts, groups: int) -> Floats:
    """Return what `notion` measures of the scores in each of `groups` groups (k,); NaN of a group without rows.

    `score` are chances of label 1, (n,), or of every label, (n, l).
    """
    chances = np.clip(score if score.ndim == 2 else np.stack([1.0 - score, score], axis=1), 0.0, 1.0)
    return _MEASURES[notion.compares](y, chances, group, groups)


def calibration_errors(y: Counts, chances: Floats, group: Counts, groups: int) -> Floats:
    """Return each group's expected calibration error (k,), in [0, 1], of `chances` (n, 2).

    Within a group, rows whose chance of label 1 falls into one of ten equally wide bins are held together: how far
    their mean chance is from their share of label 1, averaged over the bins by their rows (Naeini, Cooper and
    Hauskrecht, 2015).
    """
    chance = chances[:, 1]
    place = group * BINS + np.minimum((chance * BINS).astype(np.int64), BINS - 1)
    off = np.abs(np.bincount(place, weights=chance - y, minlength=groups * BINS)).reshape(groups, BINS).sum(axis=1)
    return divide(off, np.bincount(group, minlength=groups))


def mean_losses(y: Counts, chances: Floats, group: Counts, groups: int) -> Floats:
    """Return each group's mean cross-entropy (k,) of `chances` (n, l), that of a row at most LARGEST_LOSS."""
    of_label = np.take_along_axis(chances, y[:, None], axis=1)[:, 0]
    losses = -np.log(np.maximum(of_label, np.exp(-LARGEST_LOSS)))
    return divide(np.bincount(group, weights=losses, minlength=groups), np.bincount(group, minlength=groups))


_MEASURES: dict[Compares, Callable[[Counts, Floats, Counts, int], Floats]] = {
    "scores": calibration_errors,
    "losses": mean_losses,
}


def format_unscored(notion: Notion, labels: int) -> str:
    """Say why counts of decisions tell nothing of a notion that is no rate."""
    return UNPAID if notion.conditions_among(labels) else format_undefined(notion, labels)
