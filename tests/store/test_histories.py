"""Histories of a store drawn at random, step by step against a small model: two hosts, dead processes, wrong clocks.

Each step is one verb of the store, said by a process of either host. A process dies without a word, or sleeps until its
lease is over and then writes on. After each step the model says what is stored, and the ledger's sum has not fallen.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)
from sqlalchemy import select, update

from fairpriv_core.errors import BadInput
from fairpriv_core.privacy.event import Events, Gaussian
from fairpriv_core.records.record import failed_record
from fairpriv_core.store import claim as claims_of
from fairpriv_core.store.checkpoint import Checkpoint
from fairpriv_core.store.claim import LEASE_SECONDS, Beginning, Claim, Ending, LeaseLost, Progress
from fairpriv_core.store.database import Database
from fairpriv_core.store.runs import GOING_ON, RunStore
from fairpriv_core.store.sweeps import SweepStore
from fairpriv_core.store.tables import checkpoint, run, schema, store_info
from fairpriv_core.store.work import MOST_CRASHES, MOST_HOST_DEATHS, WorkStore
from tests.launched import config, draft, name
from tests.stores import ON_BOTH

STEPS = 10
CHUNK, TOGETHER = "c" * 16, (7, 8)  # the chunk, and the seeds of its runs
PART = st.integers(0, 5)  # which of those that there are
HOST = st.integers(0, 1)
REAL = time.time


def spend(count: int) -> Events:
    return (Gaussian(9.0, count),) if count else ()


@dataclass(eq=False)
class Process:
    """A process of a host whose clock is `ahead`; `host` is its place among the hosts."""

    host: int
    pid: int
    ahead: float
    alive: bool = True


@dataclass(eq=False)
class Run:
    """What is known of a run; `saved` is its checkpoint's step and how much it released, `spent` what counts."""

    seed: int
    status: str = "queued"
    request: str | None = None
    held: Work | None = None
    lapsed: bool = False
    step: int = 0
    saved: tuple[int, int] | None = None
    spent: int = 0
    crashed: bool = False


@dataclass(eq=False)
class Work:
    """Runs that a process claimed together."""

    process: Process
    members: list[tuple[Claim, Run]]
    begun: bool = False

    @property
    def claims(self) -> list[Claim]:
        return [claim for claim, _ in self.members]

    @property
    def valid(self) -> bool:
        return all(each.held is self for _, each in self.members)


class Hosts:
    """Two hosts, each with a store opened by itself; what is asked of the system is answered for who speaks."""

    def __init__(self, place: str) -> None:
        self.stores = [RunStore(Database(place)) for _ in range(2)]
        self.works = [WorkStore(store.database) for store in self.stores]
        self.begin_anew()

    def begin_anew(self, clocks: tuple[float, float] = (0.0, 0.0)) -> None:
        self.processes = [Process(host, 1, ahead) for host, ahead in enumerate(clocks)]
        self.speaker = self.processes[0]
        with self.stores[0].database.write() as connection:
            for table in reversed(schema.sorted_tables):
                if table is not store_info:
                    connection.execute(table.delete())

    def speak(self, process: Process) -> tuple[RunStore, WorkStore]:
        self.speaker = process
        return self.stores[process.host], self.works[process.host]

    def find_start(self, pid: int) -> int | None:
        """Return what tells that a process of the speaker's host is alive: no other has its number here."""
        return pid if pid == self.processes[self.speaker.host].pid else None

    @contextmanager
    def pretend(self) -> Iterator[None]:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(claims_of, "socket", SimpleNamespace(gethostname=lambda: f"host{self.speaker.host}"))
            patch.setattr(claims_of, "os", SimpleNamespace(getpid=lambda: self.speaker.pid))
            patch.setattr(claims_of, "_started", self.find_start)
            patch.setattr(time, "time", lambda: REAL() + self.speaker.ahead)
            yield
        for store in self.stores:
            store.close()


def has(*statuses: str) -> Callable[[History], bool]:
    return lambda history: any(each.status in statuses for each in history.runs.values())


def works(told: Callable[[Work], bool]) -> Callable[[History], bool]:
    return lambda history: any(told(each) for each in history.works)


def can_write(work: Work) -> bool:
    return work.process.alive and bool(work.members)


