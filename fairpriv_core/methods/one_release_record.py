"""OneRelease for whole records: group and label are learned together, once; all that follows is post-processing.

DP-SGD trains one softmax of group and label, p(a, y | x). The rule of fewest errors at given gaps decides 1 where
sum_c w_c p(c | x) > 0, c = (a, y), and its weights are linear in the multipliers (docs/methods/one_release_record.md).
Multipliers move along one line, whose direction follows from noisy counts of the first decisions. Each row then changes
its decision at one point of that line at most, so that noisy running sums of those points tell every cell's rate for
each multiplier: any gap may be asked for afterwards.

Notation. Cell i is a group, or a group and a label; p_i its share of the rows, r_i its mean of h: the decision, or
whether it is wrong where the notion compares errors. Multipliers are s d_i, s >= 0, where d_i is r_i less the middle
between the largest and the smallest r among the same people, over the largest such difference.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from dataclasses import fields as fields_of
from typing import Any, ClassVar, Self

import numpy as np

from fairpriv_core import checks
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.kernel import Kernel
from fairpriv_core.engine.models import Joint
from fairpriv_core.engine.networks import AnyShape, build_mlp
from fairpriv_core.engine.predict import Network, predict_proba
from fairpriv_core.engine.rows import Feed
from fairpriv_core.engine.training import Fitted, Observer, Snapshot, Training
from fairpriv_core.errors import BadInput
from fairpriv_core.methods import fields
from fairpriv_core.methods.base import FitsMany, MethodInfo, Style
from fairpriv_core.methods.cell_counts import require_rows
from fairpriv_core.methods.shared.averaged_sums import AveragedSums, AveragedSumsRule
from fairpriv_core.methods.shared.cumulative import cumulative_sensitivity, release_cumulative, running_deviation
from fairpriv_core.methods.shared.group_estimate import measure_furthest, name_by_metric
from fairpriv_core.methods.shared.releases import Release
from fairpriv_core.methods.shared.setting import Setting
from fairpriv_core.notions.catalog import notions_of_means
from fairpriv_core.notions.cells import LABELS, NO_CELL, build_cells
from fairpriv_core.notions.notion import Notion
from fairpriv_core.notions.rates import count_cells, divide, rates_of, sum_rate
from fairpriv_core.privacy import event as events_of

PLACES = 128  # of the line, denser near 0: place j ends at lambda_max (j / PLACES)^2
_REDRAWS = 200  # of the releases' noise, for standard errors
_FIRST = 2.0 * np.arange(LABELS) - 1.0  # weights of the labels where no gap is closed


@dataclass(frozen=True)
class OneReleaseRecord(AveragedSums, FitsMany):
    """Hyper-parameters. The shares are of mu^2, mu the Gaussian mechanism with (epsilon, delta); steps get the rest."""

    info: ClassVar[MethodInfo] = MethodInfo(
        name="one_release_record",
        title="OneRelease for whole records",
        style=Style("ink", "longdash", "star", legend="OneRelease, records"),
        summary="Learns group and label together, once; any gap aimed at is then free; protects whole records.",
        citation="this project; DP-SGD (Abadi et al., 2016), running sums by Fichtenberger, Henzinger and Upadhyay "
        "(2023)",
        threat_model="record",
        source="ours",
        pursued=("decisions", "errors"),
        variants=("proved",),
        calibrates="noise_primal",
        reuses=(
            *("epochs", "sampling_rate", "learning_rate", "optimizer", "hidden_layers", "width", "clip_primal"),
            *("averaged", "noise_primal", "multiplier_max", "noise_counts", "noise_flips"),
        ),
    )
    FOUND_ON: ClassVar[str] = "Adult"

    gap_target: float = fields.gap_aimed_at("the smallest multiplier that meets it, as far as the release shows")
    multiplier_max: float = fields.shared("multiplier_max", 1.0)
    share_counts: float = fields.share_of_budget(0.05, "counts", "rows by group, label and first decision")
    share_flips: float = fields.share_of_budget(0.1, "flips", "the points at which rows change their decision")
    noise_counts: float | None = fields.noise_multiplier("Count noise σ_c", "the counts' shift 1")
    noise_flips: float | None = fields.noise_multiplier("Noise of flips σ_f", "the running sums' shift")

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.unit(gap_target=self.gap_target)
        checks.not_negative(multiplier_max=self.multiplier_max)
        checks.shares(share_counts=self.share_counts, share_flips=self.share_flips)

    def idle_reason(self) -> str | None:
        """Why decisions stay where they are; None where they move."""
        return fields.format_idle({"multiplier_max": self.multiplier_max})

    def joint(self) -> JointModel:
        """Return the settings of the softmax of group and label."""
        return JointModel(**{item.name: getattr(self, item.name) for item in fields_of(AveragedSums)})

    def steps(self, n_train: int) -> int:
        """Return the softmax's steps; counts and flips are released after the last of them."""
        return self.joint().steps(n_train)

    def releases(self, n_train: int, groups: int) -> tuple[Release, ...]:
        """The softmax's steps; the counts, in which a record counts once; the flips' running sums (`cumulative.py`)."""
        counts = Release("counts", 1.0, "noise_counts", share="share_counts")
        flips = Release("flips", cumulative_sensitivity(PLACES), "noise_flips", share="share_flips")
        return (*self.joint().releases(n_train, groups), counts, flips)

    def count_deviation(self) -> float | None:
        """Sizes are sums of the counts."""
        return 0.0

    @classmethod
    def fit_many(
        cls, methods: Sequence[Self], trains: Sequence[Dataset], trainings: Sequence[Training]
    ) -> list[Fitted]:
        """Train K models in one loop, but for those that are given a release, which train none.

        RunFailed where a group has too few noisy rows or training diverges, BadInput for another notion's release.
        """
        fields.check_labels(methods[0].info, trains[0])
        fits = list(zip(methods, trains, trainings, strict=True))
        told: list[Told | None] = [_read_given(train, training) for _, train, training in fits]
        anew = [fit for fit, known in zip(fits, told, strict=True) if known is None]
        fresh = iter(release_all(anew) if anew else [])
        complete = [next(fresh) if known is None else known for known in told]
        return [choose(*fit, told=known) for fit, known in zip(fits, complete, strict=True)]


