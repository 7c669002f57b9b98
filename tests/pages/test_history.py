"""Curves that are read as they grow are those that are read at once."""

from __future__ import annotations

from pathlib import Path

from fairpriv_core.report.live import collect
from fairpriv_core.store.runs import open_store
from pages.widgets.shared.history import GrowingHistory, find_history

Rows = list[tuple[int, str, float | None]]


class Written:
    """A store of one run's numbers that somebody writes to."""

    def __init__(self) -> None:
        self.rows: Rows = []
        self.asked: list[int] = []

    def metrics(self, key: str, since: int = -1) -> Rows:
        """Return what was written after step `since`, by step."""
        self.asked.append(since)
        return sorted(row for row in self.rows if row[0] > since)


def test_a_growing_history_is_the_whole_one_and_reads_only_what_is_new() -> None:
    written, history = Written(), GrowingHistory()
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
        assert find_history(store, key) == collect(store.metrics(key)) != {}
