"""The ledger in the run store: what every run on a data set has released, caps, and paid releases that are no runs.

Runs that wait or are at work count with what they have committed, and hold back from a cap what they plan. Deleting a
run leaves its line. A cap is checked in the transaction that launches.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, NotRequired, TypedDict, cast

from sqlalchemy import Connection, RowMapping, Table, delete, func, insert, select, update

from fairpriv_core.data.catalog import problems
from fairpriv_core.errors import BadInput, Damaged
from fairpriv_core.privacy.event import EventJson, from_json
from fairpriv_core.privacy.ledger import LedgerEntry, compose
from fairpriv_core.privacy.rdp import Cap, admits, count_against, read_gauge
from fairpriv_core.records.config import RunConfig
from fairpriv_core.records.ledger_entry import (
    Posting,
    call_data,
    follow_catalog,
    identify_data,
    list_counted,
    record_posting,
)
from fairpriv_core.records.plan import plan_posting
from fairpriv_core.records.record import RunRecord
from fairpriv_core.store.checksum import Unreadable, build_damaged
from fairpriv_core.store.database import Database
from fairpriv_core.store.identity import find_same
from fairpriv_core.store.rows import (
    ENDED,
    POSTING,
    RECORD,
    check_config,
    has_cost,
    lease_over,
    read_posting,
    read_record,
    read_status,
)
from fairpriv_core.store.tables import cap, charge, checkpoint, data_identity, run, tombstone
from fairpriv_core.text import at_least_text, delta_text, epsilon_text

_OF_RUNS = select(
    *(run.c[name] for name in ("key", "status", "request", "worker", "owner", "created", "reserved")),
    POSTING,
    (run.c.record.is_not(None) | run.c.posting.is_not(None)).label("begun"),
    lease_over(run),
)
EVALUATED = "evaluated"  # under this name a charge's result has the run whose evaluation it paid for
_SINCE = ("metrics_private", "event", "released", "epsilon", "assumptions")
_RECORD = ""  # the cap table's name for whole records
_ELSE = "of somebody else"


class ChoiceRequest(TypedDict):
    """How a run was chosen: among which, `by` which numbers; `epsilon` is the price of a noisy choice."""

    keys: list[str]
    by: str
    metric: str | None
    epsilon: float | None
    delta: float


class Choice(TypedDict):
    """The run `selected`, with the epsilon that covers all candidates and the choice, or why there is none.

    `values` are the numbers that were shown; `charge` is the choice's line in the ledger, None of one that is free;
    `withdrawn` are the runs that a raw choice takes the epsilon of.
    """

    selected: str
    threat_model: str | None
    epsilon: float | None
    epsilon_reason: str | None
    delta: float
    event: list[EventJson]
    candidates: list[str]
    values: NotRequired[dict[str, float | None]]
    request: ChoiceRequest
    charge: str | None
    withdrawn: NotRequired[list[str]]


@dataclass(frozen=True)
class LedgerLine:
    """One line: a run's status, "deleted" or "charged"; what it has spent (None: nothing yet) and what it may spend.

    `asked` is what it was let in with under a cap; None where there was none. `owner` is whose it is.
    """

    what: str
    status: str
    spent: LedgerEntry | None
    planned: LedgerEntry
    owner: str
    asked: LedgerEntry | None = None

    def unnamed(self) -> LedgerLine:
        """Return the line as somebody else sees it: it counts, and its run's key, which opens the run, is left out."""
        spent = None if self.spent is None else replace(self.spent, key=_ELSE)
        return replace(self, spent=spent, planned=replace(self.planned, key=_ELSE))


