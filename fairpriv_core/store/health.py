"""Whether what a person launches here would be trained: the store, its disk, and the process that trains."""

from __future__ import annotations

import fcntl
import shutil
import time
from dataclasses import dataclass

from sqlalchemy import func, select

from fairpriv_core.store.database import Database
from fairpriv_core.store.rows import is_lost, lease_over
from fairpriv_core.store.runs import RunStore
from fairpriv_core.store.tables import run

_LEAST_FREE = 200_000_000  # bytes: a model and its checkpoints, many times over


@dataclass(frozen=True)
class Health:
    """How things stand.

    Attributes:
        waiting, at_work, lost: how many runs; of lost ones the process is gone, and they are about to be taken up.
        oldest_waits: seconds; None where nothing waits.
        trains: whether a process of this host takes up what is launched.
        free_bytes: on the disk of the store's folder.
        troubles: a sentence for each thing that an operator has to mend.
    """

    waiting: int
    at_work: int
    lost: int
    oldest_waits: float | None
    trains: bool
    free_bytes: int
    troubles: tuple[str, ...]


def look_after(store: RunStore) -> Health:
    """Return how things stand in `store`. Raises StoreError where it cannot be opened, read or locked."""
    database = store.database
    with database.read() as connection:
        queued = run.c.status == "queued"
        waiting, oldest = connection.execute(select(func.count(), func.min(run.c.created)).where(queued)).one()
        query = select(run.c.status, run.c.worker, lease_over(run)).where(run.c.status == "running")
        running = [is_lost(row) for row in connection.execute(query).mappings()]
    database.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    free, trains, n_lost = shutil.disk_usage(database.folder).free, is_served(database), sum(running)
    troubles = {
        f"the store {database.where} can only be read.": database.writable,
        "no process of this host trains what is launched; 'fairpriv app' starts one.": trains,
        f"the disk of {database.folder} has {free / 1e6:,.0f} MB left.": free >= _LEAST_FREE,
    }
    return Health(
        waiting=waiting,
        at_work=len(running) - n_lost,
        lost=n_lost,
        oldest_waits=None if oldest is None else max(0.0, time.time() - oldest),
        trains=trains,
        free_bytes=free,
        troubles=tuple(sentence for sentence, well in troubles.items() if not well),
    )


def is_served(database: Database) -> bool:
    """Return whether a supervisor of this host holds the store's place; one that asks in this moment waits a second."""
    with database.open_lock("supervisor") as place:
        try:
            fcntl.flock(place, fcntl.LOCK_SH | fcntl.LOCK_NB)
        except BlockingIOError:
            return True
        return False
