"""What a run counts with against a cap when it came to less than it asked for."""

from __future__ import annotations

import pytest

from fairpriv_core.errors import BadInput
from fairpriv_core.ledger.launch import foresee_launch, read_page
from fairpriv_core.privacy.event import Events, Gaussian
from fairpriv_core.privacy.ledger import LedgerEntry
from fairpriv_core.privacy.rdp import Cap, count_against
from fairpriv_core.records.record import failed_record
from fairpriv_core.store.claim import Ending, Progress
from fairpriv_core.store.runs import RunStore
from tests.launched import DELTA, begin, config, finish, name

COUNTS: Events = (Gaussian(60.0),)


def cap(store: RunStore, epsilon: float) -> None:
    store.ledger.set_cap(name(), "group", Cap(epsilon, DELTA), where="synthetic")


def fail(store: RunStore, epsilon: float) -> str:
    """Launch a run that fails once it has released its counts; return its key."""
    work, claim, record = begin(store, config(epsilon=epsilon), COUNTS)
    ended = failed_record(record, released=COUNTS, error="group 'B' is too small.")
    work.finish([claim], [Ending(ended, Progress(1, 0, 1.0), error_kind="failed")])
    return claim.key


def test_a_run_that_took_the_whole_cap_keeps_it_though_it_failed(store: RunStore) -> None:
    cap(store, 1.0)
    key = fail(store, 1.0)
    for _ in range(2):
        with pytest.raises(BadInput, match="0 remains"):
            store.submit(config(epsilon=0.2, seed=1))
        group = next(
            effect for effect in foresee_launch(read_page(store, name()), None, delta=DELTA) if effect.column == "group"
        )
        assert group.remaining == 0 and group.spent < 0.2
        if store.rows():
            store.delete(key)


def test_a_run_that_the_filter_let_in_gives_back_what_it_did_not_release(store: RunStore) -> None:
    cap(store, 1.0)
    for _ in range(3):
        fail(store, 0.6)
    assert store.submit(config(epsilon=0.6, seed=1)).status == "queued", "four in full would be too much"
    with pytest.raises(BadInput, match="nothing was launched"):
        store.submit(config(epsilon=0.8, seed=2))


def test_a_cap_that_is_set_while_a_run_is_under_way_holds_it_to_its_plan(store: RunStore) -> None:
    work, claim, record = begin(store, config(epsilon=1), (Gaussian(3.9),))
    [line] = store.ledger.lines(name())
    assert line.asked is None
    cap(store, 1.0)
    [line] = store.ledger.lines(name())
    assert line.asked == line.planned
    ended = failed_record(record, released=COUNTS, error="group 'B' is too small.")
    work.finish([claim], [Ending(ended, Progress(1, 0, 1.0), error_kind="failed")])
    with pytest.raises(BadInput, match="0 remains"):
        store.submit(config(epsilon=0.2, seed=1))


def test_what_ended_before_the_cap_counts_with_what_it_released(store: RunStore) -> None:
    finish(store, config(), COUNTS)
    cap(store, 1.0)
    [line] = store.ledger.lines(name())
    assert line.asked is None and store.submit(config(epsilon=0.4, seed=1)).status == "queued"


def test_only_what_is_beyond_every_order_counts_in_full() -> None:
    limit = Cap(1.0, DELTA)
    little, much = (LedgerEntry("a", "attribute", (Gaussian(noise),), ("group",), (), "s") for noise in (20.0, 3.8))
    assert count_against(limit, little, None, "group") is little
    assert count_against(limit, little, much, "group") is much
    assert count_against(limit, little, much, "other") is little
    assert (
        count_against(limit, little, LedgerEntry("a", "attribute", (Gaussian(9.0),), ("group",), (), "s"), "group")
        is little
    )
