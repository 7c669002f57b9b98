"""The ledger in the run store: what every run on a data set has released, caps, and paid releases that are no runs.

Runs that wait or are at work count with what they have committed, and hold back from a cap what they plan. Deleting a
run leaves its line. A cap is checked in the transaction that launches.
"""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any, NotRequired, TypedDict, cast

from sqlalchemy import Connection, RowMapping, delete, func, insert, select, update

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
        """Return what is known of: the name (as last given) by `identify_data`, oldest first; capped or not.

        For an owner these are the benchmarks and the files of their own runs: what others call a file is theirs.
        """
        with self._database.read() as connection:
            query = select(run.c.key, run.c.config_key, run.c.config, run.c.owner).order_by(run.c.created)
            stored_runs = connection.execute(query).mappings().all()
            for stored in stored_runs:
                check_config(stored)
            known = [(stored["config"], stored["owner"]) for stored in stored_runs]
            mine = [config for config, owner in known if config["data"]["file"] is None or self._may_name(owner)]
            titles = {
                identify_data(each["data"]["dataset"], each.get("file_id")): call_data(each["data"]) for each in mine
            }
            for stored in connection.execute(select(tombstone)).mappings():
                with _naming(stored):
                    posting = Posting.from_json(stored["post"])
                if posting.name in problems() or self._may_name(stored["owner"]):
                    titles.setdefault(posting.data, posting.name)
            for stored in connection.execute(select(charge)).mappings():
                with _naming(stored):
                    posting = _read_charge(stored)
                if posting.name in problems() or self._may_name(stored["owner"]):
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
            tombstones = connection.execute(select(tombstone)).mappings().all()
            charges = connection.execute(select(charge)).mappings().all()
        readers = [*((row, _read_tombstone) for row in tombstones), *((row, _read_charge) for row in charges)]
        for stored, read in readers:
            try:
                with _naming(stored):
                    read(stored)
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

    def set_cap(self, data: str, column: str | None, wanted: Cap | None, *, where: str) -> None:
        """Set or (None) lift a cap. BadInput where more is spent or held back already; `where` names the data."""
        with self._database.ledger() as connection:
            if wanted is None:
                _lift(connection, data, column)
                return
            lines = _read_lines(connection, data)
            spent = compose([line.planned for line in lines], column).epsilon(wanted.delta)
            if spent > wanted.epsilon:
                raise BadInput(
                    f"cap {wanted.epsilon:g} on {name_protected(column)} of {where} is exceeded already: "
                    f"{show_epsilon(spent)} is spent or planned; nothing was changed.",
                    field="epsilon",
                )
            _hold_to_plan(connection, lines)
            row = {"data": data, "column": column or _RECORD, "epsilon": wanted.epsilon, "delta": wanted.delta}
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

        So is a later evaluation of a run that has one by now: what came out of the second is seen by nobody.
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


def _check_cap(limit: Cap, lines: Sequence[LedgerLine], wanted: Sequence[LedgerEntry], column: str | None) -> None:
    counted = dict(zip([line.planned.key for line in lines], count_lines(lines, limit, column), strict=True))
    for entry in wanted:
        others = [other for key, other in counted.items() if key != entry.key]
        if not admits(limit, others, entry, column):
            gauge = read_gauge(limit, others, column)
            raise BadInput(
                f"the cap on {name_protected(column)} is epsilon = {limit.epsilon:g} at delta = {limit.delta:g}: "
                f"{show_epsilon(gauge.spent)} is spent or planned, {at_least_text(gauge.remaining)} remains, and this "
                f"{_format_wanted(entry, column, limit.delta)}; nothing was launched.",
                field="epsilon",
            )
        counted.setdefault(entry.key, entry)


def count_lines(lines: Sequence[LedgerLine], limit: Cap, column: str | None) -> list[LedgerEntry]:
    """Return what every line counts with against a cap on `column`."""
    return [count_against(limit, line.planned, line.asked, column) for line in lines]


