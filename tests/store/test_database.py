"""A store that cannot be used says why in one sentence, and what is in it stays as it is."""

from __future__ import annotations

import sqlite3
import stat
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from threading import Barrier
from time import monotonic

import pytest
from sqlalchemy import inspect, select, text, update

from fairpriv_core.errors import BadInput, StoreError
from fairpriv_core.privacy.event import Gaussian
from fairpriv_core.records.config import RunConfig
from fairpriv_core.records.record import RunRecord
from fairpriv_core.store.checkpoint import Checkpoint
from fairpriv_core.store.claim import Claim, Ending, Progress
from fairpriv_core.store.database import Database, resolve
from fairpriv_core.store.runs import RunStore, open_store
from fairpriv_core.store.tables import SCHEMA_VERSION, store_info
from fairpriv_core.store.work import WorkStore
from tests.launched import begin, config
from tests.stores import ON_BOTH

Configure = Callable[..., RunConfig]


def test_a_new_store_is_private_and_in_wal_mode(tmp_path: Path, configure: Configure) -> None:
    path = tmp_path / "folder" / "runs.db"
    with open_store(str(path)) as store:
        store.submit(configure())
        modes = [stat.S_IMODE(item.stat().st_mode) for item in (path.parent, *path.parent.iterdir())]
    assert modes[0] == 0o700 and set(modes[1:]) == {0o600}
    assert path.read_bytes()[18] == 2  # the file format's write version: 2 is WAL


SECRET = b"MASTER KEY OF A RUN'S NOISE"
ENDS: dict[str, Callable[[RunStore, WorkStore, Claim, RunRecord], object]] = {
    "finished": lambda store, work, claim, record: work.finish(
        [claim], [Ending(replace(record, status="finished", released=record.event), Progress(10, 1, 1.0))]
    ),
    "handed back, stopped": lambda store, work, claim, record: (
        store.request(claim.key, "stop"),
        work.hand_back([claim]),
    ),
    "crashed, stopped": lambda store, work, claim, record: (
        store.request(claim.key, "stop"),
        work.crash([claim], "of a test"),
    ),
    "paused, stopped": lambda store, work, claim, record: (
        work.hand_back([claim], "paused"),
        store.request(claim.key, "stop"),
    ),
    "paused, deleted": lambda store, work, claim, record: (
        work.hand_back([claim], "paused"),
        store.delete(claim.key),
    ),
}


def holds_secret(place: Path) -> list[str]:
    return [path.name for path in sorted(place.parent.glob(f"{place.name}*")) if SECRET in path.read_bytes()]


@pytest.mark.parametrize("end", ENDS)
def test_a_dropped_checkpoint_cannot_be_read_from_the_files(end: str, tmp_path: Path) -> None:
    place = tmp_path / "runs.db"
    with open_store(str(place)) as store, open_store(str(place)) as beside:
        work, claim, record = begin(store, config(), (Gaussian(9.0),))
        for step in (3, 5):  # the second one replaces the first, and both are longer than a page
            content = bytes(5000 * step) + SECRET + bytes(5000)
            work.commit([claim], [Progress(step, 1, 1.0)], [Checkpoint(step, content, (Gaussian(9.0),), {})])
        assert beside.rows() and holds_secret(place)
        ENDS[end](store, work, claim, record)
        assert beside.rows() is not None and holds_secret(place) == []
    assert holds_secret(place) == []


def test_a_reader_in_the_way_delays_it_and_breaks_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairpriv_core.store.database._SCRUB_SECONDS", 0.05)
    place = tmp_path / "runs.db"
    with open_store(str(place)) as store, open_store(str(place)) as beside:
        work, claim, record = begin(store, config(), (Gaussian(9.0),))
        work.commit([claim], [Progress(3, 1, 1.0)], [Checkpoint(3, SECRET, (Gaussian(9.0),), {})])
        with beside.database.read() as connection:
            connection.execute(select(store_info)).all()
            ENDS["finished"](store, work, claim, record)
        assert store.row(claim.key).status == "finished"
        store.delete(claim.key)
        assert holds_secret(place) == []


def test_every_connection_that_writes_overwrites_what_it_deletes(tmp_path: Path) -> None:
    with open_store(str(tmp_path / "runs.db")) as store, store.database.write() as connection:
        assert connection.exec_driver_sql("PRAGMA secure_delete").scalar() == 1


