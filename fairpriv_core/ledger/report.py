"""The ledger as a document: what each data set has spent, for whom, by which runs; what chosen runs cost together."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path, PurePath
from typing import NamedTuple, TypedDict

from fairpriv_core.data.catalog import problems
from fairpriv_core.data.roles import parse_sensitive
from fairpriv_core.data.table_schema import find_stated
from fairpriv_core.files.read import read_table
from fairpriv_core.privacy.accountants import coarse_epsilon, epsilon
from fairpriv_core.privacy.event import EventJson, Events, to_json
from fairpriv_core.privacy.ledger import LedgerEntry, Total, composable, compose, costs
from fairpriv_core.privacy.rdp import Cap, read_gauge
from fairpriv_core.records.ledger_entry import call_data, identify_data, list_sensitive, record_posting
from fairpriv_core.records.record import RunRecord
from fairpriv_core.store.ledger import LedgerLine, count_lines
from fairpriv_core.store.runs import RunStore


@dataclass(frozen=True)
class Spent:
    """What `runs` runs on the data set `data` cost together: of whole records (`column` None) or of one column.

    `epsilon` is at `delta`, or None with a `reason`.
    """

    data: str
    column: str | None
    runs: int
    epsilon: float | None
    reason: str | None
    delta: float


class CapReport(TypedDict):
    """A cap, and what of it is spent or planned (None: no bound)."""

    epsilon: float
    delta: float
    spent: float | None
    remaining: float


class ProtectedReport(TypedDict):
    """What is spent of one column, or of whole records (None); `runs` are the keys that count."""

    column: str | None
    epsilon: float | None
    epsilon_planned: float | None
    reason: str | None
    event: list[EventJson]
    runs: list[str]
    cap: CapReport | None


class LineReport(TypedDict):
    """One line of a ledger."""

    key: str
    what: str
    status: str
    threat_model: str | None
    sensitive: list[str]
    epsilon: float | None
    reason: str | None


class LedgerReport(TypedDict):
    """The ledger of a data set, by its name and its id."""

    data: str
    id: str
    delta: float
    protected: list[ProtectedReport]
    lines: list[LineReport]


def report_ledgers(store: RunStore, *, delta: float) -> list[LedgerReport]:
    """Return `report_ledger` of every data set in the store, with all that is protected of it."""
    return [report_ledger(store, data, name, delta=delta) for data, name in store.ledger.data_sets().items()]


def report_ledger(
    store: RunStore, data: str, name: str, *, delta: float, columns: Sequence[str | None] = ()
) -> LedgerReport:
    """Return the ledger of one data set (by `identify_data`) at `delta`, JSON.

    `protected` has one item for each of `columns` (None: whole records; default: these, and every column that is
    declared as sensitive, was used as such, or has a cap): `epsilon` of what has been spent and `epsilon_planned`,
    with what waits and runs; None and a sentence under `reason` where no bound holds. `event` is what composes to
    `epsilon`, `runs` the keys that count, `cap` its state or None. `lines` has one item for each run.
    """
    lines, caps = store.ledger.lines(data), store.ledger.caps(data)
    protected = list(columns) or [None, *list_protected(data, lines, caps)]
    return {
        "data": name,
        "id": data,
        "delta": delta,
        "protected": [_report_one(column, lines, caps.get(column), delta) for column in protected],
        "lines": [_report_line(line, delta) for line in lines],
    }


class DataSource(NamedTuple):
    """Whose ledger is asked for: that of a data set, or of the file at a path."""

    dataset: str | None
    file: str | None

    @property
    def name(self) -> str:
        """What a person calls it."""
        return self.dataset or PurePath(self.file or "").name


def name_columns(page: DataSource, sensitive: str) -> tuple[str, ...]:
    """Return the columns that `sensitive` names, as the ledger calls them; BadInput for one that is not in the data."""
    table = () if page.file is None else read_table(Path(page.file), stated=find_stated(None)).table
    columns = [part.column for part in parse_sensitive(sensitive, table)] if table else []
    return list_sensitive(page.dataset, sensitive, columns)


def list_protected(data: str, lines: Sequence[LedgerLine], caps: Mapping[str | None, Cap]) -> list[str]:
    """Return the columns of a data set that are declared as sensitive, were used as such, or have a cap."""
    names = [column for line in lines for column in line.planned.sensitive]
    for problem in problems().values():
        if identify_data(problem.name, None) == data:
            names += [column for text in problem.sensitive for column in list_sensitive(problem.name, text)]
    return list(dict.fromkeys([*names, *(column for column in caps if column is not None)]))


def _report_one(column: str | None, lines: Sequence[LedgerLine], cap: Cap | None, delta: float) -> ProtectedReport:
    entries = [line.planned for line in lines]
    now, then = compose([line.spent for line in lines if line.spent is not None], column), compose(entries, column)
    return {
        "column": column,
        "epsilon": _finite(now.epsilon(delta)),
        "epsilon_planned": _finite(then.epsilon(delta)),
        "reason": join_reasons(then.unbounded),
        "event": to_json(now.events),
        "runs": [entry.key for entry in entries if costs(entry, column)],
        "cap": None if cap is None else _report_cap(cap, count_lines(lines, cap, column), column),
    }


def _report_cap(cap: Cap, entries: Sequence[LedgerEntry], column: str | None) -> CapReport:
    gauge = read_gauge(cap, entries, column)
    return {"epsilon": cap.epsilon, "delta": cap.delta, "spent": _finite(gauge.spent), "remaining": gauge.remaining}


def _report_line(line: LedgerLine, delta: float) -> LineReport:
    entry = line.planned
    private = entry.threat_model is not None and entry.unbounded is None
    return {
        "key": entry.key,
        "what": line.what,
        "status": line.status,
        "threat_model": entry.threat_model,
        "sensitive": list(entry.sensitive),
        "epsilon": _finite(_cost(entry.all_events, delta)) if private else None,
        "reason": entry.unbounded,
    }


@lru_cache(maxsize=1024)
def _cost(events: Events, delta: float) -> float:
    return epsilon(composable(events), delta)


def join_reasons(reasons: Sequence[str]) -> str | None:
    """Return why no bound holds, in one sentence: the first reason, and how many others there are."""
    if not reasons:
        return None
    more = len(reasons) - 1
    also = f"; {more} more {'run has' if more == 1 else 'runs have'} no bound either" if more else ""
    return f"{reasons[0].rstrip('.')}{also}."


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def add_up(records: Sequence[RunRecord]) -> list[Spent]:
    """Return what the runs cost together, for each data set and each thing that one of them protects."""
    posts = [(record_posting(record), call_data(record.config["data"]), record.delta) for record in records]
    totals = []
    for data in dict.fromkeys(post.data for post, _, _ in posts):
        items = [(post.entry, name, delta) for post, name, delta in posts if post.data == data]
        entries, delta = [entry for entry, _, _ in items], min(delta for _, _, delta in items)
        for column in _list_protected(entries):
            total = compose(entries, column)
            cost = _finite(cost_together(total, delta, alone=len(entries) == 1))
            reason = join_reasons(total.unbounded) or "No finite epsilon is proved for the releases."
            totals.append(Spent(items[0][1], column, len(entries), cost, reason if cost is None else None, delta))
    return totals


def _list_protected(entries: Iterable[LedgerEntry]) -> list[str | None]:
    columns: list[str | None] = []
    for entry in entries:
        if entry.threat_model is not None:
            columns += [None] if entry.threat_model == "record" else entry.sensitive
    return list(dict.fromkeys(columns))


@lru_cache(maxsize=512)
def cost_together(total: Total, delta: float, *, alone: bool) -> float:
    """Return the epsilon of what entries release together; of several it is coarse, up to 1 % more."""
    return total.epsilon(delta, epsilon if alone else coarse_epsilon)
