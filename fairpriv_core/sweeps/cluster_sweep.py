"""Runs on a cluster. Dask carries them to workers; the run table stays the queue of record.

A task is "claim these runs and work on them", so that it may be lost, repeated or late: what ended is read from the
store alone, and what a lost worker held is queued again when its lease is over.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import ExitStack, suppress
from dataclasses import replace
from pkgutil import resolve_name
from typing import Any, Self

from fairpriv_core.errors import BadInput, FairprivError, RunFailed, StoreError
from fairpriv_core.records.config import name_config
from fairpriv_core.records.source import ConfigJson
from fairpriv_core.store.runs import RunStore, open_store
from fairpriv_core.store.sweeps import SweepStore
from fairpriv_core.store.work import WorkStore
from fairpriv_core.sweeps.cluster_task import Terms, name_data, read_versions

WORKER_SECONDS = 120.0
STORE_SECONDS = 300.0
IDLE_SECONDS = 300.0
PAUSE_SECONDS = 15.0
POLL_SECONDS = 0.5
AGAIN_SECONDS = 10.0
_RECOVER_SECONDS = 1.0
_REST_SECONDS = 2.0  # until what no worker took is given out again

Say = Callable[[str], None]


class Cluster:
    """Workers behind one scheduler that share the default store; leaving the `with` block disconnects."""

    def __init__(self, address: str, say: Say) -> None:
        """Connect; `say` takes sentences.

        Raises:
            BadInput: the store is a SQLite file, Dask is not installed, or no scheduler answers at `address`.
            StoreError: the store cannot be opened.
        """
        self._store, self._say = open_store(), say
        self._sweeps, self._work = SweepStore(self._store), WorkStore(self._store.database)
        self._tasks: dict[str, Any] = {}
        self._names_at_work: set[str] = set()  # whose runs somebody had when the store was last asked
        self._rests_until: dict[str, float] = {}
        self._reported: set[str] = set()
        self._recovered, self._last_move, self._outcome = 0.0, time.monotonic(), ""
        self._trouble_since: float | None = None
        self._has_lost_runs = (
            False  # whether runs were taken from workers that are gone, since tasks were last given out
        )
        with ExitStack() as undo:
            undo.callback(self._store.close)
            _refuse_file(self._store)
            database = self._store.database
            self._terms = Terms(*read_versions(), store=database.identify(), where=database.where)
            self._link, self._read_task = _load("Link")(address, self._terms, say), _load("read_task")
            self._generation = self._link.generation
            undo.callback(self._link.close)
            self._undo = undo.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._undo.close()

    @property
    def threads(self) -> int:
        """How many chunks can be worked on at a time just now."""
        return sum(self._link.fit.values())

    def await_workers(self, *, all_fit: bool = True) -> None:
        """Wait until a worker is there and each has answered.

        BadInput where there is none, or one may not work, or where not `all_fit` must be, none.
        """
        end, warned = time.monotonic() + WORKER_SECONDS, False
        while not self._link.settled:
            if time.monotonic() > end:
                raise BadInput(
                    f"no worker of the scheduler at {self._link.address} was free for {WORKER_SECONDS:.0f} seconds; "
                    f"start one (dask worker {self._link.address} --nthreads 1).",
                    field="scheduler",
                )
            if not warned and time.monotonic() > end - WORKER_SECONDS + 3.0:
                self._say(f"waiting for a worker of {self._link.address} ...")
                warned = True
            self._link.client()
            time.sleep(0.1)
        if self._link.refused and (all_fit or not self._link.fit):
            address, fault = next(iter(self._link.refused.items()))
            raise BadInput(f"worker {address} {fault}", field="scheduler")

    def run(self, place: str | None, chunks: Sequence[str], watch: Callable[[], None]) -> None:
        """Have all runs of `chunks` worked on until none waits or is at work; `watch` is called again and again.

        `place` is None, the default store: workers know no other.

        Raises:
            BadInput: no worker can read the runs' data.
            KeyboardInterrupt: after the workers were asked to pause what they hold.
            RunFailed: the scheduler was away for too long, or no worker took a run for so long.
            StoreError: the store could not be read for STORE_SECONDS.
        """
        assert place is None
        configs = self._sweeps.configs(chunks)
        try:
            self._link.ask(replace(self._terms, data=tuple(dict.fromkeys(map(name_data, configs)))))
            self.await_workers(all_fit=False)
            self._last_move = time.monotonic()
            while self._attend(chunks, watch):
                self._link.news.wait(POLL_SECONDS)
                self._link.news.clear()
        except KeyboardInterrupt:
            self._pause(configs, chunks)
            raise

    def _attend(self, chunks: Sequence[str], watch: Callable[[], None]) -> bool:
        """Do what is due; return whether a run still waits or is at work."""
        try:
            going_on = self._sweeps.waiting(chunks) > 0
            if going_on:
                self._recover()
                self._hand_out(chunks)
                self._check_moving(chunks)
            watch()
            self._trouble_since = None
            return going_on
        except StoreError as error:
            if self._trouble_since is None:
                self._say(f"{error} Trying again.")
                self._trouble_since = time.monotonic()
            if time.monotonic() - self._trouble_since > STORE_SECONDS:
                raise
            return True

    def follow(self, stopping: threading.Event) -> None:
        """Give out whatever waits in the store, until `stopping` is set; errors as `run`."""
        while not stopping.wait(POLL_SECONDS):
            self._hand_out(None)

    def _hand_out(self, chunks: Sequence[str] | None) -> None:
        """Give out what waits, of `chunks` or of the whole store, each once; Dask finds it a worker."""
        client = self._link.client()
        if client is None:
            return
        if self._link.generation != self._generation:
            self._generation, self._tasks = self._link.generation, {}
        for address, fault in list(self._link.refused.items()):
            self._report(address, f"worker {address} {fault} It is left out.")
        waiting, now = self._work.claimable(chunks), time.monotonic()
        with self._link.breaking():
            self._collect()
            stale = [self._tasks.pop(name) for name in self._find_stale(waiting) if name in self._tasks]
            if stale:
                client.cancel(stale)
            for name, which in waiting.items():
                if name not in self._tasks and self._rests_until.get(name, 0.0) <= now:
                    self._tasks[name] = self._link.give(client, which)
            self._names_at_work = self._tasks.keys() - waiting.keys()

    def _find_stale(self, waiting: Mapping[str, Any]) -> Iterable[str]:
        """Return the names of what waits whose tasks Dask may keep for no worker, or for one that is gone.

        It looks at the tasks of no worker again only where a worker has registered. What waits once more was lost or
        handed back.
        """
        anew, self._has_lost_runs = self._has_lost_runs, False
        if self._link.joined.is_set():
            self._link.joined.clear()
            anew = True
        return waiting.keys() if anew else waiting.keys() & self._names_at_work

    def _recover(self) -> None:
        if time.monotonic() - self._recovered > _RECOVER_SECONDS:
            self._recovered = time.monotonic()
            self._has_lost_runs = self._work.recover() > 0 or self._has_lost_runs

    def _report(self, what: str, sentence: str) -> None:
        """Say a sentence, once for each thing that it is about."""
        if what not in self._reported:
            self._reported.add(what)
            self._say(sentence)

    def _check_moving(self, chunks: Sequence[str]) -> None:
        """Raise RunFailed where runs wait and no worker has had one for IDLE_SECONDS, by the store's account.

        Workers that are busy with something else are waited for.
        """
        if self._sweeps.at_work(chunks):
            self._last_move, self._outcome = time.monotonic(), ""
        if time.monotonic() - self._last_move < IDLE_SECONDS:
            return
        if not self._outcome and self._link.has_fit():
            self._last_move = time.monotonic()
            return
        refusal = next((f"worker {name} {fault}" for name, fault in self._link.refused.items()), "there is none.")
        why = self._outcome or refusal
        raise RunFailed(f"no worker of {self._link.address} took a run for {IDLE_SECONDS:.0f} seconds: {why}")

    def _collect(self) -> None:
        """Let go of tasks that ended. What no worker took is given out again after a rest."""
        for name, task in [item for item in self._tasks.items() if item[1].status != "pending"]:
            del self._tasks[name]
            outcome = self._read_task(task)
            if not isinstance(outcome, int) or not outcome:
                self._rests_until[name] = time.monotonic() + _REST_SECONDS
            self._outcome = "workers found nothing to take up." if outcome == 0 else ""
            if isinstance(outcome, str):
                self._outcome = outcome
                self._report(outcome, f"a worker could not work on its runs: {outcome}")

    def _pause(self, configs: Sequence[ConfigJson], chunks: Sequence[str]) -> None:
        """Give nothing out any more, and wait until the workers have put back what they hold."""
        self._say("asking the workers to put back what they work on ...")
        with suppress(OSError, FairprivError):
            self._sweeps.pause([name_config(config) for config in configs], also_working=True)
            end = time.monotonic() + PAUSE_SECONDS
            while self._sweeps.at_work(chunks) and time.monotonic() < end:
                time.sleep(0.2)


def spread(address: str, work: Callable[[Any], Any], parts: Sequence[Any]) -> Iterable[Any]:
    """Yield what the workers behind a scheduler make of each part, as it comes. No run store is asked for."""
    results: Iterable[Any] = _load("spread")(address, Terms(*read_versions(), store="", where=""), work, parts)
    return results


def serve(address: str, stopping: threading.Event, say: Say) -> None:
    """Have the workers behind a scheduler train what is launched in the default store, until `stopping` is set.

    What is in the way is said, and tried again.
    """
    while not stopping.is_set():
        try:
            with Cluster(address, say) as cluster:
                cluster.follow(stopping)
        except FairprivError as error:
            say(f"{error} Trying again.")
            stopping.wait(AGAIN_SECONDS)


def _refuse_file(store: RunStore) -> None:
    if store.database.path is not None:
        raise BadInput(
            f"the run store {store.database.where} is a SQLite file, which the workers of a cluster cannot share; set "
            "FAIRPRIV_STORE to a PostgreSQL URL, here and for every worker.",
            field="scheduler",
        )


def _load(name: str) -> Any:
    """Return what the module that imports Dask has under a name; BadInput where Dask is not installed."""
    try:
        return resolve_name(f"fairpriv_core.sweeps.cluster:{name}")
    except ModuleNotFoundError as error:
        raise BadInput(
            f"a cluster needs the package '{error.name}'; install fairpriv with the extra 'cluster'.", field="scheduler"
        ) from error