class History(RuleBasedStateMachine):
    """One history of a store that is empty at first."""

    def __init__(self, hosts: Hosts) -> None:
        super().__init__()
        hosts.begin_anew((-3600.0, 16.0))
        self.hosts = hosts
        self.runs: dict[str, Run] = {}
        self.buried: dict[str, int] = {}
        self.works: list[Work] = []
        self.sum = 0

    @initialize(host=HOST, far=st.integers(0, 5))
    def begin_with_a_run(self, host: int, far: int) -> None:
        """Start with a run that came so far: launched, claimed, begun, committed, handed back, claimed again."""
        life = (
            lambda: self.submit(host, 0, False),
            lambda: self.claim(host, None),
            lambda: self.go_on(0, 0),
            lambda: self.go_on(0, 2),
            lambda: self.end(0, "queued"),
            lambda: self.claim(host, None),
        )
        for step in life[: far + 1]:
            step()

    def speak(self, host: int) -> tuple[RunStore, WorkStore]:
        return self.hosts.speak(self.hosts.processes[host])

    def pick(self, part: int, told: Callable[[Work], bool]) -> tuple[Work, WorkStore]:
        """Return one of the works that `told` holds of, with the store as its process sees it."""
        found = [each for each in self.works if told(each)]
        work = found[part % len(found)]
        return work, self.hosts.speak(work.process)[1]

    def pick_run(self, part: int) -> tuple[str, Run]:
        return sorted(self.runs.items())[part % len(self.runs)]

    def is_lost(self, each: Run) -> bool:
        """Return whether nobody works on a run, as far as the speaker's host can know."""
        if each.held is None:
            return False
        process = each.held.process
        return not process.alive if process.host == self.hosts.speaker.host else each.lapsed

    # A person, at a page of either host.

    @rule(host=HOST, seed=st.integers(0, 1), again=st.booleans())
    def submit(self, host: int, seed: int, again: bool) -> None:
        store, _ = self.speak(host)
        row = store.submit(config(seed=seed), again=again)
        before = {store.row(key).repeat: key for key, each in self.runs.items() if each.seed == seed and key != row.key}
        assert row.key not in self.buried
        if row.key in self.runs:
            there = self.runs[row.key]
            assert there.status in GOING_ON and there.request != "stop"
            assert not again and row.repeat > max(before, default=0)
        else:
            newest = before.get(max(before, default=0))
            over = newest is not None and (
                self.runs[newest].status not in GOING_ON or self.runs[newest].request == "stop"
            )
            assert again or newest is None or over
            self.runs[row.key] = Run(seed)

    @rule(host=HOST)
    def submit_chunk(self, host: int) -> None:
        store, _ = self.speak(host)
        SweepStore(store).submit([(config(seed=seed), CHUNK) for seed in TOGETHER])
        known = {each.seed for each in self.runs.values()}
        for seed in set(TOGETHER) - known:
            row = store.find(config(seed=seed).key)
            assert row is not None and row.key not in self.buried
            self.runs[row.key] = Run(seed)

    @precondition(lambda self: self.runs)
    @rule(host=HOST, part=PART, what=st.sampled_from(["pause", "resume", "stop"]))
    def request(self, host: int, part: int, what: str) -> None:
        (key, each), (store, _) = self.pick_run(part), self.speak(host)
        if self.answer(each, what):
            store.request(key, what)
        else:
            with pytest.raises(BadInput, match=f"it cannot {what}"):
                store.request(key, what)

    def answer(self, each: Run, what: str) -> bool:
        """Do in the model as a person asks; return False where that cannot be."""
        working = each.status == "running" and not self.is_lost(each)
        if each.status in ("finished", "cancelled") or (
            each.status == "failed" and (what != "resume" or not each.crashed)
        ):
            return False
        if what != "stop" and each.request == "stop":
            return False
        if what == "stop":
            self.release(each, "running" if working else "cancelled", "stop" if working else None)
        elif what == "pause":
            if each.status == "paused":
                return False
            self.release(each, "running" if working else "paused", "pause" if working else None)
        elif working:
            if each.request is None:
                return False
            each.request = None
        elif each.status == "queued":
            return False
        else:
            self.release(each, "queued")
        return True

    def release(self, each: Run, status: str, request: str | None = None) -> None:
        """Leave a run in a state; nobody works on it unless it is running."""
        each.status, each.request = status, request
        if status != "running":
            each.held = None
        if status in ("finished", "cancelled"):
            each.saved = None

    @precondition(lambda self: self.runs)
    @rule(host=HOST, part=PART)
    def delete(self, host: int, part: int) -> None:
        (key, each), (store, _) = self.pick_run(part), self.speak(host)
        if each.status == "running" and not self.is_lost(each):
            with pytest.raises(BadInput, match="is running; stop it"):
                store.delete(key)
            return
        store.delete(key)
        each.held = None
        del self.runs[key]
        if each.spent:
            self.buried[key] = each.spent

    # A worker.

    @precondition(has("queued"))
    @rule(host=HOST, part=st.none() | PART)
    def claim(self, host: int, part: int | None) -> None:
        _, work = self.speak(host)
        waiting = sorted(key for key, each in self.runs.items() if each.status == "queued")
        claims = work.claim(None if part is None else waiting[part % len(waiting)])
        assert claims and {claim.key for claim in claims} <= set(waiting)
        taken = Work(self.hosts.processes[host], [(claim, self.runs[claim.key]) for claim in claims])
        for claim, each in taken.members:
            stored = work.checkpoint(claim)
            assert (None if stored is None else (stored.step, count(stored.released))) == each.saved
            assert claim.step == each.step
            each.status, each.held, each.lapsed = "running", taken, False
        self.works.append(taken)

    def write(self, work: Work, verb: Callable[[], Any]) -> bool:
        """Write as the process of `work`; return whether it could: whoever was overtaken can write nothing."""
        if not work.valid:
            with pytest.raises(LeaseLost):
                verb()
            return False
        asked = verb()
        assert asked is None or asked == {claim.key: each.request for claim, each in work.members if each.request}
        for _, each in work.members:
            each.lapsed = False
        return True

    @precondition(works(can_write))
    @rule(part=PART, further=st.none() | st.integers(0, 3))
    def go_on(self, part: int, further: int | None) -> None:
        """Begin, or commit so many steps `further`, with what the checkpoint had released; None is a heartbeat."""
        work, store = self.pick(part, can_write)
        if further is None:
            self.write(work, lambda: store.adopt(work.claims))
        elif work.begun:
            self.commit(work, store, further)
        else:
            drafts = [Beginning(draft(claim, spend(STEPS)), STEPS) for claim in work.claims]
            work.begun = self.write(work, lambda: store.begin(work.claims, drafts))

    def commit(self, work: Work, store: WorkStore, further: int) -> None:
        steps = [min(each.step + further, STEPS) for _, each in work.members]
        spent = [max(step, (each.saved or (0, 0))[1]) for step, (_, each) in zip(steps, work.members, strict=True)]
        saved = [Checkpoint(step, b"%d" % step, spend(own), {}) for step, own in zip(steps, spent, strict=True)]
        if self.write(work, lambda: store.commit(work.claims, [Progress(step, 1, 1.0) for step in steps], saved)):
            for (_, each), step, own in zip(work.members, steps, spent, strict=True):
                each.step, each.saved, each.spent = step, (step, own), max(each.spent, own)

    @precondition(works(can_write))
    @rule(part=PART, how=st.sampled_from(["queued", "paused", "bad_input", "failed", "finished", "split"]))
    def end(self, part: int, how: str) -> None:
        """End work as a process does: hand it back, say that one run fails, finish it, or split it."""
        work, store = self.pick(part, can_write)
        if how in ("queued", "paused"):
            self.hand_back(work, store, how)
        elif how in ("bad_input", "failed"):
            self.fail(work, store, how)
        elif work.begun and how == "finished":
            self.finish(work, store)
        elif work.begun and len(work.members) > 1:
            self.split(work, store)

    def finish(self, work: Work, store: WorkStore) -> None:
        drafts = [draft(claim, spend(STEPS)) for claim in work.claims]
        ends = [
            Ending(replace(each, status="finished", released=each.event), Progress(STEPS, 1, 1.0)) for each in drafts
        ]
        if self.write(work, lambda: store.finish(work.claims, ends)):
            for _, each in work.members:
                self.release(each, "finished")
                each.step, each.spent = STEPS, STEPS
        self.works.remove(work)

    def fail(self, work: Work, store: WorkStore, kind: str) -> None:
        """End the first run of those that a process works on: refused before it begins, failed afterwards."""
        (claim, each), alone = work.members[0], Work(work.process, work.members[:1])
        failed = failed_record(draft(claim, spend(STEPS)), released=spend(each.spent), error="Of a test.")
        end = Ending(failed, Progress(each.step, 1, 1.0), error_kind=kind)
        verb = (
            (lambda: store.finish([claim], [end])) if work.begun else (lambda: store.refuse(claim, "Of a test.", kind))
        )
        held, each.held = each.held, alone if each.held is work else each.held
        if self.write(alone, verb):
            self.release(each, "failed")
            each.saved, each.crashed = None, False
        else:
            each.held = held
        del work.members[0]

    def hand_back(self, work: Work, store: WorkStore, status: str) -> None:
        if self.write(work, lambda: store.hand_back(work.claims, status)):
            for _, each in work.members:
                self.release(each, {"pause": "paused", "stop": "cancelled"}.get(each.request or "", status))
        self.works.remove(work)

    def split(self, work: Work, store: WorkStore) -> None:
        kept = [Checkpoint(0, b"start", spend(1), {}) if each.saved is None else None for _, each in work.members]
        if self.write(work, lambda: store.split(work.claims, kept)):
            for _, each in work.members:
                if each.saved is None:
                    each.saved, each.spent = (0, 1), max(each.spent, 1)
                self.release(each, {"pause": "paused", "stop": "cancelled"}.get(each.request or "", "queued"))
        self.works.remove(work)

    # What goes wrong.

    @precondition(works(can_write))
    @rule(host=HOST)
    def kill(self, host: int) -> None:
        """End a host's process without a word; another one stands up in its place."""
        dead = self.hosts.processes[host]
        dead.alive = False
        self.hosts.processes[host] = Process(host, dead.pid + 1, dead.ahead)

    @precondition(works(can_write))
    @rule()
    def sleep(self) -> None:
        """Let so much time pass that every lease is over; who held one sleeps, and may wake."""
        with self.hosts.stores[0].database.write() as connection:
            over = run.c.lease_expires - LEASE_SECONDS - 1
            connection.execute(update(run).where(run.c.status == "running").values(lease_expires=over))
        for each in self.runs.values():
            each.lapsed = True

    @precondition(has("running"))
    @rule(host=HOST)
    def recover(self, host: int) -> None:
        _, work = self.speak(host)
        lost = [key for key, each in self.runs.items() if self.is_lost(each)]
        assert work.recover() == len(lost)
        self.settle(lost)

    @precondition(works(lambda work: bool(work.members) and not work.process.alive))
    @rule(part=PART)
    def reap(self, part: int) -> None:
        """Tell of a dead process, as the supervisor does that started it."""
        work, _ = self.pick(part, lambda work: bool(work.members) and not work.process.alive)
        _, store = self.speak(work.process.host)
        store.crash(work.claims, "of a test")
        self.settle([claim.key for claim, each in work.members if each.held is work])
        self.works.remove(work)

    def settle(self, keys: list[str]) -> None:
        """Take over in what state a crash left runs, which depends on what a person asked and on earlier crashes."""
        for key in keys:
            each, row = self.runs[key], self.hosts.stores[0].row(key)
            went_on = {"pause": ["paused"], "stop": ["cancelled"]}.get(each.request or "", ["queued", "failed"])
            if row.host_deaths == MOST_HOST_DEATHS and each.request is None:
                went_on = ["paused"]
            assert row.status in went_on and (row.status != "failed" or row.crashes == MOST_CRASHES)
            each.crashed = row.status == "failed"
            self.release(each, row.status)

    # What holds after each step.

    @invariant()
    def the_store_is_as_the_model_says(self) -> None:
        with self.hosts.stores[0].database.read() as connection:
            columns = select(run.c.key, run.c.status, run.c.request, run.c.step)
            stored = {key: rest for key, *rest in connection.execute(columns)}
            saved = {row.key: row for row in connection.execute(select(checkpoint))}
        assert stored == {key: [each.status, each.request, each.step] for key, each in self.runs.items()}
        assert saved.keys() == {key for key, each in self.runs.items() if each.saved is not None}
        assert all(row.step == (self.runs[key].saved or (None,))[0] for key, row in saved.items())

    @invariant()
    def what_was_released_stays_counted(self) -> None:
        store = self.hosts.stores[0]
        lines = store.ledger.lines(name())
        counted = {line.planned.key: count(line.spent.events) for line in lines if line.spent is not None}
        for key, each in self.runs.items():
            assert counted.get(key, 0) >= each.spent, f"of {key}, {each.status}, less is counted than it released"
        tombstones = {tombstone["key"]: count_json(tombstone["event"]) for tombstone in store.tombstones()}
        assert tombstones.keys() >= self.buried.keys()
        assert all(min(tombstones[key], counted[key]) >= spent for key, spent in self.buried.items())
        assert sum(counted.values()) >= self.sum, "the ledger's sum fell"
        self.sum = sum(counted.values())


def count(events: Any) -> int:
    return sum(event.count for event in events)


def count_json(events: list[dict[str, Any]]) -> int:
    return sum(event["count"] for event in events)


@ON_BOTH
@pytest.mark.parametrize(
    ("histories", "steps"), [(25, 30), pytest.param(2000, 60, marks=pytest.mark.long)], ids=["some", "many"]
)
def test_no_history_loses_a_run_or_what_it_released(place: str, histories: int, steps: int) -> None:
    hosts = Hosts(place)
    drawn = settings(
        max_examples=histories,
        stateful_step_count=steps,
        derandomize=True,
        database=None,
        deadline=None,
        suppress_health_check=list(HealthCheck),
    )
    with hosts.pretend():
        run_state_machine_as_test(lambda: History(hosts), settings=drawn)
