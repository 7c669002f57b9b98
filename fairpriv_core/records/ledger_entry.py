"""A run as the ledger sees it: whose data it used, which columns, on which split, and what it released."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any

from fairpriv_core.data.catalog import own_problems, problems
from fairpriv_core.data.problem import DataJson, Problem
from fairpriv_core.data.roles import list_meant, parse_label, parse_sensitive
from fairpriv_core.data.table_schema import find_stated
from fairpriv_core.methods.base import Method
from fairpriv_core.methods.catalog import methods
from fairpriv_core.privacy.event import EventJson, Events, from_json, subtract
from fairpriv_core.privacy.ledger import LedgerEntry
from fairpriv_core.records.paid import find_payment, price_answers, price_payment
from fairpriv_core.records.record import RunRecord
from fairpriv_core.records.reuse import SAMPLE_STREAM, SHARED_RELEASES
from fairpriv_core.records.source import ConfigJson, find_answers, find_seed, name_file
from fairpriv_core.records.source import is_published as is_public

_DIGITS = 16


@dataclass(frozen=True)
class Posting:
    """One line of a data set's ledger: `what` is the method (or "selection").

    `data` names the data set by content, `name` as a person did.
    """

    data: str
    name: str
    what: str
    entry: LedgerEntry

    def named(self, key: str) -> Posting:
        """Return the same line under another key."""
        return replace(self, entry=replace(self.entry, key=key))

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        return {"data": self.data, "name": self.name, "what": self.what, "entry": self.entry.to_json()}

    @staticmethod
    def from_json(plain: Mapping[str, Any]) -> Posting:
        """Return the post that `to_json` wrote."""
        return Posting(plain["data"], plain["name"], plain["what"], LedgerEntry.from_json(plain["entry"]))


def identify_data(dataset: str | None, file_id: str | None) -> str:
    """Return 16 hex digits that name the people of a benchmark or of a person's file, whatever is asked of them.

    Two benchmarks from the same files are one data set; so is a person's copy of a published file. Another file is what
    its store calls its content; "" where no store has named it.
    """
    catalogue = problems()
    if dataset is not None:
        return _digest(_list_files(catalogue[dataset]) if dataset in catalogue else [dataset])
    owner = next((problem for problem in catalogue.values() if file_id in _list_ids(problem)), None)
    return file_id or "" if owner is None else _digest(_list_files(owner))


@lru_cache(maxsize=1024)
def follow_catalog(name: str) -> str:
    """Return what a data set is called now that was called `name`: a person's file may have been published since."""
    return identify_data(None, name)


def find_published(sha256: str) -> str | None:
    """Return what a person's copy of a published file is called, by the public checksum; None for any other file."""
    return sha256[:_DIGITS] if is_published(sha256[:_DIGITS]) else None


def is_published(file_id: str) -> bool:
    """Return whether a file's id is that of a published file."""
    return any(file_id in _list_ids(problem) for problem in own_problems().values())


def name_bytes(sha256: str) -> str:
    """Return what a store digests, with its secret, of a person's file: its checksum, digested once more."""
    return _digest([sha256])


def _digest(sealed: Sequence[str]) -> str:
    return hashlib.sha256(json.dumps(sealed).encode()).hexdigest()[:_DIGITS]


def call_data(data: DataJson) -> str:
    """Return what a person called the data of a config."""
    return str(data["dataset"] or name_file(data))


