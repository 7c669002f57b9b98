"""What follows from the release: p(a | x, y) of every row, gaps of decisions, and how far noise may have moved them.

All of it is post-processing of the statistic (group_statistic.py) and of public values.

*The estimate*: for each label, a multinomial logistic regression whose linear term is the statistic.

*Standard errors*: the noise's law is public. Noise of the same law is drawn again, and moves the weights by H^-1 times
itself, H the Hessian of the regression, and every p(a | x, y) in proportion. To first order, the gaps of given
decisions under these estimates deviate as those under the real one do from what no noise would have told.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy.linalg import LinAlgError, cho_solve, cholesky, solve_triangular
from scipy.special import logsumexp

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.networks import find_memory
from fairpriv_core.engine.training import Training
from fairpriv_core.errors import BadInput, RunFailed
from fairpriv_core.methods.cell_counts import require_rows
from fairpriv_core.methods.shared.group_statistic import (
    PublicFeatures,
    Releases,
    build_features,
    first_counted,
    release_statistic,
    statistic_sensitivity,
)
from fairpriv_core.notions.catalog import notions_of_means
from fairpriv_core.notions.cells import LABELS, NO_CELL, Cells
from fairpriv_core.notions.notion import Notion
from fairpriv_core.notions.rates import divide, rates_of, sum_rate
from fairpriv_core.privacy import event as events_of
from fairpriv_core.privacy.event import Events
from fairpriv_core.seeds import public_generator

_HOW = {"maxiter": 500, "maxcor": 20, "ftol": 1e-10, "gtol": 1e-3}  # the gradient is in rows
_WEIGHT = 1.0  # a typical weight of a feature, before the features are divided by C
#: what a run that fails after its release says of it
SPENT = "The sums by group were released, and the run's epsilon is spent."
#: scores (n, k) and their log-partitions (n, 1) -> a number, and its derivative in the scores
Tell = Callable[[np.ndarray, np.ndarray], tuple[float, np.ndarray]]
REDRAWS = 24  # a standard deviation of so many is off by one part in seven
_GIB = 2**30
_COPIES = 3  # of the Hessian, at a time
_MOST_TOLD = 4000  # rows of each label on which redraws are looked at


@dataclass(frozen=True)
class Redraws:
    """What further draws of the noise would have told of the `rows` (m,), a public sample.

    `counted` (REDRAWS, k, m) float32 is p(a | x, y) times how many rows a row stands for.
    """

    rows: np.ndarray
    counted: np.ndarray


@dataclass(frozen=True)
class Estimate:
    """What is known of the rows' groups after the release.

    `statistic` is the release, flat; `probabilities` (n, k) are p(a | x_i, y_i); `y` (n,) the labels. `redraw` makes
    the estimates that further draws of the release's noise would give.
    """

    statistic: np.ndarray
    probabilities: np.ndarray
    y: np.ndarray
    redraw: Callable[[], Redraws]

    @cached_property
    def redraws(self) -> Redraws:
        """What other noise would have told; drawn once."""
        return self.redraw()

    def sizes(self) -> np.ndarray:
        """Return the estimated numbers of rows by group and label (k, 2)."""
        return np.stack([self.probabilities[self.y == label].sum(axis=0) for label in range(LABELS)], axis=1)

    def cell_weights(self, cells: Cells) -> np.ndarray:
        """Return the weight of every row in each cell's mean (cells, n); a cell's weights sum to 1."""
        weights = np.zeros((cells.count, len(self.y)))
        for group, of_label in enumerate(cells.of):
            cell = of_label[self.y]
            inside = np.flatnonzero(cell != NO_CELL)
            np.add.at(weights, (cell[inside], inside), self.probabilities[inside, group])
        scaled: np.ndarray = weights / weights.sum(axis=1, keepdims=True)
        return scaled

    def gaps(self, decided: np.ndarray) -> np.ndarray:
        """Return the gap of decisions on these rows for each notion; NaN where a group has no such rows.

        They are (n,), or (n, k) where they depend on the group.
        """
        counts = _count(self.probabilities.T, self.y, decided)
        by_notion = [rates_of(notion) for notion in notions_of_means().values()]
        return np.array([np.max([np.ptp(divide(*sum_rate(rate, counts))) for rate in rates]) for rates in by_notion])

    def gap_errors(self, decided: np.ndarray) -> np.ndarray:
        """Return the standard error of each of `gaps`: by how much the release's noise alone moves it.

        It is that of the difference between the two groups that are furthest apart. What sampling adds is not in it.
        """
        counts, redrawn = self.count(decided)
        return np.array([measure_furthest(notion, counts, redrawn)[1] for notion in notions_of_means().values()])

    def count(self, decided: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return expected counts by group, label and decision (k, 2, 2), and those of redraws (REDRAWS, k, 2, 2)."""
        rows = self.redraws.rows
        again = np.stack([_count(chances, self.y[rows], decided[rows]) for chances in self.redraws.counted])
        return _count(self.probabilities.T, self.y, decided), again

    def kept(self) -> dict[str, np.ndarray]:
        """Return the release as a checkpoint keeps it: a run that goes on makes none."""
        return {"statistic": self.statistic}

    def notes(self, events: Events) -> dict[str, object]:
        """Return the release as a record keeps it: `events` count once, however many runs share the statistic."""
        digest = hashlib.sha256(self.statistic.tobytes()).hexdigest()[:16]
        return {"statistic": self.statistic.tolist(), "shared_releases": {digest: events_of.to_json(events)}}


