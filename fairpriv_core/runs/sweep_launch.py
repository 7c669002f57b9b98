"""Launching a sweep: what it costs first, then its phases, and what becomes of it when it is stopped."""

from __future__ import annotations

import shutil
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from fairpriv_core.errors import BadInput, FairprivError, StoreError
from fairpriv_core.runs.config import RunConfig
from fairpriv_core.runs.crew import Executor
from fairpriv_core.runs.holding import Talk
from fairpriv_core.runs.prose_sweep import describe_cost, describe_progress
from fairpriv_core.runs.store import RunStore
from fairpriv_core.runs.store_database import Database
from fairpriv_core.runs.store_sweep import SweepStore
from fairpriv_core.runs.sweep_cost import Json, tell_cost
from fairpriv_core.runs.sweep_plan import SweepPlan
from fairpriv_core.runs.sweep_spec import Sweep

_BYTES_A_RUN = 60_000  # record, model and checkpoint of a small one
_SHOW_SECONDS = 0.5
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

    def __init__(self, store: RunStore, plan: SweepPlan, order: Order, talk: Talk) -> None:
        self.plan = plan
        self._store, self._sweeps = store, SweepStore(store)
        self._order, self._talk = order, talk
        self._begun, self._shown, self._at_first = time.monotonic(), 0.0, 0.0

    def prepare(self, path: str, sweep: Sweep) -> Json:
        """Say what the sweep costs and return it; BadInput where it is not to start, StoreError for want of room."""
        found = self._sweeps.find(self.plan.keys)
        missing = [key for key in self.plan.keys if key not in found or not found[key].ended]
        begun, new = [key for key in missing if key in found], [key for key in missing if key not in found]
        cost = tell_cost(self._store, self.plan, missing, sweep=sweep, workers=self._order.workers)
        self._talk.say(describe_cost(cost))
        if begun and not self._order.resume:
            raise BadInput(
                f"{path} was begun in this store, and {len(missing)} of its {cost['runs']} runs have not ended; "
                "--resume goes on with them.",
                field="resume",
            )
        if len(new) > sweep.max_runs and not self._order.yes:
            raise BadInput(
                f"{len(new)} runs would start, and more than {sweep.max_runs} need --yes (or another max_runs under "
                "[sweep]); nothing was started.",
                field="yes",
            )
        check_room(self._store.database, len(missing))
        return cost

    def run(self, again: str) -> None:
        """Run what is missing, one phase after the other; where that is broken off, pause what nobody works on.

        `again` is the command that goes on then.
        """
        try:
            for phase in self.plan.phases:
                self._run_phase([(config, chunk.id) for chunk in phase for config in chunk.configs])
        except (KeyboardInterrupt, FairprivError):
            self._leave(again)
            raise

    def _leave(self, again: str) -> None:
        """Pause what nobody works on, and say how to go on; nothing where nothing was launched."""
        with suppress(StoreError):
            self._sweeps.pause(self.plan.keys)
            counts, _ = self._sweeps.progress(self.plan.keys)
            if counts:
                told = describe_progress(counts, len(self.plan.keys), None)
                self._talk.say(f"{told}; the rest is paused, and {again} goes on.")

    def _run_phase(self, runs: Sequence[tuple[RunConfig, str]]) -> None:
        ready = self._find_ready(runs)
        self._sweeps.submit(ready)
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
        if time.monotonic() - self._shown > _SHOW_SECONDS:
            self._shown = time.monotonic()
            self._talk.show(self._describe())

    def _describe(self) -> str:
        counts, made = self._sweeps.progress(self.plan.keys)
        gained, spent = made - self._at_first, time.monotonic() - self._begun
        left = spent * (len(self.plan.keys) - made) / gained if gained > 0 and spent > _SILENT_SECONDS else None
        return describe_progress(counts, len(self.plan.keys), left)


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
