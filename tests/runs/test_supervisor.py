"""The supervisor and its children under kill -9, pause, stop and a clean end."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import torch

from fairpriv_core.records.config import RunConfig
from fairpriv_core.runs import supervisor as supervisor_of_runs
from fairpriv_core.runs.children import ChildProcesses
from fairpriv_core.runs.execute import execute
from fairpriv_core.runs.session import MemoryJournal
from fairpriv_core.runs.supervisor import serving
from fairpriv_core.store.claim import identify, is_dead
from fairpriv_core.store.rows import RunRow
from fairpriv_core.store.runs import RunStore
from fairpriv_core.store.work import Claims, WorkStore
from fairpriv_core.sweeps.launch import request_cost
from tests.stores import ON_SQLITE_FIRST

Configure = Callable[..., RunConfig]
PATIENCE = 60.0
SERVERS = 2  # the fork server, and the tracker that multiprocessing keeps beside it


@contextmanager
def supervisor() -> Iterator[subprocess.Popen[bytes]]:
    process = subprocess.Popen([sys.executable, "-m", "fairpriv_core.runs.supervisor"])
    try:
        yield process
    finally:
        process.kill()
        process.wait()


def wait_for(store: RunStore, key: str, ready: Callable[[RunRow], bool], patience: float = PATIENCE) -> RunRow:
    end = time.monotonic() + patience
    while time.monotonic() < end:
        row = store.row(key)
        if ready(row):
            return row
        time.sleep(0.02)
    raise AssertionError(f"not reached in {patience} s: {row}")


def wait_until(ready: Callable[[], bool], patience: float = PATIENCE) -> None:
    end = time.monotonic() + patience
    while not ready():
        assert time.monotonic() < end, f"not reached in {patience} s"
        time.sleep(0.02)


def moving(row: RunRow) -> bool:
    return row.status == "running" and row.step > row.resumed_from_step


def children_of(*pids: int) -> set[int]:
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


def gone(pids: set[int], patience: float = 20.0) -> bool:
    names = {pid: identify(pid) for pid in pids}
    end = time.monotonic() + patience
    while time.monotonic() < end:
        if all(is_dead(name) or name.endswith(":0") for name in names.values()):
            return True
        time.sleep(0.05)
    return False


@ON_SQLITE_FIRST
def test_killed_worker_and_killed_supervisor_lose_no_metric_and_leave_no_orphan(
    default: RunStore, configure: Configure
) -> None:
    config = configure("pf_ld", epochs=40, replay_noise=5)
    key = default.submit(config).key
    with supervisor() as first:
        row = wait_for(default, key, moving)
        shown = default.metrics(key)
        os.kill(int((row.worker or "").split(":")[1]), signal.SIGKILL)
        row = wait_for(default, key, lambda row: row.attempt == 2 and moving(row))
        assert row.crashes <= 1 and row.resumed_from_step > 0  # forgotten with the next commit
        shown += [item for item in default.metrics(key) if item not in shown]
        family = children_of(first.pid)
        first.kill()
        first.wait()
        assert len(family) >= 2 and gone(family)
    assert default.row(key).status == "lost"
    with supervisor():
        row = wait_for(default, key, lambda row: row.status == "finished")
    record = default.record(key)
    assert record is not None and record.resumed_from_step >= row.resumed_from_step > 0 and row.crashes == 0
    stored = default.metrics(key)
    assert set(shown) <= set(stored)
    assert len([name for _, name, _ in stored if name == "test/accuracy"]) == 40
    torch.set_num_threads(1)
    expected = execute(config, MemoryJournal()).record
    assert (record.metrics, record.event, record.notes) == (expected.metrics, expected.event, expected.notes)


@ON_SQLITE_FIRST
def test_pause_resume_stop_and_a_clean_end(default: RunStore, configure: Configure) -> None:
    key = default.submit(configure("pf_ld", epochs=900)).key
    other = default.submit(configure("pf_ld", epochs=901)).key
    preview = default.request_preview({"method": "of no catalogue"})
    with supervisor() as process:
        wait_for(default, key, moving)
        default.request(key, "pause")
        row = wait_for(default, key, lambda row: row.status == "paused", 5.0)
        default.request(key, "resume")
        again = wait_for(default, key, lambda later: later.attempt == 2 and later.step > row.step)
        assert again.resumed_from_step == row.step and again.crashes == 0
        default.request(key, "stop")
        wait_for(default, key, lambda row: row.status == "cancelled", 5.0)
        record = default.record(key)
        assert record is not None and record.epsilon is not None and 0.99 < record.epsilon <= 1
        wait_for(default, other, moving)
        end = time.monotonic() + PATIENCE
        while (default.preview(preview) or {})["status"] != "failed" and time.monotonic() < end:
            time.sleep(0.05)
        assert (default.preview(preview) or {})["error"]
        family = children_of(process.pid)
        process.terminate()
        assert process.wait(10) == 0 and gone(family)
    row = default.row(other)
    assert (row.status, row.crashes) == ("queued", 0) and row.step > 0


def test_a_child_that_does_not_obey_is_ended(
    local: RunStore, configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    key = local.submit(configure("pf_ld", epochs=900)).key
    with supervisor():
        row = wait_for(local, key, moving)
        os.kill(int((row.worker or "").split(":")[1]), signal.SIGSTOP)
        local.request(key, "stop")
        row = wait_for(local, key, lambda row: row.status == "cancelled", 5.0)
    record = local.record(key)
    assert record is not None and record.steps == row.step > 0


@ON_SQLITE_FIRST
def test_the_process_of_a_cancelled_preview_is_ended(default: RunStore) -> None:
    axes = {"method": ["pf_ld"], "epsilon": [number / 100 for number in range(1, 101)], "seed": list(range(100))}
    data = {"dataset": "synthetic", "sensitive": "group"}
    request = request_cost({"data": data, "notion": "demographic_parity", "axes": axes}, owner="local")
    with supervisor() as process:
        first = default.request_preview({"method": "of no catalogue"})
        wait_until(lambda: (default.preview(first) or {})["status"] == "failed")
        wait_until(lambda: len(children_of(process.pid)) == SERVERS)
        servers, key = children_of(process.pid), default.request_preview(request)
        wait_until(lambda: bool(children_of(process.pid) - servers))
        at_work = children_of(process.pid) - servers
        default.cancel_preview(key)
        assert gone(at_work, 3.0) and (default.preview(key) or {})["status"] == "cancelled"


def test_a_child_has_the_environment_of_this_moment(monkeypatch: pytest.MonkeyPatch) -> None:
    """The fork server's may be an older one: of another store, say, or with another folder of data."""
    monkeypatch.setenv("FAIRPRIV_DATA_FOLDER", "here")
    processes = ChildProcesses()
    monkeypatch.delenv("FAIRPRIV_DATA_FOLDER")
    for store in ("one", "another"):
        monkeypatch.setenv("FAIRPRIV_STORE", store)
        asked = f'test "$FAIRPRIV_STORE" = {store} && test -z "$FAIRPRIV_DATA_FOLDER" && test "$OMP_NUM_THREADS" = 1'
        assert processes.start(subprocess.check_call, ["sh", "-c", asked]).mishap() is None


