"""The process that trains beside the one that shows: one a host, replaced where it is killed, gone with its starter."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path
from unittest.mock import Mock

import pytest

from fairpriv_core.cli.app import find_dashboard
from fairpriv_core.runs import beside
from fairpriv_core.store.health import is_served
from fairpriv_core.store.runs import RunStore
from tests.patience import PATIENCE, wait_until
from tests.processes import wait_until_gone

ROOT = Path(__file__).parents[2]
#: shows something until its standard input is closed, and says after each look whether one trains
SHOWS = """
import sys
from fairpriv_core.runs import beside

def look(database, honest=beside.is_served):
    print(served := honest(database), flush=True)
    return served

beside.is_served = look
beside.train_beside()
beside.train_beside()
sys.stdin.read()
"""


def wait_served(store: RunStore) -> None:
    wait_until(lambda: is_served(store.database), "one that trains")


def find_started(pid: int) -> set[int]:
    """Return the processes that `pid` has started itself."""
    listed = (Path("/proc") / str(pid) / "task").glob("*/children")
    return {int(child) for path in listed for child in path.read_text().split()}


def answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://localhost:{port}/_stcore/health", timeout=1) as answer:
            return answer.status == 200
    except OSError:
        return False


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Return a function that starts a process, which shows something; all are ended."""
    started = []

    def start_one(*command: str, **variables: str) -> subprocess.Popen[str]:
        pipes = {**dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.PIPE), "text": True}
        given = [sys.executable, *(command or ("-c", SHOWS))]
        started.append(subprocess.Popen(given, cwd=ROOT, env={**os.environ, **variables}, **pipes))  # type: ignore[call-overload]
        return started[-1]

    yield start_one
    for process in started:
        process.kill()
        process.communicate()


def test_one_trains_as_long_as_one_that_shows_lives(local: RunStore, start) -> None:
    one = start()
    wait_served(local)
    [killed] = find_started(one.pid)
    os.kill(killed, signal.SIGKILL)
    wait_until(lambda: find_started(one.pid) - {killed}, "another in place of the killed one")
    wait_served(local)
    two = start()
    assert [two.stdout.readline() for _ in range(2)] == ["True\n"] * 2, "it looks, and one trains already"
    assert not find_started(two.pid)
    trained = find_started(one.pid)
    one.send_signal(signal.SIGKILL)
    wait_until_gone(trained)
    wait_until(lambda: find_started(two.pid), "one that trains beside the other")
    wait_served(local)
    _, said = two.communicate(timeout=PATIENCE)
    assert (two.returncode, said) == (0, "")
    assert not is_served(local.database)  # it waits for what it started


def test_one_that_ends_with_an_error_is_not_started_again(
    local: RunStore, monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(beside.atexit, "register", lambda *_: None)
    monkeypatch.setenv("FAIRPRIV_LOG_LEVEL", "loud")
    before = set(threading.enumerate())
    beside.train_beside.__wrapped__()
    [keeper] = set(threading.enumerate()) - before
    keeper.join(PATIENCE)
    said = capfd.readouterr().err.splitlines()
    assert said[0].startswith("fairpriv: the log level must be one of")
    assert said[1:] == [beside.ENDED.format(2)] and not keeper.is_alive()


def test_a_demonstration_trains_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    started = list[object]()
    monkeypatch.setattr(beside.threading, "Thread", lambda **asked: started.append(asked) or Mock())
    monkeypatch.setattr(beside.atexit, "register", lambda *_: None)
    for demo, many in (("1", 0), ("0", 1), ("", 2)):
        monkeypatch.setenv("FAIRPRIV_DEMO", demo)
        beside.train_beside.__wrapped__()
        assert len(started) == many


def test_the_dashboard_serves_and_trains_and_ends_together(local: RunStore, start) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        free_port = probe.getsockname()[1]
    command = ("-m", "fairpriv_core", "app", "--log-level", "info", "--server.port", str(free_port))
    app = start(*command)
    wait_served(local)
    assert find_dashboard() == ROOT / "app.py"
    [trains] = find_started(app.pid)
    variables = Path(f"/proc/{trains}/environ").read_bytes().split(b"\0")
    assert b"FAIRPRIV_LOG_LEVEL=info" in variables
    assert not [each for each in variables if each.startswith(b"MALLOC_")]
    assert b"MALLOC_ARENA_MAX=1" in Path(f"/proc/{app.pid}/environ").read_bytes().split(b"\0")
    wait_until(lambda: answers(free_port), "the dashboard's answer")
    app.terminate()
    app.communicate(timeout=PATIENCE)
    assert app.returncode == 0 and not is_served(local.database)
