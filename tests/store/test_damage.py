"""Damage of a store is told in one sentence that names it; what is whole is served, and nothing damaged is used."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from contextlib import closing, suppress
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import insert, select, update

from fairpriv_core.cli.ledger import answer_ledger
from fairpriv_core.cli.runs import answer_check, answer_prediction, answer_runs
from fairpriv_core.documents.report_data import gather_report
from fairpriv_core.errors import Damaged, FairprivError, StoreError
from fairpriv_core.privacy.event import Gaussian, to_json
from fairpriv_core.records.config import RunConfig
from fairpriv_core.records.model import PARAMETERS
from fairpriv_core.runs import session
from fairpriv_core.runs.worker import work_on
from fairpriv_core.store.checkpoint import Checkpoint
from fairpriv_core.store.claim import Progress
from fairpriv_core.store.runs import RunStore
from fairpriv_core.store.tables import artifact, checkpoint, run
from fairpriv_core.store.work import WorkStore
from tests.launched import begin, commit, config, finish, name
from tests.stores import ON_BOTH

Configure = Callable[..., RunConfig]


@pytest.fixture
def trained(local: RunStore, configure: Configure) -> tuple[str, str]:
    """Return the keys of two finished runs."""
    work, keys = WorkStore(local.database), []
    for seed in (0, 1):
        keys.append(local.submit(configure("pf_ld", epochs=1, seed=seed)).key)
        work_on(work, work.claim(keys[-1]))
    return keys[0], keys[1]


def flip(content: bytes) -> bytes:
    """Return `content` with one bit of its middle turned."""
    place = len(content) // 2
    return content[:place] + bytes([content[place] ^ 1]) + content[place + 1 :]


def spoil(store: RunStore, table: Any, key: str, change: Callable[[bytes], bytes], column: str = "content") -> None:
    own = table.c.key == key
    with store.database.write() as connection:
        content = bytes(connection.scalar(select(table.c[column]).where(own).limit(1)) or b"")
        connection.execute(update(table).where(own).values({column: change(content)}))


@pytest.fixture
def paused(store: RunStore, configure: Configure, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return the key of a run that was paused at step 4 and is queued again."""
    monkeypatch.setattr(session, "COMMIT_SECONDS", 0.0)
    key, work = store.submit(configure("dp_sgd")).key, WorkStore(store.database)

    def pause(progress: Progress) -> None:
        if progress.step == 3:
            store.request(key, "pause")

    work_on(work, work.claim(key), on_commit=pause)
    store.request(key, "resume")
    return key


@ON_BOTH
def test_a_flipped_bit_of_a_checkpoint_resumes_into_no_other_model(store: RunStore, paused: str) -> None:
    spoil(store, checkpoint, paused, flip)
    work = WorkStore(store.database)
    work_on(work, work.claim(paused))
    row, record = store.row(paused), store.record(paused)
    assert record is not None and (row.status, row.step) == ("failed", 4)
    assert "its checkpoint is damaged in the run store; start it again (train --again)" in (row.error or "")
    assert record.released == record.event  # what was released before is not known any more: all of it counts
    assert store.metrics(paused) == []  # nothing more was trained


@pytest.mark.parametrize("column", ["step", "released", "binding"])
def test_what_stands_beside_a_checkpoint_is_verified_too(local: RunStore, column: str) -> None:
    work, claim, _ = begin(local, config(), (Gaussian(9.0, 5),))
    commit(work, claim, (Gaussian(9.0, 3),))
    saved = work.checkpoint(claim)
    assert saved == Checkpoint(5, b"secret", (Gaussian(9.0, 3),), {})
    others = {"step": 6, "released": to_json((Gaussian(9.0, 2),)), "binding": {"code": "another", "sha256": "0" * 64}}
    with local.database.write() as connection:
        connection.execute(update(checkpoint).values({column: others[column]}))
    with pytest.raises(Damaged, match=f"the checkpoint of run {claim.key} is damaged"):
        work.checkpoint(claim)


