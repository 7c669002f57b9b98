"""A sweep on a cluster. Dask carries chunks to workers; the run table stays the queue of record.

A task is "claim this chunk and work on it", so that it may be lost, repeated or late: what ended is read from the store
alone, and what a lost worker held is queued again when its lease is over.
"""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from contextlib import ExitStack, suppress
from pkgutil import resolve_name
from typing import TYPE_CHECKING, Any, Self
from uuid import uuid4

from fairpriv_core.errors import BadInput, FairprivError, RunFailed, StoreError
from fairpriv_core.store.runs import RunStore, open_store
from fairpriv_core.store.sweeps import SweepStore
from fairpriv_core.store.work import WorkStore
from fairpriv_core.sweeps.cluster_task import Terms, name_data, read_versions

if TYPE_CHECKING:
    from fairpriv_core.sweeps.cluster import Link, Workers

WORKER_SECONDS = 120.0
STORE_SECONDS = 300.0
IDLE_SECONDS = 300.0
HAND_BACK_SECONDS = 15.0
POLL_SECONDS = 0.5
_RECOVER_SECONDS = 1.0
MOST_MISSES = 30
_MOST_REST_SECONDS = 10.0

Say = Callable[[str], None]


class Cluster:
    """Workers behind one scheduler that share the default store; leaving the `with` block disconnects."""

    def __init__(self, address: str, say: Say) -> None:
        """Connect, and wait until a worker is there and each that is there was checked; `say` takes sentences.

        Raises:
            BadInput: the store is a SQLite file, Dask is not installed, no scheduler answers at `address`, no worker
                comes, or one has other versions or another store.
            StoreError: the store cannot be opened.
        """
        self._store, self._say = open_store(), say
        self._sweeps, self._work = SweepStore(self._store), WorkStore(self._store.database)
        self._tasks: dict[str, Any] = {}
        self._misses: Counter[str] = Counter()
        self._resting: dict[str, float] = {}
        self._told: set[str] = set()
        self._news = threading.Event()
        self._recovered = 0.0
        self._troubled: float | None = None
        self._idle: float | None = None
        with ExitStack() as undo:
            undo.callback(self._store.close)
            _refuse_file(self._store)
            make_link, make_workers = _load()
            self._link: Link = make_link(address, say)
            undo.callback(self._link.close)
            self._generation = self._link.generation
            self._workers: Workers = make_workers(_state_terms(self._store))
            self._muster()
            self._undo = undo.pop_all()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._undo.close()

    @property
    def threads(self) -> int:
        """How many chunks can be worked on at a time just now."""
        return sum(self._workers.fit.values())

    def run(self, place: str | None, chunks: Sequence[str], watch: Callable[[], None]) -> None:
        """Have all runs of `chunks` worked on until none waits or is at work; `watch` is called again and again.

        `place` is None, the default store: workers know no other.

        Raises:
            BadInput: a worker cannot read the runs' data.
            KeyboardInterrupt: after the workers were asked to put back into the queue what they hold.
            RunFailed: the scheduler, or all workers, were away for too long, or no worker took a chunk.
            StoreError: the store could not be read for STORE_SECONDS.
        """
        assert place is None
        try:
            self._workers.require(tuple(dict.fromkeys(name_data(config) for config in self._sweeps.configs(chunks))))
            self._muster()
            while self._attend(chunks, watch):
                self._news.wait(POLL_SECONDS)
                self._news.clear()
        except KeyboardInterrupt:
            self._dismiss(chunks)
            raise

    def _attend(self, chunks: Sequence[str], watch: Callable[[], None]) -> bool:
        """Do what is due; return whether a run still waits or is at work."""
        try:
            going_on = self._sweeps.waiting(chunks) > 0
            if going_on:
                self._tick(chunks)
            watch()
            self._troubled = None
            return going_on
        except StoreError as error:
            if self._troubled is None:
                self._say(f"{error} Trying again.")
                self._troubled = time.monotonic()
            if time.monotonic() - self._troubled > STORE_SECONDS:
                raise
            return True

    def _tick(self, chunks: Sequence[str]) -> None:
        if time.monotonic() - self._recovered > _RECOVER_SECONDS:
            self._recovered = time.monotonic()
            self._work.recover()
        client = self._link.client()
        if client is None:
            return
        if self._link.generation != self._generation:
            self._generation = self._link.generation
            self._workers.forget()
            self._tasks = {}
        with self._link.breaking():
            for sentence in self._workers.update(client):
                self._say(f"{sentence} It is left out.")
            self._check_workers()
            self._collect()
            self._give_out(client, chunks)

    def _give_out(self, client: Any, chunks: Sequence[str]) -> None:
        """Give out what waits, so that each thread has a chunk and each worker one in reserve."""
        now = time.monotonic()
        room = sum(self._workers.fit.values()) + len(self._workers.fit) - len(self._tasks)
        queued = self._sweeps.queued(chunks)
        waiting = [chunk for chunk in queued if chunk not in self._tasks and self._resting.get(chunk, 0.0) <= now]
        for chunk in waiting[: max(room, 0)]:
            self._tasks[chunk] = self._workers.give(client, chunk.partition(".")[0])
            self._tasks[chunk].add_done_callback(lambda _: self._news.set())

    def _check_workers(self) -> None:
        """Raise RunFailed where there has been no fit worker for IDLE_SECONDS."""
        if self._workers.fit:
            self._idle = None
            return
        if self._idle is None:
            self._idle = time.monotonic()
            self._say(f"no worker of {self._link.address} may work; waiting for one for {IDLE_SECONDS:.0f} seconds.")
        if time.monotonic() - self._idle > IDLE_SECONDS:
            why = next((f"worker {name} {fault}" for name, fault in self._workers.refused.items()), "there is none.")
            raise RunFailed(f"no worker of {self._link.address} may work; {why}")

    def _collect(self) -> None:
        """Let go of tasks that ended. A chunk that no worker took is given out again later, but not for ever."""
        for chunk, task in [one for one in self._tasks.items() if one[1].status != "pending"]:
            del self._tasks[chunk]
            outcome = self._workers.read(task)
            self._misses[chunk] = 0 if isinstance(outcome, int) and outcome else self._misses[chunk] + 1
            self._resting[chunk] = time.monotonic() + min(self._misses[chunk] * POLL_SECONDS, _MOST_REST_SECONDS)
            if isinstance(outcome, str):
                self._workers.forget()
                if outcome not in self._told:
                    self._told.add(outcome)
                    self._say(f"a worker could not work on a chunk: {outcome}")
            if self._misses[chunk] > MOST_MISSES:
                raise RunFailed(f"chunk {chunk} was given out {MOST_MISSES} times and no worker took it: {outcome}.")

    def _muster(self) -> None:
        """Wait until each worker was asked; BadInput where there is none, or one is found not fit."""
        end, warned = time.monotonic() + WORKER_SECONDS, False
        while not self._workers.settled:
            client = self._link.client()
            with self._link.breaking():
                refused = [] if client is None else self._workers.update(client)
                if refused:
                    raise BadInput(refused[0], field="scheduler")
            if time.monotonic() > end:
                raise BadInput(
                    f"no worker of the scheduler at {self._link.address} was free for {WORKER_SECONDS:.0f} seconds; "
                    f"start one (dask worker {self._link.address} --nthreads 1).",
                    field="scheduler",
                )
            if not warned and time.monotonic() > end - WORKER_SECONDS + 3.0:
                self._say(f"waiting for a worker of {self._link.address} ...")
                warned = True
            time.sleep(0.1)

    def _dismiss(self, chunks: Sequence[str]) -> None:
        """Give nothing out any more, and wait until the workers have put back what they hold."""
        self._say("asking the workers to put back what they work on ...")
        client = self._link.current
        with suppress(OSError, FairprivError):
            if client is not None:
                self._workers.dismiss(client)
                client.cancel(list(self._tasks.values()))
            end = time.monotonic() + HAND_BACK_SECONDS
            while self._sweeps.at_work(chunks) and time.monotonic() < end:
                time.sleep(0.2)


def _refuse_file(store: RunStore) -> None:
    if store.database.path is not None:
        raise BadInput(
            f"the run store {store.database.where} is a SQLite file, which the workers of a cluster cannot share; set "
            "FAIRPRIV_STORE to a PostgreSQL URL, here and for every worker.",
            field="scheduler",
        )


def _state_terms(store: RunStore) -> Terms:
    code, versions = read_versions()
    return Terms(uuid4().hex, code, versions, store.database.identify(), store.database.where)


def _load() -> tuple[Callable[..., Link], Callable[..., Workers]]:
    """Return what makes a link and the workers; BadInput where Dask is not installed."""
    try:
        return resolve_name("fairpriv_core.sweeps.cluster:Link"), resolve_name("fairpriv_core.sweeps.cluster:Workers")
    except ModuleNotFoundError as error:
        raise BadInput(
            f"a cluster needs the package '{error.name}'; install fairpriv with the extra 'cluster'.", field="scheduler"
        ) from error
