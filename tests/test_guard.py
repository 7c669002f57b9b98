"""What tests start is gone after them, whether they were interrupted, told to end, or killed."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from benchmarks.postgres import MISSING, find_programs
from tests.patience import PATIENCE, wait_until

ROOT = Path(__file__).parent.parent
#: a test that waits for ever, once all it needs has started; it says so in the file that `told` names
WAITS = """
import json, os, signal, subprocess, sys, threading
from benchmarks.postgres import find_programs, Server

def test_waits({fixtures}):
    ignores = "import signal, time; signal.signal(signal.SIGTERM, signal.SIG_IGN); time.sleep(9999)"
    stays = subprocess.Popen([sys.executable, "-c", ignores], start_new_session=True)
    server = Server(find_programs())
    server.start()
    with open(r"{told}.part", "w") as file:
        json.dump({{"runs": os.getpid(), "folder": str(server.folder)}}, file)
    os.rename(r"{told}.part", r"{told}")
    {waits}
"""
QUICK = {"fixtures": "", "waits": "threading.Event().wait()"}
WHOLE = {"fixtures": "tab, site", "waits": "tab.goto(site.address); tab.wait_for_function('false', timeout=0)"}


class Interrupted:
    """A pytest run in processes of its own that has started what it needs; and all that it has started."""

    def __init__(self, folder: Path, *options: str, **words: str) -> None:
        told = folder / "told.json"
        (folder / "test_waits.py").write_text(WAITS.format(told=told, **words), encoding="utf-8")
        plugins = ("-p", "tests.conftest", "-p", "tests.e2e.conftest", "-p", "no:cacheprovider")
        command = [sys.executable, "-m", "pytest", *plugins, *options, str(folder)]
        pipes: dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
        self.process = subprocess.Popen(command, cwd=ROOT, start_new_session=True, **pipes)
        wait_until(lambda: told.exists() or self.process.poll() is not None, "the test to interrupt")
        assert told.exists(), self.process.communicate()[0]
        said = json.loads(told.read_text())
        self.runs, self.folder = int(said["runs"]), Path(said["folder"])
        server = int((self.folder / "data" / "postmaster.pid").read_text().split()[0])
        self.started = {*list_below(self.process.pid), *list_below(server)}

    def left(self) -> list[str]:
        """Return what is alive of all that it had started."""
        return [name for process in self.started if (name := read_name(process))]


def list_below(process: int) -> Iterator[int]:
    """Give a process and all that descend from it."""
    yield process
    with suppress(OSError):
        for thread in Path(f"/proc/{process}/task").iterdir():
            for child in (thread / "children").read_text().split():
                yield from list_below(int(child))


def read_name(process: int) -> str:
    """Return what a process is called; nothing where it is gone, or dead and only not yet asked for."""
    try:
        number, _, rest = Path(f"/proc/{process}/stat").read_text().partition(" (")
    except OSError:
        return ""
    name, _, state = rest.rpartition(") ")
    return "" if state[0] == "Z" else f"{name} {number}"


@pytest.fixture(autouse=True)
def with_server() -> None:
    """Leave out what needs PostgreSQL where there is none."""
    if find_programs() is None:
        pytest.skip(MISSING)


def check_nothing_stays(run: Interrupted, sent: signal.Signals, to: int) -> None:
    assert len(run.left()) >= 4 and run.folder.exists()  # pytest, its guard, its child, PostgreSQL and its watcher
    os.kill(to, sent)
    run.process.communicate(timeout=PATIENCE)
    wait_until(lambda: not run.left(), f"the end of {run.left()}")
    wait_until(lambda: not run.folder.exists(), "the removal of PostgreSQL's folder")


def test_a_killed_run_leaves_nothing_behind(tmp_path: Path) -> None:
    run = Interrupted(tmp_path, "-n", "0", **QUICK)
    check_nothing_stays(run, signal.SIGKILL, run.process.pid)


@pytest.mark.long
@pytest.mark.parametrize("workers", ["0", "1"])
@pytest.mark.parametrize("sent", [signal.SIGINT, signal.SIGTERM, signal.SIGKILL])
def test_an_interrupted_run_leaves_no_browser_no_pages_and_no_server(
    sent: signal.Signals, workers: str, tmp_path: Path
) -> None:
    run = Interrupted(tmp_path, "-n", workers, **WHOLE)
    check_nothing_stays(run, sent, run.process.pid)


@pytest.mark.long
def test_what_a_killed_worker_started_ends_before_the_run_does(tmp_path: Path) -> None:
    run = Interrupted(tmp_path, "-n", "1", "--max-worker-restart", "0", **WHOLE)
    check_nothing_stays(run, signal.SIGKILL, run.runs)
