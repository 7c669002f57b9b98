"""A run's row as pages and the command line see it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from sqlalchemy import String, Table, cast

from fairpriv_core.records.config import name_config
from fairpriv_core.records.record import RunRecord
from fairpriv_core.store.checksum import open_document, say_damaged
from fairpriv_core.store.claim import is_dead
from fairpriv_core.store.dialects import now
from fairpriv_core.store.tables import run
from fairpriv_core.text import drop_folders

STATUSES = ("queued", "running", "stopping", "paused", "finished", "failed", "cancelled", "lost")
ENDED = ("finished", "failed", "cancelled")
#: documents as text, which is the quicker way to read thousands of them (`open_document`)
BRIEF, RECORD = (cast(column, String).label(column.name) for column in (run.c.brief, run.c.record))
_NUMBERS = ("repeat", "step", "epoch", "seconds", "attempt", "crashes", "resumed_from_step", "created")


@dataclass(frozen=True)
class RunRow:
    """One row of the run table; times are seconds since 1970.

    Attributes:
        key: names the run in its store; `config_key` its config, `repeat` which of the config's runs it is (from 1).
        status: one of STATUSES. "stopping": told to stop, still running. "lost": its process is gone, `resume` helps.
        request: "pause" or "stop" where a running run was told so and has not reached it.
        step, steps, epoch: made; `steps` is None until training starts or where it is not known.
        epsilon: spent so far (proved); None where there is none to state.
        attempt: how often a process took the run up; `crashes`: how often one died since it last got further.
        error, error_kind: why it failed, every path by its last name: "bad_input", "failed" or "crashed".
        chunk: what runs have in common that train together; None for a run on its own.
    """

    key: str
    config_key: str
    repeat: int
    status: str
    request: str | None
    owner: str
    config: Mapping[str, Any]
    step: int
    steps: int | None
    epoch: int
    epsilon: float | None
    seconds: float
    attempt: int
    crashes: int
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


def read_row(stored: Mapping[Any, Any]) -> RunRow:
    """Return the row with its status as of now: a running row whose process or lease is gone is lost.

    Damaged where its settings are not those that it is named after, or its numbers are none.
    """
    check_config(stored)
    if stored["status"] not in STATUSES or not all(isinstance(stored[name], int | float) for name in _NUMBERS):
        raise say_damaged(f"run {stored['key']}")
    values = {name: stored[name] for name in RunRow.__dataclass_fields__}
    if stored["status"] == "running":
        values["status"] = "stopping" if stored["request"] == "stop" else "running"
        if is_lost(stored):
            values["status"] = "lost"
    if stored["error"]:
        values["error"] = drop_folders(stored["error"], stored["config"]["data"].get("file"))
    return RunRow(**values)


def check_config(stored: Mapping[Any, Any]) -> None:
    """Raise Damaged where a run's settings are not those that it is named after."""
    try:
        asked = {"file_id": None, **stored["config"]}  # of a benchmark's run an earlier version stored none
        whole = name_config(asked) == stored["config_key"]
    except (AttributeError, KeyError, TypeError, ValueError):
        whole = False
    if not whole:
        raise say_damaged(f"run {stored['key']}")


def read_document(stored: Mapping[Any, Any]) -> dict[str, Any] | None:
    """Return the JSON of a row's record; None where it has none, Damaged where it is not what was written."""
    return None if stored["record"] is None else open_document(stored["record"], f"the record of run {stored['key']}")


def read_brief(stored: Mapping[Any, Any]) -> dict[str, Any]:
    """Return a row's record in brief; {} where it has none, Damaged where it is not what was written."""
    return {} if stored["brief"] is None else open_document(stored["brief"], f"the brief of run {stored['key']}")


def read_record(stored: Mapping[Any, Any]) -> RunRecord | None:
    """Return a row's record; None where it has none, Damaged where it is not what was written."""
    document = read_document(stored)
    try:
        return None if document is None else RunRecord.from_json(document)
    except (AttributeError, KeyError, TypeError) as error:  # of an earlier version, which wrote no checksum
        raise say_damaged(f"the record of run {stored['key']}") from error


def lease_over(table: Table) -> Any:
    """Return the column that says whether a row's lease is over; a query asks for it whose rows `is_lost` reads."""
    return (table.c.lease_expires < now()).label("lease_over")


def is_lost(stored: Mapping[Any, Any]) -> bool:
    """Return whether nobody works on a row that says running: its process is gone.

    Where that cannot be known, its lease tells. A process of this host that is alive keeps its run, whatever its lease:
    a suspended machine writes no heartbeat.
    """
    if stored["status"] != "running":
        return False
    dead = is_dead(stored["worker"])
    return bool(stored["lease_over"]) if dead is None else dead
