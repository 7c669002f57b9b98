"""The process that trains beside the one that shows: one a host, replaced where it is killed, gone with its starter."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fairpriv_core.cli.app import find_dashboard
from fairpriv_core.runs.beside import ENDED, LOOK_SECONDS
from fairpriv_core.store.health import is_served
from fairpriv_core.store.runs import RunStore

ROOT = Path(__file__).parents[2]
SHOWS = "from fairpriv_core.runs.beside import train_beside; train_beside(); train_beside(); input()"
PATIENCE = 60.0


def wait_until(ready: Callable[[], object]) -> None:
    ends = time.monotonic() + PATIENCE
    while not ready():
        assert time.monotonic() < ends
        time.sleep(0.05)


def children_of(pid: int) -> list[int]:
    listed = (Path("/proc") / str(pid) / "task").glob("*/children")
    return [int(child) for path in listed for child in path.read_text().split()]


def answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://localhost:{port}/_stcore/health", timeout=1) as answer:
            return answer.status == 200
    except OSError:
        return False


@pytest.fixture
def start() -> Iterator[Callable[..., subprocess.Popen[str]]]:
    """Return a function that starts a process, which shows something until a line comes; all are ended."""
    started = []

    def start_one(*command: str, **variables: str) -> subprocess.Popen[str]:
        pipes = {"stdin": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
        given = [sys.executable, *(command or ("-c", SHOWS))]
        started.append(subprocess.Popen(given, cwd=ROOT, env={**os.environ, **variables}, **pipes))  # type: ignore[call-overload]
        return started[-1]

    yield start_one
    for process in started:
        process.kill()
        process.communicate()


@pytest.mark.parametrize("sent", [None, pytest.param(signal.SIGTERM, marks=pytest.mark.long), signal.SIGKILL])
def test_it_trains_as_long_as_its_starter_lives(local: RunStore, start, sent: signal.Signals | None) -> None:
    shows = start()
    wait_until(lambda: is_served(local.database))
    if sent is None:
        _, said = shows.communicate("\n", timeout=PATIENCE)
        assert (shows.returncode, said) == (0, "")
        assert not is_served(local.database)  # it waits for what it started
    else:
        shows.send_signal(sent)
    wait_until(lambda: not is_served(local.database))


def test_a_killed_one_is_replaced(local: RunStore, start) -> None:
    shows = start()
    wait_until(lambda: is_served(local.database))
    [first] = children_of(shows.pid)
    os.kill(first, signal.SIGKILL)
    wait_until(lambda: children_of(shows.pid) not in ([], [first]))
    wait_until(lambda: is_served(local.database))


def test_two_that_show_have_one_that_trains(local: RunStore, start) -> None:
    one = start()
    wait_until(lambda: is_served(local.database))
    two = start()
    time.sleep(3 * LOOK_SECONDS)
    assert len(children_of(one.pid)) == 1 and not children_of(two.pid)
    one.kill()
    wait_until(lambda: children_of(two.pid))


def test_one_that_ends_with_an_error_is_not_started_again(local: RunStore, start) -> None:
    shows = start(FAIRPRIV_LOG_LEVEL="loud")
    said = [shows.stderr.readline() for _ in range(2)]
    assert said[0].startswith("fairpriv: the log level must be one of")
    assert said[1] == f"{ENDED.format(2)}\n"


def test_a_demonstration_trains_nothing(local: RunStore, start) -> None:
    shows = start(FAIRPRIV_DEMO="1")
    time.sleep(2.0)
    assert not children_of(shows.pid) and not is_served(local.database)


def test_the_dashboard_serves_and_trains_and_ends_together(local: RunStore, start) -> None:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        free_port = probe.getsockname()[1]
    command = ("-m", "fairpriv_core", "app", "--log-level", "info", "--server.port", str(free_port))
    app = start(*command)
    wait_until(lambda: is_served(local.database))
    assert find_dashboard() == ROOT / "app.py"
    [trains] = children_of(app.pid)
    variables = Path(f"/proc/{trains}/environ").read_bytes().split(b"\0")
    assert b"FAIRPRIV_LOG_LEVEL=info" in variables
    assert not [each for each in variables if each.startswith(b"MALLOC_")]
    assert b"MALLOC_ARENA_MAX=1" in Path(f"/proc/{app.pid}/environ").read_bytes().split(b"\0")
    wait_until(lambda: answers(free_port))
    app.terminate()
    app.communicate(timeout=PATIENCE)
    assert app.returncode == 0 and not is_served(local.database)
