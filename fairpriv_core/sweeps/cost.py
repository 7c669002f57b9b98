"""What a sweep costs, told before it starts: runs, epsilon by the ledger for each thing protected, and about how long.

Time is measured: a few steps of one chunk of each kind, timed here and thrown away.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fairpriv_core.engine.training import Unwatched
from fairpriv_core.errors import FairprivError
from fairpriv_core.ledger.report import join_reasons
from fairpriv_core.methods.base import FitsAlone
from fairpriv_core.privacy.accountants import coarse_epsilon
from fairpriv_core.privacy.ledger import LedgerEntry, compose
from fairpriv_core.records.config import DEFAULT_DELTA, RunConfig, read_delta
from fairpriv_core.records.plan import DatasetCache, Find, plan_run
from fairpriv_core.runs.execute import fit_together
from fairpriv_core.runs.session import FitObserver, open_mechanisms
from fairpriv_core.store.runs import RunStore
from fairpriv_core.store.sweeps import SweepCost, SweepStore, SweptEpsilon
from fairpriv_core.sweeps.plan import Chunk, SweepPlan, name_kind
from fairpriv_core.sweeps.spec import Sweep

_STEPS, _KIND_SECONDS = 40, 1.0  # of one kind of chunk, whichever is over first
_ALL_SECONDS = 15.0


def estimate_cost(store: RunStore, plan: SweepPlan, keys: Sequence[str], *, sweep: Sweep, workers: int) -> SweepCost:
    """Return what it costs to run those runs of a sweep that `keys` names."""
    rows, unfinished = SweepStore(store).find(plan.keys), set(keys)
    chunks = [chunk for chunk in plan.chunks if unfinished & {config.key for config in chunk.configs}]
    about = forecast(chunks, plan.alone, workers=max(min(workers, len(chunks)), 1), find_record=store.source)
    skipped = [cell for cell in plan.cells if cell.config is None]
    return {
        "combinations": len(plan.cells),
        "runs": len(plan.keys),
        "chunks": len(plan.chunks),
        "new": len(plan.keys) - len(rows),
        "unfinished": sum(not row.ended for row in rows.values()),
        "ended": sum(row.ended for row in rows.values()),
        "skipped": [{"cell": dict(cell.values), "reason": cell.reason} for cell in skipped],
        "share_samples": sweep.share_samples,
        "share_release": sweep.share_release,
        "protected": foresee_sweep(store, plan, delta=read_delta(sweep.base.get("delta", DEFAULT_DELTA))),
        "seconds": about.seconds,
        "untold": about.untold,
        "workers": workers,
    }


def foresee_sweep(store: RunStore, plan: SweepPlan, *, delta: float) -> list[SweptEpsilon]:
    """Return what a sweep costs if all of its results are released, for each data set and thing that is protected.

    It is at most about 1 % above the ledger's numbers.
    """
    items: list[SweptEpsilon] = []
    for data in dict.fromkeys(posting.data for posting in plan.postings.values()):
        postings = [posting for posting in plan.postings.values() if posting.data == data]
        entries = [posting.entry for posting in postings]
        mine = {entry.key for entry in entries}
        other_entries = [line.planned for line in store.ledger.lines(data) if line.planned.key not in mine]
        columns = [*dict.fromkeys(column for entry in entries for column in entry.sensitive), None]
        items += [_foresee(postings[0].name, entries, other_entries, column, delta) for column in columns]
    return items


def _foresee(
    data: str, entries: Sequence[LedgerEntry], other_entries: Sequence[LedgerEntry], column: str | None, delta: float
) -> SweptEpsilon:
    own = [replace(entry, stream=None) for entry in entries]
    together = compose(entries, column)
    kinds = {(item.threat_model, item.all_events, item.sensitive, item.clear, item.unbounded): item for item in own}
    alone = [_cost([entry], column, delta) for entry in kinds.values()]  # one of each kind: the others cost the same
    threat_model = "record" if column is None else "attribute"
    return {
        "data": data,
        "delta": delta,
        "column": column,
        "protected": any(entry.threat_model in (threat_model, "record") for entry in entries),
        "epsilon": _cost(entries, column, delta),
        "epsilon_own_samples": _cost(own, column, delta),
        "most_alone": None if None in alone else max(epsilon for epsilon in alone if epsilon is not None),
        "epsilon_after": _cost([*other_entries, *entries], column, delta),
        "reason": join_reasons(together.unbounded),
    }


def _cost(entries: Sequence[LedgerEntry], column: str | None, delta: float) -> float | None:
    epsilon = compose(entries, column).epsilon(delta, coarse_epsilon)
    return epsilon if math.isfinite(epsilon) else None


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
    begun, datasets, watch = time.monotonic(), DatasetCache(), _Stopwatch()
    plans = [plan_run(config, config.key, datasets=datasets, find_record=find_record) for config in configs]
    observers = [watch, *[Unwatched() for _ in plans[1:]]]
    triples = zip(plans, observers, open_mechanisms(plans, [None] * len(plans)), strict=True)
    trainings = [FitObserver(plan, alone=False).open(observer, mechanism) for plan, observer, mechanism in triples]
    try:
        fit_together(plans, trainings)
    except _Enough:
        step = (watch.ends[-1] - watch.ends[0]) / (len(watch.ends) - 1)
        return watch.ends[0] - begun + step * plans[0].method.steps(plans[0].train.n)
    except FairprivError:
        return None
    return time.monotonic() - begun
