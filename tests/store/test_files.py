"""What a store calls a person's file: at random, by its content; nothing that leaves follows from the file's rows."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import re
import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from sqlalchemy import Column, Connection, MetaData, String, Table, create_engine, insert, select, update

from fairpriv_core.cli.ledger import answer_cap, answer_ledger
from fairpriv_core.cli.main import cli
from fairpriv_core.cli.request import read_request
from fairpriv_core.data.catalog import problems
from fairpriv_core.data.dataset import load_dataset
from fairpriv_core.data.problem import Grouping, Numeric
from fairpriv_core.data.read import digest_content
from fairpriv_core.data.roles import Groups
from fairpriv_core.data.schema import write_schema
from fairpriv_core.errors import BadInput
from fairpriv_core.privacy import event as events_of
from fairpriv_core.privacy.event import SampledGaussian
from fairpriv_core.records.config import RunConfig, build_config
from fairpriv_core.records.ledger_entry import identify_data, name_bytes, record_posting
from fairpriv_core.runs.foreground import resume, train
from fairpriv_core.runs.worker import work_on
from fairpriv_core.store.audits import AuditStore
from fairpriv_core.store.database import resolve
from fairpriv_core.store.runs import RunStore, open_store
from fairpriv_core.store.tables import artifact, run, schema, store_info, tombstone
from fairpriv_core.store.work import WorkStore
from fairpriv_core.text import Reporter

TALK = Reporter(lambda _: None, lambda _: None)
OLD_ROWS = 240
OLD = Path(__file__).with_name("store_v4.db.gz")
#: runs of the old store, and what its files were called
PRIVATE, PLAIN, RELEASE, REUSE = "202a0af496be7171", "55a1b43fe88df304", "2e0449bceaec9fee", "28385f3b02165766"
UPLOADED, BENCHMARK, GONE, DEAD = "d22019671c0e4b47", "d3cfb1ba43681381", "091b3e963e7a8c5f", "da22d7c514798723"


def write(path: Path, sensitivity: int = 0, *, end: str = "\n", rows: int = 1200) -> Path:
    """Write a file; with 240 rows one of the old store's: `own.csv` (0), `gone.csv` (3), the upload (5)."""
    given = [
        ("fm"[i % 3 == 0], (i * 7 + sensitivity) % 11, ("no", "yes")[(i * 5 + sensitivity) % 7 < 3])
        for i in range(rows)
    ]
    lines = ["side,size,label", *(f"{side},{size},{label}" for side, size, label in given)]
    path.write_bytes((end.join(lines) + end).encode())
    return path


def asked(path: Path, method: str = "pf_ld", **given: Any) -> RunConfig:
    data = {"file": str(path), "label": "label", "positive": "yes", "sensitive": "side", **given.pop("data", {})}
    named = {"name": method, "epochs": 1, "batch_size": 64}
    return build_config({"data": data, "notion": "demographic_parity", "method": named, "epsilon": 1, **given})


def work(store: RunStore, config: RunConfig) -> str:
    key = store.submit(config).key
    worker = WorkStore(store.database)
    work_on(worker, worker.claim(key))
    assert store.row(key).status == "finished", store.row(key).error
    return key


def spent(path: Path, column: str | None) -> dict[str, Any]:
    [found] = answer_ledger(None, str(path), None, None).document["ledgers"]
    return next(item for item in found["protected"] if item["column"] == column)


def test_a_file_is_called_by_its_rows_and_not_by_its_bytes(store: RunStore, tmp_path: Path) -> None:
    own, again, other = write(tmp_path / "a.csv"), write(tmp_path / "b.csv", end="\r\n"), write(tmp_path / "c.csv", 1)
    name = store.files.identify(own)
    assert re.fullmatch("[0-9a-f]{16}", name)
    assert store.files.identify(again) == name == store.files.identify(own) != store.files.identify(other)
    again.write_bytes(again.read_bytes() + b"\r\n")
    assert store.files.identify(again) == name
    assert store.files.find(again) == [name] and store.files.find(write(tmp_path / "d.csv", 2)) == []
    with pytest.raises(BadInput, match="there is no file"):
        store.files.identify(tmp_path / "nowhere.csv")


def test_an_id_tells_nothing_of_the_rows(tmp_path: Path) -> None:
    own, names = write(tmp_path / "own.csv"), set()
    for place in range(3):
        with open_store(str(tmp_path / f"{place}.db")) as store:
            names.add(store.files.identify(own))
    assert len(names) == 3


