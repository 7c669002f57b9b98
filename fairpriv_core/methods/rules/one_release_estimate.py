"""p(a | x, y) from what OneRelease released, and the group means and gaps that follow: post-processing alone."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.optimize import minimize
from scipy.special import logsumexp

from fairpriv_core.methods.one_release import OneRelease, statistic_shift
from fairpriv_core.methods.rules.one_release_statistic import PublicFeatures, first_counted
from fairpriv_core.notions.catalog import notions
from fairpriv_core.notions.cells import LABELS, NO_CELL, Cells
from fairpriv_core.notions.rates import divide, rates_of, sum_rate
from fairpriv_core.privacy import event as events_of
from fairpriv_core.privacy.event import Events

_HOW = {"maxiter": 500, "maxcor": 20, "ftol": 1e-10, "gtol": 1e-3}  # the gradient is in rows
_WEIGHT = 1.0  # a typical weight of a feature, before the features are divided by C


@dataclass(frozen=True)
class Estimate:
    """What is known of the rows' groups after the release.

    `statistic` is the release, flat; `chances` (n, k) are p(a | x_i, y_i); `y` (n,) the labels.
    """

    statistic: np.ndarray
    chances: np.ndarray
    y: np.ndarray

    def sizes(self) -> np.ndarray:
        """Return the estimated numbers of rows by group and label (k, 2)."""
        return np.stack([self.chances[self.y == label].sum(axis=0) for label in range(LABELS)], axis=1)

    def cell_weights(self, cells: Cells) -> np.ndarray:
        """Return the weight of every row in each cell's mean (cells, n); a cell's weights sum to 1."""
        weights = np.zeros((cells.count, len(self.y)))
        for group, of_label in enumerate(cells.of):
            cell = of_label[self.y]
            inside = np.flatnonzero(cell != NO_CELL)
            np.add.at(weights, (cell[inside], inside), self.chances[inside, group])
        scaled: np.ndarray = weights / weights.sum(axis=1, keepdims=True)
        return scaled

    def gaps(self, decided: np.ndarray) -> np.ndarray:
        """Return the gap of decisions (n,) on these rows for each notion; NaN where a group has no such rows."""
        kind = self.y * 2 + decided
        counts: Any = np.stack(
            [np.bincount(kind, weights=chance, minlength=4).reshape(2, 2) for chance in self.chances.T]
        )
        means = ([divide(*sum_rate(rate, counts)) for rate in rates_of(notion)] for notion in notions().values())
        return np.array([np.max([np.ptp(mean) for mean in each]) for each in means])

    def notes(self, events: Events) -> dict[str, object]:
        """Return the release as a record keeps it: `events` count once, however many runs share the statistic."""
        digest = hashlib.sha256(self.statistic.tobytes()).hexdigest()[:16]
        return {"statistic": self.statistic.tolist(), "shared_releases": {digest: events_of.to_json(events)}}


def estimate_groups(
    statistic: np.ndarray, *, method: OneRelease, features: PublicFeatures, y: np.ndarray, groups: int
) -> Estimate:
    """Return the estimate: for each label a multinomial logistic regression whose linear term is the statistic."""
    sums = statistic.reshape(LABELS, -1, features.rows.shape[1])
    noise = method.noise() * statistic_shift(groups)
    chances = np.empty((len(y), groups))
    for label in range(LABELS):
        inside = replace(features, rows=features.rows[y == label])
        scores = inside.rows @ _fit(inside, _complete(sums[label], inside.rows, groups), noise=noise).T
        chances[y == label] = np.exp(scores - logsumexp(scores, axis=1, keepdims=True))
    return Estimate(statistic, chances, y)


def _complete(sums: np.ndarray, rows: np.ndarray, groups: int) -> np.ndarray:
    """Return noisy sums of every group (k, D) that add up to the public sum over everyone."""
    everyone = rows.sum(axis=0)
    if first_counted(groups):
        return np.concatenate([everyone - sums, sums])
    completed: np.ndarray = sums + (everyone - sums.sum(axis=0)) / groups
    return completed


def _fit(features: PublicFeatures, sums: np.ndarray, *, noise: float) -> np.ndarray:
    """Return the weights (k, D) that minimise log-partition - <sums, weights> + ridge.

    The ridge of a coordinate is noise^2 / h over the square of a typical weight, h its curvature at the groups' shares:
    that minimises the squared error of such a weight, and a rare feature, all noise, gets none. L-BFGS in the
    coordinates in which that curvature is the identity.
    """
    rows = features.rows
    shares = np.maximum(sums[:, features.intercept], 1.0)
    shares /= shares.sum()
    gram = rows.T @ rows * float((shares * (1.0 - shares)).mean())
    curvature = np.maximum(np.diag(gram), features.bound**-2)
    ridge = (1.0 + (noise / _WEIGHT) ** 2 / curvature) / features.bound**2
    factor = cholesky(gram + np.diag(ridge), lower=True)
    turned = solve_triangular(factor, rows.T, lower=True).T
    targets = solve_triangular(factor, sums.T, lower=True).T
    penalty = solve_triangular(factor, np.diag(np.sqrt(ridge)), lower=True)
    penalty = penalty @ penalty.T

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        weights = flat.reshape(sums.shape)
        scores = turned @ weights.T
        partition = logsumexp(scores, axis=1, keepdims=True)
        shrunk = weights @ penalty
        value = partition.sum() - (targets * weights).sum() + 0.5 * (shrunk * weights).sum()
        slope = np.exp(scores - partition).T @ turned - targets + shrunk
        return float(value), slope.ravel()

    found = minimize(loss, np.zeros(sums.size), jac=True, method="L-BFGS-B", options=_HOW)
    weights: np.ndarray = solve_triangular(factor, found.x.reshape(sums.shape).T, lower=True, trans="T").T
    return weights
