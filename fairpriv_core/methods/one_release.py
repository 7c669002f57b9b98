"""OneRelease: the sensitive attribute is read once, into a noisy statistic; all that follows is post-processing.

Where features and labels are public, all that a logistic regression of the attribute on them reads of the attribute is
the sum of its one-hot code times the features. That sum is released once, by the Gaussian mechanism. From it follows
p(a | x, y), from that every group mean that a notion needs, and so fair training (docs/methods/one_release.md).

Notation. phi_i are a record's public features in the unit ball, y_i its label, e(a_i) its group's code: a_i itself for
two groups, one-hot for more. Released is T = sum_i e(a_i) (x) onehot(y_i) (x) phi_i: crossed with the label, so that
notions among the people of one label are served as well. All in float64.

Cell i's mean of h is sum_z w_zi h_z, w_zi proportional to the estimated chance that record z is in cell i.
h is the chance p of the decision 1 that the model gives; where the notion compares errors, the chance to be wrong.
Training minimises J + sum_i lambda_i mean_i; the multipliers of the cells among the same people sum to 0. They follow
the means of hard decisions, so that what is reported is what is driven to the gap aimed at.

Of an image phi_i is a thumbnail: a logistic regression of the attribute on all pixels would be mostly noise. Under
noise the means over 12 x 12 blocks tell race better than histograms of oriented gradients do, and gender as well
(docs/methods/one_release.md).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any, ClassVar, Self

import numpy as np
from scipy.linalg import cholesky, solve_triangular
from scipy.special import logsumexp

from fairpriv_core import checks
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.clipping import MARGIN
from fairpriv_core.engine.kernel import Kernel
from fairpriv_core.engine.rows import Feed, Indices, Records, count_streams
from fairpriv_core.engine.training import Fitted, Training
from fairpriv_core.methods import fields
from fairpriv_core.methods.base import FitsMany, MethodInfo, Style, parameter
from fairpriv_core.methods.cell_counts import require_rows
from fairpriv_core.methods.none import PlainRule
from fairpriv_core.methods.setting import Setting
from fairpriv_core.notions.catalog import notions
from fairpriv_core.notions.cells import LABELS, NO_CELL, Cells
from fairpriv_core.notions.rates import divide, rates_of, sum_rate
from fairpriv_core.notions.surrogates import derivative
from fairpriv_core.privacy import event as events_of
from fairpriv_core.privacy.calibrate import calibrate
from fairpriv_core.privacy.event import Events, Gaussian
from fairpriv_core.privacy.sums import on_grid

SCORE_WEIGHT = 2.0  # of intercept and bins, beside features of about 1: what is counted there is what gaps rest on
_RIDGE = 1.0  # of the score, in rows; its features have variance 1
_LEAST_SPREAD = 1e-12  # of a feature that varies
_HOW = {"maxiter": 500, "maxcor": 20, "ftol": 1e-10, "gtol": 1e-3}  # the gradient is in rows
_WEIGHT = 1.0  # a typical weight of a feature, before the features are divided by C
SIDE = 12
NAME = f"thumbnail: brightness of {SIDE} x {SIDE} blocks"
_MIDDLE = 0.5  # of a pixel's range: what all images have in common would take up room within the norm
_NUMBERS = 2**22  # values of images at once


@dataclass(frozen=True)
class OneRelease(FitsMany):
    """Hyper-parameters of OneRelease."""

    info: ClassVar[MethodInfo] = MethodInfo(
        name="one_release",
        title="OneRelease",
        style=Style("ink", "solid", "star"),
        summary="Reads the sensitive attribute once, with noise, and pursues the chosen notion on the estimate.",
        citation="this project; the release is the analytic Gaussian mechanism (Balle and Wang, 2018)",
        threat_model="attribute",
        notions=tuple(notions()),
        variants=("proved",),
        calibrates="noise_statistic",
        reuses=("score_bins", "clip", "noise_statistic"),
    )

    epochs: int = fields.epochs(20)
    batch_size: int = fields.batch_size(256)
    learning_rate: float = fields.learning_rate(0.002)
    optimizer: str = fields.optimizer("adam")
    hidden_layers: int = fields.hidden_layers(0)
    width: int = fields.width(64)
    network: str = fields.network()
    gap_target: float = parameter(
        0.04,
        "Gap aimed at",
        "Largest difference between any two groups, on the training rows as far as the release tells. It binds where "
        "the plain model's is larger.",
        low=0.0,
        high=1.0,
        log=True,
        fairer="less",
    )
    multiplier_max: float = fields.multiplier_max(5.0)
    dual_step: float = fields.dual_step(2.0)
    averaged: float = fields.averaged("epochs", 0.3)
    score_bins: int = parameter(
        10,
        "Bins of the score",
        "The attribute is also counted within this many equally full bins of a model of the label; 1 is none.",
        low=1,
        high=100,
        expert=True,
    )
    clip: float | None = parameter(
        None,
        "Clipping bound C",
        "Largest norm that a record's features may have in the statistic; longer ones are scaled down. Empty: the "
        "median norm, which is public.",
        low=0.001,
        high=1000.0,
        log=True,
        expert=True,
    )
    noise_statistic: float | None = fields.noise_multiplier("Noise of the statistic", "the statistic's shift")

    def __post_init__(self) -> None:
        fields.check_network(self)
        checks.unit(gap_target=self.gap_target, averaged=self.averaged)
        checks.not_negative(multiplier_max=self.multiplier_max)
        checks.positive(dual_step=self.dual_step)
        checks.whole(low=1, high=100, score_bins=self.score_bins)
        if self.clip is not None:
            checks.positive(clip=self.clip)
        if self.noise_statistic is not None:
            checks.not_negative(noise_statistic=self.noise_statistic)

    def noise(self) -> float:
        """The noise multiplier of the statistic; BadInput before calibration."""
        return fields.known_noise(noise_statistic=self.noise_statistic)

    def first_averaged(self) -> int:
        """The first epoch, from 0, whose parameters count in the model."""
        return self.epochs - max(1, round(self.averaged * self.epochs))

    def idle_reason(self) -> str | None:
        """Why thresholds stay where they are; None where they move."""
        return fields.say_idle({"multiplier_max": self.multiplier_max})

    def steps(self, n_train: int) -> int:
        """Return epochs times batches an epoch."""
        return fields.count_steps(self, n_train)

    def event(self, n_train: int) -> Events:
        """Return the one release, whatever the training after it."""
        return (Gaussian(self.noise()),)

    def sensitivities(self, n_train: int, groups: int) -> dict[str, float]:
        """Return the statistic's shift over C: features are divided by C before they are summed."""
        return {"statistic": statistic_sensitivity(groups)}

    def published_epsilon(self, n_train: int, delta: float) -> float | None:
        """No paper makes a claim."""
        return None

    def calibrated(self, *, epsilon: float, delta: float, n_train: int) -> Self:
        """Return a copy whose noise meets `epsilon`."""
        if self.noise_statistic is not None:
            return self
        noise = calibrate(lambda noise: (Gaussian(noise),), epsilon=epsilon, delta=delta)
        return replace(self, noise_statistic=noise)

    def unproved_reason(self) -> str | None:
        """Epsilon is proved."""
        return None

    def assumptions(self) -> tuple[str, ...]:
        """What epsilon takes as given."""
        return (
            *fields.ATTRIBUTE_ASSUMED,
            fields.chosen_on("splits of Adult, Bank and Credit default"),
        )

    @classmethod
    def fit_many(
        cls, methods: Sequence[Self], trains: Sequence[Dataset], trainings: Sequence[Training]
    ) -> list[Fitted]:
        """Train K models in one loop; RunFailed where a group has too few estimated rows or training diverges."""

        setting = Setting(methods, trains, trainings)
        known: dict[tuple[object, ...], Estimate] = {}  # models that are given one release share what follows from it
        each = zip(methods, trains, trainings, strict=True)
        return setting.run(OneReleaseRule(setting, [_share_estimate(*one, known=known) for one in each]))