@dataclass(frozen=True)
class JointModel(AveragedSums):
    """A softmax of 2k outputs, one for each group and label, trained by DP-SGD. Not a method of the catalogue."""

    info: ClassVar[MethodInfo] = replace(OneReleaseRecord.info, max_labels=None)

    def shape_on(self, train: Dataset) -> AnyShape:
        """Return the network's shape for group and label of `train`."""
        outputs = LABELS * train.groups
        return build_mlp(train.d, self.hidden_layers, self.width, outputs=outputs)


@dataclass(frozen=True)
class Told:
    """All that the releases tell.

    `parameters` are the softmax's, float32. `counts` (k, 2, 2) are rows by group, label and first decision; `flips`
    (k, 2, PLACES) how many rows more than at first decide 1 once a place is passed. Both are noisy.
    """

    parameters: np.ndarray
    counts: np.ndarray
    flips: np.ndarray

    @classmethod
    def read(cls, notes: Mapping[str, Any], groups: int) -> Told:
        """Return what the notes of an earlier fit hold."""
        counts, flips = (np.asarray(notes[name], dtype=np.float64) for name in ("counts", "flips"))
        shape = (groups, LABELS)
        return cls(np.asarray(notes["joint"], np.float32), counts.reshape(*shape, 2), flips.reshape(*shape, PLACES))

    @property
    def totals(self) -> np.ndarray:
        """The rows by group and label (k, 2), at least 0."""
        totals: np.ndarray = np.maximum(self.counts.sum(axis=2), 0.0)
        return totals

    def to_json(self) -> dict[str, list[float]]:
        """Return what `read` reads."""
        parts = {"joint": self.parameters, "counts": self.counts, "flips": self.flips}
        return {name: values.ravel().tolist() for name, values in parts.items()}

    def name(self) -> str:
        """Return a digest of the release."""
        parts = (self.parameters, self.counts, self.flips)
        return hashlib.sha256(b"".join(values.tobytes() for values in parts)).hexdigest()[:16]


