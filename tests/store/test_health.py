"""`fairpriv health`: what of the store, its disk and the process that trains is not well."""

from __future__ import annotations

import shutil
import threading
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import update

from fairpriv_core.cli.health import answer_health
from fairpriv_core.records.config import RunConfig
from fairpriv_core.runs.supervisor import serving
from fairpriv_core.store.health import look_after
from fairpriv_core.store.runs import RunStore, open_store
from fairpriv_core.store.tables import run
from fairpriv_core.store.work import WorkStore

Configure = Callable[..., RunConfig]


def test_a_store_that_is_served_is_well(default: RunStore, configure: Configure) -> None:
    with serving(threading.Event()):
        first, second = (default.submit(configure(seed=seed)).key for seed in (0, 1))
        WorkStore(default.database).claim(first)
        found = look_after(default)
        assert (found.waiting, found.at_work, found.lost, found.trains, found.troubles) == (1, 1, 0, True, ())
        assert found.oldest_waits is not None and 0 <= found.oldest_waits < 60
        answer = answer_health()
    assert not answer.failed and "1 of its runs are at work, 1 wait (the oldest for" in answer.text
    assert answer.document["waiting"] == 1 and second not in answer.text


def test_runs_whose_process_is_gone_are_not_at_work(default: RunStore, configure: Configure) -> None:
    key = default.submit(configure()).key
    WorkStore(default.database).claim(key)
    with default.database.write() as connection:
        connection.execute(update(run).values(worker="elsewhere:1:1", lease_expires=0.0))
    found = look_after(default)
    assert (found.at_work, found.lost) == (0, 1)


def test_where_nothing_trains_the_exit_is_a_failure(default: RunStore) -> None:
    answer = answer_health()
    assert answer.failed and answer.error == (
        "no process of this host trains what is launched; 'fairpriv app' starts one."
    )


def test_a_full_disk_is_named(default: RunStore, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = shutil.disk_usage("/")._replace(free=12_000_000)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage)
    assert any(f"disk of {default.database.folder} has 12 MB left" in each for each in look_after(default).troubles)


def test_a_store_that_can_only_be_read_is_named(own_store: Path) -> None:
    with open_store(str(own_store)) as store:
        store.database.writable = False
        assert any("can only be read" in each for each in look_after(store).troubles)
