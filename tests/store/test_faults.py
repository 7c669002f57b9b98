"""Disks that fail: each verb, at each call of the file system, ends well or in one sentence; nothing stored is lost."""

from __future__ import annotations

import shutil
import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from fairpriv_core.errors import StoreError
from fairpriv_core.privacy.event import Gaussian
from fairpriv_core.privacy.rdp import Cap
from fairpriv_core.records.config import RunConfig
from fairpriv_core.runs import session
from fairpriv_core.runs.execute import execute
from fairpriv_core.runs.session import MemoryJournal
from fairpriv_core.runs.worker import work_on
from fairpriv_core.store.checkpoint import Checkpoint
from fairpriv_core.store.claim import Artifact, Beginning, Claim, Ending, Progress
from fairpriv_core.store.runs import RunStore, open_store
from fairpriv_core.store.tables import run
from fairpriv_core.store.work import WorkStore
from tests.faulty_disk import FAULTS, FaultyDisk
from tests.launched import begin, config, draft, finish, name

PLANNED = (Gaussian(9.0, 10),)
SAVED = Checkpoint(5, bytes(9000), (Gaussian(9.0, 5),), {})
LARGE = Artifact("model.safetensors", bytes(20_000))
ALWAYS = 10**9
FEWEST = {"EIO on reading": 1, "a failed fsync": 2}  # of the places tried, as SQLite seldom comes there
#: what a verb may change, without its times
STORED = (
    "SELECT key, status, request, step, attempt, crashes, error_kind, record IS NULL FROM run ORDER BY key",
    "SELECT key, step, released FROM checkpoint ORDER BY key",
    "SELECT key, event FROM tombstone ORDER BY key",
    "SELECT key, name, sha256 FROM artifact ORDER BY key, name",
    "SELECT key, step, name, value FROM metric ORDER BY key, step, name",
    'SELECT data, "column", epsilon FROM cap ORDER BY data, "column"',
    "SELECT key, status, result FROM preview ORDER BY key",
    "SELECT version FROM store_info",
)


