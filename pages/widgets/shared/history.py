"""The curves of runs, read once for all who look: of a run that trains only what is new since the last look."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from threading import Lock

import streamlit as st

from fairpriv_core.figures.figure import Value
from fairpriv_core.figures.live import History, is_drawn
from fairpriv_core.store.curves import MOST_POINTS
from fairpriv_core.store.runs import RunStore
from pages.widgets.shared.sentences import attempt

Curves = dict[str, tuple[list[float], list[Value]]]


class GrowingHistory:
    """Name -> (steps, values) of one run's curves that are shown; safe to read and to add to from several threads.

    While a run trains, a curve that has become twice as long as a figure draws loses every other point.
    """

    def __init__(self, is_shown: Callable[[str], bool]) -> None:
        self._lock, self._last, self._curves, self._is_shown = Lock(), -1, Curves(), is_shown

    def follow(self, store: RunStore, key: str) -> Curves:
        """Add what the store has since the last look, and return all of it; the last step is read once more."""
        with self._lock:
            self._add(store.curves(key, self._is_shown, since=self._last - 1))
            self._curves = {name: _halve(*curve) for name, curve in self._curves.items()}
        return self.copy()

    def copy(self) -> Curves:
        """Return a copy of what was seen last."""
        with self._lock:
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


def _halve(steps: list[float], values: list[Value]) -> tuple[list[float], list[Value]]:
    """Return a curve without every other point where it is too long; the first and the last one stay."""
    if len(steps) <= 2 * MOST_POINTS:
        return steps, values
    return [*steps[:-1:2], steps[-1]], [*values[:-1:2], values[-1]]


def find_history(
    store: RunStore, key: str, *, try_number: int = 0, is_shown: Callable[[str], bool] = is_drawn
) -> History:
    """Return the curves of a run; a run that was taken up anew (`RunRow.attempt`) is read from its start.

    Where the store cannot be read now its sentence is drawn, and the curves are those of the last look.
    """
    history = _hold(str(store.database.url), key, try_number, is_shown.__name__, is_shown)
    return attempt(lambda: history.follow(store, key)) or history.copy()


@st.cache_resource(max_entries=32, show_spinner=False)
def _hold(place: str, key: str, try_number: int, filter_name: str, _is_shown: Callable[[str], bool]) -> GrowingHistory:
    return GrowingHistory(_is_shown)
