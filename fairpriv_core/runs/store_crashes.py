"""What becomes of runs whose process died: queued again, split where they cannot train together, or failed."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from sqlalchemy import Connection, RowMapping, select, update

from fairpriv_core.privacy.event import from_json
from fairpriv_core.runs.record import RunRecord, failed_record
from fairpriv_core.runs.store import end_cancelled
from fairpriv_core.runs.store_tables import checkpoint, run

MOST_CRASHES = 3
FREE = {"worker": None, "lease_expires": None, "request": None}


def settle_crash(connection: Connection, lost: Sequence[RowMapping], reason: str) -> None:
    """Queue runs again whose process died, or leave them as a person asked; after MOST_CRASHES a run has failed.

    Of a chunk it is not known which run it was, so that it is then split in halves, with one more attempt each.
    """
    for name in dict.fromkeys((row["chunk"], row["step"]) for row in lost if row["chunk"] is not None):
        chunk = [row for row in lost if (row["chunk"], row["step"]) == name]
        _settle_together(connection, chunk, reason)
    for row in lost:
        if row["chunk"] is None:
            _settle_together(connection, [row], reason)


def halve(connection: Connection, keys: Sequence[str]) -> None:
    """Make two chunks of the runs `keys` of one chunk; their names begin with its name."""
    half = len(keys) // 2
    for place, part in enumerate((keys[:half], keys[half:])):
        connection.execute(update(run).where(run.c.key.in_(part)).values(chunk=run.c.chunk + f".{place}"))


def _settle_together(connection: Connection, rows: Sequence[RowMapping], reason: str) -> None:
    going_on = [row for row in rows if row["request"] is None]
    worn = [row for row in going_on if row["crashes"] + 1 >= MOST_CRASHES]
    apart = len(going_on) > 1 and worn
    for row in rows:
        crashes = row["crashes"] + 1
        change: dict[str, Any] = {"crashes": crashes, **FREE, "status": "queued"}
        if row["request"] == "stop":
            change = {"crashes": crashes, **end_cancelled(connection, row["key"])}
        elif row["request"] == "pause":
            change["status"] = "paused"
        elif apart:
            change["crashes"] = min(crashes, MOST_CRASHES - 1)
        elif crashes >= MOST_CRASHES:
            change |= _failed(
                connection, row, f"the run's process died {crashes} times, the last time because {reason}."
            )
        connection.execute(update(run).where(run.c.key == row["key"]).values(**change))
    if apart:
        halve(connection, [row["key"] for row in going_on])


def _failed(connection: Connection, stored: RowMapping, error: str) -> dict[str, Any]:
    """Return the columns of a run whose process died too often; it has paid for what it released."""
    change = {"status": "failed", "error": error, "error_kind": "crashed", "finished": time.time()}
    if stored["record"] is None:
        return change
    draft = RunRecord.from_json(stored["record"])
    query = select(checkpoint.c.released).where(checkpoint.c.key == stored["key"])
    released, spent = from_json(connection.scalar(query) or []), {"steps": stored["step"], "seconds": stored["seconds"]}
    record = failed_record(draft, released=released, error=error, **spent)
    return {**change, "record": record.to_json()}
