"""The one thing that is read of the sensitive attribute: a noisy sum of public features by group and label.

phi_i are a row's public features in the unit ball, y_i its label, e(a_i) its group's code: a_i itself for two groups,
one-hot for more. Released is T = sum_i e(a_i) (x) onehot(y_i) (x) phi_i, in float64, by the Gaussian mechanism. It is
crossed with the label, so that what one notion was released for serves every other as well.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.corrected import SCORE_WEIGHT, shorten, stack_features
from fairpriv_core.engine.training import Training
from fairpriv_core.errors import BadInput
from fairpriv_core.methods.shared.releases import Release
from fairpriv_core.methods.shared.thumbnails import shrink_images
from fairpriv_core.notions.cells import LABELS
from fairpriv_core.privacy.sums import on_grid

_RIDGE = 1.0  # of the score, in rows; its features have variance 1
_LEAST_BOUND = 1e-100  # and at most one over it: its square is still a number
_MEASURED = 10_000  # rows: before launch their median length is near enough to that of all
_LEAST_SPREAD = 1e-12  # of a feature that varies


class Describes(Protocol):
    """The hyper-parameters of the public features that a group is estimated by."""

    @property
    def score_bins(self) -> int: ...
    @property
    def clip(self) -> float | None: ...


class Releases(Describes, Protocol):
    """A method that declares one release, the statistic, and its hyper-parameters."""

    def noise(self) -> float:
        """Return the noise multiplier of the statistic."""

    def releases(self, n_train: int, groups: int) -> tuple[Release, ...]:
        """Return what is released."""

    def release(self, name: str, value: np.ndarray, train: Dataset, training: Training) -> np.ndarray:
        """Release `value` as what is declared as `name`."""


@dataclass(frozen=True)
class PublicFeatures:
    """phi (n, D), every norm at most 1, the bound C that it was divided by, and which column the intercept is.

    `edges` (bins - 1,) are those between the bins of the score.
    """

    rows: np.ndarray
    bound: float
    intercept: int
    edges: np.ndarray


def build_features(method: Describes, train: Dataset, score: np.ndarray | None = None) -> PublicFeatures:
    """Return phi of every row: its features, an intercept and bins of a public score, clipped to C and divided by it.

    The bins are of `score` (n,), or of a linear regression of the label on the features. Features of an image are its
    thumbnail. A row that is not finite is 0 and says nothing of its group. BadInput for a C of no usable size.
    """
    seen = train if train.image is None else replace(train, X=shrink_images(train.X, train.image), image=None)
    edges, bins = bin_score(seen, method.score_bins, score)
    rows = stack_features(seen.X, bins, method.score_bins)
    bound = float(np.median(np.linalg.norm(rows, axis=1))) if method.clip is None else method.clip
    if not _LEAST_BOUND < bound < 1.0 / _LEAST_BOUND:
        raise BadInput(
            f"the features are cut at a length of {bound:g}, which cannot be computed with; scale them, or set clip.",
            field="clip",
        )
    return PublicFeatures(on_grid(shorten(rows, bound), 1.0), bound, seen.d, edges)


def count_noise(method: Describes, data: Dataset) -> float:
    """Return how far noise of deviation 1 in T moves a group's number of decisions 1 with one label, half being 1.

    Decisions are taken as given by the bins of the score, each of which has a weight of 2 beside a bound of C.
    """
    rows = data.X[:_MEASURED].astype(np.float64)
    lengths = np.sqrt(np.square(rows).sum(axis=1) + SCORE_WEIGHT**2 * min(method.score_bins, 2))
    bound = float(np.median(lengths)) if method.clip is None else method.clip
    return bound / SCORE_WEIGHT * math.sqrt(method.score_bins / 4.0)


def release_statistic(method: Releases, train: Dataset, training: Training, *, features: PublicFeatures) -> np.ndarray:
    """Release T, flat: the one thing that is read of the sensitive attribute."""
    codes = np.eye(train.groups)[:, first_counted(train.groups) :][train.group]
    sums = [codes[train.y == label].T @ features.rows[train.y == label] for label in range(LABELS)]
    (only,) = method.releases(train.n, train.groups)
    return method.release(only.name, np.stack(sums).ravel(), train, training)


def first_counted(groups: int) -> int:
    """Return the first group that T counts: of two the second alone, since the sum over both is public."""
    return 1 if groups == 2 else 0


def bin_score(train: Dataset, bins: int, score: np.ndarray | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Return the edges (bins - 1,) between equally full bins of the score, and each row's bin (n,): all public."""
    if bins == 1:
        return np.empty(0), np.zeros(train.n, dtype=np.int64)
    values = _score_linearly(train) if score is None else score
    edges = np.quantile(values, np.arange(1, bins) / bins)
    if score is not None:
        edges = edges.astype(np.float32).astype(np.float64)  # as a model stores them
    return edges, np.searchsorted(edges, values)


def _score_linearly(train: Dataset) -> np.ndarray:
    """Return the score (n,) of a linear regression of the label on the features."""
    features = np.nan_to_num(train.X.astype(np.float64), posinf=0.0, neginf=0.0)
    features -= features.mean(axis=0)
    features /= np.maximum(features.std(axis=0), _LEAST_SPREAD)
    gram = features.T @ features + _RIDGE * np.eye(train.d)
    score: np.ndarray = features @ np.linalg.solve(gram, features.T @ (train.y - train.y.mean()))
    return score


def statistic_sensitivity(groups: int) -> float:
    """Return how far one person moves the statistic in L2, their features having norm 1 at most.

    Of two groups one is counted; of more, each, and a person leaves one sum and joins another.
    """
    return 1.0 if groups == 2 else math.sqrt(2.0)
