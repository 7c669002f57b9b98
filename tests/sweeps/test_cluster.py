"""Sweeps on a Dask cluster with the store on PostgreSQL: what is refused, and what survives kill -9."""

from __future__ import annotations

import pickle
import re
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path
from threading import Event, Thread
from types import SimpleNamespace
from typing import Any

import pytest

from benchmarks.postgres import MISSING, Server, find_port, find_programs
from fairpriv_core.data import download
from fairpriv_core.errors import BadInput, RunFailed, StoreError
from fairpriv_core.records.config import RunConfig
from fairpriv_core.runs import supervisor
from fairpriv_core.runs.execute import execute
from fairpriv_core.runs.session import MemoryJournal
from fairpriv_core.store.claim import Claim
from fairpriv_core.store.runs import RunStore, open_store
from fairpriv_core.store.sweeps import SweepStore
from fairpriv_core.store.work import WorkStore
from fairpriv_core.sweeps import cluster, cluster_sweep, cluster_task
from fairpriv_core.sweeps.cluster_sweep import Cluster
from fairpriv_core.sweeps.cluster_task import Terms, Unfit, find_fault, read_versions, work_on_queued
from tests.cli.commands import Call
from tests.patience import PATIENCE, wait_until
from tests.store.test_carried import SECRET, ask, put
from tests.sweeps.clusters import ROOT, Processes

Configure = Callable[..., RunConfig]
PASSWORD = "hush-hush"  # the server takes any
CHUNKS, MODELS, LONE = 8, 8, 2


@pytest.fixture
def shared(postgres_place: str, monkeypatch: pytest.MonkeyPatch) -> Iterator[RunStore]:
    """Return an empty PostgreSQL store, the default one of this test and of its processes."""
    monkeypatch.setenv("FAIRPRIV_STORE", postgres_place.replace("fairpriv@", f"fairpriv:{PASSWORD}@"))
    with open_store() as store:
        yield store


def list_runs(configure: Configure) -> list[tuple[RunConfig, str]]:
    """Return (config, chunk): two chunks that take a while, more that do not, and runs that show their epochs."""

    def build(chunk: int, **given: object) -> tuple[RunConfig, str]:
        return configure(hidden_layers=0, **given), f"{chunk:016x}"

    long = [build(at, epochs=1000, learning_rate=0.01 * (1 + k), seed=at) for at in range(2) for k in range(MODELS)]
    short = [
        build(at, epochs=2, learning_rate=0.01 * (1 + k), seed=at) for at in range(2, CHUNKS) for k in range(MODELS)
    ]
    return long + short + [build(at, epochs=12, seed=at) for at in range(CHUNKS, CHUNKS + LONE)]


class Mischief:
    """Kills a worker at work, then the scheduler; holds the store to what it had acknowledged."""

    def __init__(self, store: RunStore, processes: Processes, shown: list[str]) -> None:
        self.killed: list[str] = []
        self._store, self._processes, self._shown = store, processes, shown
        self._steps: dict[str, int] = {}
        self._curves: dict[str, set[tuple[int, str, float | None]]] = {}

    def look(self) -> None:
        rows = self._store.rows()
        for row in rows:
            assert row.step >= self._steps.get(row.key, 0)
            self._steps[row.key] = row.step
        for key in self._shown:
            curve = set(self._store.metrics(key))
            assert curve >= self._curves.get(key, set())
            self._curves[key] = curve
        if not self.killed:
            victim = self._processes.workers[0]
            if any(row.status == "running" and row.step and f":{victim.pid}:" in (row.worker or "") for row in rows):
                self.killed.append("worker")
                victim.kill()
        elif self.killed == ["worker"] and sum(row.status == "finished" for row in rows) * 3 > len(rows):
            self.killed.append("scheduler")
            self._processes.restart()
            self._processes.start_worker({"FAIRPRIV_STORE": None})