One = tuple[OneReleaseRecord, Dataset, Training]


def release_all(fits: Sequence[One]) -> list[Told]:
    """Train the softmaxes of `fits` in one loop and release what is told of its decisions."""
    observers = [_Named(training.observer, k) for k, (_, _, training) in enumerate(fits)]
    inner = [replace(training, observer=observer) for (_, _, training), observer in zip(fits, observers, strict=True)]
    setting: Setting[Any] = Setting(
        [method.joint() for method, _, _ in fits], [code_labels(train) for _, train, _ in fits], inner
    )
    rule = JointRule(setting, fits)
    for observer in observers:
        observer.rule = rule
    trained = setting.run(rule)
    return [rule.told(k, model.parameters) for k, model in enumerate(trained)]


def choose(method: OneReleaseRecord, train: Dataset, training: Training, *, told: Told) -> Fitted:
    """Return the rule that aims at the gap, from what was told; a constant answer where that is right more often."""
    gaps, right = measure_places(told, training.notion)
    place = choose_place(gaps, target=method.gap_target)
    strength = method.multiplier_max * (place / PLACES) ** 2
    multiplier: float | None = strength
    weights = weigh(directions(told.counts, training.notion), strength)
    labels, answer = told.totals.sum(axis=0), None
    if labels.max() > right[place]:
        multiplier, answer = None, int(labels.argmax())
        weights = np.full((train.groups, LABELS), _FIRST[answer])
    notes = {
        "multiplier": multiplier,
        **list_numbers(method, told, place, answer),
        "notion": training.notion.name,
        **told.to_json(),
        "shared_releases": {told.name(): events_of.to_json(method.event(train.n))},
    }
    network = joint_network(method.joint().shape_on(train), weights)
    return Fitted(network, told.parameters, training.mechanism.events, method.steps(train.n), notes)


class JointRule(AveragedSumsRule):
    """DP-SGD of the softmax; after the last step counts and flips are released."""

    def __init__(self, setting: Setting[Any], fits: Sequence[One]) -> None:
        super().__init__(setting)
        self._each = fits
        codes = setting.trains[0].labels
        self.arrays["counts"] = np.zeros((len(fits), codes * 2))
        self.arrays["flips"] = np.zeros((len(fits), codes * PLACES))
        self.ended = False

    def end_epoch(self, epoch: int, kernel: Kernel, feed: Feed) -> None:
        super().end_epoch(epoch, kernel, feed)
        if epoch + 1 == self.setting.methods[0].epochs:
            network = kernel.shape
            for k, fit in enumerate(self._each):
                self.arrays["counts"][k], self.arrays["flips"][k] = _release(*fit, network, kernel.parameters[k])
            self.ended = True

    def told(self, model: int, parameters: np.ndarray) -> Told:
        """Return what model `model`'s releases tell."""
        shape = (self._each[model][1].groups, LABELS)
        counts, flips = self.arrays["counts"][model], self.arrays["flips"][model]
        return Told(parameters.copy(), counts.reshape(*shape, 2).copy(), flips.reshape(*shape, PLACES).copy())

    def describe(self, model: int, snapshot: Snapshot) -> Network:
        """Return the network of a snapshot as the classifier that it is, before any gap is closed or after."""
        if self.ended:
            told = self.told(model, snapshot.parameters)
            return choose(*self._each[model], told=told).network
        return joint_network(snapshot.network, np.tile(_FIRST, (self._each[model][1].groups, 1)))


def code_labels(train: Dataset) -> Dataset:
    """Return the training rows with 2 group + label for a label."""
    names = tuple(f"{group}, {label}" for group in train.group_names for label in train.label_names)
    return replace(train, y=LABELS * train.group + train.y, label_names=names)


def joint_network(base: Network, weights: np.ndarray) -> Joint:
    """Return the network that decides 1 where the chances weighted by `weights` (k, 2) are above 0."""
    return Joint(base, tuple(weights.ravel().tolist()))


