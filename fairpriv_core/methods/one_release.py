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
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import ClassVar, Self

import numpy as np

from fairpriv_core import checks
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.kernel import Kernel
from fairpriv_core.engine.loop import Stateful
from fairpriv_core.engine.networks import MLP
from fairpriv_core.engine.rows import Feed, Indices, Records, count_streams
from fairpriv_core.engine.training import Fitted, Training
from fairpriv_core.errors import BadInput, RunFailed
from fairpriv_core.methods import fields
from fairpriv_core.methods.base import FitsMany, LeastGap, MethodInfo, Style, parameter
from fairpriv_core.methods.none import PlainRule
from fairpriv_core.methods.shared.corrected_score import fit_corrected
from fairpriv_core.methods.shared.gap_bound import least_bound
from fairpriv_core.methods.shared.group_estimate import SPENT, Estimate, known_statistic, name_by_metric, read_groups
from fairpriv_core.methods.shared.group_statistic import count_noise, statistic_sensitivity
from fairpriv_core.methods.shared.public_score import AUTOMATIC, BOOSTED, LINEAR, fit_score
from fairpriv_core.methods.shared.releases import Private, Release, check_noises
from fairpriv_core.methods.shared.setting import Setting
from fairpriv_core.methods.shared.thumbnails import NAME
from fairpriv_core.notions.catalog import notions_of_means
from fairpriv_core.notions.cells import LABELS
from fairpriv_core.notions.notion import Notion
from fairpriv_core.notions.surrogates import derivative

NETWORK = "network"
LEARNERS = (NETWORK, LINEAR, BOOSTED, AUTOMATIC)
GAP, BOUND = AIMS = ("gap", "bound")


@dataclass(frozen=True)
class OneRelease(Private, FitsMany):
    """Hyper-parameters of OneRelease."""

    info: ClassVar[MethodInfo] = MethodInfo(
        name="one_release",
        title="OneRelease",
        style=Style("ink", "solid", "star"),
        summary="Reads the sensitive attribute once, with noise, and pursues the chosen notion on the estimate.",
        citation="this project; the release is the analytic Gaussian mechanism (Balle and Wang, 2018)",
        threat_model="attribute",
        source="ours",
        pursued=("decisions", "errors"),
        variants=("proved",),
        calibrates="noise_statistic",
        reuses=("learner", "score_bins", "clip", "noise_statistic"),
        weighs_rows=True,
    )
    FOUND_ON: ClassVar[str] = "splits of Adult, Bank and Credit default"

    learner: str = parameter(
        NETWORK,
        "Learner",
        "network: trained for accuracy and gap together, hidden layers and width as set, 0 of them is logistic "
        "regression. linear, boosted: a score of features and labels (logistic regression, boosted trees), whose "
        "decisions are moved afterwards; what sets a network does not apply. automatic: the one of these two that "
        "predicts held-out labels better, which are public.",
        choices=LEARNERS,
    )
    epochs: int = fields.shared("epochs")
    batch_size: int = fields.shared("batch_size")
    learning_rate: float = fields.shared("learning_rate", 0.002)
    optimizer: str = fields.shared("optimizer")
    hidden_layers: int = fields.shared("hidden_layers")
    width: int = fields.shared("width")
    network: str = fields.shared("network")
    gap_target: float = parameter(
        0.04,
        "Gap aimed at",
        "Largest difference between any two groups, on the training rows as far as the release shows. It binds where "
        "the plain model's is larger.",
        low=0.0,
        high=1.0,
        log=True,
        fairer="less",
    )
    aim: str = parameter(
        GAP,
        "Aim",
        "gap: the gap as the release tells it is kept within what is asked. bound: an estimated bound of it, by the "
        "noise of the release and the draw of the rows. With small groups or much noise it fails often. There it moves "
        f"decisions towards one answer for all. It takes a learner other than {NETWORK}.",
        choices=AIMS,
    )
    multiplier_max: float = fields.shared("multiplier_max")
    dual_step: float = fields.shared("dual_step", 2.0)
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
        checks.one_of(LEARNERS, learner=self.learner)
        if self.learner != NETWORK and self.network != MLP:
            raise BadInput(
                f"learner must be {NETWORK} for network {self.network}, got {self.learner}.", field="learner"
            )
        checks.one_of(AIMS, aim=self.aim)
        if self.aims_at_bound and self.learner == NETWORK:
            raise BadInput(
                f"aim must be {GAP} for learner {NETWORK}, got {self.aim}: take {LINEAR}, {BOOSTED} or {AUTOMATIC}.",
                field="aim",
            )
        checks.unit(gap_target=self.gap_target, averaged=self.averaged)
        checks.not_negative(multiplier_max=self.multiplier_max)
        checks.positive(dual_step=self.dual_step)
        checks.whole(low=1, high=100, score_bins=self.score_bins)
        if self.clip is not None:
            checks.positive(clip=self.clip)
        check_noises(self)

    @property
    def aims_at_bound(self) -> bool:
        """Whether a bound of the gap is held against the target, and not the gap that is told."""
        return self.aim == BOUND

    def least_gap(self, notion: Notion, data: Dataset, n_train: int) -> LeastGap | None:
        """Return the least gap that the release can show; None where that is not known."""
        if data.image is not None or data.labels != LABELS or not notion.is_of_means:
            return None
        if len(np.unique(data.y)) < LABELS:
            return None
        noise = self.noise() * statistic_sensitivity(data.groups) * count_noise(self, data)
        return least_bound(notion, labels=data.y, n_train=n_train, groups=data.groups, rows_of_noise=noise)

    def first_averaged(self) -> int:
        """The first epoch, from 0, whose parameters count in the model."""
        return self.epochs - max(1, round(self.averaged * self.epochs))

    def idle_reason(self) -> str | None:
        """Why thresholds stay where they are; None where they move."""
        return fields.format_idle({"multiplier_max": self.multiplier_max})

    def steps(self, n_train: int) -> int:
        """Return epochs times batches an epoch; a score's decisions are moved in one step."""
        return 1 if self.learner != NETWORK else fields.count_steps(self, n_train)

    def releases(self, n_train: int, groups: int) -> tuple[Release, ...]:
        """The one release, whatever the training after it: features are divided by C before they are summed."""
        return (Release("statistic", statistic_sensitivity(groups), "noise_statistic"),)

    def count_deviation(self) -> float | None:
        """Sizes are estimated from the statistic."""
        return 0.0

    @classmethod
    def fit_many(
        cls, methods: Sequence[Self], trains: Sequence[Dataset], trainings: Sequence[Training]
    ) -> list[Fitted]:
        """Train K models, networks in one loop; RunFailed where a group has too few estimated rows or one diverges."""
        fits = list(zip(methods, trains, trainings, strict=True))
        scored = [place for place, fit in enumerate(fits) if fit[0].learner != NETWORK]
        models = dict(zip(scored, _fit_scored([fits[place] for place in scored]), strict=True))
        looped = [place for place in range(len(fits)) if place not in models]
        if looped:
            models.update(zip(looped, _fit_networks([fits[place] for place in looped]), strict=True))
        return [models[place] for place in range(len(fits))]


