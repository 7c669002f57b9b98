"""Launching a sweep: what it costs first, then its phases, and what becomes of it when it is stopped.

A page asks a worker, which has torch and the data. What is launched is in the run table, where the process that trains
finds it; no page and no worker need stay for it.
"""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from fairpriv_core.errors import BadInput, FairprivError, StoreError
from fairpriv_core.facts.terminal import format_cost, format_sweep_progress
from fairpriv_core.records.config import RunConfig
from fairpriv_core.records.ledger_entry import Posting
from fairpriv_core.runs.children import count_cores
from fairpriv_core.runs.supervisor import Executor
from fairpriv_core.store.database import Database
from fairpriv_core.store.runs import RunStore
from fairpriv_core.store.sweeps import SweepCost, SweepPreview, SweepStore
from fairpriv_core.sweeps.cost import estimate_cost
from fairpriv_core.sweeps.plan import SweepPlan, plan_sweep
from fairpriv_core.sweeps.spec import Sweep, build_sweep
from fairpriv_core.text import Reporter

_BYTES_A_RUN = 60_000  # record, model and checkpoint of a small one
_TIMED = 50  # runs that tell how long others take
_SHOW_SECONDS = 0.5
_SHOW_SHARE = 0.02  # of the time: to ask after thousands of runs takes some of it
_SILENT_SECONDS = 5.0  # before that it is not known how fast it goes


@dataclass(frozen=True)
class Order:
    """How a sweep is to be run: who executes it, with how many workers; `resume` and `yes` as the options say."""

    execute: Executor
    workers: int
    resume: bool = False
    yes: bool = False


class Launch:
    """One run of the command, on a plan."""

    def __init__(self, store: RunStore, plan: SweepPlan, order: Order, reporter: Reporter) -> None:
        self.plan = plan
        self._store, self._sweeps = store, SweepStore(store)
        self._order, self._reporter = order, reporter
        self._begun, self._next, self._at_first = time.monotonic(), 0.0, 0.0

    def prepare(self, path: str, sweep: Sweep) -> SweepCost:
        """Say what the sweep costs and return it; BadInput where it is not to start, StoreError for want of room."""
        rows = self._sweeps.find(self.plan.keys)
        unfinished = [key for key in self.plan.keys if key not in rows or not rows[key].ended]
        begun, new = [key for key in unfinished if key in rows], [key for key in unfinished if key not in rows]
        cost = estimate_cost(self._store, self.plan, unfinished, sweep=sweep, workers=self._order.workers)
        self._reporter.say(format_cost(cost))
        if begun and not self._order.resume:
            raise BadInput(
                f"{path} was begun in this store, and {len(unfinished)} of its {cost['runs']} runs have not ended; "
                "--resume goes on with them.",
                field="resume",
            )
        if len(new) > sweep.max_runs and not self._order.yes:
            raise BadInput(
                f"{len(new)} runs would start, and more than {sweep.max_runs} need --yes (or another max_runs under "
                "[sweep]); nothing was started.",
                field="yes",
            )
        check_room(self._store.database, len(unfinished))
        return cost

    def run(self, again: str, note: Callable[[], None] = lambda: None) -> None:
        """Run what is missing, one phase after the other; where that is broken off, pause what nobody works on.

        `again` is the command that goes on then; `note` is called whenever runs were launched.
        """
        try:
            for phase in self.plan.phases:
                self._run_phase([(config, chunk.id) for chunk in phase for config in chunk.configs], note)
        except (KeyboardInterrupt, FairprivError):
            self._leave(again)
            raise

    def _leave(self, again: str) -> None:
        """Pause what nobody works on, and say how to go on; nothing where nothing was launched."""
        with suppress(StoreError):
            self._sweeps.pause(self.plan.keys)
            counts, _ = self._sweeps.progress(self.plan.keys)
            if counts:
                line = format_sweep_progress(counts, len(self.plan.keys), None)
                self._reporter.say(f"{line}; the rest is paused, and {again} goes on.")

    def _run_phase(self, runs: Sequence[tuple[RunConfig, str]], note: Callable[[], None]) -> None:
        ready = self._find_ready(runs)
        self._sweeps.submit(ready)
        note()
        keys = [config.key for config, _ in ready]
        self._sweeps.go_on(keys)
        rows = self._sweeps.find(keys).values()
        chunks = dict.fromkeys(row.chunk.partition(".")[0] for row in rows if row.chunk and not row.ended)
        if chunks:
            self._begun, self._at_first = time.monotonic(), self._sweeps.progress(self.plan.keys)[1]
            self._order.execute(None, list(chunks), self._watch)

    def _find_ready(self, runs: Sequence[tuple[RunConfig, str]]) -> list[tuple[RunConfig, str]]:
        """Return the runs but for those that would use a release of this sweep whose run did not finish."""
        own = set(self.plan.keys)
        sources = self._sweeps.find([c.reuse for c, _ in runs if c.reuse in own])
        unusable = {key for key, row in sources.items() if row.status != "finished"}
        return [(config, chunk) for config, chunk in runs if config.reuse not in unusable]

    def _watch(self) -> None:
        """Show how far it is, now and then."""
        began = time.monotonic()
        if began > self._next:
            self._reporter.show(self._format_progress())
            end = time.monotonic()
            self._next = end + max(_SHOW_SECONDS, (end - began) / _SHOW_SHARE)

    def _format_progress(self) -> str:
        counts, n_made = self._sweeps.progress(self.plan.keys)
        gained, seconds, runs = n_made - self._at_first, time.monotonic() - self._begun, len(self.plan.keys)
        seconds_left = seconds * (runs - n_made) / gained if gained > 0 and seconds > _SILENT_SECONDS else None
        return format_sweep_progress(counts, runs, seconds_left)


