"""Runs that are explored: the newest counts, lists leave them out, the ledger does not, and one is kept on request."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from fairpriv_core.errors import BadInput
from fairpriv_core.privacy.event import Gaussian
from fairpriv_core.records.config import RunConfig
from fairpriv_core.runs.worker import work_on
from fairpriv_core.store.runs import RunStore
from fairpriv_core.store.work import WorkStore
from tests import launched
from tests.stores import ON_BOTH

Configure = Callable[..., RunConfig]


def test_the_newest_wish_cancels_those_before_it_and_one_waits(store: RunStore, configure: Configure) -> None:
    other = RunStore(store.database, "you").explore(configure(seed=9))
    launched_run = store.submit(configure(seed=8))
    first, second = (store.explore(configure(seed=seed)) for seed in (0, 1))
    assert store.row(first.key).status == "cancelled" and store.row(second.key).status == "queued"
    assert store.explore(configure(seed=1)).key == second.key, "the same settings are one run"
    assert store.row(other.key).status == store.row(launched_run.key).status == "queued"
    again = store.explore(configure(seed=0))
    assert again.key == f"{first.key}-2" and store.row(second.key).status == "cancelled"


def test_one_that_trains_is_told_to_stop(store: RunStore, configure: Configure) -> None:
    work = WorkStore(store.database)
    first = store.explore(configure(seed=0))
    assert work.explores() and not work.is_superseded()
    [claim] = work.claim(exploring=True)
    assert claim.key == first.key and not work.explores()
    second = store.explore(configure(seed=1))
    assert work.is_superseded() and work.asked([claim]) == {first.key: "stop"}
    assert store.row(second.key).status == "queued"
    work.hand_back([claim])
    assert store.row(first.key).status == "cancelled" and not work.is_superseded()
    assert [each.key for each in work.claim(exploring=True)] == [second.key]


def test_only_the_explorer_takes_them_up(store: RunStore, configure: Configure) -> None:
    explored = store.explore(configure(seed=0))
    work = WorkStore(store.database)
    assert work.claim() == ()
    waiting = store.submit(configure(seed=1))
    assert [claim.key for claim in work.claim()] == [waiting.key]
    assert [claim.key for claim in work.claim(explored.key)] == [explored.key]


@ON_BOTH
def test_lists_leave_them_out_until_one_is_kept(store: RunStore, configure: Configure) -> None:
    work = WorkStore(store.database)
    key = store.explore(configure(seed=0)).key
    before = store.stamp()
    work_on(work, work.claim(exploring=True))
    assert store.row(key).status == "finished" and store.record(key) is not None
    assert store.rows() == [] and store.finished() == [] and list(store.each_brief()) == [] and store.stamp() == before
    assert [row.key for row in store.explored(5)] == [key]
    with pytest.raises(BadInput, match="someone else's"):
        RunStore(store.database, "you").keep(key)
    store.keep(key)
    assert [row.key for row in store.rows()] == store.finished() == [key] and store.explored(5) == []
    assert store.stamp() != before


def test_who_launches_what_was_explored_finds_it_among_the_runs(store: RunStore, configure: Configure) -> None:
    key = store.explore(configure(seed=0)).key
    assert store.submit(configure(seed=0)).key == key and [row.key for row in store.rows()] == [key]


def test_the_ledger_counts_what_was_explored(store: RunStore) -> None:
    asked = launched.config()
    key = store.explore(asked).key
    work = WorkStore(store.database)
    [claim] = work.claim(exploring=True)
    record = launched.draft(claim, (Gaussian(2.0),))
    work.begin([claim], [launched.Beginning(record, 10)])
    assert [line.planned.key for line in store.ledger.lines(launched.name())] == [key]
    assert not store.rows()
