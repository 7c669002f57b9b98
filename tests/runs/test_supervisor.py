"""The supervisor and its children under kill -9, pause, stop and a clean end."""

from __future__ import annotations

import signal
import subprocess
import threading
from collections.abc import Callable
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
from fairpriv_core.store.runs import RunStore
from fairpriv_core.store.work import WorkStore
from fairpriv_core.sweeps.launch import request_cost
from tests.patience import PATIENCE, wait_until
from tests.processes import (
    FACTS,
    Ready,
    find_children,
    is_moving,
    read_events,
    send,
    supervisor,
    wait_for,
    wait_until_gone,
)
from tests.stores import ON_SQLITE_FIRST

Configure = Callable[..., RunConfig]
SERVERS = 2  # the fork server, and the tracker that multiprocessing keeps beside it


@ON_SQLITE_FIRST
def test_killed_worker_and_killed_supervisor_lose_no_metric_and_leave_no_orphan(
    default: RunStore, configure: Configure, tmp_path: Path
) -> None:
    config = configure("pf_ld", epochs=40, replay_noise=5)
    key = default.submit(config).key
    with supervisor(tmp_path / "first.log") as first:
        row = wait_for(default, key, is_moving)
        shown = default.metrics(key)
        send(row, signal.SIGKILL)
        row = wait_for(default, key, lambda row: row.attempt == 2 and is_moving(row))
        assert row.crashes <= 1 and row.resumed_from_step > 0  # forgotten with the next commit
        shown += [item for item in default.metrics(key) if item not in shown]
        family = find_children(first.pid)
        first.kill()
        first.wait()
        assert len(family) > SERVERS
        wait_until_gone(family)
    assert default.row(key).status == "lost"
    with supervisor(tmp_path / "second.log"):
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
def test_runs_and_previews_obey_a_supervisor_that_ends_clean_and_logs_what_it_did(
    default: RunStore, configure: Configure, tmp_path: Path
) -> None:
    log = tmp_path / "log"
    with supervisor(log) as process:
        told = pause_resume_and_stop(default, configure("pf_ld", epochs=900))
        deaf = stop_one_that_does_not_obey(default, configure("pf_ld", epochs=901))
        failed, cancelled = fail_and_cancel_previews(default, process.pid)
        handed = default.submit(configure("pf_ld", epochs=902)).key
        wait_for(default, handed, is_moving)
        family = find_children(process.pid)
        process.terminate()
        assert process.wait(PATIENCE) == 0
        wait_until_gone(family)
    row = default.row(handed)
    assert (row.status, row.crashes) == ("queued", 0) and row.step > 0
    events = read_events(log)
    assert events[0]["event"] == "supervisor_started" and events[-1]["event"] == "supervisor_stopped"
    assert {name for line in events for name in line} <= FACTS
    seen = {key: [each["event"] for each in events if key in each.values()] for key in (told, deaf, failed, cancelled)}
    assert seen[told] == ["run_taken", "run_handed_back"] * 2, "it obeyed a pause and a stop by itself"
    assert "process_ended" in seen[deaf]
    assert seen[failed] == ["preview_taken", "preview_ended"]
    assert seen[cancelled] == ["preview_taken", "preview_cancelled"], "its process ends at once"


def pause_resume_and_stop(store: RunStore, config: RunConfig) -> str:
    key = store.submit(config).key
    wait_for(store, key, is_moving)
    store.request(key, "pause")
    row = wait_for(store, key, lambda row: row.status == "paused")
    store.request(key, "resume")
    again = wait_for(store, key, lambda later: later.attempt == 2 and later.step > row.step)
    assert again.resumed_from_step == row.step and again.crashes == 0
    store.request(key, "stop")
    wait_for(store, key, lambda row: row.status == "cancelled")
    record = store.record(key)
    assert record is not None and record.epsilon is not None and 0.99 < record.epsilon <= 1
    return key


def stop_one_that_does_not_obey(store: RunStore, config: RunConfig) -> str:
    key = store.submit(config).key
    row = wait_for(store, key, is_moving)
    with store.database.write():  # so that it is not stopped within a transaction, which would lock the store
        send(row, signal.SIGSTOP)
    store.request(key, "stop")
    row = wait_for(store, key, lambda row: row.status == "cancelled")
    record = store.record(key)
    assert record is not None and record.steps == row.step > 0
    return key


def fail_and_cancel_previews(store: RunStore, pid: int) -> tuple[str, str]:
    axes = {"method": ["pf_ld"], "epsilon": [number / 100 for number in range(1, 101)], "seed": list(range(100))}
    data = {"dataset": "synthetic", "sensitive": "group"}
    failed = store.previews.ask({"method": "of no catalogue"})
    wait_until(lambda: store.previews.look(failed).status == "failed", "the preview's failure")
    assert store.previews.look(failed).error
    wait_until(lambda: len(find_children(pid)) == SERVERS, "the end of its process")
    servers = find_children(pid)
    key = store.previews.ask(request_cost({"data": data, "notion": "demographic_parity", "axes": axes}, owner="local"))
    wait_until(lambda: find_children(pid) - servers, "a process for the preview")
    at_work = find_children(pid) - servers
    store.previews.cancel(key)
    wait_until_gone(at_work)
    assert store.previews.look(key).status == "cancelled"
    return failed, key


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
        waiting, said = threading.Thread(target=second.__enter__, daemon=True), list[str]()
        waiting.start()
        wait_until(lambda: said.append(capsys.readouterr().err) or "waits" in "".join(said), "the second one's word")
        assert f"another process of this host trains what is launched in {own_store}" in "".join(said)
        waiting.join(0.3)
        assert waiting.is_alive()
    waiting.join(PATIENCE)
    assert not waiting.is_alive()
    with serving(threading.Event(), place=str(own_store.parent / "other.db")):
        pass  # another store has a place of its own
    second.__exit__(None, None, None)


def test_a_reused_process_id_is_not_taken_for_the_process() -> None:
    host, pid, started = identify().rsplit(":", 2)
    assert not is_dead(identify())
    assert is_dead(f"{host}:{pid}:{int(started) + 1}") and is_dead(None)
    assert not is_dead(f"elsewhere:{pid}:{started}")


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