def test_an_added_line_end_keeps_the_ledger_and_its_cap(local: RunStore, tmp_path: Path) -> None:
    own = write(tmp_path / "own.csv")
    work(local, asked(own))
    answer_cap(str(own), "side", record=False, lift=False, epsilon=0.25, delta=None)
    again = write(tmp_path / "again.csv", end="\r\n")
    assert spent(again, "side")["epsilon"] == spent(own, "side")["epsilon"] > 0.1
    with pytest.raises(BadInput, match=r"the cap on 'side' is epsilon = 0\.25"):
        local.submit(asked(again, seed=1))
    assert local.submit(asked(again)).status == "finished"  # the same config


def list_exports(key: str) -> Iterator[bytes]:
    """Yield all that can be taken away of a run, files in archives one by one."""
    for audience in ("analyst", "policy"):
        result = CliRunner().invoke(cli, ["export", key, "--format", "zip", "--audience", audience])
        with zipfile.ZipFile(io.BytesIO(result.stdout_bytes)) as archive:
            assert {name.rpartition(".")[2] for name in archive.namelist()} >= {"html", "toml", "ipynb", "md"}
            yield from (archive.read(name) for name in archive.namelist())
            yield "\n".join(archive.namelist()).encode()
    for command in (["export", key], ["export", key, "--format", "csv"], ["runs", "--json"], ["ledger", "--json"]):
        result = CliRunner().invoke(cli, command)
        assert result.exit_code == 0 and result.stdout_bytes
        yield result.stdout_bytes


def list_digests(path: Path) -> dict[str, str]:
    """Return what whoever knows the rows could compute from them, as an export might have it: the first 12 digits."""
    content = path.read_bytes()
    digests = {name: hashlib.new(name, content).hexdigest() for name in ("sha256", "sha1", "md5", "blake2b")}
    digests |= {"content": digest_content(path), "page": name_bytes(digests["sha256"])}
    return {name: digest[:12] for name, digest in digests.items()}


def refuse_browser() -> None:
    """Leave out printed pages, which take a minute and hold what the others do."""
    raise BadInput("no browser here.")


