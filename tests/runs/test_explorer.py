"""The explorer: one process for all runs that people explore, which keeps their data, beside those that train."""

from __future__ import annotations

import time
from collections.abc import Callable

import pytest

from fairpriv_core.records.config import RunConfig
from fairpriv_core.runs.children import Child
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
    store: RunStore, configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    supervisor = Supervisor(str(store.database.url), slots=1)
    try:
        first = store.explore(configure(epochs=2)).key
        serve(supervisor, lambda: store.row(first).ended)
        assert supervisor.explorer is not None
        supervisor.explorer.end()
        second = store.explore(configure(seed=1, epochs=2)).key
        with monkeypatch.context() as patch:  # it still seems to be there as the supervisor looks
            patch.setattr(Child, "alive", property(lambda _: True))
            supervisor.attend()
        assert store.row(second).status == "queued"
        serve(supervisor, lambda: store.row(second).ended)
        assert store.row(second).status == "finished"
    finally:
        supervisor.stop()