class LedgerStore:
    """The verbs of the ledger; each is one transaction. Runs of everybody count; `owner` decides what is named."""

    def __init__(self, database: Database, owner: str | None = None) -> None:
        self._database, self._owner = database, owner

    def lines(self, data: str) -> list[LedgerLine]:
        """Return every line of the data set `data` (by `identify_data`), by whomever, oldest first."""
        with self._database.read() as connection:
            return _read_lines(connection, data)

    def stamp(self) -> tuple[tuple[object, ...], ...]:
        """Return how many runs have each status, and what changes with each deletion, payment, cap and file."""
        queries = (
            select(run.c.status, func.count()).group_by(run.c.status).order_by(run.c.status),  # its index suffices
            select(func.count()).select_from(tombstone),
            select(func.count()).select_from(charge),
            select(func.count(), func.sum(cap.c.epsilon), func.sum(cap.c.delta)).select_from(cap),
            select(func.count()).select_from(data_identity),
        )
        with self._database.read() as connection:
            return tuple(tuple(row) for query in queries for row in connection.execute(query))

    def data_sets(self) -> dict[str, str]:
        """Return the names (as last given) of the data sets in the ledger by `identify_data`, oldest first.

        For an owner these are the benchmarks and the files of their own runs: what others call a file is theirs.
        """
        with self._database.read() as connection:
            query = select(run.c.key, run.c.config_key, run.c.config, run.c.owner).order_by(run.c.created)
            runs = connection.execute(query).mappings().all()
            for row in runs:
                check_config(row)
            configs = [(row["config"], row["owner"]) for row in runs]
            mine = [config for config, owner in configs if config["data"]["file"] is None or self._may_name(owner)]
            titles = {identify_data(one["data"]["dataset"], one.get("file_id")): call_data(one["data"]) for one in mine}
            for _, posting, line in _read_others(connection):
                if posting.name in problems() or self._may_name(line.owner):
                    titles.setdefault(posting.data, posting.name)
            for data in connection.scalars(select(cap.c.data)) if self._owner is None else ():
                titles.setdefault(data, data)
            first: dict[str, str] = {}
            for data, name in titles.items():
                first.setdefault(min(find_same(connection, data)), name)
        return first

    def _may_name(self, owner: str) -> bool:
        return self._owner in (None, owner)

    def list_damage(self) -> list[str]:
        """Return a sentence for each deleted run, and each paid release, of which what is kept is damaged."""
        damage = []
        with self._database.read() as connection:
            rows = [(row, read) for table, read in _OTHERS for row in connection.execute(select(table)).mappings()]
        for row, reader in rows:
            try:
                with _naming(row):
                    reader(row)
            except Damaged as error:
                damage.append(str(error))
        return damage

    def caps(self, data: str) -> dict[str | None, Cap]:
        """Return the caps of a data set by sensitive column; None for whole records."""
        with self._database.read() as connection:
            return _read_caps(connection, data)

    def plan(self, config: RunConfig, **sources: Any) -> Posting | None:
        """Return what a run will release where a cap asks for it, else None. `sources` as `plan_posting`."""
        data = identify_data(config.data.dataset, config.file_id)
        return plan_posting(config, **sources) if self.caps(data) else None

    def set_cap(self, data: str, column: str | None, limit: Cap | None, *, where: str) -> None:
        """Set or (None) lift a cap. BadInput where more is spent or held back already; `where` names the data."""
        with self._database.ledger() as connection:
            if limit is None:
                _lift(connection, data, column)
                return
            lines = _read_lines(connection, data)
            epsilon = compose([line.planned for line in lines], column).epsilon(limit.delta)
            if epsilon > limit.epsilon:
                raise BadInput(
                    f"cap {limit.epsilon:g} on {name_protected(column)} of {where} is exceeded already: "
                    f"{show_epsilon(epsilon)} is spent or planned; nothing was changed.",
                    field="epsilon",
                )
            _hold_to_plan(connection, lines)
            row = {"data": data, "column": column or _RECORD, "epsilon": limit.epsilon, "delta": limit.delta}
            _lift(connection, data, column)
            connection.execute(insert(cap).values(row))

    def check(self, posting: Posting) -> None:
        """Raise BadInput where `posting` would bring its data set beyond a cap."""
        with self._database.read() as connection:
            admit(connection, posting)

    def find_charge(self, request: Mapping[str, Any]) -> dict[str, Any] | None:
        """Return the latest result of a paid release whose `request` is this one; None where there is none."""
        with self._database.read() as connection:
            results = connection.scalars(select(charge.c.result).order_by(charge.c.created.desc()))
            return next((dict(result) for result in results if result.get("request") == request), None)

    def pay(self, posting: Posting, result: Mapping[str, object], owner: str) -> None:
        """Store a paid release that is no run, with what came out; BadInput, and nothing stored, beyond a cap.

        A second later evaluation of one run is refused too: nobody sees what came out of it.
        """
        with self._database.ledger() as connection:
            if result.get(EVALUATED) in find_evaluated(connection):
                raise BadInput(f"run {result[EVALUATED]} is evaluated already; nothing more was released.", field="key")
            admit(connection, posting)
            row = {"key": posting.entry.key, "owner": owner, "post": posting.to_json(), "result": dict(result)}
            connection.execute(insert(charge).values(**row, created=time.time()))


