"""Brute force: how much single records add to each release, and how much noise it gets, during the real fit.

A recorded run is replayed on neighbouring data sets, so that all take the same course, with the changed record alone in
every secret sample. What the mechanism is then given is what that record adds, relative to the record being absent.
`replay_others` replays it on data all of whose protected values differ too: the course is the same nevertheless.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from fairpriv_core.audit.attack import Train, null, replay
from fairpriv_core.audit.observe import CHOICE, LAPLACE, RESPONSE, SUM, RecordingMechanism, Release
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.seeds import public_generator

_FACTORS = (-60.0, -1.0, 0.01, 60.0)
_NULL = float("nan")
_SCALES = (1.0, -1.0, 0.01, 60.0, 1e6, -1e19, _NULL)  # of whole records: negative, short, long, beyond float32, null
_WEIGHTS = (1e30, 0.0, 0.5, 60.0, _NULL)  # of rows that are weighed
_ONE, _ALL, _TOGETHER = 9, 8, 3  # data sets that differ in one person, and in all; people whose sum adds up


@dataclass(frozen=True)
class MeasuredSensitivity:
    """The most that one record added to a kind of release, over what the accountant was told that it may: at most 1."""

    release: str
    largest: float
    measured: int


@dataclass(frozen=True)
class Noise:
    """The noise's pooled standard deviation over what was counted, which is 1; one audit in 10^6 misses it by chance.

    That is, the truth lies outside `low` to `high`. `values` were pooled.
    """

    deviation: float
    low: float
    high: float
    values: int


@dataclass(frozen=True)
class Replays:
    """What one run put into its releases, and what it would have put in on other data, had the same come out.

    Attributes:
        run: the run's own releases.
        neighbours: of data in which one person differs, who alone is in every secret sample.
        of_moves: for each of the neighbours, what one person adds of a move: 1, or 0.5 where a record is replaced.
        others: of data in which every protected value differs; each secret sample is one person, in turn.
        nobody: of empty secret samples.
        together: of secret samples of three people; `apart`: of each of the three.
    """

    run: list[Release]
    neighbours: list[list[Release]]
    of_moves: list[float]
    others: list[list[Release]]
    nobody: list[Release]
    together: list[Release]
    apart: list[list[Release]]

    def list_shares(self) -> Iterator[tuple[str, float]]:
        """Yield each release's name with how far a person moves it over what the mechanism is told: at most 1."""
        for moved, of_move in zip(self.neighbours, self.of_moves, strict=True):
            for own, replayed in zip(self.run, moved, strict=True):
                yield own.name or own.kind, _share(own, replayed, of_move)
        for added in self.others:
            yield from ((one.name or one.kind, _share(one, one, 1.0)) for one in added if one.sampled)

    def list_bounds(self) -> list[list[tuple[float, float]]]:
        """Return the bound and the scale of each release that each run states to the mechanism."""
        samples = (self.nobody, self.together, *self.apart) if self.others else ()
        runs = (self.run, *self.neighbours, *self.others, *samples)
        return [[(release.bound, release.scale) for release in run] for run in runs]

    def list_sums(self) -> Iterator[tuple[Release, Release, np.ndarray]]:
        """Yield each sum over a secret sample: of nobody, of three people, and as their own sums add up."""
        for nothing, together, *parts in zip(self.nobody, self.together, *self.apart, strict=True):
            if together.sampled:
                yield nothing, together, np.sum([part.value for part in parts], axis=0)