_One = tuple[OneRelease, Dataset, Training]


def _fit_scored(fits: Sequence[_One]) -> list[Fitted]:
    """Return models whose score is moved."""
    models = []
    for method, train, training in fits:
        method.noise()  # what is missing is said before a score is fitted
        if train.weight is not None:
            raise BadInput(
                f"learner must be {NETWORK} where rows have weights, got {method.learner}: the thresholds of a score "
                "are set by counts of rows.",
                field="learner",
            )
        score = fit_score(method.learner, train, seed=training.seed)
        models.append(fit_corrected(method, train, training, score))
    return models


def _fit_networks(fits: Sequence[_One]) -> list[Fitted]:
    """Return networks that are trained in one loop."""
    methods, trains, trainings = zip(*fits, strict=True)
    setting = Setting(methods, trains, trainings)
    estimates: dict[tuple[object, ...], Estimate] = {}  # models that are given one release share what follows from it
    rule = OneReleaseRule(setting, [_share_estimate(*fit, known=estimates) for fit in fits])
    try:
        return setting.run(rule)
    except RunFailed as error:
        raise RunFailed(f"{error} {SPENT}") from error


def _share_estimate(
    method: OneRelease, train: Dataset, training: Training, *, known: dict[tuple[object, ...], Estimate]
) -> Estimate:
    method.steps(train.n)  # what is wrong with the settings, or the features, is said before anything is released
    if not np.isfinite(train.X.sum(dtype=np.float64)):
        raise BadInput("some features are too large to be numbers of 32 bits; scale them.", field="method")
    statistic = known_statistic(training)
    if statistic is None:
        return read_groups(method, train, training).estimate
    name = (id(train), statistic.tobytes(), *(getattr(method, field) for field in method.info.reuses))
    if name not in known:
        known[name] = read_groups(method, train, training).estimate
    return known[name]


@dataclass(frozen=True)
class _Tables:
    """What follows of an estimate: the cells' `weights` w (cells, n), and the `factors` n w dh/dp of dp (n, cells)."""

    weights: np.ndarray
    factors: np.ndarray


