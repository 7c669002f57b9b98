"""OneRelease's one look at the sensitive attribute: public features, and their noisy sums over the groups.

Notation. phi_i are a record's public features in the unit ball, y_i its label, e(a_i) its group's code: a_i itself for
two groups, one-hot for more. Released is T = sum_i e(a_i) (x) onehot(y_i) (x) phi_i: crossed with the label, so that
notions among the people of one label are served as well. All in float64.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.clipping import MARGIN
from fairpriv_core.engine.training import Training
from fairpriv_core.methods.one_release import OneRelease, statistic_shift
from fairpriv_core.methods.rules.thumbnails import shrink_images
from fairpriv_core.notions.cells import LABELS
from fairpriv_core.privacy.sums import on_grid

SCORE_WEIGHT = 2.0  # of intercept and bins, beside features of about 1: what is counted there is what gaps rest on
_RIDGE = 1.0  # of the score, in rows; its features have variance 1
_LEAST_SPREAD = 1e-12  # of a feature that varies


@dataclass(frozen=True)
class PublicFeatures:
    """phi (n, D), every norm at most 1, the bound C that it was divided by, and which column the intercept is."""

    rows: np.ndarray
    bound: float
    intercept: int


def build_features(method: OneRelease, train: Dataset) -> PublicFeatures:
    """Return phi of every row: its features, an intercept and bins of a public score, clipped to C and divided by it.

    Features of an image are its thumbnail. A row that is not finite is 0 and says nothing of its group.
    """
    seen = train if train.image is None else replace(train, X=shrink_images(train.X, train.image), image=None)
    counted = np.concatenate([np.ones((train.n, 1)), _bin_score(seen, method.score_bins)], axis=1)
    rows = np.concatenate([seen.X.astype(np.float64), SCORE_WEIGHT * counted], axis=1)
    rows[~np.isfinite(rows).all(axis=1)] = 0.0
    norms = np.linalg.norm(rows, axis=1)
    bound = float(np.median(norms)) if method.clip is None else method.clip
    rows *= ((1.0 - MARGIN) / np.maximum(norms, bound))[:, None]
    return PublicFeatures(on_grid(rows, 1.0), bound, seen.d)


def release_statistic(
    method: OneRelease, train: Dataset, training: Training, *, features: PublicFeatures
) -> np.ndarray:
    """Release T, flat: the one thing that is read of the sensitive attribute."""
    codes = np.eye(train.groups)[:, first_counted(train.groups) :][train.group]
    sums = [codes[train.y == label].T @ features.rows[train.y == label] for label in range(LABELS)]
    return training.mechanism.gaussian(
        np.stack(sums).ravel(),
        shift=statistic_shift(train.groups),
        noise_multiplier=method.noise(),
        purpose="statistic",
        index=0,
    )


def first_counted(groups: int) -> int:
    """Return the first group that T counts: of two the second alone, since the sum over both is public."""
    return 1 if groups == 2 else 0


def _bin_score(train: Dataset, bins: int) -> np.ndarray:
    """Return one-hot bins (n, bins) of the score of a linear regression of the label on the features: all public."""
    if bins == 1:
        return np.empty((train.n, 0))
    features = np.nan_to_num(train.X.astype(np.float64), posinf=0.0, neginf=0.0)
    features -= features.mean(axis=0)
    features /= np.maximum(features.std(axis=0), _LEAST_SPREAD)
    gram = features.T @ features + _RIDGE * np.eye(train.d)
    score = features @ np.linalg.solve(gram, features.T @ (train.y - train.y.mean()))
    edges = np.quantile(score, np.arange(1, bins) / bins)
    one_hot: np.ndarray = np.eye(bins)[np.searchsorted(edges, score)]
    return one_hot