def check_room(database: Database, runs: int) -> None:
    """Raise StoreError where the disk of `database` has no room for so many more runs."""
    if database.path is None:
        return
    needed, free = runs * _BYTES_A_RUN, shutil.disk_usage(database.folder).free
    if free < needed:
        raise StoreError(
            f"{runs} runs need about {needed / 1e6:.0f} MB in the run store {database.where}, and its disk has "
            f"{free / 1e6:.0f} MB left; free some space or set FAIRPRIV_STORE to another place."
        )


def request_cost(raw: Mapping[str, object], *, owner: str) -> dict[str, object]:
    """Return the request for what the sweep `raw` (as for `build_sweep`) costs `owner`, as a preview.

    Its result has `cost` as `estimate_cost`, the `keys` of all its configs, `max_runs` as the sweep says, and
    `refusal`, the sentence with which a launch would be refused now, or None. BadInput where `raw` is no sweep.
    """
    build_sweep(raw)
    try:
        return {"sweep": json.loads(json.dumps(raw, allow_nan=False)), "owner": owner}
    except (TypeError, ValueError) as error:
        raise BadInput(f"a sweep's values are finite numbers, words and tables: {error}.", field="axes") from error


def request_launch(raw: Mapping[str, object], *, owner: str, confirmed: bool) -> dict[str, object]:
    """Return the request that launches the sweep `raw` for `owner`; `confirmed`: even with more runs than its max_runs.

    Its result is the number of runs that are `launched`; asked for twice, it launches what is missing, so nothing.
    """
    return {**request_cost(raw, owner=owner), "launch": {"confirmed": confirmed}}


def list_launched(store: RunStore, raw: Mapping[str, object], cost: SweepCost, keys: Sequence[str]) -> None:
    """Let pages list a sweep that a command launches: with what it told of its `cost`, its progress and its brakes."""
    max_runs, owner = build_sweep(raw).max_runs, store.payer
    preview: SweepPreview = {"cost": cost, "keys": list(keys), "max_runs": max_runs, "refusal": None}
    store.previews.note(request_cost(raw, owner=owner), preview)
    launch = request_launch(raw, owner=owner, confirmed=cost["new"] > max_runs)
    store.previews.note(launch, {"launched": cost["new"]})


def compute(place: str | None, request: Mapping[str, Any]) -> Mapping[str, Any]:
    """Do what a page asked for, in the store at `place`.

    Raises:
        BadInput: as `build_sweep` and `plan_sweep`; of a launch, where too many runs were not confirmed or a cap
            forbids it. Nothing is launched then.
        StoreError: the disk has no room for the runs.
    """
    sweep = build_sweep(request["sweep"])
    with RunStore(Database(place), request["owner"]) as store:
        timed = store.rows(limit=_TIMED)
        plan = plan_sweep(sweep, find_record=store.source, identify=store.files.identify, runs=timed)
        if "launch" in request:
            return {"launched": _launch(store, plan, sweep, confirmed=request["launch"]["confirmed"])}
        return _preview(store, plan, sweep)


def _preview(store: RunStore, plan: SweepPlan, sweep: Sweep) -> SweepPreview:
    rows = SweepStore(store).find(plan.keys)
    unfinished = [key for key in plan.keys if key not in rows or not rows[key].ended]
    cost = estimate_cost(store, plan, unfinished, sweep=sweep, workers=count_cores())
    return {"cost": cost, "keys": plan.keys, "max_runs": sweep.max_runs, "refusal": _find_refusal(store, plan, cost)}


def _find_refusal(store: RunStore, plan: SweepPlan, cost: SweepCost) -> str | None:
    """Return why a launch would be refused now, whoever confirms it; None where it would not."""
    try:
        check_room(store.database, cost["new"])
        SweepStore(store).check(*_list_runs(store, plan))
    except FairprivError as error:
        return str(error)
    return None


def _launch(store: RunStore, plan: SweepPlan, sweep: Sweep, *, confirmed: bool) -> int:
    sweeps = SweepStore(store)
    new = len(plan.keys) - len(sweeps.find(plan.keys))
    if new > sweep.max_runs and not confirmed:
        raise BadInput(
            f"{new} runs would start, and more than {sweep.max_runs} need to be confirmed; nothing was started.",
            field="max_runs",
        )
    check_room(store.database, new)
    sweeps.submit(*_list_runs(store, plan))
    sweeps.go_on(plan.keys)
    return new


def _list_runs(store: RunStore, plan: SweepPlan) -> tuple[list[tuple[RunConfig, str]], dict[str, Posting]]:
    """Return all runs with their chunks; and what those will release that make or use a release that is still to come.

    Once a release has been made the ledger knows it by its own name.
    """
    runs = [(config, chunk.id) for chunk in plan.chunks for config in chunk.configs]
    sources = {config.reuse for config, _ in runs if config.reuse in plan.postings}
    rows = SweepStore(store).find([key for key in sources if key is not None])
    unmade = sources - {key for key, row in rows.items() if row.status == "finished"}
    return runs, {c.key: plan.postings[c.key] for c, _ in runs if c.key in unmade or c.reuse in unmade}
