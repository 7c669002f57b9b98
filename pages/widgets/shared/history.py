"""The curves of runs, read once for all who look: of a run that trains only what is new since the last look."""

from __future__ import annotations

from collections.abc import Iterable
from threading import Lock

import streamlit as st

from fairpriv_core.report.figure import Value
from fairpriv_core.report.live import History
from fairpriv_core.store.runs import RunStore
from pages.widgets.shared.sentences import attempt

Curves = dict[str, tuple[list[float], list[Value]]]


class GrowingHistory:
    """Name -> (steps, values) of one run; safe to read and to add to from several threads."""

    def __init__(self) -> None:
        self._lock, self._last, self._curves = Lock(), -1, Curves()

    def follow(self, store: RunStore, key: str) -> Curves:
        """Add what the store has since the last look, and return a copy; the last step is read once more."""
        with self._lock:
            self._add(store.metrics(key, since=self._last - 1))
            return {name: (steps[:], values[:]) for name, (steps, values) in self._curves.items()}

    def _add(self, rows: Iterable[tuple[int, str, Value]]) -> None:
        """Add (step, name, value), by step; a step that is there already keeps its last value."""
        for step, name, value in rows:
            steps, values = self._curves.setdefault(name, ([], []))
            if steps and steps[-1] == step:
                values[-1] = value
            else:
                steps.append(float(step))
                values.append(value)
            self._last = max(self._last, step)


def find_history(store: RunStore, key: str, *, try_number: int = 0) -> History:
    """Return the curves of a run; a run that was taken up anew (`RunRow.attempt`) is read from its start."""
    return attempt(lambda: _hold(str(store.database.url), key, try_number).follow(store, key)) or {}


@st.cache_resource(max_entries=64, show_spinner=False)
def _hold(place: str, key: str, try_number: int) -> GrowingHistory:
    return GrowingHistory()