def measure_furthest(notion: Notion, counts: np.ndarray, redrawn: Iterable[np.ndarray]) -> tuple[float, float]:
    """Return the gap of `counts` (k, 2, 2), and how far the same two groups' difference spreads in `redrawn`."""
    rates = rates_of(notion)
    means = np.stack([divide(*sum_rate(rate, counts)) for rate in rates])
    gaps = np.ptp(means, axis=1)
    widest = int(gaps.argmax())
    top, bottom = int(means[widest].argmax()), int(means[widest].argmin())
    redraws = np.stack([divide(*sum_rate(rates[widest], table)) for table in redrawn])
    return float(gaps.max()), float((redraws[:, top] - redraws[:, bottom]).std(ddof=1))


def _count(chances: np.ndarray, y: np.ndarray, decided: np.ndarray) -> Any:
    """Return the expected counts (k, 2, 2) over group, label and decision, of chances (k, n) and decisions."""
    columns = decided.T if decided.ndim == 2 else [decided] * len(chances)
    pairs = zip(chances, columns, strict=True)
    return np.stack([np.bincount(y * 2 + own, weights=chance, minlength=4).reshape(2, 2) for chance, own in pairs])


@dataclass(frozen=True)
class Reading:
    """What a fit knows of the groups: the estimate, the public features, and the estimate's `weights` (2, k, D)."""

    estimate: Estimate
    features: PublicFeatures
    weights: np.ndarray


def read_groups(method: Releases, train: Dataset, training: Training, score: np.ndarray | None = None) -> Reading:
    """Return the reading from a known statistic, or from one that is released now; RunFailed for too small a cell.

    `score` (n,) is a public score, if there is one. BadInput, before any release, for more than fits into memory.
    """
    features, statistic = build_features(method, train, score), known_statistic(training)
    require_memory(train.groups, features.rows.shape[1])
    if statistic is None:
        statistic = release_statistic(method, train, training, features=features)
    try:
        reading = estimate_groups(statistic, method=method, features=features, y=train.y, groups=train.groups)
    except (ArithmeticError, ValueError) as error:
        raise RunFailed(f"no group can be estimated from what was released ({error}). {SPENT}") from error
    require_rows(reading.estimate.sizes(), training.notion, train.group_names)
    return reading


def require_memory(groups: int, features: int) -> None:
    """Raise BadInput where the Hessian of all groups' weights, and what it takes to solve with it, has no room."""
    needed, there = _COPIES * 8 * (groups * features) ** 2, find_memory()
    if there is not None and needed > there:
        raise BadInput(
            f"{groups:,} groups times {features:,} features would take about {needed / _GIB:.1f} GiB of memory, and "
            f"{there / _GIB:.1f} GiB are here; merge groups, or take fewer features.",
            field="method",
        )