def leave_tombstone(connection: Connection, stored: RowMapping) -> None:
    """Leave a tombstone of a run that is about to be deleted, unless it released nothing."""
    record = read_cost(stored)
    if record is None:
        return
    remains = {name: stored[name] for name in ("key", "config_key", "repeat", "owner", "question")}
    remains |= {"data": record.data, "threat_model": record.threat_model, "event": list_counted(record)}
    posting = record_posting(record).to_json()
    if stored["reserved"] is not None:
        posting["asked"] = stored["reserved"]["entry"]
    connection.execute(insert(tombstone).values(**remains, post=posting, deleted=time.time()))


def find_withdrawn(connection: Connection) -> dict[str, str]:
    """Return the runs that were chosen by raw numbers, with why no epsilon is proved for them."""
    raw = [result for result in _list_results(connection) if result.get("withdrawn")]
    return {key: found["epsilon_reason"] for found in raw for key in found["withdrawn"]}


def find_chosen(connection: Connection) -> dict[str, str]:
    """Return the runs that were chosen by released or noisy numbers, with what the dearest choice has cost in words."""
    choices = list_choices(connection)
    dearest = sorted(choices, key=lambda made: math.inf if made["epsilon"] is None else made["epsilon"])
    return {made["selected"]: _format_choice(made) for made in dearest}


def list_choices(connection: Connection) -> list[Choice]:
    """Return the choices that took no epsilon away, oldest first."""
    results = _list_results(connection)
    return [cast(Choice, result) for result in results if result.get("selected") and not result.get("withdrawn")]


def _list_results(connection: Connection) -> list[dict[str, Any]]:
    """Return what came of all that is no run, oldest first."""
    query = select(charge.c.key, charge.c.result).order_by(charge.c.created)
    return [_read_result(stored) for stored in connection.execute(query).mappings()]


def _format_choice(made: Choice) -> str:
    by, epsilon, delta = made["request"]["by"], made["epsilon"], delta_text(made["delta"])
    covers = f"ε = {epsilon_text(epsilon)} (δ = {delta}) covers" if epsilon is not None else "no ε is proved for"
    choice = " and the choice" if by == "noisy" else ""
    return f"This run was chosen among {len(made['candidates'])} by {by} numbers: {covers} all of them{choice}."


def find_evaluated(connection: Connection) -> dict[str, dict[str, Any]]:
    """Return the runs that were privately evaluated after they had finished, with what their records say since."""
    results = _list_results(connection)
    return {result[EVALUATED]: {name: result[name] for name in _SINCE} for result in results if EVALUATED in result}


def list_evaluated(record: RunRecord) -> dict[str, object]:
    """Return what the charge of a later evaluation keeps of the run's record."""
    document = record.to_json()
    return {name: document[name] for name in _SINCE}


def read_cost(stored: Mapping[Any, Any]) -> RunRecord | None:
    """Return the record of a run that may have let anything out; None before training or where it was refused."""
    record = read_record(stored)
    return record if record is not None and has_cost(record, stored["error_kind"]) else None


def name_protected(column: str | None) -> str:
    """Return what a ledger protects, in words."""
    return "whole records" if column is None else f"'{column}'"


def _format_wanted(entry: LedgerEntry, column: str | None, delta: float) -> str:
    wanted = compose([entry], column)
    if wanted.unbounded:
        return f"has no bound: {wanted.unbounded[0].partition(': ')[2].rstrip('.')}"
    return f"would spend {show_epsilon(wanted.epsilon(delta))}"


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
    for stored in connection.execute(_OF_RUNS).mappings():
        with _naming(stored):
            posting = _find_posting(connection, stored)
            if posting is not None and follow_catalog(posting.data) in same:
                lines.append((stored["created"], _line_of_run(stored, posting, committed)))
    for stored in connection.execute(select(tombstone)).mappings():
        with _naming(stored):
            posting, line = _read_tombstone(stored)
        lines += [(stored["deleted"], line)] if follow_catalog(posting.data) in same else []
    for stored in connection.execute(select(charge)).mappings():
        with _naming(stored):
            posting = _read_charge(stored)
        line = LedgerLine(posting.what, "charged", posting.entry, posting.entry, stored["owner"])
        lines += [(stored["created"], line)] if follow_catalog(posting.data) in same else []
    return [line for _, line in sorted(lines, key=lambda item: item[0])]