def admit(connection: Connection, *postings: Posting) -> None:
    """Raise BadInput where one of `postings`, launched together, would bring its data set beyond a cap.

    Each counts for those after it; the runs' own earlier lines do not.
    """
    for data in dict.fromkeys(posting.data for posting in postings):
        caps = _read_caps(connection, data)
        lines = _read_lines(connection, data) if caps else []
        same = find_same(connection, data) if caps else {data}
        for column, limit in caps.items():
            _check_cap(limit, lines, [posting.entry for posting in postings if posting.data in same], column)


def _check_cap(limit: Cap, lines: Sequence[LedgerLine], launches: Sequence[LedgerEntry], column: str | None) -> None:
    entries = dict(zip([line.planned.key for line in lines], count_lines(lines, limit, column), strict=True))
    for entry in launches:
        others = [item for key, item in entries.items() if key != entry.key]
        if not admits(limit, others, entry, column):
            gauge = read_gauge(limit, others, column)
            raise BadInput(
                f"the cap on {name_protected(column)} is epsilon = {limit.epsilon:g} at delta = {limit.delta:g}: "
                f"{show_epsilon(gauge.spent)} is spent or planned, {at_least_text(gauge.remaining)} remains, and this "
                f"{_format_wanted(entry, column, limit.delta)}; nothing was launched.",
                field="epsilon",
            )
        entries.setdefault(entry.key, entry)


def count_lines(lines: Sequence[LedgerLine], limit: Cap, column: str | None) -> list[LedgerEntry]:
    """Return what every line counts with against a cap on `column`."""
    return [count_against(limit, line.planned, line.asked, column) for line in lines]


def leave_tombstone(connection: Connection, row: RowMapping) -> None:
    """Leave a tombstone of a run that is about to be deleted, unless it released nothing."""
    record = read_cost(row)
    if record is None:
        return
    remains = {name: row[name] for name in ("key", "config_key", "repeat", "owner", "question")}
    remains |= {"data": record.data, "threat_model": record.threat_model, "event": list_counted(record)}
    posting = record_posting(record).to_json()
    if row["reserved"] is not None:
        posting["asked"] = row["reserved"]["entry"]
    connection.execute(insert(tombstone).values(**remains, post=posting, deleted=time.time()))


def find_withdrawn(connection: Connection) -> dict[str, str]:
    """Return the runs that were chosen by raw numbers, with why no epsilon is proved for them."""
    raw = [result for result in _list_results(connection) if result.get("withdrawn")]
    return {key: choice["epsilon_reason"] for choice in raw for key in choice["withdrawn"]}


