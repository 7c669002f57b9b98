"""The distinguishing attack: on which of two neighbouring data sets was a model trained? The attacker sees everything.

Known to the attacker: both data sets, the code, the public seed, and all that a run released. Two scores:

* "releases": the log-likelihood ratio of the releases. What each data set would have put into the mechanism is had by
  running the method again along the releases. Which records were in the secret samples stays unknown: the record in
  question is in with its known chance, of the others the mean is taken.
* "exported": a linear discriminant on every exported number (parameters, notes, steps, how much was counted), which
  needs no mechanism: it finds what a method lets out beside it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from fairpriv_core.audit.lower_bound import is_tuning
from fairpriv_core.audit.observe import (
    CHOICE,
    LAPLACE,
    RESPONSE,
    RecordingMechanism,
    Release,
    ReplayEnded,
    ReplayingMechanism,
)
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.training import Fitted
from fairpriv_core.privacy.mechanism import Mechanism


@dataclass(frozen=True)
class Train:
    """Trains one model for each data set, all with the same public seed; `alone` where it does so one by one."""

    fit: Callable[[Sequence[Dataset], Sequence[Mechanism]], list[Fitted]]
    alone: bool = False

    def __call__(self, data: Sequence[Dataset], mechanisms: Sequence[Mechanism]) -> list[Fitted]:
        """Return the models, in order."""
        return self.fit(data, mechanisms)


@dataclass(frozen=True)
class Stack:
    """Releases of one kind and size: `out` and `value` (T, P), `scale` and `rate` (T,)."""

    kind: str
    sampled: bool
    out: np.ndarray
    value: np.ndarray
    scale: np.ndarray
    rate: np.ndarray

    @staticmethod
    def of(releases: Sequence[Release]) -> Stack:
        """Return the releases as arrays; what has no noise is given next to none."""
        return Stack(
            kind=releases[0].kind,
            sampled=releases[0].sampled,
            out=np.array([release.out.ravel() for release in releases]),
            value=np.array([release.value for release in releases]),
            scale=np.array([release.noise_scale for release in releases]),
            rate=np.array([release.rate for release in releases]),
        )


@dataclass(frozen=True)
class Pair:
    """Two neighbouring data sets: they differ in `record` alone, which may be a null in the second."""

    first: Dataset
    second: Dataset
    record: int


def null(data: Dataset, rows: np.ndarray) -> Dataset:
    """Return `data` with `rows` null: they keep their places, and contribute nothing."""
    present = np.ones(data.n, dtype=bool)
    present[rows] = False
    return replace(data, present=present)


def regroup(data: Dataset, rows: np.ndarray) -> Dataset:
    """Return `data` with `rows` in group 1."""
    group = data.group.copy()
    group[rows] = 1
    return replace(data, group=group)


def distinguish(
    train: Train, pair: Pair, *, runs: int, seed: int, together: int, report: Callable[[int], None] = lambda _: None
) -> dict[str, np.ndarray]:
    """Return each attack's scores (2, runs) of `runs` runs on each data set; larger ones point at the second.

    Noise comes from `seed`, so that an audit can be repeated. `together` models are trained in one loop. `report` is
    told how many runs are done. An attack that has nothing to look at is left out.
    """
    likelihood = np.zeros((2, runs))
    exported: list[list[dict[str, float]]] = [[], []]
    released = False
    for start in range(0, runs, together):
        stop = min(start + together, runs)
        for world, data in enumerate((pair.first, pair.second)):
            mechanisms = [RecordingMechanism(seed + 2 * run + world) for run in range(start, stop)]
            exported[world] += [_list_numbers(fit) for fit in train([data] * len(mechanisms), mechanisms)]
            releases = [mechanism.releases for mechanism in mechanisms]
            if any(releases):
                released = True
                others = _add_others(train, pair, releases)
                likelihood[world, start:stop] = compare_worlds(train, [pair] * len(releases), releases, others=others)
        report(stop)
    scores = {"exported": discriminate(exported)}
    return {"releases": likelihood, **scores} if released else scores


def compare_worlds(
    train: Train,
    pairs: Sequence[Pair],
    runs: Sequence[Sequence[Release]],
    *,
    others: Sequence[Sequence[Release]],
) -> np.ndarray:
    """Return for each run and its pair log P(releases | second) - log P(releases | first), (runs,).

    `others` is what the other records would put into each release, were they all in the secret sample.
    """
    first, second = replay_worlds(train, pairs, runs)
    return np.array([compare_releases(*four) for four in zip(runs, first, second, others, strict=True)])


def replay_worlds(
    train: Train, pairs: Sequence[Pair], runs: Sequence[Sequence[Release]]
) -> tuple[list[list[Release]], list[list[Release]]]:
    """Return what each run would have put into its releases on the first and on the second data set of its pair.

    Of a sum over a secret sample it is what the record in question adds.
    """
    forced = [np.array([pair.record]) for pair in pairs]
    first = replay(train, [pair.first for pair in pairs], runs, forced=forced)
    return first, replay(train, [pair.second for pair in pairs], runs, forced=forced)


def replay(
    train: Train, data: Sequence[Dataset], runs: Sequence[Sequence[Release]], *, forced: Sequence[np.ndarray]
) -> list[list[Release]]:
    """Return what each run would have put into its releases on its `data`, with its `forced` as every sample.

    Models that are trained one by one are only trained up to their last release.
    """
    mechanisms = [ReplayingMechanism(*part, stops=train.alone) for part in zip(runs, forced, strict=True)]
    if not train.alone:
        train(data, mechanisms)
    for part, mechanism in zip(data, mechanisms, strict=True) if train.alone else ():
        with suppress(ReplayEnded):
            train([part], [mechanism])
    return [mechanism.releases for mechanism in mechanisms]


def stack_like(*runs: Sequence[Release]) -> Iterator[list[Stack]]:
    """Yield the releases of one kind and size as arrays, the same ones of each run."""
    kinds = [(release.kind, release.sampled, release.value.size) for release in runs[0]]
    for kind in dict.fromkeys(kinds):
        places = [place for place, item in enumerate(kinds) if item == kind]
        yield [Stack.of([run[place] for place in places]) for run in runs]


def _add_others(train: Train, pair: Pair, runs: list[list[Release]]) -> Sequence[Sequence[Release]]:
    """Return what all records but the one in question would add; without a secret sample that does not matter."""
    if not any(release.sampled for release in runs[0]):
        return runs
    all_others = np.delete(np.arange(pair.first.n), pair.record)
    return replay(train, [pair.first] * len(runs), runs, forced=[all_others] * len(runs))


def discriminate(exported: Sequence[Sequence[Mapping[str, float]]]) -> np.ndarray:
    """Return scores (2, N) of a linear discriminant on named numbers, fitted on the runs that build tests."""
    names = sorted({name for world in exported for numbers in world for name in numbers})
    values = np.array([[[numbers.get(name, 0.0) for name in names] for numbers in world] for world in exported])
    tuning = values[:, is_tuning(values.shape[1])]
    difference = tuning[1].mean(axis=0) - tuning[0].mean(axis=0)
    spread = tuning.var(axis=1).mean(axis=0)
    weights = np.divide(difference, spread + 1e-9 * difference**2, out=np.zeros_like(difference), where=difference != 0)
    scores: np.ndarray = values @ weights
    return scores


def compare_releases(
    releases: Sequence[Release], first: Sequence[Release], second: Sequence[Release], others: Sequence[Release]
) -> float:
    """Return log P(releases | second) - log P(releases | first) of a run, `others` as `compare_worlds` has them."""
    stacks = stack_like(releases, first, second, others)
    return sum(_log_density(out, b, rest) - _log_density(out, a, rest) for out, a, b, rest in stacks)


def _log_density(released: Stack, at: Stack, others: Stack) -> float:
    """Return log P(released) up to what is the same for every data set."""
    if released.kind == RESPONSE:
        return float((released.scale * (released.out == at.value).sum(axis=1)).sum())
    if released.kind == CHOICE:
        odds = at.value / at.scale[:, None]
        log_odds = np.take_along_axis(odds, released.out.astype(np.int64), axis=1)
        return float((log_odds[:, 0] - np.logaddexp.reduce(odds, axis=1)).sum())
    if released.kind == LAPLACE:
        away = np.abs(released.out - at.value).sum(axis=1) / at.scale
        return -float((away + at.value.shape[1] * np.log(at.scale)).sum())
    if not released.sampled:
        return float(_log_normal(released.out - at.value, at.scale).sum())
    residual = released.out - released.rate[:, None] * others.value
    absent, present = _log_normal(residual, at.scale), _log_normal(residual - at.value, at.scale)
    with np.errstate(divide="ignore"):
        return float(np.logaddexp(np.log1p(-released.rate) + absent, np.log(released.rate) + present).sum())


def _log_normal(residual: np.ndarray, scale: np.ndarray) -> np.ndarray:
    density: np.ndarray = -0.5 * ((residual / scale[:, None]) ** 2).sum(axis=1) - residual.shape[1] * np.log(scale)
    return density


def _list_numbers(fit: Fitted) -> dict[str, float]:
    """Return every exported number by name."""
    numbers = {f"parameter {place}": float(value) for place, value in enumerate(fit.parameters.ravel())}
    numbers |= dict(_walk("notes", dict(fit.notes)))
    n_releases = sum(getattr(event, "count", 1) for event in fit.events)
    return {**numbers, "steps": float(fit.steps), "releases": float(n_releases)}


def _walk(name: str, value: Any) -> Iterator[tuple[str, float]]:
    if isinstance(value, Mapping):
        for key, inner in value.items():
            yield from _walk(f"{name}/{key}", inner)
    elif isinstance(value, list | tuple):
        for place, inner in enumerate(value):
            yield from _walk(f"{name}/{place}", inner)
    elif isinstance(value, int | float):
        yield name, float(value)
