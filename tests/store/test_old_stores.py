"""Stores as earlier versions really wrote them: all that is in them is read, counted and not lost.

Versions 1, 2, 3, 5 and 9 were written by the commits fa93d85, 8b53193, 12eb104, a262fbd (5 before checksums) and
00fcf84, each by
`fairpriv train --dataset synthetic --sensitive group --notion demographic_parity --method pf_ld --epsilon 1` with
`--set epochs=2` and seeds 0 and 1, then `epochs=900` and seed 2. Meanwhile `open_store()` deleted the run of seed 1
and asked that of seed 2 to pause. VACUUM wrote the file anew, and `gzip -9n` packed it. Version 4 has runs of people's
files besides, which `test_files.py` knows.
"""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from sqlalchemy import select

from fairpriv_core.privacy.event import from_json
from fairpriv_core.privacy.ledger import compose
from fairpriv_core.records.config import build_config
from fairpriv_core.records.ledger_entry import record_posting
from fairpriv_core.runs.worker import work_on
from fairpriv_core.store.check import check_store
from fairpriv_core.store.rows import read_document, read_posting
from fairpriv_core.store.runs import RunStore, open_store
from fairpriv_core.store.tables import SCHEMA_VERSION, checkpoint, run, store_info
from fairpriv_core.store.work import WorkStore
from tests.launched import name

ALIKE, ALL = (1, 2, 3, 5), (1, 2, 3, 4, 5, 9)


@pytest.fixture(autouse=True)
def leave_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    """Say what an operator says who wants the upgrade although runs are under way."""
    monkeypatch.setenv("FAIRPRIV_UPGRADE", "1")


def open_old(version: int, folder: Path) -> RunStore:
    place = folder / "runs.db"
    place.write_bytes(gzip.decompress(Path(__file__).with_name(f"store_v{version}.db.gz").read_bytes()))
    return open_store(str(place))


@pytest.mark.parametrize("version", ALL)
def test_all_that_an_earlier_version_stored_is_read_and_is_whole(version: int, tmp_path: Path) -> None:
    with open_old(version, tmp_path) as store:
        whole, damaged = store.read_all()
        assert not damaged and {"finished", "queued" if version == 4 else "paused"} <= {row.status for row, _ in whole}
        found = check_store(store)
        assert found.damage == () and found.runs == len(whole) and found.files >= 2
        with store.database.read() as connection:
            assert connection.scalars(select(store_info.c.version)).all() == [SCHEMA_VERSION]
        for row, record in whole:
            assert build_config(row.config).key == row.config_key
            assert (record is None) == (row.status == "queued")
        with store.database.read() as connection:
            for stored in connection.execute(select(run)).mappings():
                document = read_document(stored)
                assert read_posting(stored) == (document and record_posting(document))
        finished = {row.key for row, _ in whole if row.status == "finished"}
        assert {brief["key"] for brief in store.briefs()} == finished
        assert all(store.artifact(key, "model.npz") and store.metrics(key) for key in finished)
        data = list(store.ledger.data_sets())
        counted = {line.planned.key for each in data for line in store.ledger.lines(each)}
        assert counted >= {row.key for row, record in whole if record is not None}
        assert counted >= {stone["key"] for stone in store.tombstones()} != set()


@pytest.mark.parametrize("version", (*ALIKE, 9))
def test_the_ledger_of_an_earlier_version_counts_what_it_released(version: int, tmp_path: Path) -> None:
    with open_old(version, tmp_path) as store:
        lines = {line.status: line for line in store.ledger.lines(name())}
        assert set(lines) == {"finished", "deleted", "paused"}
        finished, paused = lines["finished"].spent, lines["paused"].spent
        assert finished is not None and paused is not None
        assert 0.9 < compose([finished], "group").epsilon(1e-5) <= 1
        with store.database.read() as connection:
            released, step = connection.execute(select(checkpoint.c.released, checkpoint.c.step)).one()
        assert paused.events == from_json(released) and step == store.row(paused.key).step > 0
        stone = compose([lines["deleted"].planned], "group")
        assert bool(stone.unbounded) == (version == 1)  # which kept too little of a deleted run to count it
        assert version == 1 or 0.9 < stone.epsilon(1e-5) <= 1


def test_runs_of_an_earlier_version_get_names(tmp_path: Path) -> None:
    with open_old(9, tmp_path) as store:
        before = store.stamp()
        [first, second] = [row.key for row in store.browse()]
        assert store.labels() == {} and store.label(second, name="ours", pinned=True) == store.labels()[second]
        assert [row.key for row in store.browse()] == [second, first] and store.stamp() != before


@pytest.mark.parametrize("version", ALIKE)
def test_a_paused_run_of_an_earlier_version_refuses_to_go_on_and_stays_counted(version: int, tmp_path: Path) -> None:
    """Its checkpoint is bound to code that is no more: another computation under its noise would show the noise."""
    with open_old(version, tmp_path) as store:
        [key] = [row.key for row in store.rows() if row.status == "paused"]
        before = {line.planned.key: line.spent for line in store.ledger.lines(name())}[key]
        store.request(key, "resume")
        work = WorkStore(store.database)
        work_on(work, work.claim(key))
        row = store.row(key)
        assert "changed since its checkpoint" in (row.error or "") and "start it anew" in (row.error or "")
        assert row.status == ("paused" if version == 5 else "failed")  # before, data were bound by another digest
        after = {line.planned.key: line.spent for line in store.ledger.lines(name())}[key]
        assert before is not None and after is not None and after.events == before.events