def known_statistic(training: Training) -> np.ndarray | None:
    """Return the statistic that is released already, or None; `given` is the notes of an earlier fit."""
    source = training.checkpoint if training.checkpoint is not None else training.given
    return None if source is None else np.asarray(source["statistic"])


def name_by_metric(values: np.ndarray) -> dict[str, float | None]:
    """Return one number for each notion by the name of its metric; None where the release tells none."""
    pairs = zip(notions_of_means().values(), values.tolist(), strict=True)
    return {notion.metric: value if np.isfinite(value) else None for notion, value in pairs}


def estimate_groups(
    statistic: np.ndarray, *, method: Releases, features: PublicFeatures, y: np.ndarray, groups: int
) -> Reading:
    """Return the reading of a statistic: for each label a logistic regression whose linear term it is."""
    sums = statistic.reshape(LABELS, -1, features.rows.shape[1])
    noise = method.noise() * statistic_sensitivity(groups)
    fits = [_fit_label(features, y == label, sums[label], groups=groups, noise=noise) for label in range(LABELS)]
    probabilities = np.empty((len(y), groups))
    for label, fit in enumerate(fits):
        inside = y == label
        scores = features.rows[inside] @ fit.weights.T
        probabilities[inside] = np.exp(scores - logsumexp(scores, axis=1, keepdims=True))
    estimate = Estimate(statistic, probabilities, y, lambda: _redraw(fits, noise))
    return Reading(estimate, features, np.stack([fit.weights for fit in fits]))


@dataclass(frozen=True)
class _Fit:
    """A label's logistic regression: its weights (k, D) and the ridge (D,) that they were found with.

    `told` (m,) says on which of all rows redraws are looked at, `rows` (m, D) float32 are their features, each of which
    stands for `stands_for` of the label.
    """

    weights: np.ndarray
    ridge: np.ndarray
    told: np.ndarray
    rows: np.ndarray
    stands_for: float


def _fit_label(features: PublicFeatures, inside: np.ndarray, sums: np.ndarray, *, groups: int, noise: float) -> _Fit:
    rows, members = features.rows[inside], np.flatnonzero(inside)
    completed = add_up_to(rows.sum(axis=0), sums, groups)
    gram, ridge = _weigh(replace(features, rows=rows), completed, noise=noise)
    sample = sample_rows(members)
    own = features.rows[sample].astype(np.float32)
    weights = fit_weights(rows, gram, ridge, linear=completed, tell=_sum_log_partition)
    return _Fit(weights, ridge, sample, own, len(members) / max(len(sample), 1))


def _redraw(fits: list[_Fit], noise: float) -> Redraws:
    """Return the estimates under REDRAWS further draws of the noise, on a public sample of the rows."""
    parts = []
    for label, fit in enumerate(fits):
        chances = np.exp((scores := fit.rows @ fit.weights.T) - logsumexp(scores, axis=1, keepdims=True)).T
        steps = _move_weights(fit, chances, draw_noise(label, fit.weights.shape, noise)) @ fit.rows.T
        moved = chances * (1.0 + steps - (chances * steps).sum(axis=1, keepdims=True))
        parts.append((fit.stands_for * moved).astype(np.float32))
    return Redraws(np.concatenate([fit.told for fit in fits]), np.concatenate(parts, axis=2))


def sample_rows(members: np.ndarray) -> np.ndarray:
    """Return at most _MOST_TOLD of the rows `members`, in order: a public sample."""
    return np.sort(public_generator(0, "rows of redraws").permutation(members)[:_MOST_TOLD])


def draw_noise(label: int, shape: tuple[int, ...], noise: float) -> np.ndarray:
    """Return further draws of the noise of a label's groups' sums (REDRAWS, k, D); they add up to 0 over groups."""
    draw, (groups, features) = public_generator(0, "redraws", label), shape
    first = first_counted(groups)
    noises = noise * draw.normal(size=(REDRAWS, groups - first, features))
    if first:
        return np.concatenate([-noises, noises], axis=1)
    centred: np.ndarray = noises - noises.mean(axis=1, keepdims=True)
    return centred


