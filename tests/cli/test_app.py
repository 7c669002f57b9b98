"""`fairpriv app`, `demo` and `test`: what they become, where the dashboard is, and what the self-test finds."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from click.testing import CliRunner

import fairpriv_core
from fairpriv_core.cli import selftest
from fairpriv_core.cli.app import find_dashboard
from fairpriv_core.cli.main import cli
from fairpriv_core.errors import BadInput
from fairpriv_core.runs import supervisor
from fairpriv_core.runs.device import check_device
from fairpriv_core.store.runs import open_store

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("given", "passed_on", "variable"),
    [
        (["app", "--server.port", "8600"], ["--server.port", "8600"], None),
        (["app", "--log-level", "info", "--server.port=9"], ["--server.port=9"], ("FAIRPRIV_LOG_LEVEL", "info")),
        (["app", "--log-level=warning"], [], ("FAIRPRIV_LOG_LEVEL", "warning")),
        (["demo", "--theme.base", "dark"], ["--theme.base", "dark"], ("FAIRPRIV_DEMO", "1")),
    ],
)
def test_options_go_to_streamlit(
    given: list[str], passed_on: list[str], variable: tuple[str, str] | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    became: list[Any] = []
    monkeypatch.setattr(os, "execve", lambda *command: became.append(command))
    assert CliRunner().invoke(cli, given).exit_code == 0
    [(_, command, environment)] = became
    assert command[1:] == ["-P", "-OO", "-m", "fairpriv_core.cli.app", "run", str(ROOT / "app.py"), *passed_on]
    assert environment["MALLOC_ARENA_MAX"] == "1" and (variable is None or variable in environment.items())


def test_what_is_tried_is_thrown_away(monkeypatch: pytest.MonkeyPatch) -> None:
    became: list[Any] = []
    monkeypatch.setattr(os, "execve", lambda *command: became.append(command))
    assert CliRunner().invoke(cli, ["try", "--server.port", "9"]).exit_code == 0
    [(_, _, environment)] = became
    folder = Path(environment["FAIRPRIV_THROWN_AWAY"])
    assert environment["FAIRPRIV_TRY"] == "1" and Path(environment["FAIRPRIV_STORE"]).parent == folder
    with open_store(environment["FAIRPRIV_STORE"]) as store:
        assert len(store.rows()) >= 12 and all(row.status == "finished" for row in store.rows())
    shutil.rmtree(folder)


def test_another_log_level_is_refused() -> None:
    run = CliRunner().invoke(cli, ["app", "--log-level", "loud"])
    assert run.exit_code == 2 and "'loud' is not one of 'info', 'warning'" in run.output


def test_a_device_that_cannot_be_used_is_said_before_anything_is_served(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("FAIRPRIV_DEVICE", "cuda:99")
    monkeypatch.setattr(os, "execve", lambda *command: pytest.fail("it is served"))
    run = CliRunner().invoke(cli, ["app"])
    assert isinstance(run.exception, BadInput) and "device 'cuda:99' cannot be used here" in str(run.exception)
    monkeypatch.setattr("signal.signal", lambda *_: None)  # this process goes on to end at Ctrl-C
    monkeypatch.setattr(supervisor, "check_device", Mock(side_effect=run.exception))
    assert supervisor.main() == 2 and capsys.readouterr().err.startswith("fairpriv: FAIRPRIV_DEVICE: device 'cuda:99'")
    monkeypatch.setenv("FAIRPRIV_DEVICE", "cpu:0")
    check_device()


def test_a_package_has_the_dashboard_inside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    package = tmp_path / "fairpriv_core"
    monkeypatch.setattr(fairpriv_core, "__file__", str(package / "__init__.py"))
    with pytest.raises(BadInput, match="the dashboard is not installed"):
        find_dashboard()
    (package / "_dashboard").mkdir(parents=True)
    for script in (package.with_name("app.py"), package / "_dashboard" / "app.py"):
        script.touch()
        assert find_dashboard() == script


def test_the_self_test_trains_every_method() -> None:
    assert selftest.check_methods().startswith("All ")


def test_the_self_test_finds_an_epsilon_that_does_not_follow(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(selftest, "epsilon", lambda events, delta: 1.5)
    with pytest.raises(selftest.Unwell, match=r"method 'pf_ld' states epsilon 1\.99\d*; its releases cost 1\.5\."):
        selftest.check_methods()


def test_what_is_wrong_is_said_and_fails(monkeypatch: pytest.MonkeyPatch, call: Any) -> None:
    def fail(*_: object) -> str:
        raise ImportError("no such name")

    for name in ("check_methods", "check_store", "check_report"):
        monkeypatch.setattr(selftest, name, lambda *_: "Well.")
    monkeypatch.setattr(selftest, "check_pages", fail)
    run = call("test")
    assert run.code == 1 and "FAILED pages: ImportError: no such name." in run.out