def find_chosen(connection: Connection) -> dict[str, str]:
    """Return the runs that were chosen by released or noisy numbers, with what the dearest choice has cost in words."""
    choices = list_choices(connection)
    dearest = sorted(choices, key=lambda choice: math.inf if choice["epsilon"] is None else choice["epsilon"])
    return {choice["selected"]: _format_choice(choice) for choice in dearest}


def list_choices(connection: Connection) -> list[Choice]:
    """Return the choices that took no epsilon away, oldest first."""
    results = _list_results(connection)
    return [cast(Choice, result) for result in results if result.get("selected") and not result.get("withdrawn")]


def _list_results(connection: Connection) -> list[dict[str, Any]]:
    """Return what came of all that is no run, oldest first."""
    query = select(charge.c.key, charge.c.result).order_by(charge.c.created)
    return [_read_result(row) for row in connection.execute(query).mappings()]


def _format_choice(result: Choice) -> str:
    by, epsilon, delta = result["request"]["by"], result["epsilon"], delta_text(result["delta"])
    covers = f"ε = {epsilon_text(epsilon)} (δ = {delta}) covers" if epsilon is not None else "no ε is proved for"
    choice = " and the choice" if by == "noisy" else ""
    return f"This run was chosen among {len(result['candidates'])} by {by} numbers: {covers} all of them{choice}."


def find_evaluated(connection: Connection) -> dict[str, dict[str, Any]]:
    """Return the runs that were privately evaluated after they had finished, with what their records say since."""
    results = _list_results(connection)
    return {result[EVALUATED]: {name: result[name] for name in _SINCE} for result in results if EVALUATED in result}


def list_evaluated(record: RunRecord) -> dict[str, object]:
    """Return what the charge of a later evaluation keeps of the run's record."""
    document = record.to_json()
    return {name: document[name] for name in _SINCE}


def read_cost(row: Mapping[Any, Any]) -> RunRecord | None:
    """Return the record of a run that may have let anything out; None before training or where it was refused."""
    record = read_record(row)
    return record if record is not None and has_cost(record, row["error_kind"]) else None


def name_protected(column: str | None) -> str:
    """Return what a ledger protects, in words."""
    return "whole records" if column is None else f"'{column}'"


def _format_wanted(entry: LedgerEntry, column: str | None, delta: float) -> str:
    total = compose([entry], column)
    if total.unbounded:
        return f"has no bound: {total.unbounded[0].partition(': ')[2].rstrip('.')}"
    return f"would spend {show_epsilon(total.epsilon(delta))}"


def _lift(connection: Connection, data: str, column: str | None) -> None:
    mine = cap.c.data.in_(find_same(connection, data)) & (cap.c.column == (column or _RECORD))
    connection.execute(delete(cap).where(mine))


def _read_caps(connection: Connection, data: str) -> dict[str | None, Cap]:
    """Return the caps on a data set; of several on one column, from before its files were known as one, the least."""
    mine = cap.c.data.in_(find_same(connection, data))
    rows = connection.execute(select(cap).where(mine).order_by(cap.c.column, cap.c.epsilon.desc())).mappings()
    return {row["column"] or None: Cap(row["epsilon"], row["delta"]) for row in rows}


def _read_lines(connection: Connection, data: str) -> list[LedgerLine]:
    committed = dict(connection.execute(select(checkpoint.c.key, checkpoint.c.released)).all())
    same = find_same(connection, data)
    lines: list[tuple[float, LedgerLine]] = []
    for row in connection.execute(_OF_RUNS).mappings():
        with _naming(row):
            posting = _find_posting(connection, row)
            if posting is not None and follow_catalog(posting.data) in same:
                lines.append((row["created"], _line_of_run(row, posting, committed)))
    lines += [(at, line) for at, posting, line in _read_others(connection) if follow_catalog(posting.data) in same]
    return [line for _, line in sorted(lines, key=lambda item: item[0])]


def _read_others(connection: Connection) -> Iterator[_OtherLine]:
    """Yield the lines of deleted runs, then of paid releases."""
    for table, reader in _OTHERS:
        for row in connection.execute(select(table)).mappings():
            with _naming(row):
                line = reader(row)
            yield line


