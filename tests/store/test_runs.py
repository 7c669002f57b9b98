"""The store's contract; what each database does in a way of its own on both."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from sqlalchemy import event, text, update
from sqlalchemy.pool import Pool

from fairpriv_core.engine.training import Histogram
from fairpriv_core.errors import BadInput
from fairpriv_core.privacy.event import Gaussian, to_json
from fairpriv_core.records.config import RunConfig
from fairpriv_core.records.record import RunRecord
from fairpriv_core.store.checkpoint import Checkpoint
from fairpriv_core.store.claim import Beginning, Claim, Ending, LeaseLost, Progress
from fairpriv_core.store.runs import RunStore, open_store
from fairpriv_core.store.sweeps import SweepStore
from fairpriv_core.store.tables import CHUNK_DIGITS, checkpoint, run
from fairpriv_core.store.work import MOST_CRASHES, WorkStore
from tests.stores import ON_BOTH

Configure = Callable[..., RunConfig]
SAVED = Checkpoint(5, b"secret", (Gaussian(2.0, 3),), {"code": "a"})


def progress(step: int, value: float = 0.5) -> Progress:
    return Progress(step, 1, 1.5, 0.25, [(step, "test/accuracy", value)], {"output": Histogram([0, 1], {"a": [step]})})


def draft(claim: Claim, status: str = "running") -> RunRecord:
    released = [{"kind": "gaussian", "noise_multiplier": 2.0, "count": 9}]
    blank = dict.fromkeys(("variant", "epsilon", "epsilon_published", "epsilon_reason", "epsilon_if_secret"))
    settings = {"config": claim.config, "calibrated": claim.config["method"], "data": {"name": "synthetic"}}
    rest = {"delta": 1e-5, "event": released, "released": [], "assumptions": (), "versions": {}}
    return RunRecord(key=claim.key, status=status, threat_model="attribute", **settings, **rest, **blank)


def begin(store: RunStore, config: RunConfig) -> tuple[WorkStore, Claim]:
    work = WorkStore(store.database)
    store.submit(config)
    [claim] = work.claim()
    work.begin([claim], [Beginning(draft(claim), 48)])
    return work, claim


def expire(store: RunStore, key: str) -> None:
    """Let the lease of a run be over, and its process be of another host."""
    with store.database.write() as connection:
        connection.execute(update(run).where(run.c.key == key).values(lease_expires=1.0, worker="elsewhere:1:1"))


def test_the_same_config_is_one_run_until_it_is_asked_for_again(store: RunStore, configure: Configure) -> None:
    first = store.submit(configure())
    assert store.submit(configure()) == first
    assert (first.status, first.step, first.owner) == ("queued", 0, "local")
    other = RunStore(store.database, "another")
    again = other.submit(configure(), again=True)
    assert (again.key, again.repeat) == (f"{first.key}-2", 2)
    found = store.find(configure().key)
    assert found is not None and found.key == again.key
    assert {row.key for row in store.rows()} == {first.key, again.key}
    assert [row.key for row in other.rows()] == [again.key]


def test_others_runs_can_be_looked_at_but_not_changed(store: RunStore, configure: Configure) -> None:
    mine, yours = RunStore(store.database, "me"), RunStore(store.database, "you")
    row = mine.submit(configure())
    assert yours.submit(configure()) == row and yours.row(row.key).owner == "me"
    for change in (lambda: yours.request(row.key, "pause"), lambda: yours.delete(row.key)):
        with pytest.raises(BadInput, match="someone else's"):
            change()
    assert mine.request(row.key, "pause").status == "paused"
    mine.delete(row.key)


@ON_BOTH
def test_four_claimers_get_distinct_runs(place: str, configure: Configure) -> None:
    with open_store(place) as store:
        keys = {store.submit(configure(seed=seed)).key for seed in range(12)}

    def claim_all(_: int) -> list[str]:
        found = []
        with open_store(place) as own:
            while claims := WorkStore(own.database).claim():
                found += [claim.key for claim in claims]
        return found

    with ThreadPoolExecutor(4) as pool:
        claimed = [key for found in pool.map(claim_all, range(4)) for key in found]
    assert sorted(claimed) == sorted(keys)


def test_to_take_up_a_chunk_costs_as_the_queue_is_long_not_as_its_square(local: RunStore, configure: Configure) -> None:
    with local.database.write() as connection:  # which of two indexes SQLite takes depends on their order
        connection.execute(text("DROP INDEX ix_run_status"))
        connection.execute(text("CREATE INDEX ix_run_status ON run (status)"))
    few = _count_operations(local, configure, range(100))
    many = _count_operations(local, configure, range(100, 800))
    assert many < 16 * few, f"{few} and, with 8 times the runs, {many} hundred operations of SQLite"


def _count_operations(store: RunStore, configure: Configure, seeds: range) -> int:
    """Return how many hundreds of operations SQLite makes to claim a chunk once runs of these seeds wait too."""
    SweepStore(store).submit([(configure(seed=seed), f"{seed // 4:0{CHUNK_DIGITS}x}") for seed in seeds])
    counted: list[None] = []

    def count(connection: Any, *_: Any) -> None:
        connection.set_progress_handler(lambda: counted.append(None), 100)

    event.listen(Pool, "checkout", count)
    try:
        assert len(WorkStore(store.database).claim()) == 4
    finally:
        event.remove(Pool, "checkout", count)
    return len(counted)


@ON_BOTH
def test_one_commit_stores_metrics_histograms_checkpoint_and_releases(store: RunStore, configure: Configure) -> None:
    work, claim = begin(store, configure())
    assert work.commit([claim], [progress(5)], [SAVED]) == {}
    assert work.commit([claim], [progress(9, 0.7)], [SAVED]) == {}
    row = store.row(claim.key)
    assert (row.status, row.step, row.steps, row.epoch, row.epsilon) == ("running", 9, 48, 1, 0.25)
    assert store.metrics(claim.key) == [(5, "test/accuracy", 0.5), (9, "test/accuracy", 0.7)]
    assert store.metrics(claim.key, since=5) == [(9, "test/accuracy", 0.7)]
    assert store.histograms(claim.key) == {"output": Histogram([0, 1], {"a": [9]})}
    assert work.checkpoint(claim) == SAVED


def test_an_overtaken_worker_can_write_nothing(store: RunStore, configure: Configure) -> None:
    work, old = begin(store, configure())
    work.commit([old], [progress(5)], [SAVED])
    expire(store, old.key)
    assert store.row(old.key).status == "lost"
    assert work.recover() == 1
    [new] = work.claim(old.key)
    assert new.attempt == old.attempt + 1
    for write in (
        lambda: work.commit([old], [progress(6)], [SAVED]),
        lambda: work.finish([old], [Ending(draft(old, "finished"), progress(6))]),
        lambda: work.hand_back([old]),
        lambda: work.split([old], [None]),
        lambda: work.adopt([old]),
    ):
        with pytest.raises(LeaseLost):
            write()
    work.crash([old], "nothing")
    assert store.metrics(old.key) == [(5, "test/accuracy", 0.5)]
    row = store.row(old.key)
    assert (row.status, row.crashes, row.host_deaths) == ("running", 0, 1)


def test_a_worker_of_a_deleted_run_can_write_nothing_to_a_later_one_of_its_name(
    store: RunStore, configure: Configure
) -> None:
    """A run that had not begun leaves no tombstone, so that its name is free."""
    key, work = store.submit(configure()).key, WorkStore(store.database)
    [old] = work.claim()
    expire(store, key)
    store.delete(key)
    assert store.submit(configure()).key == key
    [new] = work.claim()
    assert (new.key, new.attempt) == (old.key, old.attempt)
    for write in (lambda: work.adopt([old]), lambda: work.begin([old], [Beginning(draft(old), 48)])):
        with pytest.raises(LeaseLost):
            write()
    work.crash([old], "nothing")
    store.request(key, "pause")
    assert work.asked([old]) == {} and work.asked([new]) == {key: "pause"}
    assert (store.row(key).status, store.row(key).crashes) == ("running", 0)


@pytest.mark.parametrize("kind", ["bad_input", "failed"])
def test_a_run_that_cannot_go_on_has_paid_for_what_it_released(
    kind: str, store: RunStore, configure: Configure
) -> None:
    work, claim = begin(store, configure("pf_ld", noise_primal=None))
    work.commit([claim], [progress(5)], [SAVED])
    work.hand_back([claim])
    [claim] = work.claim(claim.key)
    work.refuse(claim, "its file has changed.", kind)
    assert work.checkpoint(claim) is None
    [record] = store.records([claim.key]).values()
    assert record.status == "failed" and record.released == to_json(SAVED.released)
    store.delete(claim.key)
    [tombstone] = store.tombstones()
    assert tombstone["event"] == to_json(SAVED.released)


def test_a_damaged_checkpoint_counts_as_all_that_was_planned(store: RunStore, configure: Configure) -> None:
    work, claim = begin(store, configure("pf_ld", noise_primal=None))
    work.commit([claim], [progress(5)], [SAVED])
    with store.database.write() as connection:
        connection.execute(update(checkpoint).values(content=b"other"))
    work.refuse(claim, "its file has changed.", "bad_input")
    [record] = store.records([claim.key]).values()
    assert record.released == record.event != to_json(SAVED.released)


def test_a_run_that_was_told_to_stop_does_nothing_else(store: RunStore, configure: Configure) -> None:
    work, claim = begin(store, configure())
    store.request(claim.key, "stop")
    for lost in (False, True):
        for what in ("pause", "resume"):
            with pytest.raises(BadInput, match=f"told to stop: it cannot {what}"):
                store.request(claim.key, what)
        SweepStore(store).pause([claim.key], also_working=True)
        SweepStore(store).go_on([claim.key])
        assert store.row(claim.key).status == ("lost" if lost else "stopping")
        expire(store, claim.key)
    assert work.recover() == 1 and store.row(claim.key).status == "cancelled"


@ON_BOTH
def test_a_chunk_that_is_split_does_what_was_asked_of_its_runs(store: RunStore, configure: Configure) -> None:
    configs, work = [configure(seed=seed) for seed in range(3)], WorkStore(store.database)
    SweepStore(store).submit([(config, "c" * 16) for config in configs])
    claims = work.claim()
    work.begin(claims, [Beginning(draft(claim), 48) for claim in claims])
    for claim, what in zip(claims, ("stop", "pause"), strict=False):
        store.request(claim.key, what)
    work.split(claims, [SAVED] * 3)
    assert [store.row(claim.key).status for claim in claims] == ["cancelled", "paused", "queued"]
    assert [work.checkpoint(claim) for claim in claims] == [None, SAVED, SAVED]


def test_a_run_that_keeps_crashing_fails_and_has_paid(store: RunStore, configure: Configure) -> None:
    work, claim = begin(store, configure("pf_ld", noise_primal=None))
    work.commit([claim], [progress(5)], [SAVED])
    for attempt in range(MOST_CRASHES):
        assert store.row(claim.key).attempt == attempt + 1
        work.crash([claim], "it was ended by SIGKILL")
        [claim] = work.claim() or [claim]
    row, record = store.row(claim.key), store.record(claim.key)
    assert row.status == "failed" and "died 3 times" in (row.error or "") and "SIGKILL" in (row.error or "")
    assert record is not None and record.event == [{"kind": "gaussian", "noise_multiplier": 2.0, "count": 9}]
    assert record.released == [{"kind": "gaussian", "noise_multiplier": 2.0, "count": 3}]
    assert "counts what left" in record.warnings[-1]
    assert store.request(claim.key, "resume").status == "queued"


def test_requests_reach_a_running_run_and_settle_an_idle_one(store: RunStore, configure: Configure) -> None:
    assert store.request(store.submit(configure(seed=9)).key, "pause").status == "paused"
    work, claim = begin(store, configure())
    assert store.request(claim.key, "pause").request == "pause"
    assert work.commit([claim], [progress(5)], [SAVED]) == {claim.key: "pause"}
    work.hand_back([claim], "paused")
    assert store.row(claim.key).status == "paused"
    assert store.request(claim.key, "resume").status == "queued"
    again = work.claim(claim.key)
    assert store.request(claim.key, "stop").status == "stopping"
    work.hand_back(again)
    with pytest.raises(BadInput, match="is cancelled: it cannot resume"):
        store.request(claim.key, "resume")


def test_a_stopped_run_states_its_planned_length(store: RunStore, configure: Configure) -> None:
    work, claim = begin(store, configure())
    work.commit([claim], [progress(5)], [SAVED])
    work.hand_back([claim], "paused")
    assert store.request(claim.key, "stop").status == "cancelled"
    record = store.record(claim.key)
    assert record is not None and record.status == "cancelled"
    assert record.event[0]["count"] == 9 and record.released[0]["count"] == 3
    assert "planned length" in record.warnings[-1]
    assert work.checkpoint(claim) is None


def test_a_lost_run_is_settled_without_its_process(store: RunStore, configure: Configure) -> None:
    _, claim = begin(store, configure())
    expire(store, claim.key)
    assert store.request(claim.key, "stop").status == "cancelled"
    with pytest.raises(LeaseLost):
        WorkStore(store.database).commit([claim], [progress(6)], [SAVED])


@ON_BOTH
def test_deleting_keeps_what_was_released(store: RunStore, configure: Configure) -> None:
    work, claim = begin(store, configure())
    work.commit([claim], [progress(5)], [SAVED])
    with pytest.raises(BadInput, match="is running; stop it"):
        store.delete(claim.key)
    store.request(claim.key, "stop")
    work.hand_back([claim])
    store.delete(claim.key)
    assert store.rows() == [] and work.checkpoint(claim) is None
    (tombstone,) = store.tombstones()
    assert tombstone["event"][0]["count"] == 9 and tombstone["data"] == {"name": "synthetic"}
    assert store.submit(configure()).key == f"{claim.key}-2"


def test_an_unknown_run_names_those_that_are_there(store: RunStore, configure: Configure) -> None:
    with pytest.raises(BadInput, match="has no runs yet"):
        store.row("abc")
    known = store.submit(configure()).key
    with pytest.raises(BadInput, match=f"no run 'abc' in the store; the newest are {known}"):
        store.record("abc")
