"""What a person calls a run: beside it and its own, in lists alone, bounded, and gone with the run."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict

import pytest
from sqlalchemy import select

from fairpriv_core.errors import BadInput
from fairpriv_core.facts.finished import FinishedRuns
from fairpriv_core.privacy.event import Gaussian
from fairpriv_core.records.config import RunConfig
from fairpriv_core.store.labels import MOST_OF_NAME, MOST_OF_NOTE, MOST_OF_TAG, MOST_TAGS, RunLabel
from fairpriv_core.store.runs import RunStore
from fairpriv_core.store.tables import label
from tests import launched
from tests.stores import ON_BOTH

Configure = Callable[..., RunConfig]
EVIL = "<b>*a*</b>\x1b[31m\u202e"


def test_a_label_is_changed_part_by_part_and_its_texts_are_kept_as_they_are(
    store: RunStore, configure: Configure
) -> None:
    key, other = (store.submit(configure(seed=seed)).key for seed in (0, 1))
    assert store.labels() == {}
    assert store.label(key, name=f"  {EVIL} ") == RunLabel(name=EVIL)
    store.label(key, tags=["a", " b,c ", "a", " "], note="one\ntwo")
    assert store.label(key, pinned=True) == RunLabel(EVIL, ("a", "b,c"), "one\ntwo", pinned=True)
    assert store.label(key, tags=(), name="") == RunLabel(note="one\ntwo", pinned=True)
    assert store.labels() == {key: RunLabel(note="one\ntwo", pinned=True)}
    assert store.label(other) == RunLabel() and other not in store.labels()


def test_a_label_is_no_part_of_a_run(store: RunStore) -> None:
    key = launched.finish(store, launched.config(), (Gaussian(2.0),))

    def look() -> tuple[object, ...]:
        record = store.record(key)
        assert record is not None
        return store.row(key).to_json(), record.to_json(), list(store.each_brief()), store.ledger.lines(launched.name())

    before = look()
    store.label(key, name="ours", tags=["ours"], note="ours", pinned=True, archived=True)
    assert look() == before


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"name": "x" * (MOST_OF_NAME + 1)}, f"a run's name has at most {MOST_OF_NAME} characters, got 81"),
        ({"note": "x" * (MOST_OF_NOTE + 1)}, "a run's note has at most 2,000 characters, got 2,001"),
        ({"tags": ["x" * (MOST_OF_TAG + 1)]}, f"a run's tag has at most {MOST_OF_TAG} characters, got 31"),
        ({"tags": [str(at) for at in range(MOST_TAGS + 1)]}, f"a run has at most {MOST_TAGS} tags, got 11"),
        ({"name": "a\0b"}, r"a run's name must be text, got the character '\\x00' in it"),
        ({"tags": ["a\udcff"]}, r"a run's tag must be text, got the character '\\udcff' in it"),
    ],
)
def test_what_is_too_long_or_no_text_gives_a_sentence(
    given: dict[str, object], said: str, store: RunStore, configure: Configure
) -> None:
    key = store.submit(configure()).key
    store.label(key, name="kept")
    with pytest.raises(BadInput, match=said):
        store.label(key, pinned=True, **given)  # type: ignore[arg-type]
    assert store.labels() == {key: RunLabel("kept")}


@ON_BOTH
def test_lists_put_pinned_runs_first_and_leave_archived_ones_out(store: RunStore, configure: Configure) -> None:
    keys = [store.submit(configure(seed=seed)).key for seed in range(5)]
    store.label(keys[0], pinned=True)
    store.label(keys[3], archived=True)
    assert [row.key for row in store.browse()] == [keys[0], keys[4], keys[2], keys[1]]
    assert [row.key for row in store.browse(archived=True)] == [keys[0], *keys[:0:-1]]
    assert [row.key for row in store.browse(limit=2)] == [keys[0], keys[4]]
    assert [row.key for row in store.rows()] == keys[::-1], "who reads all runs reads them as before"
    store.label(keys[3], archived=False)
    assert keys[3] in [row.key for row in store.browse()]


def test_only_the_owner_labels_a_run_and_sees_its_label(store: RunStore, configure: Configure) -> None:
    mine, yours = RunStore(store.database, "me"), RunStore(store.database, "you")
    key = mine.submit(configure()).key
    mine.label(key, name="ours")
    with pytest.raises(BadInput, match="someone else's"):
        yours.label(key, name="theirs")
    assert mine.labels() == {key: RunLabel("ours")} and yours.labels() == {}
    with pytest.raises(BadInput, match="no run 'nothing'"):
        mine.label("nothing", name="x")


def test_deleting_a_run_leaves_its_cost_and_none_of_its_words(store: RunStore) -> None:
    key = launched.finish(store, launched.config(), (Gaussian(2.0),))
    store.label(key, name="secret words", tags=["secret"], note="secret")
    spent = [line.spent and line.spent.events for line in store.ledger.lines(launched.name())]
    stamp = store.stamp()
    store.delete(key)
    assert store.stamp() != stamp
    with store.database.read() as connection:
        assert connection.execute(select(label)).all() == []
    [line] = store.ledger.lines(launched.name())
    assert line.status == "deleted" and [line.planned.events] == spent
    assert "secret" not in repr([store.tombstones(), asdict(line.planned)])


def test_the_stamp_changes_with_every_change_of_a_label(store: RunStore, configure: Configure) -> None:
    key = store.submit(configure()).key
    seen = [store.stamp()]
    for change in ({"name": "a"}, {"name": "b"}, {"pinned": True}, {"archived": True}):
        store.label(key, **change)  # type: ignore[arg-type]
        seen.append(store.stamp())
    store.delete(key)
    store.label(store.submit(configure()).key, name="c")
    assert len({*seen, store.stamp()}) == 6


def test_a_row_of_runs_carries_their_labels_and_archiving_one_changes_no_number(store: RunStore) -> None:
    settings = {"metrics": launched.measured((0.3, 0.4))}
    keys = [launched.finish(store, launched.config("none", epsilon=None, seed=seed), (), **settings) for seed in (0, 1)]
    kept = FinishedRuns()
    [before] = kept.read(store).rows
    store.label(keys[0], name="first", tags=["a", "b"], archived=True)
    store.label(keys[1], tags=["b", "c"], pinned=True)
    [row] = kept.read(store).rows
    assert (row.name, row.tags, row.pinned, row.archived) == ("first", ("a", "b", "c"), True, False)
    assert (row.accuracy, row.gap, row.seeds, row.keys) == (before.accuracy, before.gap, before.seeds, before.keys)
    store.label(keys[1], name="second", archived=True)
    [row] = kept.read(store).rows
    assert (row.name, row.archived) == ("first, second", True)
