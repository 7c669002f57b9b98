"""Leases go by the store's clock and, on the host of a run's process, by that process; progress forgets crashes."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from types import SimpleNamespace

import pytest
from sqlalchemy import select, update

from fairpriv_core.privacy.event import Gaussian
from fairpriv_core.store import claim as claims_of
from fairpriv_core.store.checkpoint import Checkpoint
from fairpriv_core.store.claim import LEASE_SECONDS, Progress
from fairpriv_core.store.dialects import now
from fairpriv_core.store.runs import RunStore
from fairpriv_core.store.tables import preview, run
from fairpriv_core.store.work import MOST_CRASHES, MOST_HOST_DEATHS, WorkStore
from tests.launched import begin, config
from tests.stores import ON_BOTH

REAL = time.time


def become(monkeypatch: pytest.MonkeyPatch, host: str, *, ahead: float = 0.0) -> None:
    """Go on as a process of another host, whose clock is `ahead` by so many seconds."""
    monkeypatch.setattr(claims_of, "socket", SimpleNamespace(gethostname=lambda: host))
    monkeypatch.setattr(time, "time", lambda: REAL() + ahead)


def lapse(store: RunStore, key: str) -> None:
    with store.database.write() as connection:
        connection.execute(update(run).where(run.c.key == key).values(lease_expires=now() - 5))


@ON_BOTH
@pytest.mark.parametrize("ahead", [-16.0, -3600.0, 3600.0])
def test_a_wrong_clock_of_a_host_neither_loses_its_runs_nor_blocks_them(
    store: RunStore, ahead: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    work, key = WorkStore(store.database), store.submit(config("none")).key
    become(monkeypatch, "elsewhere", ahead=ahead)
    [claim] = work.claim(key)
    asked = work.previews.ask({"method": "none"})
    assert work.previews.claim() == asked
    work.adopt([claim])
    become(monkeypatch, "here")
    work.previews.recover()
    assert work.recover() == 0 and store.row(key).status == "running"
    assert store.previews.look(asked).status == "running"
    query = select(run.c.lease_expires - now()).where(run.c.key == key)
    with store.database.read() as connection:
        assert LEASE_SECONDS - 10 < (connection.scalar(query) or 0.0) <= LEASE_SECONDS
    lapse(store, key)
    with store.database.write() as connection:
        connection.execute(update(preview).values(lease_expires=now() - 5))
    assert store.row(key).status == "lost" and work.recover() == 1
    work.previews.recover()
    assert store.row(key).status == store.previews.look(asked).status == "queued"


def test_a_process_of_this_host_that_is_alive_keeps_its_run_when_it_was_suspended(store: RunStore) -> None:
    work, claim, _ = begin(store, config("none"), ())
    for _ in range(MOST_CRASHES):
        lapse(store, claim.key)
        assert work.recover() == 0 and store.row(claim.key).status == "running"
    work.commit([claim], [Progress(5, 1, 1.0)], [Checkpoint(5, b"", (), {})])
    assert store.row(claim.key).crashes == 0


def test_without_proc_the_lease_tells_of_a_process_that_may_be_another(
    store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(claims_of, "_started", lambda pid: 0)
    work, claim, _ = begin(store, config("none"), ())
    assert work.recover() == 0
    lapse(store, claim.key)
    assert work.recover() == 1


def test_progress_forgets_crashes_and_standing_still_does_not(store: RunStore) -> None:
    work, claim, _ = begin(store, config("none"), ())

    def reach(step: int) -> None:
        work.commit([claim], [Progress(step, 1, 1.0)], [Checkpoint(step, b"", (Gaussian(9.0),), {})])

    def die() -> None:
        nonlocal claim
        work.crash([claim], "of a test")
        [claim] = work.claim(claim.key) or [claim]

    for step in range(1, 2 * MOST_CRASHES):
        die()
        assert store.row(claim.key).crashes == 1
        reach(step)
        assert store.row(claim.key).crashes == 0
    for _ in range(MOST_CRASHES):
        assert store.row(claim.key).status == "running"
        reach(step)
        die()
    assert (store.row(claim.key).status, store.row(claim.key).error_kind) == ("failed", "crashed")


def test_a_host_that_goes_down_fails_no_run_and_pauses_the_one_that_it_always_goes_down_with(
    store: RunStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    work, claim, _ = begin(store, config("none"), ())

    def go_down(times: int) -> None:
        """Claim the run as another host does, which is heard of no more."""
        for _ in range(times):
            lapse(store, claim.key)
            become(monkeypatch, "here")
            assert work.recover() == 1
            become(monkeypatch, "elsewhere")
            work.claim(claim.key)

    become(monkeypatch, "here")
    work.crash([claim], "of a test")
    become(monkeypatch, "elsewhere")
    [claim] = work.claim(claim.key)
    go_down(MOST_HOST_DEATHS - 1)
    row = store.row(claim.key)
    assert (row.status, row.crashes, row.host_deaths) == ("running", 1, MOST_HOST_DEATHS - 1)
    work.commit([replace(claim, attempt=row.attempt)], [Progress(5, 1, 1.0)], [Checkpoint(5, b"", (), {})])
    go_down(MOST_HOST_DEATHS)
    row = store.row(claim.key)
    assert (row.status, row.crashes) == ("paused", 0) and "went down 10 times while the run was at step 5;" in (
        row.error or ""
    )
    store.request(claim.key, "resume")
    assert work.claim(claim.key)
    go_down(1)
    assert store.row(claim.key).status == "running"


LAUNCHES: dict[str, Callable[[RunStore], object]] = {
    "a run": lambda store: store.submit(config("none")),
    "a preview, an audit or a sweep": lambda store: store.previews.ask({"method": "none"}),
    "a pause": lambda store: store.request(store.submit(config("none")).key, "pause"),
}


@pytest.mark.parametrize("launch", LAUNCHES)
def test_what_was_acknowledged_is_on_the_disk(launch: str, local: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite's FULL waits for the disk in each commit; NORMAL, which serves heartbeats, does not."""
    found = []
    write = type(local.database).write

    def watch(database, **options):
        found.append(options.get("durable", False))
        return write(database, **options)

    monkeypatch.setattr(type(local.database), "write", watch)
    LAUNCHES[launch](local)
    assert found and all(found)
    for durable, level in ((True, 2), (False, 1)):
        with write(local.database, durable=durable) as connection:
            assert connection.exec_driver_sql("PRAGMA synchronous").scalar() == level