@contextmanager
def _naming(stored: RowMapping) -> Iterator[None]:
    """Read a line of the ledger; Damaged where it cannot be, for without it the sum would be too small."""
    try:
        yield
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise build_damaged(f"what the ledger keeps of {stored['key']}") from error


def _hold_to_plan(connection: Connection, lines: Sequence[LedgerLine]) -> None:
    """Write down what runs under way plan, where no cap asked for it yet."""
    going_on = {line.planned.key for line in lines if line.status not in (*ENDED, "deleted", "charged")}
    mine = run.c.key.in_(going_on) & run.c.reserved.is_(None) & run.c.record.is_not(None)
    for stored in connection.execute(select(run).where(mine)).mappings().all():
        if (draft := read_record(stored)) is not None:
            planned = record_posting(draft).to_json()
            connection.execute(update(run).where(run.c.key == stored["key"]).values(reserved=planned))


def _find_posting(connection: Connection, stored: RowMapping) -> Posting | None:
    """Return a run's line, from its record where it has none of its own or a damaged one; what it holds back before.

    None where it neither released anything nor holds anything back.
    """
    posting = None
    with suppress(Damaged):
        posting = read_posting(stored)
    if posting is None and stored["begun"]:
        whole = select(run.c.key, run.c.config_key, run.c.config, run.c.error_kind, RECORD)
        row = connection.execute(whole.where(run.c.key == stored["key"])).mappings().one()
        check_config(row)
        record = read_cost(row)
        posting = None if record is None else record_posting(record)
    if posting is None and stored["reserved"] is not None and stored["status"] not in ENDED:
        posting = Posting.from_json(stored["reserved"])
    return posting


def _line_of_run(stored: RowMapping, posting: Posting, committed: Mapping[str, Any]) -> LedgerLine:
    status = read_status(stored)
    spent: LedgerEntry | None = posting.entry
    if status not in ENDED:
        released = committed.get(stored["key"], [])
        if isinstance(released, Unreadable):
            raise build_damaged(f"the checkpoint of run {stored['key']}")
        spent = replace(posting.entry, events=from_json(released)) if stored["begun"] else None
    reserved = stored["reserved"] if stored["begun"] else None
    reserved = None if reserved is None else Posting.from_json(reserved).entry
    return LedgerLine(posting.what, status, spent, posting.entry, stored["owner"], reserved)


def _read_charge(stored: RowMapping) -> Posting:
    """Return what a paid release that is no run has cost; Damaged where its result is."""
    _read_result(stored)
    return Posting.from_json(stored["post"])


def _read_result(stored: RowMapping) -> dict[str, object]:
    if isinstance(stored["result"], Unreadable):
        raise build_damaged(f"what the ledger keeps of {stored['key']}")
    return dict(stored["result"])


def _read_tombstone(stored: RowMapping) -> tuple[Posting, LedgerLine]:
    """Return what a deleted run left, and its line."""
    posting, entry = Posting.from_json(stored["post"]), stored["post"].get("asked")
    entry = None if entry is None else LedgerEntry.from_json(entry)
    return posting, LedgerLine(posting.what, "deleted", posting.entry, posting.entry, stored["owner"], entry)


def show_epsilon(epsilon: float) -> str:
    """Return an epsilon as the ledger's sentences have it."""
    return epsilon_text(epsilon) if math.isfinite(epsilon) else "an unbounded epsilon"