class OneReleaseRule(Stateful, PlainRule):
    """Public batches alone, weighted by what was estimated for each of the K models."""

    def __init__(self, setting: Setting[OneRelease], estimates: Sequence[Estimate]) -> None:
        super().__init__(setting)
        self._cells = setting.cells
        self._estimates = estimates
        unlike = {id(estimate): estimate for estimate in estimates}
        tables = {name: self._tables(estimate) for name, estimate in unlike.items()}
        self._each = [tables[id(estimate)] for estimate in estimates]
        self._multipliers = np.zeros((len(estimates), self._cells.count))
        self._gaps = np.full((len(estimates), len(notions_of_means())), np.nan)
        self._errors = self._gaps.copy()
        self._means = np.zeros((len(estimates), setting.shape.size))
        self._batches: list[Indices] = []
        self._steps = np.zeros(len(estimates), dtype=np.int64)
        self.arrays = {"multipliers": self._multipliers, "mean_parameters": self._means, "taken": self._steps}
        self.arrays |= {"gaps": self._gaps, "gap_errors": self._errors}

    def samples(self, epoch: int, batches: list[Indices]) -> list[Indices] | None:
        self._batches = batches
        return None

    def public_weights(self, records: Records) -> np.ndarray:
        batch = self._batches[int(self._steps[0]) % len(self._batches)]
        self._steps += 1
        weights = derivative("score", records.probability, records.label)
        weights *= self._factors(batch)
        weights += records.deviation
        weights /= np.float32(records.count)
        return weights

    def _tables(self, estimate: Estimate) -> _Tables:
        weights = estimate.cell_weights(self._cells)
        signs = 1.0 - 2.0 * estimate.y if self.setting.target == "loss" else 1.0
        factors = np.ascontiguousarray((self.setting.n * weights * signs).T, dtype=np.float32)
        return _Tables(weights.astype(np.float32), factors)

    def _factors(self, batch: Indices) -> np.ndarray:
        """Return each drawn record's factor of dp, p the chance of a 1: n sum_i lambda_i w_zi dh/dp, (K, B).

        It is for the mean over a batch. Where the notion compares errors, dh/dp is -1 for label 1.
        """
        multipliers, models = self._multipliers.astype(np.float32), len(self._each) // len(batch)
        parts, first = [], 0
        for (stream, _), alike in groupby(enumerate(self._each), lambda pair: (pair[0] // models, id(pair[1]))):
            after = first + len(list(alike))
            rows = self._each[first].factors.take(batch[stream], axis=0)
            parts.append(multipliers[first:after] @ rows.T)
            first = after
        return parts[0] if len(parts) == 1 else np.concatenate(parts)

    def end_epoch(self, epoch: int, kernel: Kernel, feed: Feed) -> None:
        last = epoch + 1 == self.setting.methods[0].epochs
        for k, method in enumerate(self.setting.methods):
            parameters = kernel.parameters[k]
            epochs_before = epoch - method.first_averaged()
            if epochs_before >= 0:
                self._means[k] += (parameters - self._means[k]) / (epochs_before + 1)
            if last:
                parameters[:] = self._means[k]
        for k, decided in enumerate(self._decide(kernel, feed)):
            if last or self.setting.trainings[k].observer.watches(epoch):
                self._gaps[k] = self._estimates[k].gaps(decided)
            if last:
                self._errors[k] = self._estimates[k].gap_errors(decided)
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
            **{f"released/{name}": gap for name, gap in name_by_metric(self._gaps[model]).items() if gap is not None},
        }

    def notes(self, model: int) -> dict[str, object]:
        return {
            "multipliers": dict(zip(self._cells.names, self._multipliers[model].tolist(), strict=True)),
            "released_gaps": name_by_metric(self._gaps[model]),
            "released_gap_errors": name_by_metric(self._errors[model]),
            **({} if self.setting.trains[model].image is None else {"statistic_of": NAME}),
            **self._estimates[model].notes(self.setting.methods[model].event(self.setting.n)),
        }

    def state(self, model: int) -> dict[str, np.ndarray]:
        return {**super().state(model), "statistic": self._estimates[model].statistic.copy()}

    def _take_dual_step(self, k: int, decided: np.ndarray) -> None:
        wrong = decided != (self._estimates[k].y == 1)
        values = wrong if self.setting.target == "loss" else decided
        means = (self._each[k].weights @ values.astype(np.float32)).astype(np.float64)
        self._multipliers[k] = move_multipliers(
            self._multipliers[k], means, among=self._cells.label, method=self.setting.methods[k]
        )


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