def replay_others(
    train: Train, data: Dataset, *, whole_record: bool, seed: int, public: np.ndarray | None = None
) -> Replays:
    """Record a run on `data` and replay it on data that differ in one person, and in everybody.

    With `whole_record` features, label and group change, which may be null; else the group alone. Rows that are
    `public` (n,) stay as they are.
    """
    base = RecordingMechanism(seed)
    train([data], [base])
    draw = public_generator(seed, "audited records")
    drawn = draw.permutation(data.n)
    drawn = drawn if public is None else drawn[~public[drawn]]
    longest = drawn[np.linalg.norm(data.X[drawn], axis=1).argmax()]  # which moves most where rows are to be shortened
    order = np.array([longest, *drawn[drawn != longest]])
    pairs = [
        (_change_one(data, place, int(row), whole_record), order[[place]]) for place, row in enumerate(order[:_ONE])
    ]
    samples = any(release.sampled for release in base.releases)
    if samples:
        turns = [np.roll(order, place * data.n // _ALL)[:, None] for place in range(_ALL)]
        pairs += [(_change_all(data, draw, place, whole_record), turn) for place, turn in enumerate(turns)]
        pairs += [(data, order[:count]) for count in (0, _TOGETHER)]
        pairs += [(data, order[[place]]) for place in range(_TOGETHER)]
    changed, forced = zip(*pairs, strict=True)
    releasing = train if samples else replace(train, alone=True)  # what follows the last release is not waited for
    runs = replay(releasing, changed, [base.releases] * len(pairs), forced=forced)
    nobody, together, *apart = runs[_ONE + _ALL :] or [[], []]
    of_moves = [0.5 if whole_record and not _nulls(place) else 1.0 for place in range(_ONE)]
    return Replays(base.releases, runs[:_ONE], of_moves, runs[_ONE : _ONE + _ALL], nobody, together, apart)


def list_shapes(data: Dataset) -> dict[str, Dataset]:
    """Return `data`, and variants of it that are hard on a bound: one small group, opposite gradients."""
    small = (np.arange(data.n) % 7 == 0).astype(np.int64)
    side = np.where(np.arange(data.n) % 2, 50.0, -50.0).astype(np.float32)
    rows = np.zeros_like(data.X) + side[:, None]
    return {
        "ordinary": data,
        "small group": replace(data, group=small),
        "opposite gradients": replace(data, X=rows, group=(np.arange(data.n) % 2).astype(np.int64)),
    }


def measure_sensitivities(
    train: Train, data: Dataset, *, changes: int, whole_record: bool, seed: int, first: int = 0
) -> list[MeasuredSensitivity]:
    """Return the most that a record added to each kind of release, over `changes` records that change.

    With `whole_record` features, label and group change, else the group alone. Releases of all rows are compared with
    the unchanged data's: the full move of an attribute, half the move of a record (which is null in between). Rows
    before the `first` stay as they are.
    """
    base = RecordingMechanism(seed)
    train([data], [base])
    order = first + public_generator(seed, "audited records").permutation(data.n - first)
    rows = order[np.arange(changes) % len(order)]
    changed = [_change(data, int(row), place, whole_record) for place, row in enumerate(rows)]
    forced = [np.array([row]) for row in rows]
    moved = replay(train, changed, [base.releases] * changes, forced=forced)
    of_move = 0.5 if whole_record else 1.0
    shares_by_release: dict[str, list[float]] = defaultdict(list)
    for run in moved:
        for own, replayed in zip(base.releases, run, strict=True):
            shares_by_release[own.name or own.kind].append(_share(own, replayed, of_move))
    return [MeasuredSensitivity(name, max(shares), len(shares)) for name, shares in shares_by_release.items()]


def measure_shapes(
    train: Train, data: Dataset, *, changes: int, whole_record: bool, seed: int, first: int = 0
) -> list[MeasuredSensitivity]:
    """Return `measure_sensitivities` over all of `list_shapes`: the largest of each release, and how many."""
    by_release: dict[str, list[MeasuredSensitivity]] = defaultdict(list)
    for shape in list_shapes(data).values():
        for item in measure_sensitivities(
            train, shape, changes=changes, whole_record=whole_record, seed=seed, first=first
        ):
            by_release[item.release].append(item)
    return [
        MeasuredSensitivity(name, max(item.largest for item in items), sum(item.measured for item in items))
        for name, items in by_release.items()
    ]


def record_runs(train: Train, data: Dataset, *, runs: int, seed: int) -> list[list[Release]]:
    """Return the releases of `runs` runs on `data`."""
    mechanisms = [RecordingMechanism(seed + place) for place in range(runs)]
    train([data] * runs, mechanisms)
    return [mechanism.releases for mechanism in mechanisms]


def measure_noise(runs: Sequence[Sequence[Release]]) -> Noise | None:
    """Return the spread of the noise in recorded releases; None where no release has noise that is added."""
    from scipy.stats import chi2

    pooled = [
        (release.out.ravel() - release.value) / (release.scale * (np.sqrt(2.0) if release.kind == LAPLACE else 1.0))
        for run in runs
        for release in run
        if release.kind not in (RESPONSE, CHOICE) and release.scale > 0
    ]
    if not pooled:
        return None
    values = np.concatenate(pooled)
    ends = chi2.ppf([1.0 - 5e-7, 5e-7], values.size)
    deviation = float(np.sqrt(np.mean(values**2)))
    low, high = (deviation * np.sqrt(values.size / ends)).tolist()
    return Noise(deviation, low, high, values.size)


def _change(data: Dataset, row: int, place: int, whole_record: bool) -> Dataset:
    group = data.group.copy()
    group[row] = (group[row] + 1 + place % (data.groups - 1)) % data.groups
    if not whole_record:
        return replace(data, group=group)
    features, y = data.X.copy(), data.y.copy()
    features[row] = _FACTORS[place % len(_FACTORS)] * np.where(features[row] == 0, 1.0, features[row])
    y[row] = (y[row] + place // len(_FACTORS)) % data.labels
    changed = replace(data, X=features, y=y, group=group)
    if data.weight is None:
        return changed
    weight = data.weight.copy()
    weight[row] = _WEIGHTS[place % len(_WEIGHTS)]
    return replace(changed, weight=weight)


def _nulls(place: int) -> bool:
    """Return whether the neighbour at `place` has the record null, of a method that protects whole records."""
    return place % 3 == 0


def _change_one(data: Dataset, place: int, row: int, whole_record: bool) -> Dataset:
    if not (whole_record and _nulls(place)):
        return _change(data, row, place, whole_record)
    if place % 2:  # without a gradient, which methods that count it let count
        features = data.X.copy()
        features[row] = _NULL
        return replace(data, X=features)
    return null(data, np.array([row]))


def _change_all(data: Dataset, draw: np.random.Generator, place: int, whole_record: bool) -> Dataset:
    """Return `data` with every group the same, or drawn; and with labels drawn and rows scaled where that is asked."""
    group = draw.integers(0, data.groups, data.n) if place >= data.groups else np.full(data.n, place)
    if not whole_record:
        return replace(data, group=group)
    scales = np.array(_SCALES, dtype=np.float32)[draw.integers(0, len(_SCALES), data.n)]
    changed = replace(data, X=data.X * scales[:, None], y=draw.integers(0, data.labels, data.n), group=group)
    if data.weight is None:
        return changed
    return replace(changed, weight=np.array(_WEIGHTS, dtype=np.float32)[draw.integers(0, len(_WEIGHTS), data.n)])


def _share(own: Release, moved: Release, of_move: float) -> float:
    if own.kind == RESPONSE:
        return float((own.value != moved.value).sum())
    move = moved.value - (0.0 if own.sampled else own.value)
    size = np.linalg.norm(move, {LAPLACE: 1, CHOICE: np.inf}.get(own.kind, 2))
    return float(size) / own.bound * (1.0 if own.kind == SUM and own.sampled else of_move)
