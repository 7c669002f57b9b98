"""`fairpriv export`: reports from the command line, configs and notebooks that repeat the run they came from."""

from __future__ import annotations

import csv
import io
import json
import re
import zipfile
from pathlib import Path
from typing import Any, cast

import pytest

from fairpriv_core.cli.main import cli
from fairpriv_core.documents import forms
from fairpriv_core.documents.document import Audience
from fairpriv_core.documents.forms import list_tables, open_report
from fairpriv_core.documents.report_data import gather_report
from fairpriv_core.errors import BadInput
from fairpriv_core.figures.figure import write_table
from fairpriv_core.records.config import build_config
from fairpriv_core.runs.worker import work_on
from fairpriv_core.store.runs import RunStore, open_store
from fairpriv_core.store.work import WorkStore
from tests.trained import SYNTHETIC, train_once

ROOT = Path(__file__).parents[2]

Made = dict[str, Any]
FORMULA = '=HYPERLINK("http://b.example","x")'


def write_own(path: Path) -> Path:
    path.parent.mkdir()
    with path.open("w", newline="", encoding="utf-8") as stream:
        rows = [(index % 9, ("-m", "@f")[index % 2], (FORMULA, "-1.5")[index * 7 % 5 > 2]) for index in range(600)]
        csv.writer(stream).writerows([("hours", "sex", "paid"), *rows])
    return path


def name_own(path: Path) -> tuple[str, ...]:
    named = ("--csv", str(path), "--label", "paid", "--positive", FORMULA, "--sensitive", "sex")
    return (*named, "--notion", "demographic_parity")


def call(*arguments: str) -> None:
    cli.main(arguments, standalone_mode=False)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """Return a store's place, and records of its runs: one replayed, two plain, one evaluated, one on `file`.

    That is a file of a person's own in a folder whose name nobody else should see; it holds texts and formulas.
    """
    folder = tmp_path_factory.mktemp("exports")
    place, file = folder / "runs.db", write_own(folder / "jane doe" / "people.csv")
    plain = (*SYNTHETIC, "--method", "none")
    return {
        "place": str(place),
        "file": file,
        "replayed": train_once(place, *SYNTHETIC, "--method", "pf_ld", "--epsilon", "2", "--replay-noise", "7"),
        "plain": train_once(place, *plain),
        "other": train_once(place, *plain, "--seed", "1"),
        "private": train_once(place, *SYNTHETIC, "--method", "pf_ld", "--epsilon", "1", "--private-evaluation"),
        "own": train_once(place, *name_own(file), "--method", "none", "--set", "epochs=2"),
    }


@pytest.fixture
def runs(made: Made, monkeypatch: pytest.MonkeyPatch) -> Made:
    """Return runs of the default store, which no test changes."""
    monkeypatch.setenv("FAIRPRIV_STORE", made["place"])
    return made


def export(tmp_path: Path, *arguments: str) -> bytes:
    """Return what an export writes."""
    out = tmp_path / "exported"
    call("export", *arguments, "--out", str(out))
    return out.read_bytes()


def test_the_exported_config_repeats_a_replayed_run(runs: Made, tmp_path: Path) -> None:
    first, config = runs["replayed"], tmp_path / "run.toml"
    config.write_bytes(export(tmp_path, first["key"], "--format", "toml"))
    again = train_once(tmp_path / "other.db", "--config", str(config))
    for name in ("key", "steps", "metrics", "calibrated", "event", "epsilon_if_secret", "notes"):
        assert again[name] == first[name], name
    assert first["epsilon"] is None and first["epsilon_reason"] and first["epsilon_if_secret"] <= 2