def statistic_sensitivity(groups: int) -> float:
    """Return how far one person moves the statistic in L2, their features having norm 1 at most.

    Of two groups one is counted; of more, each, and a person leaves one sum and joins another.
    """
    return 1.0 if groups == 2 else math.sqrt(2.0)


@dataclass(frozen=True)
class _Tables:
    """What follows of an estimate: the cells' `weights` w (cells, n), and the `factors` n w dh/dp of dp (n, cells)."""

    weights: np.ndarray
    factors: np.ndarray


class OneReleaseRule(PlainRule):
    """Public batches alone, weighted by what was estimated for each of the K models."""

    def __init__(self, setting: Setting[OneRelease], estimates: Sequence[Estimate]) -> None:
        super().__init__(setting)
        self._cells = setting.cells
        self._estimates = estimates
        unlike = {id(estimate): estimate for estimate in estimates}
        tables = {name: self._tables(estimate) for name, estimate in unlike.items()}
        self._each = [tables[id(estimate)] for estimate in estimates]
        self._multipliers = np.zeros((len(estimates), self._cells.count))
        self._gaps = np.full((len(estimates), len(notions())), np.nan)
        self._means = np.zeros((len(estimates), setting.shape.size))
        self._batches: list[Indices] = []
        self._step = 0

    def samples(self, epoch: int, batches: list[Indices]) -> list[Indices] | None:
        self._batches = batches
        return None

    def public_weights(self, records: Records) -> np.ndarray:
        drawn = self._batches[self._step % len(self._batches)]
        self._step += 1
        weights = derivative("score", records.probability, records.label)
        weights *= self._factors(drawn)
        weights += records.deviation
        weights /= np.float32(records.count)
        return weights

    def _tables(self, estimate: Estimate) -> _Tables:
        weights = estimate.cell_weights(self._cells)
        signs = 1.0 - 2.0 * estimate.y if self.setting.target == "loss" else 1.0
        factors = np.ascontiguousarray((self.setting.n * weights * signs).T, dtype=np.float32)
        return _Tables(weights.astype(np.float32), factors)

    def _factors(self, drawn: Indices) -> np.ndarray:
        """Return each drawn record's factor of dp, p the chance of a 1: n sum_i lambda_i w_zi dh/dp, (K, B).

        It is for the mean over a batch. Where the notion compares errors, dh/dp is -1 for label 1.
        """
        multipliers, models = self._multipliers.astype(np.float32), len(self._each) // len(drawn)
        parts, first = [], 0
        for (stream, _), alike in groupby(enumerate(self._each), lambda pair: (pair[0] // models, id(pair[1]))):
            after = first + len(list(alike))
            rows = self._each[first].factors.take(drawn[stream], axis=0)
            parts.append(multipliers[first:after] @ rows.T)
            first = after
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def end_epoch(self, epoch: int, kernel: Kernel, feed: Feed) -> None:
        last = epoch + 1 == self.setting.methods[0].epochs
        for k, method in enumerate(self.setting.methods):
            parameters = kernel.parameters[k]
            counted = epoch - method.first_averaged()
            if counted >= 0:
                self._means[k] += (parameters - self._means[k]) / (counted + 1)
            if last:
                parameters[:] = self._means[k]
        for k, decided in enumerate(self._decide(kernel, feed)):
            if last or self.setting.trainings[k].observer.watches:
                self._gaps[k] = self._estimates[k].gaps(decided)
            if not last:  # multipliers after the last epoch would change nothing
                self._take_dual_step(k, decided)

    def _decide(self, kernel: Kernel, feed: Feed) -> Iterator[np.ndarray]:
        """Yield each model's decisions on its training rows (n,), at once for models of one data set."""
        alike = count_streams([id(columns) for columns in feed.columns])
        models = len(feed.columns) // alike
        for first in range(0, len(feed.columns), models):
            yield from kernel.score(slice(first, first + models), feed.columns[first].features) > 0

    def scalars(self, model: int) -> dict[str, float]:
        curves = self._cells.name_curves(multiplier=self._multipliers[model])
        return {
            **curves,
            **{f"released/{name}": gap for name, gap in self._name_gaps(model).items() if gap is not None},
        }

    def notes(self, model: int) -> dict[str, object]:
        return {
            "multipliers": dict(zip(self._cells.names, self._multipliers[model].tolist(), strict=True)),
            "released_gaps": self._name_gaps(model),
            **({} if self.setting.trains[model].image is None else {"statistic_of": NAME}),
            **self._estimates[model].notes(self.setting.methods[model].event(self.setting.n)),
        }

    def state(self, model: int) -> dict[str, np.ndarray]:
        return {
            "multipliers": self._multipliers[model].copy(),
            "mean_parameters": self._means[model].copy(),
            "gaps": self._gaps[model].copy(),
            "statistic": self._estimates[model].statistic.copy(),
            "taken": np.array(self._step),
        }

    def load(self, model: int, state: Mapping[str, np.ndarray]) -> None:
        self._multipliers[model] = state["multipliers"]
        self._means[model] = state["mean_parameters"]
        self._gaps[model] = state["gaps"]
        self._step = int(state["taken"])

    def _take_dual_step(self, k: int, decided: np.ndarray) -> None:
        wrong = decided != (self._estimates[k].y == 1)
        counted = wrong if self.setting.target == "loss" else decided
        means = (self._each[k].weights @ counted.astype(np.float32)).astype(np.float64)
        self._multipliers[k] = move_multipliers(
            self._multipliers[k], means, among=self._cells.label, method=self.setting.methods[k]
        )

    def _name_gaps(self, model: int) -> dict[str, float | None]:
        """Return the gap of each notion by the name of its metric; None where the release tells none."""
        known = zip(notions().values(), self._gaps[model].tolist(), strict=True)
        return {notion.metric: gap if np.isfinite(gap) else None for notion, gap in known}


def move_multipliers(
    multipliers: np.ndarray, means: np.ndarray, *, among: np.ndarray, method: OneRelease
) -> np.ndarray:
    """Return the multipliers (cells,) after a dual step on the cells' means (cells,).

    For each `among` (cells,), the people that a cell is among: above the gap aimed at, the highest mean's multiplier
    rises and the lowest's falls by dual_step times the excess; below it all of them shrink towards 0 by as much. None
    leaves +-multiplier_max.
    """
    moved = multipliers.copy()
    for people in np.unique(among):
        cells = np.flatnonzero(among == people)
        top, bottom = cells[means[cells].argmax()], cells[means[cells].argmin()]
        step = method.dual_step * (means[top] - means[bottom] - method.gap_target)
        size = np.abs(moved[cells]).max()
        if step > 0:
            moved[top] += step
            moved[bottom] -= step
        elif size > 0:
            moved[cells] *= max(0.0, 1.0 + step / size)
        size = np.abs(moved[cells]).max()
        if size > method.multiplier_max:
            moved[cells] *= method.multiplier_max / size
    return moved


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
        sensitivity=statistic_sensitivity(train.groups),
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


@dataclass(frozen=True)
class Estimate:
    """What is known of the rows' groups after the release.

    `statistic` is the release, flat; `probabilities` (n, k) are p(a | x_i, y_i); `y` (n,) the labels.
    """

    statistic: np.ndarray
    probabilities: np.ndarray
    y: np.ndarray

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
        """Return the gap of decisions (n,) on these rows for each notion; NaN where a group has no such rows."""
        kind = self.y * 2 + decided
        counts: Any = np.stack(
            [np.bincount(kind, weights=chance, minlength=4).reshape(2, 2) for chance in self.probabilities.T]
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
    noise = method.noise() * statistic_sensitivity(groups)
    probabilities = np.empty((len(y), groups))
    for label in range(LABELS):
        inside = replace(features, rows=features.rows[y == label])
        scores = inside.rows @ _fit(inside, _complete(sums[label], inside.rows, groups), noise=noise).T
        probabilities[y == label] = np.exp(scores - logsumexp(scores, axis=1, keepdims=True))
    return Estimate(statistic, probabilities, y)


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
    from scipy.optimize import minimize

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
        derivative = np.exp(scores - partition).T @ turned - targets + shrunk
        return float(value), derivative.ravel()

    found = minimize(loss, np.zeros(sums.size), jac=True, method="L-BFGS-B", options=_HOW)
    weights: np.ndarray = solve_triangular(factor, found.x.reshape(sums.shape).T, lower=True, trans="T").T
    return weights


def shrink_images(rows: np.ndarray, image: tuple[int, int, int]) -> np.ndarray:
    """Return the thumbnails (n, 144), less one half, float64, of images (n, c h w); smaller ones keep their pixels.

    What is not finite in an image is not finite in its thumbnail.
    """
    down, across = (_average(length) for length in image[1:])
    found = np.empty((len(rows), len(down) * len(across)))
    size = max(_NUMBERS // rows.shape[1], 1)
    with np.errstate(invalid="ignore"):
        for start in range(0, len(rows), size):
            grey = rows[start : start + size].reshape(-1, *image).mean(axis=1, dtype=np.float64)
            found[start : start + size] = (down @ grey @ across.T).reshape(len(grey), -1) - _MIDDLE
    return found


def _average(length: int) -> np.ndarray:
    """Return the means over blocks of `length` pixels, as a matrix (blocks, length)."""
    blocks = min(SIDE, length)
    inside = np.arange(length) * blocks // length == np.arange(blocks)[:, None]
    means: np.ndarray = inside / inside.sum(axis=1, keepdims=True)
    return means


def _share_estimate(
    method: OneRelease, train: Dataset, training: Training, *, known: dict[tuple[object, ...], Estimate]
) -> Estimate:
    statistic = _known_statistic(training)
    if statistic is None:
        return _estimate(method, train, training)
    name = (id(train), statistic.tobytes(), *(getattr(method, field) for field in method.info.reuses))
    if name not in known:
        known[name] = _estimate(method, train, training)
    return known[name]


def _known_statistic(training: Training) -> np.ndarray | None:
    """Return the statistic that is released already, or None; `given` is the notes of an earlier fit."""
    held = training.checkpoint if training.checkpoint is not None else training.given
    return None if held is None else np.asarray(held["statistic"])


def _estimate(method: OneRelease, train: Dataset, training: Training) -> Estimate:
    """Return the estimate from a known statistic, or from one that is released now; RunFailed for too small a cell."""
    method.steps(train.n)  # what is wrong with the settings is said before anything is released
    features, statistic = build_features(method, train), _known_statistic(training)
    if statistic is None:
        statistic = release_statistic(method, train, training, features=features)
    estimate = estimate_groups(statistic, method=method, features=features, y=train.y, groups=train.groups)
    require_rows(estimate.sizes(), training.notion, train.group_names)
    return estimate
