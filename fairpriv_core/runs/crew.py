"""Running a sweep's chunks by processes of this machine."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from fairpriv_core.runs.supervisor import Supervisor
from fairpriv_core.store.runs import open_store
from fairpriv_core.store.sweeps import SweepStore

#: runs the chunks of a store until none of their runs waits or is at work, calling back now and then
Executor = Callable[[str | None, Sequence[str], Callable[[], None]], None]


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
