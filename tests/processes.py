"""Processes that train, for tests: a supervisor of its own, what becomes of its runs, and whether all of it is gone."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from fairpriv_core.store.claim import identify, is_dead
from fairpriv_core.store.rows import RunRow
from fairpriv_core.store.runs import RunStore
from fairpriv_core.store.work import Claims
from tests.patience import wait_until

#: all that an event of the log may say: keys of runs and previews, numbers, and words of ours
FACTS = {"time", "level", "event", "run", "preview", "attempt", "step", "status", "kind", "steps", "seconds", "how"}
FACTS |= {"because", "slots"}


@contextmanager
def supervisor(log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """Start a supervisor of the default store that writes its events into `log`; it is killed at the end."""
    with log.open("wb") as said:
        environment = {**os.environ, "FAIRPRIV_LOG_LEVEL": "info"}
        command = [sys.executable, "-m", "fairpriv_core.runs.supervisor"]
        process = subprocess.Popen(command, env=environment, stderr=said)
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def read_events(log: Path) -> list[dict[str, Any]]:
    """Return the events of a log; what else is said there, such as a traceback, is no event."""
    return [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]


def wait_for(store: RunStore, key: str, ready: Callable[[RunRow], object]) -> RunRow:
    """Return a run's row as soon as it is `ready`."""

    def look() -> RunRow | None:
        row = store.row(key)
        return row if ready(row) else None

    found = wait_until(look, f"the run {key}")
    assert found is not None
    return found


def is_moving(row: RunRow) -> bool:
    """Return whether a run is at work and has come further than where it began."""
    return row.status == "running" and row.step > row.resumed_from_step


def send(row: RunRow, number: signal.Signals) -> None:
    """Send a signal to the process that a run is trained by."""
    os.kill(int(str(row.worker).split(":")[1]), number)


def find_children(*pids: int) -> set[int]:
    """Return all processes below `pids`, found by their parents."""
    parents = {}
    for entry in Path("/proc").glob("[0-9]*/stat"):
        try:
            fields = entry.read_text().rpartition(")")[2].split()
        except OSError:
            continue
        parents[int(entry.parent.name)] = int(fields[1])
    found = set(pids)
    while more := {pid for pid, parent in parents.items() if parent in found} - found:
        found |= more
    return found - set(pids)


def wait_until_gone(pids: set[int]) -> None:
    """Return as soon as these processes have ended."""
    names = {pid: identify(pid) for pid in pids}
    wait_until(lambda: all(is_dead(name) or name.endswith(":0") for name in names.values()), f"the end of {pids}")


class Ready:
    """Stands for processes that could start."""

    ready = True

    def __init__(self) -> None:
        self.started: list[Started] = []

    def start(self, run: object, place: str, claims: Claims = ()) -> Started:
        self.started.append(Started(claims))
        return self.started[-1]


class Started:
    """Stands for a process that is at work until it is told to end; an explorer has no claims."""

    def __init__(self, claims: Claims) -> None:
        self.claims, self.alive = claims, True

    def mishap(self) -> None: ...

    def patience(self, asked: bool) -> float:
        return 0.0
