"""The explorer: one process for all runs that people explore, which keeps their data, beside those that train."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Callable
from multiprocessing import active_children

from fairpriv_core.records.config import RunConfig
from fairpriv_core.runs.supervisor import Supervisor
from fairpriv_core.store.runs import RunStore
from tests.stores import ON_SQLITE_FIRST

Configure = Callable[..., RunConfig]
PATIENCE = 90.0


def serve(supervisor: Supervisor, ready: Callable[[], bool]) -> None:
    ends = time.monotonic() + PATIENCE
    while not ready():
        assert time.monotonic() < ends, "the explorer did not come that far"
        time.sleep(min(supervisor.attend(), 0.05))


@ON_SQLITE_FIRST
def test_a_newer_move_takes_the_place_of_one_that_trains_in_the_same_process(
    store: RunStore, configure: Configure
) -> None:
    supervisor = Supervisor(str(store.database.url), slots=1)
    try:
        first = store.explore(configure(epochs=100_000)).key
        serve(supervisor, lambda: store.row(first).step > 0)
        worker = store.row(first).worker
        second = store.explore(configure(seed=1, epochs=2)).key
        serve(supervisor, lambda: store.row(second).ended)
        assert store.row(first).status == "cancelled" and store.row(second).status == "finished"
        third = store.explore(configure(seed=2, epochs=100_000)).key
        serve(supervisor, lambda: store.row(third).step > 0)
        assert store.row(third).worker == worker
    finally:
        supervisor.stop()


@ON_SQLITE_FIRST
def test_an_explorer_that_dies_is_replaced_and_its_run_goes_on(store: RunStore, configure: Configure) -> None:
    supervisor = Supervisor(str(store.database.url), slots=1)
    try:
        key = store.explore(configure(epochs=100_000)).key
        serve(supervisor, lambda: store.row(key).step > 0)
        assert supervisor.explorer is not None
        supervisor.explorer.end()
        serve(supervisor, lambda: store.row(key).attempt == 2 and store.row(key).status == "running")
        assert store.row(key).crashes <= 1
    finally:
        supervisor.stop()


@ON_SQLITE_FIRST
def test_a_run_that_is_queued_as_the_explorer_ends_is_taken_up_by_the_next(
    store: RunStore, configure: Configure
) -> None:
    others = active_children()
    supervisor = Supervisor(str(store.database.url), slots=1)
    try:
        first = store.explore(configure(epochs=2)).key
        serve(supervisor, lambda: store.row(first).ended)
        [ending] = [child for child in active_children() if child not in others]
        assert ending.pid is not None and supervisor.explorer is not None
        os.kill(ending.pid, signal.SIGSTOP)  # it looks for no other run, as one that has lingered long enough
        second = store.explore(configure(seed=1, epochs=2)).key
        supervisor.attend()
        assert supervisor.explorer.alive and store.row(second).status == "queued"
        supervisor.explorer.end()
        serve(supervisor, lambda: store.row(second).ended)
        assert store.row(second).status == "finished"
    finally:
        supervisor.stop()