def _move_weights(fit: _Fit, chances: np.ndarray, noise: np.ndarray) -> np.ndarray:
    """Return by how much each noise (REDRAWS, k, D) moves the weights; `chances` (k, m) are the fit's."""
    groups, features = fit.weights.shape
    hessian = np.empty((groups, features, groups, features))
    for one in range(groups):
        for other in range(one + 1):
            curvature = fit.stands_for * chances[one] * ((one == other) - chances[other])
            block = (fit.rows * curvature[:, None]).T @ fit.rows
            hessian[one, :, other], hessian[other, :, one] = block, block
        hessian[one, :, one] += np.diag(fit.ridge)
    factor = factorise(hessian.reshape(groups * features, -1))
    steps: np.ndarray = cho_solve((factor, True), noise.reshape(len(noise), -1).T).T.reshape(noise.shape)
    return steps


def factorise(matrix: np.ndarray) -> np.ndarray:
    """Return the lower Cholesky factor of a matrix that is positive definite but for rounding.

    Its ridge may be lost beside large curvatures, or lie below what is known of them; then the diagonal grows until
    there is a factor: what was released is spent, and has to be used.
    """
    more = max(np.finfo(np.float64).eps * float(np.trace(matrix)), np.finfo(np.float64).tiny)
    while True:
        try:
            factor: np.ndarray = cholesky(matrix, lower=True)
            return factor
        except LinAlgError:
            matrix = matrix + more * np.eye(len(matrix))
            more *= 10.0


def add_up_to(everyone: np.ndarray, sums: np.ndarray, groups: int) -> np.ndarray:
    """Return noisy sums of every group (k, D) that add up to the public sum over `everyone` (D,)."""
    if first_counted(groups):
        return np.concatenate([everyone - sums, sums])
    completed: np.ndarray = sums + (everyone - sums.sum(axis=0)) / groups
    return completed


def _weigh(features: PublicFeatures, sums: np.ndarray, *, noise: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the curvature (D, D) of the log-partition at the groups' shares, and the ridge (D,) of each coordinate.

    The ridge is noise^2 / h over the square of a typical weight, h the coordinate's curvature: that minimises the
    squared error of such a weight, and a rare feature, all noise, gets none.
    """
    rows = features.rows
    shares = np.maximum(sums[:, features.intercept], 1.0)
    shares /= shares.sum()
    gram = rows.T @ rows * float((shares * (1.0 - shares)).mean())
    curvature = np.maximum(np.diag(gram), features.bound**-2)
    return gram, (1.0 + (noise / _WEIGHT) ** 2 / curvature) / features.bound**2


def _sum_log_partition(scores: np.ndarray, partition: np.ndarray) -> tuple[float, np.ndarray]:
    """Return the log-partition of all rows and its derivative (n, k) in the scores."""
    return float(partition.sum()), np.exp(scores - partition)


def fit_weights(rows: np.ndarray, gram: np.ndarray, ridge: np.ndarray, *, linear: np.ndarray, tell: Tell) -> np.ndarray:
    """Return the weights (k, D) that minimise what scores `tell` - <linear, weights> + ridge; `linear` is (k, D).

    L-BFGS in the coordinates in which the curvature `gram` and `ridge` are the identity.
    """
    from scipy.optimize import minimize

    factor = factorise(gram + np.diag(ridge))
    turned = solve_triangular(factor, rows.T, lower=True).T
    targets = solve_triangular(factor, linear.T, lower=True).T
    penalty = solve_triangular(factor, np.diag(np.sqrt(ridge)), lower=True)
    penalty = penalty @ penalty.T

    def loss(flat: np.ndarray) -> tuple[float, np.ndarray]:
        weights = flat.reshape(linear.shape)
        scores = turned @ weights.T
        value_of_scores, slope = tell(scores, logsumexp(scores, axis=1, keepdims=True))
        shrunk = weights @ penalty
        value = value_of_scores - (targets * weights).sum() + 0.5 * (shrunk * weights).sum()
        return float(value), (slope.T @ turned - targets + shrunk).ravel()

    solution = minimize(loss, np.zeros(linear.size), jac=True, method="L-BFGS-B", options=_HOW)
    weights: np.ndarray = solve_triangular(factor, solution.x.reshape(linear.shape).T, lower=True, trans="T").T
    return weights
