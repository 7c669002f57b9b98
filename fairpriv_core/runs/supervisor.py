"""The process that trains: claims queued runs and previews, and gives each a process of its own.

It is started beside the pages (`runs/beside.py`), or by `python -m fairpriv_core.runs.supervisor`. It holds nothing
that the store does not: kill it, and its children end with it; the next one goes on from their last checkpoints.
`run_here` works on a sweep's chunks by the same processes, in the foreground.
"""

from __future__ import annotations

import fcntl
import logging
import os
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import IO

from fairpriv_core.errors import Damaged, FairprivError, StoreError
from fairpriv_core.runs.children import Child, ChildProcesses, count_cores
from fairpriv_core.runs.device import check_device
from fairpriv_core.runs.log import note, set_up_log
from fairpriv_core.runs.preview import run_preview
from fairpriv_core.runs.worker import run_child, run_explorer
from fairpriv_core.store.carried import drop_left
from fairpriv_core.store.claim import Claim, LeaseLost
from fairpriv_core.store.database import Database
from fairpriv_core.store.decisions import drop_old
from fairpriv_core.store.mode import TRIAL_SLOTS, is_trial
from fairpriv_core.store.runs import open_store
from fairpriv_core.store.sweeps import SweepStore
from fairpriv_core.store.work import WorkStore

POLL_SECONDS = 0.1
IDLE_SECONDS = 0.2  # where each look is a query over a network
TROUBLE_SECONDS = 1.0
RECOVER_SECONDS = 1.0
PATIENCE_SECONDS = 3.0
CHUNK_PATIENCE_SECONDS = 12.0  # a chunk hears of it by its heartbeat, and its commit takes longer
MOST_PREVIEWS = 4
SCHEDULER = "FAIRPRIV_SCHEDULER"  # of the environment: the Dask scheduler whose workers train in place of this machine
_CLUSTER = "fairpriv_core.sweeps.cluster_sweep"
_OTHER = (
    "fairpriv: another process of this host trains what is launched in {where}; this one waits, and goes on when that "
    "one ends."
)
#: runs the chunks of a store until none of their runs waits or is at work, calling back now and then
Executor = Callable[[str | None, Sequence[str], Callable[[], None]], None]


class Supervisor:
    """Runs up to `slots` runs at a time (as many as there are cores), and beside them a few previews and an explorer.

    On trial there are few slots, of which the explorer takes one, and one preview is made at a time.
    With no slot (0) runs are left to others, such as a cluster's workers. With `chunks` it works on these alone. Runs
    of one chunk are one child; the explorer is one for all runs that people explore.
    """

    def __init__(
        self, place: str | None = None, *, slots: int | None = None, chunks: Sequence[str] | None = None
    ) -> None:
        most = TRIAL_SLOTS if is_trial() else count_cores()
        self._place, self.slots, self._chunks = place, most if slots is None else slots, chunks
        self._most_previews = 0 if chunks is not None else 1 if is_trial() else MOST_PREVIEWS
        self._trouble = ""
        self._database = Database(place)
        self._work = WorkStore(self._database)
        self._seen: tuple[int | None, int] | None = None
        self._children = ChildProcesses()
        self._jobs: dict[tuple[Claim, ...], Child] = {}
        self._previews: dict[str, Child] = {}
        self.explorer: Child | None = None
        self._recovered = 0.0

    def serve(self, stopping: threading.Event) -> None:
        """Work until `stopping` is set; then end the children and hand their runs back to the queue."""
        while not stopping.is_set():
            stopping.wait(self.attend())
        self.stop()

    def attend(self) -> float:
        """Do what is due, and return for how many seconds nothing is; a store that cannot be used is tried again."""
        try:
            self.tick()
            self._trouble = ""
        except (Damaged, StoreError) as error:
            if str(error) != self._trouble:
                print(f"fairpriv: {error} Trying again.", file=sys.stderr)
                note("store_trouble", level=logging.WARNING, kind=type(error).__name__)
            self._trouble = str(error)
        if self._trouble:
            return TROUBLE_SECONDS
        return IDLE_SECONDS if self._is_idle and self._seen is None else POLL_SECONDS

    def _has_slot(self) -> bool:
        """Return whether one more may train; on trial the explorer takes a slot too."""
        return len(self._jobs) + (is_trial() and self.explorer is not None) < self.slots

    @property
    def _is_idle(self) -> bool:
        return not self._jobs and not self._previews

    def tick(self) -> None:
        """Do what is due: reap, hasten, recover, start. Where nothing has changed there is nothing new to start."""
        version = self._database.version()
        self._reap()
        self._end_overdue()
        if time.monotonic() - self._recovered > RECOVER_SECONDS:
            self._recovered = time.monotonic()
            self._work.recover()
            self._work.previews.recover()
            drop_old(self._database)
            drop_left(self._database)
        if not self._children.ready or (self._is_idle and version is not None and version == self._seen):
            return
        may_explore = self._chunks is None and self.explorer is None and (self._has_slot() or not is_trial())
        if may_explore and self._work.explores():
            self.explorer = self._children.start(run_explorer, self._place)
            note("explorer_started")
        while self._has_slot() and (claims := self._work.claim(chunk=self._chunks)):
            self._jobs[claims] = self._children.start(run_child, self._place, claims)
            for claim in claims:
                note("run_taken", run=claim.key, attempt=claim.attempt, step=claim.step)
        while len(self._previews) < self._most_previews and (key := self._work.previews.claim()):
            self._previews[key] = self._children.start(run_preview, self._place, key)
            note("preview_taken", preview=key)
        full = not self._has_slot() or (self._previews and len(self._previews) == self._most_previews)
        self._seen = None if full else version  # who is full has not asked what waits

    def stop(self) -> None:
        """End the children and close the store; their runs go back to the queue and on from their last checkpoints."""
        for claims, child in self._jobs.items():
            self._end(claims, child)
        self._jobs = {}
        for child in (*self._previews.values(), *([] if self.explorer is None else [self.explorer])):
            child.end()
        self._database.close()

    def _end(self, claims: tuple[Claim, ...], child: Child) -> None:
        """End a child and hand its runs back, paused or cancelled where a person asked for it."""
        child.end()
        with suppress(StoreError, LeaseLost):  # ended by themselves in this moment, or found as their lease ends
            self._work.hand_back(claims)

    def _reap(self) -> None:
        for claims, child in [job for job in self._jobs.items() if not job[1].alive]:
            mishap = child.mishap()
            if mishap is not None:
                self._work.crash(claims, mishap)
                for claim in claims:
                    note("process_died", level=logging.WARNING, run=claim.key, how=mishap)
            del self._jobs[claims]
        for key, child in [job for job in self._previews.items() if not job[1].alive]:
            child.mishap()
            del self._previews[key]
        if self.explorer is not None and not self.explorer.alive:
            mishap = self.explorer.mishap()
            if mishap is not None:
                self._work.recover(mishap)  # what it has left
            self.explorer, self._seen = None, None  # a run that was queued as it ended waits for the next one

    def _end_overdue(self) -> None:
        """End a child that has not obeyed a pause or a stop for a while: its last checkpoint is what remains.

        A preview that was cancelled is ended at once.
        """
        for claims, child in list(self._jobs.items()):
            patience = PATIENCE_SECONDS if len(claims) == 1 else CHUNK_PATIENCE_SECONDS
            if child.patience(bool(self._work.asked(claims))) > patience:
                self._end(claims, child)
                del self._jobs[claims]
                for claim in claims:
                    note("process_ended", level=logging.WARNING, run=claim.key, because="it did not obey")
        if self.explorer is not None and self.explorer.patience(self._work.is_superseded()) > PATIENCE_SECONDS:
            self.explorer.end()
        uncancelled = self._work.previews.uncancelled(self._previews) if self._previews else set()
        for key in [key for key in self._previews if key not in uncancelled]:
            self._previews.pop(key).end()
            note("preview_cancelled", preview=key)