@ON_BOTH
def test_every_commit_changes_what_tells_of_one(store: RunStore, place: str, configure: Configure) -> None:
    known = [store.database.version()]
    assert store.database.version() == known[0] and (known[0] is None) == (store.database.path is None)
    store.submit(configure())
    known.append(store.database.version())
    with open_store(place) as other:
        other.submit(configure(seed=1))
    known.append(store.database.version())
    assert len(set(known)) == (1 if store.database.path is None else 3)


@ON_BOTH
def test_a_store_of_another_version_is_refused_and_left_as_it_is(store: RunStore, place: str) -> None:
    with store.database.write() as connection:
        connection.execute(text("ALTER TABLE preview DROP COLUMN owner"))
    for by in (1, -1):
        with store.database.write() as connection:
            connection.execute(update(store_info).values(version=SCHEMA_VERSION + by))
        with pytest.raises(StoreError, match=rf"another fairpriv \(its version is {SCHEMA_VERSION + by}, .*export KEY"):
            open_store(place)
    with store.database.read() as connection:
        assert "owner" not in {column["name"] for column in inspect(connection).get_columns("preview")}


def test_a_read_only_store_can_be_read_and_says_that_it_cannot_be_written(tmp_path: Path, configure: Configure) -> None:
    path = tmp_path / "runs.db"
    with open_store(str(path)) as store:
        key = store.submit(configure()).key
    before = path.read_bytes()
    path.chmod(0o400)
    with open_store(str(path)) as store:
        assert store.row(key).status == "queued"
        with pytest.raises(StoreError, match="is read-only; make it writable or set FAIRPRIV_STORE"):
            store.submit(configure(seed=1))
    assert path.read_bytes() == before


def test_a_store_in_a_read_only_folder_can_be_read(tmp_path: Path, configure: Configure) -> None:
    folder = tmp_path / "folder"
    with open_store(str(folder / "runs.db")) as store:
        key = store.submit(configure()).key
    folder.chmod(0o500)
    try:
        with open_store(str(folder / "runs.db")) as store:
            assert store.row(key).status == "queued"
            with pytest.raises(StoreError, match="is read-only"):
                store.request(key, "stop")
    finally:
        folder.chmod(0o700)


def test_a_full_disk_changes_nothing(local: RunStore, configure: Configure) -> None:
    key = local.submit(configure()).key
    with local.database.write() as connection:
        pages = connection.exec_driver_sql("PRAGMA page_count").scalar()
        connection.exec_driver_sql(f"PRAGMA max_page_count = {pages}")
    with pytest.raises(StoreError, match="is full; nothing stored was changed"):
        for seed in range(1, 500):
            local.submit(configure(seed=seed))
    assert local.row(key).status == "queued"
    with sqlite3.connect(str(local.database.path)) as check:
        assert check.execute("PRAGMA integrity_check").fetchone() == ("ok",)
    check.close()


def test_a_file_of_something_else_is_refused_untouched(tmp_path: Path) -> None:
    text, other = tmp_path / "notes.txt", tmp_path / "other.db"
    text.write_text("not a database, but long enough to look like a file of some kind\n" * 20)
    connection = sqlite3.connect(other)
    connection.execute("CREATE TABLE bird (name)")
    connection.commit()
    connection.close()
    for path, message in ((text, "is not a run store"), (other, "is a database of something else")):
        before = path.read_bytes()
        with pytest.raises(StoreError, match=message):
            open_store(str(path))
        assert path.read_bytes() == before
    with pytest.raises(StoreError, match="is a folder"):
        open_store(str(tmp_path))


def test_a_place_that_cannot_be_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(StoreError, match="cannot be made"):
        open_store(str(tmp_path / "file" / "runs.db"))
    with pytest.raises(StoreError, match="a run store is a SQLite file or a PostgreSQL URL, got 'mysql'"):
        open_store("mysql://someone@host/name")
    for given in ("someone:secret@127.0.0.1:1/name", "someone@127.0.0.1:1/name?password=secret"):
        with pytest.raises(StoreError, match="could not be reached within 10 seconds") as caught:
            open_store(f"postgresql://{given}")
        assert "secret" not in str(caught.value) and "\n" not in str(caught.value)


def test_the_environment_names_the_store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIRPRIV_STORE", "postgres://me@host/runs")
    assert resolve(None).drivername == "postgresql+psycopg"
    monkeypatch.setenv("FAIRPRIV_STORE", str(tmp_path / "a.db"))
    assert resolve(None).database == str(tmp_path / "a.db")
    monkeypatch.delenv("FAIRPRIV_STORE")
    monkeypatch.setenv("HOME", str(tmp_path))
    assert resolve(None).database == str(tmp_path / ".fairpriv" / "runs.db")