def list_sensitive(dataset: str | None, sensitive: str, found: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the columns that the text `sensitive` names, as the ledger calls them; BadInput for an unknown one.

    `found` are the columns that were found in a person's file, as a run's record has them. The text alone does not say
    whether `a+b` is a column or two that are crossed, since columns win over the grammar.
    """
    problem = problems().get(dataset or "")
    if problem is not None:
        names = [part.column for part in parse_sensitive(sensitive, list(problem.columns))]
    else:
        names = list(found or list_meant(sensitive))
    return tuple(dict.fromkeys(_call(name, problem) for name in names))


def record_posting(record: RunRecord) -> Posting:
    """Return the line of a run that has begun."""
    config, notes, data = record.config, record.notes, record.config["data"]
    problem = problems().get(data["dataset"] or "")
    kind = methods().get(config["method"]["name"])
    shared_releases = {name: from_json(part) for name, part in notes.get(SHARED_RELEASES, {}).items()}
    payment = find_payment(config, record.threat_model)
    of_all_rows = dict(price_answers(data))
    of_all_rows |= {} if payment is None or not payment.release else {payment.release: price_payment(payment)}
    entry = LedgerEntry(
        key=record.key,
        threat_model=record.threat_model,
        events=_list_own(record, of_all_rows),
        sensitive=list_record_sensitive(record),
        clear=_list_clear(data, record.data.get("columns"), problem),
        split=_name_split(config),
        unbounded=record.epsilon_reason if record.epsilon is None else None,
        reads_sensitive=_reads_sensitive(config, kind),
        shared=shared_releases,
        stream=notes.get(SAMPLE_STREAM),
        whole=of_all_rows,
    )
    return Posting(
        identify_data(data["dataset"], config.get("file_id")), call_data(data), config["method"]["name"], entry
    )


def list_record_sensitive(record: RunRecord) -> tuple[str, ...]:
    """Return the columns that a run's groups are made of, as the ledger calls them."""
    data = record.config["data"]
    return list_sensitive(data["dataset"], data["sensitive"], record.data.get("sensitive_columns") or ())


def name_question(record: RunRecord) -> tuple[str, str] | None:
    """Return whom a finished run asks about and what: the data set, and label with groups.

    Whatever notion it trained for, since a run shows all gaps; however it cuts label or groups. None where no choice of
    it takes an epsilon away: everybody has its rows, it never had one, or what it tells of groups follows from answers
    by randomised response.
    """
    data = record.config["data"]
    open_to_all = is_public(data) or find_answers(data) is not None
    if record.status != "finished" or record.epsilon is None or open_to_all:
        return None
    problem = problems().get(data["dataset"] or "")
    label = _call(_list_label(data["label"], problem)[-1], problem)
    names = [label, *sorted(list_record_sensitive(record))]
    return identify_data(data["dataset"], record.config.get("file_id")), _digest(names)


def list_counted(record: RunRecord) -> list[EventJson]:
    """Return what a run counts with: of one that failed what it released, not its plan."""
    return record.released if record.status == "failed" else record.event


def _list_own(record: RunRecord, of_all_rows: Mapping[str, Events]) -> Events:
    """Return what a run counts with beside what was released of all rows, which its event has and its count has not."""
    events = from_json(list_counted(record))
    if record.status == "failed":
        return events
    return subtract(events, tuple(event for part in of_all_rows.values() for event in part)) if of_all_rows else events


def _reads_sensitive(config: ConfigJson, kind: type[Method] | None) -> bool:
    """Return whether a run looks at the sensitive columns: by its method, or in choosing its training rows."""
    if kind is None or config["data"].get("group_ratio") is not None:
        return True
    return kind.info.uses_groups or kind.info.needs_group_at_prediction


def _list_files(problem: Problem) -> list[str]:
    """Return what a benchmark is read from: checksums, sorted; its name where it has no files."""
    sealed = sorted({source.sha256 for edition in problem.editions for source in edition})
    return sealed or [problem.people or problem.name]


def _list_ids(problem: Problem) -> list[str]:
    """Return what copies of a benchmark's files are called, with the one that ships with the package."""
    files = [source.sha256 for edition in problem.editions for source in edition]
    return [sha256[:_DIGITS] for sha256 in (*files, *((problem.shipped.sha256,) if problem.shipped else ()))]


def _list_clear(data: DataJson, columns: Sequence[str] | None, problem: Problem | None) -> tuple[str, ...] | None:
    if columns is None or replace(find_stated(data.get("schema")), decimal=""):
        return None  # under another reading of a file any column may have another name
    return tuple(dict.fromkeys(_call(name, problem) for name in (*columns, *_list_label(data["label"], problem))))


def _list_label(text: str | None, problem: Problem | None) -> tuple[str, ...]:
    """Return the columns that a label's text may mean: without the file, `a:1` is a column or one that is cut."""
    if problem is None:
        return text or "", _without_edges(text or "")
    return (parse_label(text, list(problem.columns)).column if text else problem.labels[0].column.name,)


def _name_split(config: ConfigJson) -> str:
    """Return a name that two runs share only if they divided the rows alike.

    A split that is drawn depends on the seed, on the label that it may be stratified by and on the rows that lack a
    value. Which training rows are left out to reach a group ratio depends on the ratio as well, under the published
    split too; and so does everything on how many rows are used.
    """
    data = config["data"]
    parts: list[Any] = [config["split"], data["dataset"] or config.get("file_id")]
    if find_seed(config) is not None:
        parts += [config["seed"], data["label"], data["positive"], data["sensitive"]]
    later = (data.get(name) for name in ("group_ratio", "rows"))  # told apart: at most 1, and 2 or more
    droppers = ([name, data[name]] for name in ("person", "schema") if data.get(name) is not None)  # they drop rows too
    return json.dumps([*parts, *(number for number in later if number is not None), *droppers])


def _call(column: str, problem: Problem | None) -> str:
    """Return what the ledger calls a column: of columns that say the same thing the first.

    In a person's own file names that differ by case alone are one, since either may be what was typed.
    """
    if problem is None:
        return column.casefold()
    return next((same[0] for same in problem.same if column in same), column)


def _without_edges(text: str) -> str:
    name, colon, edges = text.rpartition(":")
    try:
        [float(edge) for edge in edges.split(",")]
    except ValueError:
        return text
    return name.strip() if colon else text
