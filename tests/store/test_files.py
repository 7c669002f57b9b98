"""What a store calls a person's file: at random, by its content; nothing that leaves follows from the file's rows."""

from __future__ import annotations

import hashlib
import io
import re
import zipfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import xlsxwriter
from click.testing import CliRunner
from sqlalchemy import select

from fairpriv_core.cli.ledger import answer_cap, answer_ledger
from fairpriv_core.cli.main import cli
from fairpriv_core.cli.request import read_request
from fairpriv_core.data.catalog import problems
from fairpriv_core.data.dataset import load_dataset
from fairpriv_core.data.table_schema import TableSchema, to_text
from fairpriv_core.errors import BadInput
from fairpriv_core.files.forms import Stated
from fairpriv_core.files.read import digest_content
from fairpriv_core.records.config import RunConfig, build_config
from fairpriv_core.records.ledger_entry import identify_data, name_bytes
from fairpriv_core.runs.foreground import resume, train
from fairpriv_core.runs.worker import work_on
from fairpriv_core.store.runs import RunStore, open_store
from fairpriv_core.store.tables import store_info
from fairpriv_core.store.work import WorkStore
from fairpriv_core.text import Reporter
from tests.stores import ON_BOTH

TALK = Reporter(lambda _: None, lambda _: None)


def write(path: Path, sensitivity: int = 0, *, end: str = "\n", rows: int = 1200) -> Path:
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


@ON_BOTH
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


def test_one_file_under_five_readings_is_on_one_page_and_meets_one_cap(local: RunStore, tmp_path: Path) -> None:
    lines = [line.split(",") for line in write(tmp_path / "own.csv").read_text().splitlines()]
    with xlsxwriter.Workbook(own := tmp_path / "own.xlsx") as book:
        for name in ("May", "Copy"):
            sheet = book.add_worksheet(name)
            for number, line in enumerate(lines):
                sheet.write_row(number, 0, [*line[:1], int(line[1]) if number else line[1], *line[2:]])
    text, blanks = tmp_path / "own.txt", tmp_path / "blanks.data"
    text.write_text("\n".join(";".join(line) for line in lines))
    blanks.write_text("\n".join("  ".join(line) for line in lines))
    unnamed = {"label": "column 3", "sensitive": "column 1=f"}  # the names are a row too, of a group that is too small
    readings: list[tuple[Path, Stated, dict[str, str]]] = [
        (own, Stated(), {}),
        (own, Stated(sheet="Copy", header=1), {}),
        (text, Stated(), {}),
        (text, Stated(separator=";", header=0), unnamed),
        (text, Stated(separator=";", encoding="cp1250", decimal=","), {}),
        (blanks, Stated(separator=" "), {}),
    ]

    def ask(number: int) -> RunConfig:
        path, stated, data = readings[number]
        schema = to_text(TableSchema((), others="guessed", file=stated), compared=())
        return asked(path, "dp_sgd", data={**data, "schema": schema})

    work(local, ask(0))
    answer_cap(str(own), None, record=True, lift=False, epsilon=1.5, delta=None)
    answer_cap(str(own), "side", record=False, lift=False, epsilon=9.0, delta=None)
    names = {local.files.settle(ask(number)).file_id for number in range(len(readings))}
    assert len(names) == 1 and spent(blanks, None)["epsilon"] == spent(own, None)["epsilon"] > 0
    for number in range(1, len(readings)):
        with pytest.raises(BadInput, match=r"the cap on whole records .*is epsilon = 1\.5"):
            local.submit(replace(ask(number), seed=number))
    answer_cap(str(own), None, record=True, lift=True, epsilon=None, delta=None)
    schema = to_text(TableSchema((), others="guessed", file=Stated(header=0)), compared=())
    other = asked(text, data={**unnamed, "schema": schema})
    with pytest.raises(BadInput, match="the cap on 'side' is epsilon = 9"):
        local.submit(other)  # 'column 1' may be 'side'
    answer_cap(str(own), "side", record=False, lift=True, epsilon=None, delta=None)
    work(local, other)
    assert spent(own, "side")["epsilon"] is None and spent(text, "column 1")["epsilon"] > 0


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
    monkeypatch.setattr("fairpriv_core.documents.forms.find_browser", refuse_browser)
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


def check_copy(local: RunStore, copy: Path) -> None:
    file_id = local.files.identify(copy)
    assert file_id == hashlib.sha256(copy.read_bytes()).hexdigest()[:16]
    page = identify_data("adult", None)
    assert identify_data(None, file_id) == page == "cb67f8420eaf9a6b"


def test_a_copy_of_a_published_file_is_known_by_its_public_checksum(local: RunStore, real_data: Path) -> None:
    check_copy(local, real_data / "adult" / "adult.data")


def test_a_copy_of_the_file_that_ships_is_known_as_the_published_ones(local: RunStore) -> None:
    shipped = problems()["adult"].shipped
    assert shipped is not None
    check_copy(local, shipped.path)


def test_two_uploads_join_once_their_rows_are_found_the_same(local: RunStore, tmp_path: Path) -> None:
    texts = [write(tmp_path / "own.csv").read_bytes(), write(tmp_path / "saved.csv", end="\r\n").read_bytes()]
    first, second = (local.uploads.put(io.BytesIO(text), "own.csv", "local") for text in texts)
    assert first.id != second.id  # of an upload only the bytes have been read
    answer_cap(str(first.path), "side", record=False, lift=False, epsilon=50.0, delta=None)
    assert spent(second.path, "side")["cap"]["epsilon"] == 50.0
    assert len({local.files.identify(each.path) for each in (first, second)}) == 1
    local.files.check(str(first.path), second.id)
    with pytest.raises(BadInput, match="has changed"):
        local.files.check(str(write(tmp_path / "other.csv", 1)), second.id)


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