@pytest.mark.parametrize("rounds", [10, pytest.param(200, marks=pytest.mark.long)])
def test_all_who_make_a_store_and_its_folder_at_the_same_moment_succeed(rounds: int, tmp_path: Path) -> None:
    together = Barrier(6)

    def make(place: Path) -> int:
        together.wait()
        with open_store(str(place)) as store:
            return len(store.rows())

    with ThreadPoolExecutor(6) as pool:
        for each in range(rounds):
            assert list(pool.map(make, [tmp_path / str(each) / "runs.db"] * 6)) == [0] * 6


def test_those_who_make_a_postgresql_store_wait_for_each_other(postgres_place: str, configure: Configure) -> None:
    together = Barrier(6)

    def make(seed: int) -> str:
        together.wait()
        with open_store(postgres_place) as store:
            return store.submit(configure(seed=seed)).key

    with ThreadPoolExecutor(6) as pool:
        keys = set(pool.map(make, range(6)))
    with open_store(postgres_place) as store:
        assert {row.key for row in store.rows()} == keys


@pytest.fixture
def half_made(tmp_path: Path) -> Iterator[tuple[Path, sqlite3.Connection]]:
    """Return a store whose first opening is under way elsewhere, and the connection by which it is."""
    place = tmp_path / "runs.db"
    with closing(sqlite3.connect(place, isolation_level=None)) as other:
        other.execute("BEGIN IMMEDIATE")
        yield place, other


def test_a_first_opening_waits_for_another_one(
    half_made: tuple[Path, sqlite3.Connection], monkeypatch: pytest.MonkeyPatch
) -> None:
    place, other = half_made
    waited: list[float] = []

    def wait(seconds: float) -> None:
        waited.append(seconds)
        if len(waited) == 3:
            other.execute("ROLLBACK")

    monkeypatch.setattr("fairpriv_core.store.database.sleep", wait)
    with open_store(str(place)) as store:
        assert store.rows() == [] and len(waited) == 3


def test_a_store_that_stays_busy_is_waited_for_as_long_as_is_said(
    half_made: tuple[Path, sqlite3.Connection], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairpriv_core.store.database._BUSY_SECONDS", 0.3)
    begun = monotonic()
    with pytest.raises(StoreError, match=r"has been busy for 0.3 seconds; try again"):
        open_store(str(half_made[0]))
    assert monotonic() - begun >= 0.3


def test_a_store_is_told_from_another_by_whatever_address(postgres: str, postgres_place: str, tmp_path: Path) -> None:
    def identify(where: str) -> str:
        with open_store(where) as store:
            return store.database.identify()

    places = (postgres, postgres_place, str(tmp_path / "one.db"), str(tmp_path / "other.db"))
    assert len({identify(place) for place in places}) == len(places)
    assert identify(postgres_place) == identify(postgres_place.replace("127.0.0.1", "localhost"))


def test_a_database_that_refuses_is_not_taken_for_one_that_is_away(postgres: str) -> None:
    with pytest.raises(StoreError, match=r'cannot be used \(connection failed: .* role "nobody" does not exist'):
        open_store(postgres.replace("fairpriv@", "nobody@"))


@ON_BOTH
def test_a_frozen_store_refuses_with_its_sentence_and_its_connections_cannot_write(place: str) -> None:
    frozen = RunStore(Database(place, frozen="look, do not touch."))
    assert frozen.rows() == []
    with pytest.raises(BadInput, match="do not touch"), frozen.database.write():
        pass
    with pytest.raises(StoreError), frozen.database.read() as connection:
        connection.execute(update(store_info).values(version=0))
    frozen.close()
    with open_store(place) as store:
        assert store.rows() == []


def test_a_file_that_is_moved_is_missed_and_found_again(tmp_path: Path) -> None:
    path, away = tmp_path / "runs.db", tmp_path / "away.db"
    with open_store(str(path)) as store:
        assert store.rows() == []
        move(path, away)
        with pytest.raises(StoreError, match="is gone; put it back"):
            store.rows()
        open_store(str(path)).close()  # another one in its place
        assert store.rows() == []
        move(path, tmp_path / "other.db")
        with pytest.raises(StoreError, match="is gone"), store.database.write():
            pass
        move(away, path)
        assert store.rows() == []


def move(path: Path, to: Path) -> None:
    """Move a SQLite file with what belongs to it."""
    for part in ("", "-wal", "-shm"):
        if Path(f"{path}{part}").exists():
            Path(f"{path}{part}").rename(f"{to}{part}")