def directions(counts: np.ndarray, notion: Notion) -> np.ndarray:
    """Return by how much each (group, label)'s weight falls for s = 1, (k, 2), from noisy `counts` (k, 2, 2) of rows.

    A row of cell i counts 1 / p_i in its mean; where errors are compared, a 1 lowers it for label 1.
    """
    cells = build_cells(notion, [str(group) for group in range(len(counts))])
    inside = cells.of != NO_CELL
    wrong = np.stack([counts[:, 0, 1], counts[:, 1, 0]], axis=1) if notion.target == "loss" else counts[:, :, 1]
    sizes, sums = (
        np.bincount(cells.of[inside], weights=table[inside], minlength=cells.count)
        for table in (counts.sum(axis=2), wrong)
    )
    rates, beyond = (sums / sizes).clip(0.0, 1.0), np.zeros(cells.count)
    for people in np.unique(cells.label):
        among = cells.label == people
        beyond[among] = rates[among] - (rates[among].max() + rates[among].min()) / 2.0
    beyond /= max(np.abs(beyond).max(), 1e-12)
    per_row = np.append(beyond * counts.sum() / sizes, 0.0)[cells.of]  # NO_CELL takes the 0
    signs = -_FIRST if notion.target == "loss" else np.ones(LABELS)
    falls: np.ndarray = per_row * signs
    return falls


def weigh(line: np.ndarray, multiplier: float) -> np.ndarray:
    """Return the weights (k, 2) of the rule at s = `multiplier`."""
    weights: np.ndarray = _FIRST - multiplier * line
    return weights


def find_flips(chances: np.ndarray, line: np.ndarray, largest: float) -> tuple[np.ndarray, np.ndarray]:
    """Return the place (n,) at which each row's decision changes, PLACES where none does, and its first decision.

    A row decides 1 where sum_c (first_c - s line_c) chance_c > 0. A row without chances never changes.
    """
    first = chances @ np.tile(_FIRST, len(line))
    slope = chances @ line.ravel()
    with np.errstate(divide="ignore", invalid="ignore"):
        point = first / slope  # of s
        changes = np.where(first > 0, slope > 0, slope < 0) & (point < largest)
        places = np.ceil(PLACES * np.sqrt(point / largest))  # the first place at whose end the decision is another
    known = np.where(changes, places, PLACES + 1.0).clip(1.0, PLACES + 1.0)
    return known.astype(np.int64) - 1, first > 0


def measure_places(told: Told, notion: Notion) -> tuple[np.ndarray, np.ndarray]:
    """Return the gap and the number of rows that are right at each place, 0 to PLACES, each (PLACES + 1,).

    At place 0 multipliers are 0. Rates are within 0 and 1.
    """
    moved = np.concatenate([np.zeros((*told.totals.shape, 1)), told.flips], axis=2)
    ones = np.clip(told.counts[:, :, 1:] + moved, 0.0, told.totals[..., None])
    gaps = [measure_gap(at, told.totals, notion) for at in np.moveaxis(ones, 2, 0)]
    return np.array(gaps), (ones[:, 1] + told.totals[:, :1] - ones[:, 0]).sum(axis=0)


def measure_gap(ones: np.ndarray, totals: np.ndarray, notion: Notion) -> float:
    """Return the largest difference between two groups of which `ones` (k, 2) rows of `totals` (k, 2) get a 1."""
    table: Any = np.stack([totals - ones, ones], axis=2)
    return max(float(np.ptp(divide(*sum_rate(rate, table)))) for rate in rates_of(notion))


def list_numbers(method: OneReleaseRecord, told: Told, place: int, answer: int | None) -> dict[str, Any]:
    """Return accuracy and every notion's gap on the training rows as the releases tell them, with standard errors.

    They are of the rule at `place`, or of the one `answer` for everybody. An error is how much the releases' noise
    alone moves the number: for a gap, the difference between the two groups that are furthest apart.
    """
    generator, shape = np.random.default_rng(0), told.totals.shape
    moved = told.flips[..., place - 1] if place else np.zeros(shape)
    first = decide_at(told.counts, moved, answer)
    spread = method.noise("noise_flips") * running_deviation(PLACES, place)
    noise = generator.normal(scale=method.noise("noise_counts"), size=(_REDRAWS, *shape, 2))
    flip_noise = generator.normal(scale=spread, size=(_REDRAWS, *shape))
    again = [decide_at(told.counts + one, moved + other, answer) for one, other in zip(noise, flip_noise, strict=True)]
    pairs = [measure_furthest(notion, first, again) for notion in notions_of_means().values()]
    gaps, errors = (np.array(numbers) for numbers in zip(*pairs, strict=True))
    return {
        "released_gaps": name_by_metric(gaps),
        "released_gap_errors": name_by_metric(errors),
        "released_accuracy": {"accuracy": share_right(first)},
        "released_accuracy_errors": {"accuracy": float(np.std([share_right(numbers) for numbers in again], ddof=1))},
    }