def test_of_two_supervisors_of_one_store_the_second_waits_and_says_so(
    own_store: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    stopping = threading.Event()
    first, second = serving(stopping), serving(stopping)
    with first:
        waiting = threading.Thread(target=second.__enter__)
        waiting.start()
        waiting.join(0.3)
        assert waiting.is_alive()
        said = capsys.readouterr().err
        assert f"another process of this host trains what is launched in {own_store}; this one waits" in said
    waiting.join(10)
    assert not waiting.is_alive()
    with serving(threading.Event(), place=str(own_store.parent / "other.db")):
        pass  # another store has a place of its own
    second.__exit__(None, None, None)


def test_a_reused_process_id_is_not_taken_for_the_process() -> None:
    host, pid, started = identify().rsplit(":", 2)
    assert not is_dead(identify())
    assert is_dead(f"{host}:{pid}:{int(started) + 1}") and is_dead(None)
    assert not is_dead(f"elsewhere:{pid}:{started}")


class Ready:
    """Stands for processes that could start."""

    ready = True

    def __init__(self) -> None:
        self.started: list[Started] = []

    def start(self, run: object, place: str, claims: Claims) -> Started:
        self.started.append(Started(claims))
        return self.started[-1]


class Started:
    """Stands for a process that is at work until it is told to end."""

    def __init__(self, claims: Claims) -> None:
        self.claims, self.alive = claims, True

    def mishap(self) -> None: ...

    def patience(self, asked: bool) -> float:
        return 0.0


def test_an_idle_supervisor_asks_for_work_where_something_has_changed(
    local: RunStore, configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[object] = []
    monkeypatch.setattr(supervisor_of_runs, "ChildProcesses", Ready)
    monkeypatch.setattr(WorkStore, "claim", lambda self, chunk: asked.append(chunk) or ())
    crew = supervisor_of_runs.Supervisor(str(local.database.path))
    for changed in (1, 2):
        local.submit(configure(seed=changed))
        for _ in range(3):
            crew.tick()
        assert len(asked) == changed


def test_a_run_that_waits_is_taken_when_a_place_gets_free_though_nothing_else_changes(
    local: RunStore, configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process ends a moment after its last commit: what was seen in between must not count as asked."""
    nursery = Ready()
    monkeypatch.setattr(supervisor_of_runs, "ChildProcesses", lambda: nursery)
    crew = supervisor_of_runs.Supervisor(str(local.database.path), slots=1)
    first, second = (local.submit(configure(seed=seed)).key for seed in (1, 2))
    crew.tick()
    (process,) = nursery.started
    WorkStore(local.database).refuse(process.claims[0], "the test ends it", "failed")
    for _ in range(3):
        crew.tick()
    assert len(nursery.started) == 1
    process.alive = False
    crew.tick()
    crew.tick()
    assert [one.claims[0].key for one in nursery.started] == [first, second]