def test_the_notebook_trains_again_and_finds_the_same_numbers(
    runs: Made, capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = runs["replayed"]
    notebook = json.loads(export(tmp_path, first["key"], "--format", "ipynb"))
    folder = tmp_path / "notebook"
    folder.mkdir()
    monkeypatch.chdir(folder)
    names: dict[str, Any] = {}
    capsys.readouterr()
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            exec("".join(cell["source"]), names)
    said = capsys.readouterr().out
    assert "1 runs trained again" in said and "+0.0000" in said
    assert names["again"][first["key"]]["metrics"]["accuracy"] == first["metrics"]["accuracy"]
    names["REPORT"][first["key"]]["numbers"]["accuracy"] += 0.25
    with pytest.raises(AssertionError, match="should repeat"):
        exec("".join(notebook["cells"][-1]["source"]), names)


def test_several_runs_are_one_report(runs: Made, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    private = runs["private"]
    keys = [runs[name]["key"] for name in ("plain", "other", "private")]
    page = export(tmp_path, *keys, "--format", "html").decode()
    assert "2 settings: Synthetic" in page and all(key in page for key in keys)
    table = export(tmp_path, *keys, "--format", "csv").decode().splitlines()
    assert len(table) == 3 and table[0].startswith("run,accuracy %")
    with zipfile.ZipFile(io.BytesIO(export(tmp_path, *keys, "--format", "toml"))) as archive:
        assert archive.namelist() == [f"configs/{key}.toml" for key in keys]
    policy = export(tmp_path, *keys, "--format", "html", "--audience", "policy").decode()
    raw, first = private["metrics"], policy.index("In short")
    assert f"{100 * raw['demographic_parity_gap']:.2f}" in policy and f"{raw['groups'][0]['size']:,}" in page
    assert first < policy.index("Synthetic is public data") < policy.index("Details</summary>")
    assert "What all runs on the same people have cost up to" in policy and "What is not promised" in policy
    capsys.readouterr()
    call("export", keys[0], "--format", "md", "--audience", "policy")
    assert capsys.readouterr().out.startswith("# Model card of Run 1: No privacy, no fairness")


def test_what_cannot_be_exported_is_told(made: Made, monkeypatch: pytest.MonkeyPatch) -> None:
    with monkeypatch.context() as patch, pytest.raises(BadInput, match="json is one run's record"):
        patch.setenv("FAIRPRIV_STORE", made["place"])
        call("export", made["plain"]["key"], "--format", "json", "--audience", "policy")
    with pytest.raises(BadInput, match="no run"):
        call("export", "0" * 16, "--format", "html")
    raw = {"data": {"dataset": "synthetic", "sensitive": "group"}, "method": "none", "seed": 9}
    with open_store() as store:
        waiting = store.submit(build_config({**raw, "notion": "demographic_parity"}))
    with pytest.raises(BadInput, match="is queued: only finished runs can be reported"):
        call("export", waiting.key, "--format", "html")


def read_cells(text: str) -> list[str]:
    return [cell for row in csv.reader(io.StringIO(text)) for cell in row]


def test_no_export_holds_a_path_or_a_formula(runs: Made, capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    record = runs["own"]
    assert "jane" not in json.dumps(record) and record["config"]["data"]["file"] == "people.csv"
    capsys.readouterr()
    call("runs", "--json")
    assert "jane" not in (listed := capsys.readouterr().out) and '"file": "people.csv"' in listed
    call("predict", record["key"], "--csv", str(runs["file"]), "--out", str(tmp_path / "predicted.csv"))
    predicted = (tmp_path / "predicted.csv").read_text("utf-8")
    assert {row["prediction"] for row in csv.DictReader(io.StringIO(predicted))} <= {f"'{FORMULA}", "-1.5"}
    made = [
        export(tmp_path, record["key"], "--format", form) for form in ("json", "csv", "toml", "ipynb", "md", "html")
    ]
    tables = [write_table(("a",), [("=1",)])]
    for audience in ("analyst", "policy"):
        with open_store() as store:
            report = open_report(gather_report(store, [record["key"]]), cast(Audience, audience))
        found = {**list_tables(report)}
        tables += [content.decode() for content in found.values()]
        made += [
            export(tmp_path, record["key"], "--format", form, "--audience", audience) for form in ("toml", "ipynb")
        ]
    assert not [text for text in made if b"jane" in text or bytes(tmp_path) in text]
    cells = [cell for table in [*tables, predicted, made[1].decode()] for cell in read_cells(table)]
    assert not [cell for cell in cells if cell[:1] in tuple("=+-@\t\r\n") and not is_number(cell)]
    assert f"'{FORMULA}" in cells and "'@f" in cells


def is_number(text: str) -> bool:
    try:
        return bool(float(text) or True)
    except ValueError:
        return False


def test_a_stored_error_names_a_file_without_its_folder(local: RunStore, made: Made, tmp_path: Path) -> None:
    file, asked = write_own(tmp_path / "jane" / "people.csv"), made["own"]["config"]
    key = local.submit(build_config({**asked, "data": {**asked["data"], "file": str(file)}})).key
    file.write_text("hours,sex,paid\n", "utf-8")
    work = WorkStore(local.database)
    work_on(work, work.claim(key))
    ended = local.row(key)
    assert ended.status == "failed" and ended.error is not None
    assert "people.csv" in ended.error and "jane" not in ended.error and "/" not in ended.error


def test_tables_leave_in_one_way() -> None:
    files = [*(ROOT / "fairpriv_core").rglob("*.py"), *(ROOT / "pages").rglob("*.py")]
    writing = [path.name for path in files if re.search(r"csv\.(Dict)?[wW]riter\(|\.to_csv\(", path.read_text("utf-8"))]
    assert sorted(writing) == ["notations.py", "text.py"]  # the first spells other files on their way in


def test_a_run_is_taken_away_as_a_presentation(runs: Made, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key = runs["plain"]["key"]
    page = export(tmp_path, key, "--format", "story").decode()
    assert page.count('<section class="step"') == 5 and "Synthetic is public data" in page
    monkeypatch.setattr(forms, "can_write_slides", lambda: False)
    with pytest.raises(BadInput, match=r"pip install 'fairpriv\[slides\]'"):
        call("export", key, "--format", "pptx")
