"""Previews: kept by what was asked, cancelled by who asked, a few of each person's at once."""

from __future__ import annotations

from fairpriv_core.store.previews import Preview, PreviewStore
from fairpriv_core.store.runs import RunStore
from tests.stores import ON_BOTH


@ON_BOTH
def test_previews_are_kept_by_what_was_asked(store: RunStore) -> None:
    key = store.previews.ask({"method": "pf_ld", "clip_primal": [0.1, 1]})
    assert store.previews.ask({"clip_primal": [0.1, 1], "method": "pf_ld"}) == key
    assert store.previews.look(key) == Preview("queued")
    assert store.previews.claim() == key and store.previews.claim() is None
    store.previews.abandon(key)
    assert store.previews.claim() == key
    store.previews.finish(key, result={"bias": [1.0]})
    assert store.previews.look(key) == Preview("finished", {"bias": [1.0]})
    assert store.previews.look("unknown") == Preview()


def test_a_cancelled_preview_is_not_made_until_it_is_asked_for_again(store: RunStore) -> None:
    waiting, at_work = (store.previews.ask({"method": name}) for name in ("pf_ld", "dp_sgd"))
    assert store.previews.claim() == at_work
    assert store.previews.uncancelled([waiting, at_work]) == {at_work}
    for key in (waiting, at_work):
        store.previews.cancel(key)
        assert store.previews.look(key) == Preview("cancelled")
    assert store.previews.claim() is None and not store.previews.uncancelled([waiting, at_work])
    store.previews.finish(at_work, result={"bias": [1.0]})  # its process was about to end
    store.previews.abandon(at_work)
    assert store.previews.look(at_work) == Preview("cancelled")
    assert store.previews.ask({"method": "dp_sgd"}) == at_work == store.previews.claim()
    store.previews.finish(at_work, result={"bias": [1.0]})
    store.previews.cancel(at_work)
    assert store.previews.look(at_work) == Preview("finished", {"bias": [1.0]})


def test_nobody_cancels_what_another_person_asked_for(store: RunStore) -> None:
    mine, yours = (PreviewStore(store.database, owner) for owner in ("me", "you"))
    key = mine.ask({"method": "pf_ld"})
    assert yours.ask({"method": "pf_ld"}) == key
    yours.cancel(key)
    assert mine.look(key) == Preview("queued")
    mine.cancel(key)
    assert yours.look(key) == Preview("cancelled")


@ON_BOTH
def test_one_person_leaves_places_to_others(store: RunStore) -> None:
    mine, yours = (PreviewStore(store.database, owner) for owner in ("me", "you"))
    first = yours.ask({"clip": 0})
    asked = [mine.ask({"clip": clip}) for clip in (1, 2, 3, 4)]
    assert [store.previews.claim() for _ in range(4)] == [asked[3], asked[2], first, None]
    store.previews.finish(asked[3], error="it could not be made.")
    assert store.previews.claim() == asked[1]