SPOILT: dict[str, tuple[str, str]] = {
    "a record that is no JSON": ("the record of run", "update run set record = '{' where key = ?"),
    "an empty record": ("the record of run", "update run set record = '{}' where key = ?"),
    "a record with a name changed": (
        "the record of run",
        "update run set record = replace(record, 'accuracy', 'accurac1') where key = ?",
    ),
    "an empty config": ("run", "update run set config = '{}' where key = ?"),
    "a config of empty parts": ("run", """update run set config = '{"data":{},"method":{}}' where key = ?"""),
    "another seed": ("run", """update run set config = replace(config, '"seed": 0', '"seed": 4') where key = ?"""),
    "a text that is no text": ("run", "update run set config = cast(x'7bff' as text) where key = ?"),
    "an unknown status": ("run", "update run set status = 'weird' where key = ?"),
    "words for a number": ("run", "update run set step = 'many' where key = ?"),
    "a brief with nothing in it": ("the brief of run", "update run set brief = '{}' where key = ?"),
    "a posting with another noise": (
        "what the ledger keeps of run",
        """update run set posting = replace(posting, '"count": ', '"count": 1') where key = ?""",
    ),
    "a posting of another run": (
        "what the ledger keeps of run",
        "update run set posting = (select posting from run as other where other.key <> run.key) where key = ?",
    ),
    "an empty posting": ("what the ledger keeps of run", "update run set posting = '{}' where key = ?"),
    "a posting that is no JSON": ("what the ledger keeps of run", "update run set posting = '{' where key = ?"),
    "a model cut short": (
        "'model.safetensors' of run",
        "update artifact set content = substr(content, 1, 20) where name = 'model.safetensors' and key = ?",
    ),
    "a model with other bytes": (
        "'model.json' of run",
        "update artifact set content = x'7b' where name = 'model.json' and key = ?",
    ),
}
LISTED_WHOLE = ("the brief", "what the ledger", "'model")  # of which `runs` shows nothing


