"""The explorer: one process for all runs that people explore, which keeps their data, beside those that train."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from fairpriv_core.records.config import RunConfig
from fairpriv_core.runs.children import Child
from fairpriv_core.runs.supervisor import Supervisor
from fairpriv_core.store.runs import RunStore
from tests.patience import wait_until

Configure = Callable[..., RunConfig]
LONG = 100_000  # epochs of a run that does not end in a test


@pytest.fixture
def supervisor(local: RunStore) -> Iterator[Supervisor]:
    made = Supervisor(str(local.database.path), slots=1)
    yield made
    made.stop()


def serve(supervisor: Supervisor, ready: Callable[[], object]) -> None:
    wait_until(lambda: (supervisor.attend(), ready())[1], "what the explorer was to do")


def test_a_newer_move_takes_the_place_of_one_and_the_process_of_one_that_dies_is_replaced(
    local: RunStore, supervisor: Supervisor, configure: Configure
) -> None:
    first = local.explore(configure(epochs=LONG)).key
    serve(supervisor, lambda: local.row(first).step > 0)
    worker = local.row(first).worker
    second = local.explore(configure(seed=1, epochs=2)).key
    serve(supervisor, lambda: local.row(second).ended)
    assert local.row(first).status == "cancelled" and local.row(second).status == "finished"
    third = local.explore(configure(seed=2, epochs=LONG)).key
    serve(supervisor, lambda: local.row(third).step > 0)
    assert local.row(third).worker == worker and supervisor.explorer is not None
    supervisor.explorer.end()
    serve(supervisor, lambda: local.row(third).attempt == 2 and local.row(third).status == "running")
    assert local.row(third).worker != worker and local.row(third).crashes <= 1


def test_a_run_that_is_queued_as_the_explorer_ends_is_taken_up_by_the_next(
    local: RunStore, supervisor: Supervisor, configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = local.explore(configure(epochs=2)).key
    serve(supervisor, lambda: local.row(first).ended)
    assert supervisor.explorer is not None
    supervisor.explorer.end()
    second = local.explore(configure(seed=1, epochs=2)).key
    with monkeypatch.context() as patch:  # it still seems to be there as the supervisor looks
        patch.setattr(Child, "alive", property(lambda _: True))
        supervisor.attend()
    assert local.row(second).status == "queued"
    serve(supervisor, lambda: local.row(second).ended)
    assert local.row(second).status == "finished"