def test_nothing_that_leaves_follows_from_the_rows(
    local: RunStore, own_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairpriv_core.report.forms.find_browser", refuse_browser)
    own = write(tmp_path / "own.csv")
    with own.open("rb") as stream:
        brought = local.uploads.put(stream, "own.csv", "local")
    key = work(local, asked(brought.path))
    file_id = local.row(key).config["file_id"]
    assert brought.path.stem == brought.id == file_id
    before = asked(own).to_json() | {"file_id": hashlib.sha256(own.read_bytes()).hexdigest()}
    digests = {**list_digests(own), "key": build_config(before).key[:12]}
    digests["data"] = load_dataset(asked(own).data).digest[:12]
    exported = list(list_exports(key))
    assert sum(file_id.encode() in part for part in exported) > 3
    record = local.record(key)
    assert record is not None and record.data["digest"] == ""
    kept = [path.read_bytes() for path in own_store.parent.rglob("*") if path.is_file()]
    names = [str(path).encode() for path in own_store.parent.rglob("*")]
    for name, digest in digests.items():
        found = [part for part in (*exported, *kept, *names) if digest.encode() in part]
        assert not found, f"{name} of the file leaves: {found[0][:200]!r}"
    with local.database.read() as connection:
        secret = connection.scalars(select(store_info.c.secret)).one().encode()
    assert not any(secret in part for part in exported)


def test_the_same_settings_in_two_stores_have_unlike_keys(tmp_path: Path) -> None:
    own, keys = write(tmp_path / "own.csv"), set()
    for place in range(2):
        with open_store(str(tmp_path / f"{place}.db")) as store:
            keys.add(store.submit(asked(own)).key)
    assert len(keys) == 2


def test_a_file_that_changed_since_is_refused(store: RunStore, tmp_path: Path) -> None:
    own = write(tmp_path / "own.csv")
    keys = [store.submit(asked(own, seed=seed)).key for seed in (0, 1)]
    worker = WorkStore(store.database)
    write(own, 1)
    work_on(worker, worker.claim(keys[0]))
    assert "has changed since this run was set up" in (store.row(keys[0]).error or "")
    write(own, end="\r\n")  # other bytes, the same rows
    work_on(worker, worker.claim(keys[1]))
    assert store.row(keys[1]).status == "finished"


def test_a_run_whose_file_changed_while_it_was_paused_stays_and_is_counted(
    local: RunStore, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("fairpriv_core.runs.session.COMMIT_SECONDS", 0.0)
    own = write(tmp_path / "own.csv")
    key, worker = local.submit(asked(own)).key, WorkStore(local.database)
    work_on(worker, worker.claim(key), on_commit=lambda _: local.request(key, "pause"))
    released = spent(own, "side")["epsilon"]
    assert local.row(key).status == "paused" and released > 0
    content = own.read_bytes()
    write(own, 1)
    row, _ = resume(key, TALK)
    assert row.error_kind == "bad_input" and "has changed since this run was set up" in (row.error or "")
    own.write_bytes(content)
    assert spent(own, "side")["epsilon"] == released


def test_a_config_from_another_store_goes_on_when_the_file_is_named(local: RunStore, tmp_path: Path) -> None:
    own, config = write(tmp_path / "own.csv"), tmp_path / "run.toml"
    with open_store(str(tmp_path / "other.db")) as other:
        config.write_text(other.files.settle(asked(own)).to_toml())
    given = read_request({"config": str(config)})[0]
    with pytest.raises(BadInput, match=f"does not know the content '{given.file_id}'.*--csv to go on") as refused:
        train(given, TALK)
    assert refused.value.exit_code == 2 and not local.rows()
    row, _ = train(read_request({"config": str(config), "file": str(own)})[0], TALK)
    assert row.status == "finished" and row.config["file_id"] not in (None, given.file_id)
    config.write_text(local.files.settle(asked(own)).to_toml())
    assert train(read_request({"config": str(config)})[0], TALK)[0].key == row.key
    write(own, 1)
    with pytest.raises(BadInput, match="has changed since this run was set up"):
        train(read_request({"config": str(config)})[0], TALK)


def test_a_config_of_an_earlier_version_is_checked_and_read(local: RunStore, tmp_path: Path) -> None:
    own, config = write(tmp_path / "own.csv"), tmp_path / "run.json"
    told = {name: value for name, value in asked(own).to_json().items() if name != "file_id"}
    config.write_text(json.dumps(told | {"file_sha256": hashlib.sha256(own.read_bytes()).hexdigest()}))
    settled = local.files.settle(read_request({"config": str(config)})[0])
    assert settled == local.files.settle(asked(own)) and "sha256" not in settled.to_toml()
    write(own, 1)
    with pytest.raises(BadInput, match="has changed since this run was set up"):
        read_request({"config": str(config)})[0]


def check_copy(local: RunStore, copy: Path) -> None:
    file_id = local.files.identify(copy)
    assert file_id == hashlib.sha256(copy.read_bytes()).hexdigest()[:16]
    page = identify_data({"dataset": "adult", "file": None}, None)
    assert identify_data({"dataset": None, "file": str(copy)}, file_id) == page == "cb67f8420eaf9a6b"


def test_a_copy_of_a_published_file_is_known_by_its_public_checksum(local: RunStore, real_data: Path) -> None:
    check_copy(local, real_data / "adult" / "adult.data")


def test_a_copy_of_the_file_that_ships_is_known_as_the_published_ones(local: RunStore) -> None:
    shipped = problems()["adult"].shipped
    assert shipped is not None
    check_copy(local, shipped.path)


@pytest.fixture
def old_place(place: str, tmp_path: Path) -> str:
    """Return where a store lies that version 4 wrote, on each kind of database, with its upload."""
    dump = tmp_path / "dump.db"
    dump.write_bytes(gzip.decompress(OLD.read_bytes()))
    if resolve(place).get_backend_name() == "sqlite":
        shutil.move(dump, place)
        return place
    found, before = MetaData(), MetaData()
    engine, target = create_engine(f"sqlite:///{dump}"), create_engine(resolve(place))
    found.reflect(engine)
    for name in found.tables:  # the types of today, the columns of then
        columns = {column.name: column.type for column in schema.tables[name].c}
        primary = [column.name for column in found.tables[name].primary_key]
        kinds = [(each.name, columns.get(each.name, String())) for each in found.tables[name].c]
        Table(name, before, *[Column(each, kind, primary_key=each in primary) for each, kind in kinds])
    before.create_all(target)
    with engine.begin() as source, target.begin() as connection:
        for name, table in before.tables.items():
            stored = [dict(row) for row in source.execute(select(table)).mappings()]
            if stored:
                connection.execute(insert(before.tables[name]), stored)
    engine.dispose()
    target.dispose()
    return place


def read_all(store: RunStore) -> str:
    """Return everything that a store holds, as text; without checkpoints, which are secret and bound to the data."""
    with store.database.read() as connection:
        tables = [table for table in schema.tables.values() if table.name != "checkpoint"]
        return repr([connection.execute(select(table)).all() for table in tables])


def test_an_upgrade_leaves_no_checksum_and_all_that_was_stored(old_place: str, tmp_path: Path) -> None:
    files = {
        sensitivity: write(tmp_path / f"{sensitivity}.csv", sensitivity, rows=OLD_ROWS) for sensitivity in (0, 3, 5)
    }
    checksums = {sensitivity: hashlib.sha256(path.read_bytes()).hexdigest() for sensitivity, path in files.items()}
    with open_store(old_place) as store:
        text = read_all(store)
        gone = [*checksums.values(), *map(name_bytes, checksums.values())]
        gone += [PRIVATE, PLAIN, RELEASE, REUSE, UPLOADED, GONE, DEAD]
        assert [word for word in gone if word in text] == [] and BENCHMARK in text
        assert "checksum of its content" not in text
        kept = {before: store.row(before) for before in (PRIVATE, PLAIN, RELEASE, REUSE, UPLOADED, f"{PRIVATE}-2")}
        assert len({row.key for row in kept.values()}) == 6 and kept[f"{PRIVATE}-2"].key == f"{kept[PRIVATE].key}-2"
        for before, row in kept.items():
            record = store.record(before)
            if record is None:
                assert before == f"{PRIVATE}-2" and row.status == "queued"
                continue
            assert record.key == row.key and record.config == row.config and record.data["digest"] == ""
            assert store.artifact(before, "model.npz") and store.metrics(row.key) is not None
            assert build_config(row.config).key == row.config_key
        assert kept[REUSE].config["reuse"] == kept[RELEASE].key
        assert (AuditStore(store.database).find(kept[PRIVATE].key) or {})["key"] == kept[PRIVATE].key
        assert Path(kept[UPLOADED].config["data"]["file"]).stem == kept[UPLOADED].config["file_id"]
        benchmark = store.record(BENCHMARK)
        assert benchmark is not None and len(benchmark.data["digest"]) == 64
        assert build_config(benchmark.config).key == BENCHMARK
    with open_store(old_place) as store:  # once is enough
        assert read_all(store) == text


@contextmanager
def change_as_it_is(place: str) -> Iterator[Connection]:
    """Give a connection to a store that is not brought to this version."""
    engine = create_engine(resolve(place))
    with engine.begin() as connection:
        yield connection
    engine.dispose()


def test_an_upgrade_takes_what_was_measured_of_a_sensitive_column_out_of_models(old_place: str) -> None:
    age = write_schema((Numeric("age", low=18, high=97, center=48.31, scale=17.9, edges=(24.0, 30.0)),))
    cut = {"column": "age", "values": [], "rest": None, "edges": [40.0]}
    content = json.dumps({"network": {}, "grouping": json.dumps({"groupings": [cut], "columns": age})}).encode()
    with change_as_it_is(old_place) as connection:
        mine = (artifact.c.key == BENCHMARK) & (artifact.c.name == "model.json")
        held = {"content": content, "bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
        assert connection.execute(update(artifact).where(mine).values(**held)).rowcount == 1
    with open_store(old_place) as store:
        found = json.loads(store.artifact(BENCHMARK, "model.json"))
    assert Groups.from_json(found["grouping"]) == Groups((Grouping("age", edges=(40.0,)),), ())
    assert "97" not in found["grouping"] and "48.31" not in found["grouping"] and found["network"] == {}


@pytest.mark.parametrize(("rows", "holds"), [(29_000, True), (665_800, False)])
def test_an_upgrade_takes_back_what_was_stated_of_large_samples(rows: int, holds: bool, old_place: str) -> None:
    with change_as_it_is(old_place) as connection:
        record = dict(connection.scalar(select(run.c.record).where(run.c.key == BENCHMARK)))
        sums = (SampledGaussian(4.2247, 1.0, 1, "add_remove"),)
        record |= {"epsilon": 1.0049, "epsilon_reason": None, "threat_model": "record", "variant": "proved"}
        record |= {"event": events_of.to_json(sums), "data": {**record["data"], "n_train": rows}}
        connection.execute(update(run).where(run.c.key == BENCHMARK).values(record=record))
    with open_store(old_place) as store:
        found = store.record(BENCHMARK)
        assert found is not None
        assert (found.epsilon == 1.0049) is holds and (found.epsilon is None) is not holds
        assert record_posting(found.to_json()).entry.unbounded == found.epsilon_reason
        if not holds:
            assert found.epsilon_reason is not None
            assert found.epsilon_reason.startswith("It was stated as 1.01 before sums kept their bound")
            assert "about 665,800 rows" in found.epsilon_reason
            assert store.row(BENCHMARK).epsilon is None


def test_after_an_upgrade_the_same_rows_find_their_runs_and_their_ledger(
    old_place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAIRPRIV_STORE", old_place)
    own, gone = write(tmp_path / "own.csv", rows=OLD_ROWS), write(tmp_path / "gone.csv", 3, rows=OLD_ROWS)
    saved = write(tmp_path / "saved.csv", end="\r\n", rows=OLD_ROWS)
    with open_store(old_place) as store:
        first = store.row(PRIVATE)
        assert store.files.find(saved) == []  # its rows have not been read under this version
        assert store.files.settle(asked(own, split="stratified")).key == first.config_key
        assert store.files.settle(asked(saved, split="stratified")).key == first.config_key
        runs = spent(saved, "side")["runs"]
        assert first.key in runs and store.row(REUSE).key in runs and len(runs) >= 5
        with store.database.read() as connection:
            buried = set(connection.scalars(select(tombstone.c.key)))
        assert buried & set(runs) and buried & set(spent(gone, "side")["runs"])
        assert spent(gone, "side")["cap"]["epsilon"] == 50.0
        assert first.key in spent(own, None)["reason"] or spent(own, None)["epsilon"] is None


def test_two_files_of_an_earlier_version_join_when_their_rows_are_the_same(
    old_place: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAIRPRIV_STORE", old_place)
    own, gone = write(tmp_path / "own.csv", rows=OLD_ROWS), write(tmp_path / "gone.csv", 3, rows=OLD_ROWS)
    monkeypatch.setattr("fairpriv_core.store.uploads.digest_content", lambda path: "the same rows")
    apart = {}
    with open_store(old_place) as store:
        for path in (own, gone):
            page = next(iter(store.files.find(path)))
            apart[path] = {line.planned.key for line in store.ledger.lines(page)}
        assert apart[own] and apart[gone] and not apart[own] & apart[gone]
        names = {store.files.identify(path) for path in (own, gone, own)}
        assert len(names) == 1
        joined = {line.planned.key for line in store.ledger.lines(names.pop())}
        assert joined == apart[own] | apart[gone]
        assert spent(own, "side")["cap"]["epsilon"] == 50.0  # which was set on the other
        store.files.check(str(own), store.row(PRIVATE).config["file_id"])
        assert len([name for name in store.ledger.data_sets().values() if name in ("own.csv", "gone.csv")]) == 1


def test_an_upload_of_an_earlier_version_is_renamed_where_it_lies(tmp_path: Path) -> None:
    place, folder = tmp_path / "runs.db", tmp_path / "uploads"
    place.write_bytes(gzip.decompress(OLD.read_bytes()))
    folder.mkdir()
    brought = write(tmp_path / "brought.csv", 5, rows=OLD_ROWS)
    lies = folder / f"{hashlib.sha256(brought.read_bytes()).hexdigest()}.csv"
    shutil.move(brought, lies)
    with open_store(str(place)) as store:
        [stored] = store.uploads.rows("local")
        assert stored.path.is_file() and [stored.path] == list(folder.iterdir())
        assert stored.id == store.row(UPLOADED).config["file_id"] and store.uploads.find(stored.id[:12], "local")
        with stored.path.open("rb") as stream:
            assert store.uploads.put(stream, "again.csv", "local") == stored


def test_a_column_whose_name_looks_like_grammar_is_a_column(local: RunStore, tmp_path: Path) -> None:
    own = tmp_path / "own.csv"
    lines = [f"{'fm'[i % 2]},{'uv'[i // 2 % 2]},{'kl'[i // 3 % 2]},{i % 9},{'yn'[i % 5 < 2]}" for i in range(960)]
    own.write_text("\n".join(["a,b,a+b,x:40,label", *lines]) + "\n")
    key = work(local, asked(own, data={"positive": "y", "sensitive": "a"}))  # a+b and x:40 are features, in clear
    for column in ("a+b", "x:40"):
        [found] = answer_ledger(None, str(own), column, None).document["ledgers"]
        [told] = found["protected"]
        assert told["column"] == column and told["epsilon"] is None
        assert f"it uses '{column}' in clear" in (told["reason"] or "") and key in told["reason"]
    assert 0.1 < spent(own, "a")["epsilon"] <= 1.0
    work(local, asked(own, data={"positive": "y", "sensitive": "a+b"}, seed=1))
    columns = [item["column"] for item in answer_ledger(None, str(own), None, None).document["ledgers"][0]["protected"]]
    assert columns == [None, "a+b", "a"] or columns == [None, "a", "a+b"]