def test_a_damaged_row_hides_no_other_and_ends_no_command_in_a_traceback(
    local: RunStore, trained: tuple[str, str], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """One store for all: training twice takes longer than the rest."""
    key, other = trained
    path, rows = local.database.path, tmp_path / "rows.csv"
    assert path is not None and not answer_check().failed
    rows.write_text("x\n1\n")
    uses: list[Callable[[], object]] = [
        lambda: gather_report(local, [key]),
        lambda: answer_ledger(None, None, None, None),
        lambda: answer_prediction(key, str(rows), str(tmp_path / "out.csv")),
        lambda: local.request(key, "stop"),
    ]
    with closing(sqlite3.connect(path)) as connection:
        whole = "\n".join(connection.iterdump())
    spent = answer_ledger(None, None, None, None).document
    for change, (what, statement) in SPOILT.items():
        with closing(sqlite3.connect(path)) as connection:
            connection.execute(statement, (key,))
            connection.commit()
        found = answer_check()
        assert found.failed, change
        assert [told.partition(" is damaged")[0] for told in found.document["damage"]] == [f"{what} {key}"], change
        assert other in [row["key"] for row in answer_runs().document["runs"]], change
        said = f"Left out because damaged: {key}" in capsys.readouterr().err
        assert said is not what.startswith(LISTED_WHOLE), change
        assert other in {brief["key"] for brief in local.each_brief()}, change
        for use in uses:
            with suppress(FairprivError):
                use()
        if said:
            with pytest.raises(Damaged, match=f"{what} {key} is damaged in the run store"):
                gather_report(local, [key])
        if "set config" in statement or "set status" in statement:
            with pytest.raises(Damaged, match=f"{what} {key} is damaged"):
                answer_ledger(None, None, None, None)
        else:  # a run's line is verified by itself, and where it is damaged its record is read
            assert answer_ledger(None, None, None, None).document == spent, change
        if what.startswith("the record"):  # what it released is not known, so that it cannot be counted
            with pytest.raises(Damaged, match=f"{what} {key} is damaged"):
                local.delete(key)
        restore(path, whole)
    assert not answer_check().failed


def test_a_run_whose_line_and_record_are_both_damaged_is_told_and_never_left_out(local: RunStore) -> None:
    key = finish(local, config("pf_ld"), (Gaussian(9.0),))
    with local.database.write() as connection:
        connection.exec_driver_sql("UPDATE run SET posting = '{}', record = replace(record, '9.0', '90.0')")
    with pytest.raises(Damaged, match=f"the record of run {key} is damaged"):
        local.ledger.lines(name())


def test_a_run_without_a_line_of_its_own_is_counted_by_its_record(local: RunStore) -> None:
    finish(local, config("pf_ld"), (Gaussian(9.0),))
    before = local.ledger.lines(name())
    with local.database.write() as connection:
        connection.execute(update(run).values(posting=None))
    assert local.ledger.lines(name()) == before != []


def test_a_model_with_a_flipped_bit_predicts_nothing(local: RunStore) -> None:
    key = finish(local, config("none"), ())
    with local.database.write() as connection:
        other = {"name": PARAMETERS, "content": b"ab", "bytes": 2, "sha256": "0" * 64}
        connection.execute(insert(artifact).values(key=key, **other))
    with pytest.raises(Damaged, match=f"'model.safetensors' of run {key} is damaged"):
        local.artifact(key, PARAMETERS)


def test_a_damaged_line_of_the_ledger_is_told_and_never_left_out(local: RunStore) -> None:
    kept, gone = (
        finish(local, config("pf_ld"), (Gaussian(9.0),)),
        finish(local, config("pf_ld", seed=1), (Gaussian(9.0),)),
    )
    local.delete(gone)
    with local.database.write() as connection:
        connection.exec_driver_sql("UPDATE tombstone SET post = '{'")
    told = f"what the ledger keeps of {gone} is damaged"
    with pytest.raises(Damaged, match=told):
        answer_ledger(None, None, None, None)
    assert local.row(kept).status == "finished" and told in answer_check().document["damage"][0]


def test_a_damaged_count_of_a_run_under_way_is_no_count_of_nothing(local: RunStore) -> None:
    work, claim, _ = begin(local, config(), (Gaussian(9.0, 5),))
    commit(work, claim, (Gaussian(9.0, 3),))
    with local.database.write() as connection:
        connection.exec_driver_sql("UPDATE checkpoint SET released = '['")
    with pytest.raises(Damaged, match=f"the checkpoint of run {claim.key} is damaged"):
        answer_ledger(None, None, None, None)


def test_a_damaged_run_that_waits_fails_and_others_are_taken_up(local: RunStore) -> None:
    first, second = local.submit(config("none")).key, local.submit(config("none", seed=1)).key
    with local.database.write() as connection:
        connection.exec_driver_sql("UPDATE run SET config = '{' WHERE key = ?", (first,))
    work = WorkStore(local.database)
    claimed = [work.claim(), work.claim()]
    assert [[claim.key for claim in claims] for claims in claimed] == [[], [second]]
    with local.database.read() as connection:
        status, error = connection.execute(select(run.c.status, run.c.error).where(run.c.key == first)).one()
    assert status == "failed" and f"run {first} is damaged" in error


def test_damage_of_the_file_itself_is_one_sentence(local: RunStore) -> None:
    for seed in range(60):
        local.submit(config("none", seed=seed))
    path = local.database.path
    assert path is not None
    local.close()
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    content = bytearray(path.read_bytes())
    content[5 * 4096 : -4096] = bytes(len(content) - 6 * 4096)
    path.write_bytes(content)
    try:
        found = answer_check()
    except StoreError as error:
        assert "is damaged" in str(error) and "\n" not in str(error)
    else:
        assert found.failed


def restore(path: Path, whole: str) -> None:
    """Make a store's tables what they were."""
    with closing(sqlite3.connect(path)) as connection:
        tables = [name for (name,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")]
        for name in tables:
            connection.execute(f'DROP TABLE "{name}"')
        connection.executescript(whole)