def main(lifeline: int | None = None) -> int:
    """Serve the default store until told to end; where another process of this host does, first wait for its end.

    With a `lifeline`, the descriptor of a pipe that nobody writes to, it also ends when the other end is closed.
    Returns the exit code.
    """
    stopping = threading.Event()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: stopping.set())
    if lifeline is not None:
        threading.Thread(target=_stop_with, args=(lifeline, stopping), daemon=True).start()
    try:
        set_up_log()
        check_device()
        with serving(stopping):
            if not stopping.is_set():
                _serve(stopping)
    except FairprivError as error:
        print(f"fairpriv: {error}", file=sys.stderr)
        return error.exit_code
    return 0


def _serve(stopping: threading.Event) -> None:
    with _on_cluster(os.environ.get(SCHEDULER, ""), stopping) as elsewhere:
        supervisor = Supervisor(slots=0 if elsewhere else None)
        note("supervisor_started", slots=supervisor.slots)
        supervisor.serve(stopping)
        note("supervisor_stopped")


@contextmanager
def _on_cluster(address: str, stopping: threading.Event) -> Iterator[bool]:
    """Have a cluster train what is launched where `address` names its scheduler; give whether it does."""
    if not address:
        yield False
        return

    def say(sentence: str) -> None:
        print(f"fairpriv: {sentence}", file=sys.stderr, flush=True)

    thread = threading.Thread(target=import_module(_CLUSTER).serve, args=(address, stopping, say), daemon=True)
    thread.start()
    yield True
    thread.join(PATIENCE_SECONDS)


def _stop_with(lifeline: int, stopping: threading.Event) -> None:
    os.read(lifeline, 1)
    stopping.set()


@contextmanager
def serving(stopping: threading.Event, place: str | None = None) -> Iterator[None]:
    """Hold a store's place for one supervisor a host, once it is free or one is told to stop.

    Two would each take a run for every core. The place is a lock on a file, which the system frees however its holder
    ends.
    """
    database = Database(place)
    with database.open_lock("supervisor") as lock:
        database.close()
        if not _is_locked(lock):
            print(_OTHER.format(where=database.where), file=sys.stderr, flush=True)
        while not stopping.is_set() and not _is_locked(lock):
            stopping.wait(TROUBLE_SECONDS)
        yield


def _is_locked(file: IO[bytes]) -> bool:
    """Lock a file unless another process has; return whether it is locked now."""
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


if __name__ == "__main__":
    sys.exit(main())


def run_here(place: str | None, chunks: Sequence[str], watch: Callable[[], None], *, workers: int) -> None:
    """Run the chunks of the store at `place` with up to `workers` processes at a time.

    Whatever ends it (Ctrl-C), runs that have not ended go back to the queue and on from their last checkpoints. Runs
    that another process has taken up are waited for.
    """
    with open_store(place) as store:
        sweeps, crew = SweepStore(store), Supervisor(place, slots=workers, chunks=chunks)
        try:
            while sweeps.waiting(chunks):
                time.sleep(crew.attend())
                watch()
        finally:
            crew.stop()
