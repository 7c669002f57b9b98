"""Brute force: how much single records add to each release, and how much noise it gets, during the real fit.

A recorded run is replayed on neighbouring data sets, so that all take the same course, with the changed record alone in
every secret sample. What the mechanism is then given is what that record adds, relative to the record being absent.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from fairpriv_core.audit.attack import Train, replay
from fairpriv_core.audit.observe import CHOICE, LAPLACE, RESPONSE, SUM, RecordingMechanism, Release
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.seeds import public_generator

_FACTORS = (-60.0, -1.0, 0.01, 60.0)


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
    train: Train, data: Dataset, *, changes: int, whole_record: bool, seed: int
) -> list[MeasuredSensitivity]:
    """Return the most that a record added to each kind of release, over `changes` records that change.

    With `whole_record` features, label and group change, else the group alone. Releases of all rows are compared with
    the unchanged data's: the full move of an attribute, half the move of a record (which is null in between).
    """
    base = RecordingMechanism(seed)
    train([data], [base])
    rows = public_generator(seed, "audited records").permutation(data.n)[np.arange(changes) % data.n]
    changed = [_change(data, int(row), place, whole_record) for place, row in enumerate(rows)]
    forced = [np.array([row]) for row in rows]
    moved = replay(train, changed, [base.releases] * changes, forced=forced)
    half = 0.5 if whole_record else 1.0
    found: dict[str, list[float]] = defaultdict(list)
    for run in moved:
        for own, other in zip(base.releases, run, strict=True):
            found[own.name or own.kind].append(_share(own, other, half))
    return [MeasuredSensitivity(name, max(shares), len(shares)) for name, shares in found.items()]


def measure_shapes(
    train: Train, data: Dataset, *, changes: int, whole_record: bool, seed: int
) -> list[MeasuredSensitivity]:
    """Return `measure_sensitivities` over all of `list_shapes`: the largest of each release, and how many."""
    found: dict[str, list[MeasuredSensitivity]] = defaultdict(list)
    for shape in list_shapes(data).values():
        for one in measure_sensitivities(train, shape, changes=changes, whole_record=whole_record, seed=seed):
            found[one.release].append(one)
    return [
        MeasuredSensitivity(name, max(one.largest for one in each), sum(one.measured for one in each))
        for name, each in found.items()
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
    y[row] = (y[row] + place // len(_FACTORS)) % 2
    return replace(data, X=features, y=y, group=group)


def _share(own: Release, other: Release, half: float) -> float:
    if own.kind == RESPONSE:
        return float((own.value != other.value).sum())
    move = other.value - (0.0 if own.sampled else own.value)
    size = np.linalg.norm(move, {LAPLACE: 1, CHOICE: np.inf}.get(own.kind, 2))
    return float(size) / own.bound * (1.0 if own.kind == SUM and own.sampled else half)
