"""About how long a sweep will take: a few steps of one chunk of each kind, timed here and thrown away."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fairpriv_core.engine.training import Unwatched
from fairpriv_core.errors import FairprivError
from fairpriv_core.methods.base import FitsAlone
from fairpriv_core.runs.chunks import Chunk, name_kind
from fairpriv_core.runs.config import RunConfig
from fairpriv_core.runs.execute import fit_together, plan_run
from fairpriv_core.runs.noise import open_mechanisms
from fairpriv_core.runs.observer import Watch
from fairpriv_core.runs.shelf import Shelf

_STEPS, _KIND_SECONDS = 40, 1.0  # of one kind of chunk, whichever is over first
_ALL_SECONDS = 15.0

Find = Callable[[str], Mapping[str, Any]]


@dataclass(frozen=True)
class Forecast:
    """About how many `seconds` chunks take, and how many of their runs are `untold`: their time is not known."""

    seconds: float
    untold: int


def forecast(chunks: Sequence[Chunk], alone: Mapping[str, RunConfig], *, workers: int, find_record: Find) -> Forecast:
    """Return about how long `workers` processes need; `alone` has each config with a release of its own, by its key.

    What the timed steps would release is never looked at and leaves nothing.
    """
    begun = time.monotonic()
    kinds: dict[tuple[str, int], float | None] = {}
    seconds, untold = [], 0
    for chunk in sorted(chunks, key=lambda chunk: -len(chunk.configs)):
        kind = (name_kind(replace(chunk.configs[0], notion="", reuse=None)), len(chunk.configs))
        if kind not in kinds:
            late = time.monotonic() - begun > _ALL_SECONDS
            kinds[kind] = None if late else _time([alone[config.key] for config in chunk.configs], find_record)
        took = kinds[kind]
        seconds += [] if took is None else [took]
        untold += len(chunk.configs) if took is None else 0
    return Forecast(max(sum(seconds) / workers, max(seconds, default=0.0)), untold)


class _Enough(Exception):
    """So many steps were timed."""


class _Stopwatch(Unwatched):
    """Notes when each step ends, and ends the fit after some."""

    def __init__(self) -> None:
        self.ends: list[float] = []

    def due(self) -> bool:
        self.ends.append(time.monotonic())
        if len(self.ends) > _STEPS or self.ends[-1] - self.ends[0] > _KIND_SECONDS:
            raise _Enough
        return False


def _time(configs: Sequence[RunConfig], find_record: Find) -> float | None:
    """Return about how long a chunk takes, reading its data included; None where its steps cannot be timed."""
    if isinstance(configs[0].method, FitsAlone):
        return None
    begun, shelf, watch = time.monotonic(), Shelf(), _Stopwatch()
    plans = [plan_run(config, config.key, shelf=shelf, find_record=find_record) for config in configs]
    observers = [watch, *[Unwatched() for _ in plans[1:]]]
    each = zip(plans, observers, open_mechanisms(plans, [None] * len(plans)), strict=True)
    trainings = [Watch(plan, alone=False).open(observer, mechanism) for plan, observer, mechanism in each]
    try:
        fit_together(plans, trainings)
    except _Enough:
        step = (watch.ends[-1] - watch.ends[0]) / (len(watch.ends) - 1)
        return watch.ends[0] - begun + step * plans[0].method.steps(plans[0].train.n)
    except FairprivError:
        return None
    return time.monotonic() - begun