@pytest.mark.long
def test_each_run_ends_once_though_a_worker_and_the_scheduler_are_killed(
    shared: RunStore, configure: Configure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_sweep, "POLL_SECONDS", 0.2)
    runs, said = list_runs(configure), list[str]()
    with Processes(tmp_path, workers=2) as processes, Cluster(processes.address, said.append) as crowd:
        crowd.await_workers()
        SweepStore(shared).submit(runs)
        mischief = Mischief(shared, processes, [config.key for config, _ in runs[-LONE:]])
        crowd.run(None, list(dict.fromkeys(chunk for _, chunk in runs)), mischief.look)
    assert mischief.killed == ["worker", "scheduler"], said
    assert f"the scheduler at {processes.address} is back." in said
    assert any("has no FAIRPRIV_STORE" in sentence and sentence.endswith("It is left out.") for sentence in said)
    rows = shared.rows()
    assert {row.config_key for row in rows} == {config.key for config, _ in runs} and len(rows) == len(runs) >= 60
    assert {row.status for row in rows} == {"finished"}
    assert any(row.attempt > 1 and row.resumed_from_step > 0 for row in rows)
    for row in rows:
        record = shared.record(row.key)
        assert record is not None and record.status == "finished" and record.steps == row.step
        assert shared.artifact(row.key, "model.json") and shared.artifact(row.key, "model.safetensors")
    for config, _ in runs[-LONE:]:
        expected, record = execute(config, MemoryJournal()).record, shared.record(config.key)
        assert record is not None and record.metrics == expected.metrics
        assert len([name for _, name, _ in shared.metrics(config.key) if name == "test/accuracy"]) == 12


def list_chunks(configure: Configure, chunks: int, epochs: int) -> list[tuple[RunConfig, str]]:
    """Return runs that train alone, each in a chunk of its own."""
    return [(configure(hidden_layers=0, epochs=epochs, seed=seed), f"{seed:016x}") for seed in range(chunks)]


def who_worked(store: RunStore) -> set[int]:
    return {int(str(row.worker).split(":")[1]) for row in store.rows() if row.worker}