def decide_at(counts: np.ndarray, moved: np.ndarray, answer: int | None) -> np.ndarray:
    """Return the rows (k, 2, 2) by group, label and decision where `moved` (k, 2) more than at first decide 1.

    `counts` (k, 2, 2) are those at first; with `answer` everybody gets it.
    """
    totals = np.maximum(counts.sum(axis=2), 0.0)
    ones = totals * answer if answer is not None else np.clip(counts[:, :, 1] + moved, 0.0, totals)
    return np.stack([totals - ones, ones], axis=2)


def share_right(table: np.ndarray) -> float:
    """Return the share of rows (k, 2, 2) by group, label and decision that are decided rightly."""
    return float((table[:, 0, 0] + table[:, 1, 1]).sum() / table.sum())


def choose_place(gaps: np.ndarray, *, target: float) -> int:
    """Return the first place whose gap is at most `target`, or the one where it is smallest."""
    met = np.flatnonzero(gaps <= target)
    return int(met[0] if met.size else gaps.argmin())


class _Named:
    """The run's observer, shown the softmax as the classifier that it is."""

    rule: JointRule

    def __init__(self, observer: Observer, model: int) -> None:
        self._observer, self._model = observer, model

    def watches(self, epoch: int) -> bool:
        return self._observer.watches(epoch)

    def due(self) -> bool:
        return self._observer.due()

    def show(self, snapshot: Snapshot) -> None:
        self._observer.show(replace(snapshot, network=self.rule.describe(self._model, snapshot)))

    def commit(self, **progress: Any) -> None:
        self._observer.commit(**progress)


def _release(
    method: OneReleaseRecord, train: Dataset, training: Training, network: Network, parameters: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Release counts (4k,) and flips (2k PLACES,); RunFailed where a cell has too few noisy rows."""
    chances = predict_proba(network, parameters, train.X)
    usable = np.isfinite(chances).all(axis=1)
    if train.present is not None:
        usable &= train.present
    chances = np.where(usable[:, None], chances, 0.0)
    first = (chances @ np.tile(_FIRST, train.groups) > 0)[usable].astype(np.int64)
    exact = count_cells(first, train.y[usable], train.group[usable], train.groups).ravel().astype(np.float64)
    counts = method.release("counts", exact, train, training)
    table = counts.reshape(train.groups, LABELS, 2)
    require_rows(table.sum(axis=2), training.notion, train.group_names)
    places, ones = find_flips(chances, directions(table, training.notion), method.multiplier_max)
    flips = release_cumulative(
        training.mechanism,
        _count_flips(train, places, ones),
        noise_multiplier=method.noise("noise_flips"),
        purpose="flips",
    )
    return counts, flips.ravel()


def _count_flips(train: Dataset, places: np.ndarray, ones: np.ndarray) -> np.ndarray:
    """Return the rows by (group, label) and place (2k, PLACES) that turn to 1, less those that turn to 0."""
    inside = places < PLACES
    where = (LABELS * train.group + train.y)[inside] * PLACES + places[inside]
    signed = np.bincount(where, weights=1.0 - 2.0 * ones[inside], minlength=LABELS * train.groups * PLACES)
    return signed.reshape(-1, PLACES)


def _read_given(train: Dataset, training: Training) -> Told | None:
    """Return what an earlier fit's release tells, if one is given; BadInput where it is another notion's."""
    if training.given is None:
        return None
    before, now = training.given["notion"], training.notion.name
    if before != now:
        raise BadInput(f"the release was made for {before}, and says nothing about {now}.", field="notion")
    return Told.read(training.given, train.groups)