@dataclass(frozen=True)
class Folder:
    """A folder with a store, and what its runs are called; `claims` are those of this process."""

    place: Path
    keys: dict[str, str]
    claims: dict[str, Claim]

    def copy(self, to: Path) -> Path:
        shutil.rmtree(to, ignore_errors=True)
        to.mkdir()
        return Path(shutil.copy(self.place, to / "runs.db"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Folder:
    """Return a store with a run in each state."""
    place, keys, claims = tmp_path_factory.mktemp("whole") / "runs.db", {}, {}
    with open_store(str(place)) as store:
        keys["finished"] = finish(store, config(seed=0), PLANNED)
        for seed, state in enumerate(("at work", "paused", "lost"), 1):
            work, claims[state], _ = begin(store, config(seed=seed), PLANNED)
            work.commit([claims[state]], [Progress(5, 1, 1.0, 0.5, [(5, "loss", 0.25)])], [SAVED])
            keys[state] = claims[state].key
        work.hand_back([claims["paused"]], "paused")
        keys["claimed"] = store.submit(config(seed=4)).key
        [claims["claimed"]] = work.claim(keys["claimed"])
        keys["queued"] = store.submit(config(seed=5)).key
        store.previews.ask({"method": "none"})
        with store.database.write() as connection:
            gone = {"worker": "elsewhere:1:1", "lease_expires": 1.0}
            connection.execute(update(run).where(run.c.key == keys["lost"]).values(**gone))
    return Folder(place, keys, claims)


def end(claim: Claim) -> Ending:
    record = draft(claim, PLANNED)
    return Ending(replace(record, status="finished", released=record.event), Progress(10, 1, 2.0), [LARGE])


Verb = Callable[[RunStore, WorkStore, dict[str, str], dict[str, Claim]], Any]
VERBS: dict[str, Verb] = {
    "open": lambda store, work, keys, claims: None,
    "submit": lambda store, work, keys, claims: store.submit(config(seed=9)),
    "submit again": lambda store, work, keys, claims: store.submit(config(seed=0), again=True),
    "pause": lambda store, work, keys, claims: store.request(keys["queued"], "pause"),
    "resume": lambda store, work, keys, claims: store.request(keys["paused"], "resume"),
    "stop": lambda store, work, keys, claims: store.request(keys["paused"], "stop"),
    "ask to stop": lambda store, work, keys, claims: store.request(keys["at work"], "stop"),
    "delete": lambda store, work, keys, claims: store.delete(keys["paused"]),
    "delete a model": lambda store, work, keys, claims: store.delete(keys["finished"]),
    "cap": lambda store, work, keys, claims: store.ledger.set_cap(name(), "group", Cap(9.0, 1e-5), where="synthetic"),
    "read": lambda store, work, keys, claims: (store.read_all(), list(store.each_brief()), store.ledger.lines(name())),
    "claim": lambda store, work, keys, claims: work.claim(),
    "recover": lambda store, work, keys, claims: work.recover(),
    "heartbeat": lambda store, work, keys, claims: work.adopt([claims["at work"]]),
    "begin": lambda store, work, keys, claims: work.begin(
        [claims["claimed"]], [Beginning(draft(claims["claimed"], PLANNED), 10)]
    ),
    "commit": lambda store, work, keys, claims: work.commit(
        [claims["at work"]], [Progress(7, 1, 2.0, 0.6, [(7, "loss", 0.2)])], [replace(SAVED, step=7)]
    ),
    "finish": lambda store, work, keys, claims: work.finish([claims["at work"]], [end(claims["at work"])]),
    "refuse": lambda store, work, keys, claims: work.refuse(claims["claimed"], "Of a test.", "bad_input"),
    "hand back": lambda store, work, keys, claims: work.hand_back([claims["at work"]], "paused"),
    "crash": lambda store, work, keys, claims: work.crash([claims["at work"]], "of a test"),
    "preview": lambda store, work, keys, claims: store.previews.ask({"method": "pf_ld"}),
    "take a preview": lambda store, work, keys, claims: work.previews.claim(),
}


def look(place: Path) -> list[list[tuple[Any, ...]]]:
    """Return what a store holds; its file must be whole."""
    with closing(sqlite3.connect(place)) as connection:
        assert connection.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return [connection.execute(query).fetchall() for query in STORED]


def look_as_after_a_kill(place: Path, to: Path) -> list[list[tuple[Any, ...]]]:
    """Return what a store holds whose processes all end now, and close nothing."""
    shutil.rmtree(to, ignore_errors=True)
    to.mkdir()
    for part in ("", "-wal"):
        if Path(f"{place}{part}").exists():
            shutil.copy(f"{place}{part}", to / f"runs.db{part}")
    return look(to / "runs.db")


def attempt(place: Path, verb: Verb, folder: Folder | None) -> str:
    """Open a store and use it; return the sentence that it ends with, "" where it ends well."""
    try:
        with open_store(str(place)) as store:
            held = ({}, {}) if folder is None else (folder.keys, folder.claims)
            verb(store, WorkStore(store.database), *held)
    except StoreError as error:
        said = str(error)
        assert str(place) in said and said.endswith(".") and "\n" not in said and len(said) <= 400
        return said
    return ""


@pytest.mark.parametrize(
    ("every", "turns"),
    [(16, (1, ALWAYS)), *(pytest.param(1, (times,), marks=pytest.mark.long) for times in (1, ALWAYS))],
    ids=["in turn", "once", "for good"],
)
@pytest.mark.parametrize("fault", FAULTS)
def test_a_verb_at_a_failing_disk_is_done_or_says_that_it_is_not(
    fault: str, every: int, turns: tuple[int, ...], folder: Folder, tmp_path: Path
) -> None:
    """At `every` such call of its file: after it the store has all of what the verb does, or nothing and an error."""
    disk, before, fired = FaultyDisk(), look(folder.place), 0
    with disk.use():
        for verb in VERBS.values():
            place = folder.copy(tmp_path / "well")
            assert attempt(place, verb, folder) == ""
            done, at = look(place), 0
            while True:
                place = folder.copy(tmp_path / "faulty")
                with disk.fail(FAULTS[fault], after=at, times=turns[fired % len(turns)]):
                    said = attempt(place, verb, folder)
                if not disk.fired:
                    assert said == ""
                    break
                killed = look_as_after_a_kill(place, tmp_path / "killed")
                for found in (killed, look(place)):
                    assert found == done or (said and found == before)
                fired, at = fired + 1, at + every
    assert fired >= len(VERBS) / 2


@pytest.mark.parametrize("every", [16, pytest.param(4, marks=pytest.mark.long)])
@pytest.mark.parametrize("fault", FAULTS)
def test_a_first_opening_at_a_failing_disk_is_made_by_the_next_one(fault: str, every: int, tmp_path: Path) -> None:
    """Whatever fails, and where the process is killed by it too."""
    disk, fired = FaultyDisk(), 0
    with disk.use():
        for at in range(0, 10**6, every):
            folder, killed = tmp_path / str(at), tmp_path / f"{at} killed"
            with disk.fail(FAULTS[fault], after=at, times=ALWAYS):
                said = attempt(folder / "runs.db", VERBS["open"], None)
                shutil.copytree(folder, killed)
            for place in (folder / "runs.db", killed / "runs.db"):
                with open_store(str(place)) as store:
                    assert store.rows() == [] and store.submit(config(seed=0)).status == "queued"
            if not disk.fired:
                assert said == ""
                break
            fired += 1
    assert fired


@pytest.mark.parametrize("fault", FAULTS)
def test_a_passing_fault_loses_no_run_and_changes_no_bit(
    fault: str, own_store: Path, configure: Callable[..., RunConfig], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process whose store fails ends, and its supervisor tells of it until it can; the run goes on."""
    monkeypatch.setattr(session, "COMMIT_SECONDS", 0.0)
    expected, disk, fired = execute(configure("pf_ld", replay_noise=5), MemoryJournal()).record, FaultyDisk(), 0
    with disk.use():
        for at in (0, 3, 12, 40, 160):
            own_store.unlink(missing_ok=True)
            with open_store(str(own_store)) as store:
                key = store.submit(configure("pf_ld", replay_noise=5)).key
                with disk.fail(FAULTS[fault], after=at, times=2):
                    supervise(store, key)
                record = store.record(key)
            fired += disk.fired > 0
            assert record is not None and record.status == "finished"
            assert (record.metrics, record.event, record.released) == (expected.metrics, expected.event, expected.event)
    assert fired >= FEWEST.get(fault, 3)


def supervise(store: RunStore, key: str) -> None:
    """Have a run worked on until it ends, as the supervisor does by processes."""
    for _ in range(20):
        with suppress(StoreError):
            if claims := WorkStore(store.database).claim(key):
                try:
                    with closing(open_store(str(store.database.path))) as own:
                        work_on(WorkStore(own.database), claims)
                except StoreError as error:
                    tell(store, claims, str(error))
            if store.row(key).ended:
                return


def tell(store: RunStore, claims: tuple[Claim, ...], error: str) -> None:
    for _ in range(20):
        with suppress(StoreError):
            WorkStore(store.database).crash(claims, error)
            return