@pytest.mark.long
def test_a_worker_that_joins_late_works_and_one_that_is_replaced_too(
    shared: RunStore, configure: Configure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight chunks and one worker; a second joins while it works, then both are killed and a third does the rest."""
    monkeypatch.setattr(cluster_sweep, "POLL_SECONDS", 0.1)
    runs, seen, said = list_chunks(configure, 8, 300), set[int](), list[str]()
    with Processes(tmp_path, workers=1) as processes, Cluster(processes.address, said.append) as crowd:
        crowd.await_workers()

        def look() -> None:
            seen.update(who_worked(shared))
            if seen and len(processes.workers) == 1:
                processes.start_worker()
            if len(seen) == 2 and len(processes.workers) == 2:
                for worker in processes.workers:
                    worker.kill()
                processes.start_worker()

        SweepStore(shared).submit(runs)
        crowd.run(None, [chunk for _, chunk in runs], look)
    assert len(seen) == 3 and {worker.pid for worker in processes.workers} == seen, said
    assert {row.status for row in shared.rows()} == {"finished"} and len(shared.rows()) == 8


@pytest.mark.long
def test_a_run_longer_than_the_patience_does_not_end_the_sweep(
    shared: RunStore, configure: Configure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster_sweep, "IDLE_SECONDS", 1.0)
    runs, said = list_chunks(configure, 2, 600), list[str]()
    with Processes(tmp_path, workers=1) as processes, Cluster(processes.address, said.append) as crowd:
        crowd.await_workers()
        SweepStore(shared).submit(runs)
        crowd.run(None, [chunk for _, chunk in runs], lambda: None)
    rows = shared.rows()
    assert {row.status for row in rows} == {"finished"}
    assert max(row.seconds for row in rows) > 1.0, "else nothing was tried"


@pytest.mark.long
def test_a_database_that_is_killed_and_started_again_ends_nothing(
    configure: Configure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    programs = find_programs()
    if programs is None:
        pytest.skip(MISSING)
    server, killed, said = Server(programs), list[float](), list[str]()
    monkeypatch.setenv("FAIRPRIV_STORE", server.url)
    monkeypatch.setenv("HOME", str(tmp_path))
    server.start()
    try:
        with open_store() as store, Processes(tmp_path, workers=2) as processes:
            runs = list_chunks(configure, 6, 300)

            def look() -> None:
                if not killed and any(row.step for row in store.rows()):
                    killed.append(1.0)
                    server.kill()
                    server.start()

            with Cluster(processes.address, said.append) as crowd:
                crowd.await_workers()
                SweepStore(store).submit(runs)
                crowd.run(None, [chunk for _, chunk in runs], look)
            assert killed and {row.status for row in store.rows()} == {"finished"}, said
    finally:
        server.close()


@pytest.mark.long
def test_what_a_dashboard_launches_is_trained_by_the_cluster(
    shared: RunStore, configure: Configure, tmp_path: Path
) -> None:
    said, seen, stopping = list[str](), set[int](), Event()
    with Processes(tmp_path, workers=1) as processes:
        thread = Thread(target=cluster_sweep.serve, args=(processes.address, stopping, said.append))
        thread.start()
        keys = [shared.submit(configure(epochs=300, seed=seed)).key for seed in range(2)]
        SweepStore(shared).submit([(configure(hidden_layers=0, seed=seed), "a" * 16) for seed in range(2)])
        wait_until(lambda: seen.update(who_worked(shared)) or all(row.ended for row in shared.rows()), "the runs' end")
        stopping.set()
        thread.join()
        assert seen == {processes.workers[0].pid}
    assert not said and {row.status for row in shared.rows()} == {"finished"} and len(shared.rows()) == 4
    assert all(shared.artifact(key, "model.safetensors") for key in keys)


@pytest.mark.long
def test_an_uploaded_file_trains_on_a_worker_that_shares_no_disk(shared: RunStore, tmp_path: Path) -> None:
    far, said = tmp_path / "far", list[str]()
    stored = put(shared, "local")
    runs = [(ask(stored.path, seed), f"{seed:016x}") for seed in range(2)]
    SweepStore(shared).submit(runs)
    stored.path.unlink()
    with Processes(tmp_path) as processes, Cluster(processes.address, said.append) as crowd:
        processes.start_worker({"HOME": str(far)})
        crowd.run(None, [chunk for _, chunk in runs], lambda: None)
        assert not [sentence for sentence in said if sentence.endswith("It is left out.")]
    assert {row.status for row in shared.rows()} == {"finished"}
    assert list((far / ".fairpriv" / "carried").iterdir()) == []
    assert SECRET not in processes.told() and "side,size" not in processes.told()


def test_a_supervisor_with_a_scheduler_leaves_runs_to_it(
    own_store: Path, configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = list[str]()
    monkeypatch.setenv(supervisor.SCHEDULER, "tcp://host:8786")
    monkeypatch.setattr(cluster_sweep, "serve", lambda address, stopping, say: asked.append(address))
    monkeypatch.setattr("signal.signal", lambda *_: None)  # this process goes on to end at Ctrl-C
    slots = list[int]()
    monkeypatch.setattr(supervisor.Supervisor, "serve", lambda self, stopping: slots.append(self.slots))
    assert supervisor.main() == 0 and asked == ["tcp://host:8786"] and slots == [0]


def test_a_worker_that_is_not_fit_is_refused_by_its_name_and_ctrl_c_hands_back_what_another_holds(
    shared: RunStore, configure: Configure, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs, said = [(configure(epochs=500, seed=seed), letter * 16) for seed, letter in enumerate("ab")], list[str]()
    key = runs[0][0].key

    def interrupt() -> None:
        if shared.row(key).step > 0:
            raise KeyboardInterrupt

    monkeypatch.setattr(cluster_sweep, "WORKER_SECONDS", 0.5)
    with Processes(tmp_path) as processes, Cluster(processes.address, said.append) as crowd:
        with pytest.raises(BadInput, match=rf"no worker of the scheduler at {processes.address} was free for 0"):
            crowd.await_workers()
        monkeypatch.setattr(cluster_sweep, "WORKER_SECONDS", PATIENCE)
        processes.start_worker({"FAIRPRIV_STORE": str(tmp_path / "runs.db")})
        with pytest.raises(BadInput, match=r"worker tcp://127\.0\.0\.1:\d+ has a SQLite file in FAIRPRIV_STORE; set"):
            crowd.await_workers()
        processes.start_worker()
        wait_until(lambda: has_fit(crowd), "another worker")
        SweepStore(shared).submit(runs)
        with pytest.raises(KeyboardInterrupt):
            crowd.run(None, [chunk for _, chunk in runs], interrupt)
        rows = {row.key: row for row in shared.rows()}
    assert {row.status for row in rows.values()} == {"paused"} and {row.crashes for row in rows.values()} == {0}
    assert rows[key].step > 0 and sum(row.attempt for row in rows.values()) == 1
    assert PASSWORD not in processes.told()


def has_fit(crowd: Cluster) -> bool:
    try:
        crowd.await_workers(all_fit=False)
    except BadInput:
        return False
    return True


def test_a_cluster_that_cannot_be_is_refused_in_a_sentence(
    shared: RunStore, own_store: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    nowhere = f"tcp://127.0.0.1:{find_port()}"
    monkeypatch.setattr(cluster, "CONNECT_SECONDS", 1.0)
    with pytest.raises(BadInput, match=rf"no Dask scheduler answered at {nowhere} for 1 seconds; start it"):
        Cluster(nowhere, print)
    for address in ("localhost:8786", "http://localhost:8786", "tcp://", "tcp://a b:x"):
        with pytest.raises(BadInput, match=r"a scheduler's address is like tcp://host:8786, got '"):
            Cluster(address, print)
    with pytest.raises(BadInput, match=r"scheduler at tls://127.0.0.1:9 cannot be used: TLS expects"):
        Cluster("tls://127.0.0.1:9", print)
    monkeypatch.setattr(cluster_sweep, "resolve_name", refuse_dask)
    with pytest.raises(BadInput, match="a cluster needs the package 'distributed'; install fairpriv with the extra"):
        Cluster(nowhere, print)
    monkeypatch.setenv("FAIRPRIV_STORE", str(own_store))
    with pytest.raises(BadInput, match=r"is a SQLite file, .* set FAIRPRIV_STORE to a PostgreSQL URL, here and for"):
        Cluster(nowhere, print)
    monkeypatch.setenv("FAIRPRIV_STORE", f"postgresql://me:secret@127.0.0.1:{find_port()}/runs")
    with pytest.raises(StoreError, match="could not be reached within 10 seconds") as caught:
        Cluster(nowhere, print)
    assert "secret" not in str(caught.value)


def refuse_download(*_: object, **__: object) -> None:
    raise OSError("no network")


def refuse_dask(name: str) -> None:
    raise ModuleNotFoundError(name, name="distributed")


class Useless:
    """In place of a link: its workers take nothing, or none may work."""

    address, generation, settled, refused = "tcp://host:8786", 1, True, {"tcp://host:1": "has torch 1.0."}

    def __init__(self, outcome: int | str | None) -> None:
        self.outcome, self.fit = outcome, {"tcp://host:2": 1}
        self.news, self.joined = Event(), Event()
        self.given: list[Mapping[str, str]] = []

    def __getattr__(self, name: str) -> Callable[..., Any]:
        answers = {"breaking": nullcontext(), "client": self}
        return lambda *_, **__: answers.get(name)

    def give(self, client: object, which: Mapping[str, str]) -> Any:
        self.given.append(which)
        return SimpleNamespace(status="finished")

    def load(self, name: str) -> Any:
        return lambda *_: self if name == "Link" else self.outcome


@pytest.mark.parametrize(
    ("outcome", "why"),
    [
        (0, "workers found nothing to take up"),
        ("StoreError: no database", "StoreError: no database"),
        (None, r"worker tcp://host:1 has torch 1\.0\."),
    ],
)
def test_a_cluster_that_stays_useless_is_given_up(
    outcome: Any, why: str, shared: RunStore, configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("POLL_SECONDS", "_REST_SECONDS"):
        monkeypatch.setattr(cluster_sweep, name, 0.01)
    monkeypatch.setattr(cluster_sweep, "IDLE_SECONDS", 1.4)
    useless = Useless(outcome)
    monkeypatch.setattr(cluster_sweep, "_load", useless.load)
    SweepStore(shared).submit([(configure(), "a" * 16)])
    sentence = f"no worker of tcp://host:8786 took a run for 1 seconds: {why}"
    with Cluster("tcp://host:8786", print) as crowd, pytest.raises(RunFailed, match=sentence):
        crowd.run(None, ["a" * 16], lambda: None)
    assert useless.given[:2] == [{"chunk": "a" * 16}] * 2, "it is given out again after a rest"


class Forgetful(Useless):
    """In place of a link whose scheduler keeps every task for a worker that is gone, until it is cancelled."""

    cancelled = 0

    def give(self, client: object, which: Mapping[str, str]) -> Any:
        self.given.append(which)
        return SimpleNamespace(status="pending")

    def cancel(self, tasks: Sequence[object]) -> None:
        self.cancelled += len(tasks)


@pytest.mark.parametrize("seen", [True, False], ids=["seen at work", "lost at once"])
def test_what_a_lost_worker_held_is_given_out_again_though_dask_keeps_its_task(
    seen: bool, shared: RunStore, configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    link, work, chunk = Forgetful(0), WorkStore(shared.database), "a" * 16
    monkeypatch.setattr(cluster_sweep, "_load", link.load)
    monkeypatch.setattr(WorkStore, "recover", lambda _: 0 if seen else 1)
    SweepStore(shared).submit([(configure(), chunk)])
    with Cluster("tcp://host:8786", print) as crowd:
        crowd._attend([chunk], lambda: None)
        assert (link.given, link.cancelled) == ([{"chunk": chunk}], 0)
        claims = work.claim(chunk=chunk)
        if seen:
            crowd._attend([chunk], lambda: None)
        work.hand_back(claims)
        crowd._recovered = 0.0
        crowd._attend([chunk], lambda: None)
        assert (link.given, link.cancelled) == ([{"chunk": chunk}] * 2, 1)
        crowd._recovered = time.monotonic()
        crowd._attend([chunk], lambda: None)
        assert len(link.given) == 2, "a task that waits is left alone"


def test_a_store_that_stays_away_is_given_up(
    shared: RunStore, configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    said: list[str] = []
    monkeypatch.setattr(cluster_sweep, "POLL_SECONDS", 0.01)
    monkeypatch.setattr(cluster_sweep, "STORE_SECONDS", 0.1)
    monkeypatch.setattr(cluster_sweep, "_load", Useless(0).load)

    def break_off() -> None:
        raise StoreError("the store is away.")

    SweepStore(shared).submit([(configure(), "a" * 16)])
    with Cluster("tcp://host:8786", said.append) as crowd, pytest.raises(StoreError, match="the store is away"):
        crowd.run(None, ["a" * 16], break_off)
    assert said[-1] == "the store is away. Trying again." and said.count(said[-1]) == 1


def test_a_worker_says_what_it_lacks(
    shared: RunStore, postgres: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    code, versions = read_versions()
    terms = Terms(code, versions, shared.database.identify(), shared.database.where)
    assert find_fault(terms) is None and PASSWORD.encode() not in pickle.dumps(terms)
    own = tmp_path / "own.csv"
    for change, fault in (
        ({"code": "0" * 64}, "has fairpriv's sources .* where this machine has 000000000000; install"),
        ({"versions": {**versions, "torch": "1.0"}}, r"has torch 2\..* where this machine has 1\.0; install"),
        (
            {"store": "another"},
            r"has another run store \(postgresql.*/postgres\); set FAIRPRIV_STORE there to the URL of",
        ),
        ({"data": ((None, str(own), "0" * 64),)}, f"cannot read {own}; a file of one's own must lie at the same path"),
        ({"data": (("bank", None, None),)}, "cannot have bank: "),
    ):
        with monkeypatch.context() as patch:
            patch.setenv("FAIRPRIV_DATA", str(tmp_path))
            patch.setattr(download, "cache_folder", lambda: tmp_path)
            patch.setattr("pooch.retrieve", refuse_download)
            assert re.match(fault, find_fault(replace(terms, **change)) or "")
    own.write_text("changed")
    assert (find_fault(replace(terms, data=((None, str(own), "0" * 64),))) or "").startswith("has another file at")
    with pytest.raises(Unfit, match=r"the process \d+ on .* has fairpriv's sources"):
        work_on_queued(replace(terms, code="0" * 64), {"chunk": "a" * 16})
    monkeypatch.setenv("FAIRPRIV_STORE", "postgresql://me:secret@127.0.0.1:1/runs")
    assert "cannot open its run store: " in (find_fault(terms) or "") and "secret" not in (find_fault(terms) or "")
    monkeypatch.delenv("FAIRPRIV_STORE")
    assert (find_fault(terms) or "").startswith("has no FAIRPRIV_STORE; set")


def test_a_worker_hands_back_what_it_held_when_the_store_went_away(
    shared: RunStore, configure: Configure, monkeypatch: pytest.MonkeyPatch
) -> None:
    runs = list_chunks(configure, 1, 2)
    SweepStore(shared).submit(runs)
    [which] = WorkStore(shared.database).claimable(None).values()
    refusals = [1, 2]
    hand_back = WorkStore.hand_back

    def go_away(work: WorkStore, claims: Sequence[Claim]) -> None:
        assert {row.status for row in shared.rows()} == {"running"}
        raise StoreError("the run store could not be reached.")

    def refuse_twice(self: WorkStore, claims: Sequence[Claim], *rest: Any) -> None:
        if refusals and refusals.pop():
            raise StoreError("the run store could not be reached.")
        hand_back(self, claims, *rest)

    monkeypatch.setattr(cluster_task, "_load_trainer", lambda: go_away)
    monkeypatch.setattr(cluster_task, "_AGAIN_SECONDS", 0.01)
    monkeypatch.setattr(WorkStore, "hand_back", refuse_twice)
    code, versions = read_versions()
    database = shared.database
    with pytest.raises(StoreError, match="could not be reached"):
        work_on_queued(Terms(code, versions, database.identify(), database.where), which)
    assert not refusals and {row.status for row in shared.rows()} == {"queued"}


def test_the_command_refuses_before_it_plans(own_store: Path, call: Call) -> None:
    tiny = str(ROOT / "examples" / "sweeps" / "tiny.toml")
    for more, sentence in (
        ((), f"the run store {own_store} is a SQLite file"),
        (("--workers", "2"), "--workers and --scheduler exclude each other"),
    ):
        said = call("sweep", tiny, "--scheduler", "tcp://localhost:8786", *more)
        assert said.code == 2 and said.err.startswith(f"Error: {sentence}") and said.out == ""
    with open_store() as store:
        assert store.rows() == []
