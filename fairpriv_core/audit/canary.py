"""Data sets to attack: small, public, made up, with records that stand out as far as an attacker could wish.

A canary has large values in features that are 0 for everyone else, so that its gradient is clipped and points where no
other record's does: the hardest case that an epsilon has to cover, and the easiest to see.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from fairpriv_core.audit.attack import Pair, Train, null, regroup, replay_worlds, stack_like
from fairpriv_core.audit.observe import RecordingMechanism, Release
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.seeds import public_generator

_REACHES = (10.0, 40.0)
_ORDINARY = 3  # features that all records have


def make_data(*, rows: int, isolated: int, groups: int, seed: int) -> Dataset:
    """Return a made-up data set (rows, 3 + isolated features): the last `isolated` features are 0, groups are even.

    Label and group depend on the first two features, labels a little on the group.
    """
    draw = public_generator(seed, "canary data")
    group = np.arange(rows) % groups
    ordinary = draw.normal(size=(rows, _ORDINARY)) + 0.5 * np.eye(groups, _ORDINARY)[group]
    y = (ordinary[:, 0] + 0.7 * draw.normal(size=rows) > 0.3).astype(np.int64)
    return Dataset(
        X=np.hstack([ordinary, np.zeros((rows, isolated))]).astype(np.float32),
        y=y,
        group=group.astype(np.int64),
        feature_names=tuple(f"x{place}" for place in range(_ORDINARY + isolated)),
        label_names=("no", "yes"),
        group_names=tuple(f"group {place}" for place in range(groups)),
        name="canary",
        sensitive="group",
        digest="canary",
    )


def list_pairs(data: Dataset, *, nulled: bool) -> list[Pair]:
    """Return neighbouring data sets whose last record is a canary: each isolated feature, sign, label and reach.

    In the second data set of a pair the canary is a null or, without `nulled`, of group 1 in place of 0.
    """
    return [_build_pair(data, record, nulled=nulled) for record in _list_canaries(data)]


def choose_pair(train: Train, pairs: list[Pair], *, seed: int) -> Pair:
    """Return the pair whose data sets are furthest apart at the mechanism, in one run that all of them replay.

    The choice uses what an attacker has: the data sets, the code and the public seed.
    """
    base = RecordingMechanism(seed)
    train([pairs[0].first], [base])
    if not base.releases:
        return pairs[0]
    worlds = replay_worlds(train, pairs, [base.releases] * len(pairs))
    distances = [measure_distance(*world) for world in zip(*worlds, strict=True)]
    return pairs[int(np.argmax(distances))]


def measure_distance(first: Sequence[Release], second: Sequence[Release]) -> float:
    """Return how far apart two runs' inputs are: the sum of (rate x difference / noise)^2 over the releases."""
    parts = stack_like(first, second)
    return sum(float((((b.value - a.value) * (a.rate / a.scale)[:, None]) ** 2).sum()) for a, b in parts)


def plant_canaries(data: Dataset, count: int) -> Dataset:
    """Return `data` with its last `count` records made canaries, each alone in one of the last `count` features."""
    rows, columns = np.arange(data.n - count, data.n), np.arange(data.d - count, data.d)
    features = data.X.copy()
    features[rows] = 0.0
    features[rows, columns] = _REACHES[0]
    y = data.y.copy()
    y[rows] = np.arange(count) % 2
    return replace(data, X=features, y=y)


def _list_canaries(data: Dataset) -> Iterator[tuple[np.ndarray, int]]:
    for column in range(_ORDINARY, data.d):
        for reach in (side * far for far in _REACHES for side in (1.0, -1.0)):
            features = np.zeros(data.d, dtype=np.float32)
            features[column] = reach
            yield from ((features, label) for label in (0, 1))


def _build_pair(data: Dataset, record: tuple[np.ndarray, int], *, nulled: bool) -> Pair:
    last = data.n - 1
    features, y, group = data.X.copy(), data.y.copy(), data.group.copy()
    features[last], y[last] = record
    group[last] = 0
    first = replace(data, X=features, y=y, group=group)
    return Pair(first, (null if nulled else regroup)(first, np.array([last])), last)
