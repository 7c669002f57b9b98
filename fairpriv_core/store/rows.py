"""A run's row as pages and the command line see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import Connection, String, Table, cast, select

from fairpriv_core.records.config import name_config
from fairpriv_core.records.ledger_entry import Posting, name_question, record_posting
from fairpriv_core.records.record import RunRecord
from fairpriv_core.records.shown import read_shown
from fairpriv_core.records.source import ConfigJson
from fairpriv_core.store.checksum import build_damaged, open_document, seal_document
from fairpriv_core.store.claim import is_dead
from fairpriv_core.store.dialects import now
from fairpriv_core.store.tables import run
from fairpriv_core.text import drop_folders

STATUSES = ("queued", "running", "stopping", "paused", "finished", "failed", "cancelled", "lost")
ENDED = ("finished", "failed", "cancelled")
#: documents as text, which is the quicker way to read thousands of them (`open_document`)
BRIEF, RECORD, POSTING = (cast(run.c[name], String).label(name) for name in ("brief", "record", "posting"))
_NUMBERS = ("repeat", "step", "epoch", "seconds", "attempt", "crashes", "host_deaths", "resumed_from_step", "created")


@dataclass(frozen=True)
class RunRow:
    """One row of the run table; times are seconds since 1970.

    Attributes:
        key: names the run in its store; `config_key` its config, `repeat` which of the config's runs it is (from 1).
        status: one of STATUSES. "stopping": told to stop, still running. "lost": its process is gone, `resume` helps.
        request: "pause" or "stop" where a running run was told so and has not reached it.
        step, steps, epoch: made; `steps` is None until training starts or where it is not known.
        epsilon: spent so far (proved); None where there is none to state.
        attempt: how often a process took the run up; `crashes`: how often one died since it last got further;
            `host_deaths`: how often the machine, or the process that trains, went down with it.
        error, error_kind: why it failed, every path by its last name: "bad_input", "failed" or "crashed".
        chunk: what runs have in common that train together; None for a run on its own.
    """

    key: str
    config_key: str
    repeat: int
    status: str
    request: str | None
    owner: str
    config: ConfigJson
    step: int
    steps: int | None
    epoch: int
    epsilon: float | None
    seconds: float
    attempt: int
    crashes: int
    host_deaths: int
    resumed_from_step: int
    worker: str | None
    created: float
    started: float | None
    finished: float | None
    heartbeat: float | None
    error: str | None
    error_kind: str | None
    chunk: str | None

    @property
    def ended(self) -> bool:
        """Whether the run will not go on by itself or by `resume`."""
        return self.status in ENDED

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form, without the process that holds the run."""
        return {name: value for name, value in asdict(self).items() if name != "worker"}


def read_row(row: Mapping[Any, Any]) -> RunRow:
    """Return the row with its status as of now: a running row whose process or lease is gone is lost.

    Damaged where its settings are not those that it is named after, or its numbers are none.
    """
    check_config(row)
    if not all(isinstance(row[name], int | float) for name in _NUMBERS):
        raise build_damaged(f"run {row['key']}")
    values = {name: row[name] for name in RunRow.__dataclass_fields__} | {"status": read_status(row)}
    if row["error"]:
        values["error"] = drop_folders(row["error"], row["config"]["data"].get("file"))
    return RunRow(**values)


def read_status(row: Mapping[Any, Any]) -> str:
    """Return the status as of now; Damaged where it is none."""
    status = str(row["status"])
    if status not in STATUSES:
        raise build_damaged(f"run {row['key']}")
    if status != "running":
        return status
    return "lost" if is_lost(row) else "stopping" if row["request"] == "stop" else "running"


def check_config(row: Mapping[Any, Any]) -> None:
    """Raise Damaged where a run's settings are not those that it is named after."""
    try:
        matches = name_config(row["config"]) == row["config_key"]
    except (AttributeError, KeyError, TypeError, ValueError):
        matches = False
    if not matches:
        raise build_damaged(f"run {row['key']}")


def read_brief(row: Mapping[Any, Any]) -> dict[str, object]:
    """Return a row's record in brief; {} where it has none, Damaged where it is not what was written."""
    if row["brief"] is None:
        return {}
    what = f"the brief of run {row['key']}"
    brief = open_document(row["brief"], what)
    if brief.get("key") != row["key"]:
        raise build_damaged(what)
    return brief


def read_record(row: Mapping[Any, Any]) -> RunRecord | None:
    """Return a row's record; None where it has none, Damaged where it is not what was written."""
    if row["record"] is None:
        return None
    return RunRecord.from_json(open_document(row["record"], f"the record of run {row['key']}"))


def write_record(record: RunRecord, error_kind: str | None = None) -> dict[str, object]:
    """Return the columns that hold a record: whole, in brief, as the ledger needs it. `error_kind`: its row's.

    A brief has its run's key and config under the same checksum, so that it is verified by one.
    """
    brief = record.to_brief()
    sealed = None if brief is None else seal_document({**brief, "key": record.key, "config": record.config})
    question, numbers = name_question(record), read_shown(record) if brief is not None else None
    return {
        "record": seal_document(record.to_json()),
        "brief": sealed,
        "posting": seal_document(record_posting(record).to_json()) if has_cost(record, error_kind) else None,
        "question": None if question is None else "/".join(question),
        "raw": int(numbers is None or numbers.raw),
    }


def has_cost(record: RunRecord, error_kind: str | None) -> bool:
    """Return whether a run that has begun may have let anything out: not where it was refused before training."""
    return error_kind != "bad_input" or bool(record.released)


def read_posting(row: Mapping[Any, Any]) -> Posting | None:
    """Return a row's line in the ledger; None where it has none, Damaged where it is not what was written."""
    if row["posting"] is None:
        return None
    what = f"what the ledger keeps of run {row['key']}"
    try:
        posting = Posting.from_json(open_document(row["posting"], what))
    except (AttributeError, KeyError, TypeError, ValueError) as error:
        raise build_damaged(what) from error
    if posting.entry.key != row["key"]:
        raise build_damaged(what)
    return posting


def lease_over(table: Table) -> Any:
    """Return the column that says whether a row's lease is over; a query asks for it whose rows `is_lost` reads."""
    return (table.c.lease_expires < now()).label("lease_over")


#: the columns that `read_row` reads, which are all but a row's documents
SHORT = (*(column for column in run.c if column.name not in ("brief", "record", "posting")), lease_over(run))


def find_lost(connection: Connection, table: Table) -> list[str]:
    """Return the keys of the rows that say running and on which nobody works."""
    query = select(table.c.key, table.c.status, table.c.worker, lease_over(table)).where(table.c.status == "running")
    return [row["key"] for row in connection.execute(query).mappings() if is_lost(row)]


def is_lost(row: Mapping[Any, Any]) -> bool:
    """Return whether nobody works on a row that says running: its process is gone.

    Where that cannot be known, its lease tells. A process of this host that is alive keeps its run, whatever its lease:
    a suspended machine writes no heartbeat.
    """
    if row["status"] != "running":
        return False
    dead = is_dead(row["worker"])
    return bool(row["lease_over"]) if dead is None else dead
