"""Curves that are read as they grow are those that are read at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairpriv_core.errors import BadInput
from fairpriv_core.figures.live import collect, is_drawn
from fairpriv_core.store.curves import MOST_POINTS
from fairpriv_core.store.runs import open_store
from pages.widgets.shared.history import GrowingHistory, find_history

Rows = list[tuple[int, str, float | None]]


class Written:
    """A store of one run's numbers that somebody writes to."""

    def __init__(self) -> None:
        self.rows: Rows = []
        self.asked: list[int] = []

    def curves(self, key: str, is_shown: object, since: int = -1) -> Rows:
        """Return what was written after step `since`, by step."""
        self.asked.append(since)
        return sorted(row for row in self.rows if row[0] > since)


def test_a_growing_history_is_the_whole_one_and_reads_only_what_is_new() -> None:
    written, history = Written(), GrowingHistory(is_drawn)
    assert history.follow(written, "k") == {}
    for step in range(5, 50, 5):
        written.rows.append((step, "loss", 1.0 / step))
        found = history.follow(written, "k")  # the gap of this step is written after the loss was seen
        written.rows.append((step, "gap", None if step == 10 else 0.1 * step))
    found = history.follow(written, "k")
    assert found == collect(written.rows)
    assert written.asked[-1] == 44
    found["loss"][0].clear()
    assert history.follow(written, "k") == collect(written.rows), "what is returned is the caller's own"


def test_a_finished_run_has_its_curves(with_runs: Path) -> None:
    with open_store(str(with_runs)) as store:
        [key, *_] = [row.key for row in store.rows()]
        whole = collect(store.metrics(key))
        assert find_history(store, key) == {name: whole[name] for name in whole if is_drawn(name)} != {}


def test_curves_stay_where_the_store_cannot_be_read_for_a_moment(
    with_runs: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> Rows:
        raise BadInput("the store is busy; try again.")

    with open_store(str(with_runs)) as store:
        [key, *_] = [row.key for row in store.rows()]
        before = find_history(store, key)
        monkeypatch.setattr(store, "curves", refuse)
        assert find_history(store, key) == before != {}


def test_a_history_that_grows_for_long_stays_short_and_has_both_ends() -> None:
    written, history = Written(), GrowingHistory(is_drawn)
    for first in range(0, 20 * MOST_POINTS, MOST_POINTS // 2):
        written.rows = [(step, "loss", float(step)) for step in range(first, first + MOST_POINTS // 2)]
        steps, values = history.follow(written, "k")["loss"]
        assert len(steps) == len(values) <= 2 * MOST_POINTS and steps == values == sorted(set(steps))
        assert steps[0] == 0 and steps[-1] == first + MOST_POINTS // 2 - 1
