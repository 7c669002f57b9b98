"""What an operator reads: lines of JSON with keys of runs, and nothing of the data."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from fairpriv_core.errors import BadInput
from fairpriv_core.records.config import RunConfig
from fairpriv_core.runs.log import note, set_up_log
from fairpriv_core.runs.worker import work_on
from fairpriv_core.store.runs import RunStore
from fairpriv_core.store.work import WorkStore
from tests.processes import FACTS

Configure = Callable[..., RunConfig]


@pytest.fixture(autouse=True)
def silent_again(monkeypatch: pytest.MonkeyPatch) -> object:
    yield
    monkeypatch.undo()
    set_up_log()


def read(text: str) -> list[dict[str, object]]:
    return [json.loads(line) for line in text.splitlines()]


def test_without_a_level_nothing_is_written(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("FAIRPRIV_LOG_LEVEL", raising=False)
    set_up_log()
    note("run_ended", run="abc")
    assert capsys.readouterr().err == ""


def test_a_command_that_trains_in_the_foreground_writes_no_events() -> None:
    asked = "import logging; from fairpriv_core.runs.log import note; note('run_ended', level=logging.WARNING, run='a')"
    assert subprocess.run([sys.executable, "-c", asked], capture_output=True, text=True).stderr == ""


def test_a_level_leaves_out_what_is_below(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIRPRIV_LOG_LEVEL", "warning")
    set_up_log()
    note("run_taken", run="abc")
    note("run_ended", level=30, run="abc", status="failed")
    [line] = read(capsys.readouterr().err)
    assert line.pop("time") and line == {"level": "warning", "event": "run_ended", "run": "abc", "status": "failed"}


def test_another_level_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIRPRIV_LOG_LEVEL", "loud")
    with pytest.raises(BadInput, match="must be one of info, warning, got 'loud'"):
        set_up_log()


def test_a_failed_run_on_a_persons_file_shows_its_key_and_none_of_its_data(
    tmp_path: Path,
    local: RunStore,
    configure: Configure,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("FAIRPRIV_LOG_LEVEL", "info")
    set_up_log()
    path = tmp_path / "own.csv"
    lines = [f"{'rare' if row % 60 == 0 else 'many'},{row % 3},{'yes' if row % 7 < 3 else 'no'}" for row in range(600)]
    path.write_text("\n".join(["side,size,label", *lines]) + "\n")
    config = configure("pf_ld")
    data = replace(config.data, dataset=None, file=str(path), label="label", positive="yes", sensitive="side")
    key, work = local.submit(replace(config, data=data, epsilon=10.0)).key, WorkStore(local.database)
    work_on(work, work.claim(key))
    assert "'rare'" in (local.row(key).error or "")
    text = capsys.readouterr().err
    [line] = read(text)
    assert (line["event"], line["run"], line["status"], line["kind"]) == ("run_ended", key, "failed", "failed")
    assert set(line) <= FACTS and not [word for word in ("rare", "side", "own.csv", str(tmp_path)) if word in text]
