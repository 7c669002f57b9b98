"""Finished runs with their seeds folded, kept: when another one finishes, that one is read and its setting folded."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from fairpriv_core.facts.tables import Outcome, TableRow, fold_outcomes, read_outcome, run_table
from fairpriv_core.store.candidates import Candidates
from fairpriv_core.store.labels import RunLabel
from fairpriv_core.store.runs import RunStore

_NONE = RunLabel()
_FEW = 500  # beyond that many new runs all are read again: a query names no more


@dataclass(frozen=True)
class Finished:
    """Finished runs with their seeds folded, newest first, and how many were left out as damaged."""

    rows: tuple[TableRow, ...]
    damaged: int


class FinishedRuns:
    """The finished runs of one store and owner; several threads may ask at once."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._charged = 0
        self._outcomes: dict[str, tuple[float, Outcome]] = {}  # by key, with the time of launch
        self._damaged: set[str] = set()
        self._rows: tuple[TableRow, ...] = ()

    def read(self, store: RunStore) -> Finished:
        """Return them as they are now."""
        with self._lock:
            finished, n_charged = dict.fromkeys(store.finished()), store.stamp()[2]
            if n_charged != self._charged:  # a choice by raw numbers takes an epsilon back
                self._outcomes, self._damaged, self._rows, self._charged = {}, set(), (), n_charged
            self._outcomes = {key: value for key, value in self._outcomes.items() if key in finished}
            self._damaged.intersection_update(finished)
            self._add(store, [key for key in finished if key not in self._outcomes and key not in self._damaged])
            order = sorted(self._outcomes.values(), key=lambda entry: (-entry[0], entry[1].key))
            rows_by_keys = {row.keys: row for row in self._rows}
            self._rows = fold_outcomes([outcome for _, outcome in order], rows_by_keys)
            labels = store.labels()
            return Finished(tuple(label_row(row, labels) for row in self._rows), len(self._damaged))

    def _add(self, store: RunStore, new: Sequence[str]) -> None:
        """Read runs one by one: all records in brief at once would be tens of MB."""
        briefs = store.each_brief(self._damaged.add, keys=new if len(new) <= _FEW else None) if new else ()
        for brief in briefs:
            self._outcomes[brief["key"]] = (brief["created"], read_outcome(brief))


def list_together(store: RunStore, among: Candidates, *, max_rows: int) -> tuple[TableRow, ...]:
    """Return all runs that a choice is among, newest first; () where no table of `max_rows` rows has each of them.

    No row has a run that is damaged, or one whose setting and seed ran again later.
    """
    records = store.records(among.keys)
    rows = run_table(records[key].to_json() for key in reversed(among.keys) if key in records)
    return rows if len(rows) <= max_rows and among.all <= {key for row in rows for key in row.keys} else ()


def label_row(row: TableRow, labels: Mapping[str, RunLabel]) -> TableRow:
    """Return a row with what a person calls its runs; `labels` are by run."""
    own = [labels.get(key, _NONE) for key in row.keys]
    if all(label == _NONE for label in own):
        return row
    return replace(
        row,
        name=", ".join(dict.fromkeys(label.name for label in own if label.name)),
        tags=tuple(dict.fromkeys(tag for label in own for tag in label.tags)),
        pinned=any(label.pinned for label in own),
        archived=all(label.archived for label in own),
    )