@contextmanager
def _naming(row: RowMapping) -> Iterator[None]:
    """Read a line of the ledger; Damaged where it cannot be, for without it the sum would be too small."""
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise build_damaged(f"what the ledger keeps of {row['key']}") from error


def _hold_to_plan(connection: Connection, lines: Sequence[LedgerLine]) -> None:
    """Write down what runs under way plan, where no cap asked for it yet."""
    going_on = {line.planned.key for line in lines if line.status not in (*ENDED, "deleted", "charged")}
    mine = run.c.key.in_(going_on) & run.c.reserved.is_(None) & run.c.record.is_not(None)
    for row in connection.execute(select(run).where(mine)).mappings().all():
        if (draft := read_record(row)) is not None:
            posting = record_posting(draft).to_json()
            connection.execute(update(run).where(run.c.key == row["key"]).values(reserved=posting))


def _find_posting(connection: Connection, row: RowMapping) -> Posting | None:
    """Return a run's line: the stored one, else that of its record, else, before it begins, what it holds back.

    None where it neither released anything nor holds anything back.
    """
    posting = None
    with suppress(Damaged):
        posting = read_posting(row)
    if posting is None and row["begun"]:
        columns = select(run.c.key, run.c.config_key, run.c.config, run.c.error_kind, RECORD)
        record_row = connection.execute(columns.where(run.c.key == row["key"])).mappings().one()
        check_config(record_row)
        record = read_cost(record_row)
        posting = None if record is None else record_posting(record)
    if posting is None and row["reserved"] is not None and row["status"] not in ENDED:
        posting = Posting.from_json(row["reserved"])
    return posting


def _line_of_run(row: RowMapping, posting: Posting, committed: Mapping[str, Any]) -> LedgerLine:
    status = read_status(row)
    spent: LedgerEntry | None = posting.entry
    if status not in ENDED:
        released = committed.get(row["key"], [])
        if isinstance(released, Unreadable):
            raise build_damaged(f"the checkpoint of run {row['key']}")
        spent = replace(posting.entry, events=from_json(released)) if row["begun"] else None
    reserved = row["reserved"] if row["begun"] else None
    reserved = None if reserved is None else Posting.from_json(reserved).entry
    return LedgerLine(posting.what, status, spent, posting.entry, row["owner"], reserved)


def _read_charge(row: RowMapping) -> _OtherLine:
    """Return what a paid release that is no run has cost; Damaged where its result is."""
    _read_result(row)
    posting = Posting.from_json(row["post"])
    return row["created"], posting, LedgerLine(posting.what, "charged", posting.entry, posting.entry, row["owner"])


def _read_result(row: RowMapping) -> dict[str, object]:
    if isinstance(row["result"], Unreadable):
        raise build_damaged(f"what the ledger keeps of {row['key']}")
    return dict(row["result"])


def _read_tombstone(row: RowMapping) -> _OtherLine:
    """Return what a deleted run left, and its line."""
    posting, entry = Posting.from_json(row["post"]), row["post"].get("asked")
    entry = None if entry is None else LedgerEntry.from_json(entry)
    line = LedgerLine(posting.what, "deleted", posting.entry, posting.entry, row["owner"], entry)
    return row["deleted"], posting, line


#: the lines of what is no run: when they were written, what they cost, and as the ledger lists them
_OtherLine = tuple[float, Posting, LedgerLine]
_OTHERS: tuple[tuple[Table, Callable[[RowMapping], _OtherLine]], ...] = (
    (tombstone, _read_tombstone),
    (charge, _read_charge),
)


def show_epsilon(epsilon: float) -> str:
    """Return an epsilon as the ledger's sentences have it."""
    return epsilon_text(epsilon) if math.isfinite(epsilon) else "an unbounded epsilon"
