"""What one person who signed in, or who tries it, may have in a store: runs that have not ended, bytes of uploads.

Whoever sits at this machine has no quota.
"""

from __future__ import annotations

import os

from sqlalchemy import Connection, func, select

from fairpriv_core.errors import BadInput
from fairpriv_core.store.mode import is_trial
from fairpriv_core.store.tables import run, upload

LOCAL_OWNER = "local"
#: where an operator sets them, and what holds where nothing is set
RUNS, MEGABYTES = ("FAIRPRIV_MOST_RUNS", 1_000), ("FAIRPRIV_MOST_MEGABYTES", 1_000)
_ON_TRIAL = {"FAIRPRIV_MOST_RUNS": 3, "FAIRPRIV_MOST_MEGABYTES": 0}
#: of all visitors together, who can be as many as they like: runs that have not ended, and runs in the store
_ALL_WAITING, _ALL_STORED = 40, 5_000
_UNDER_WAY = ("queued", "running", "paused")
_MEGABYTE = 10**6


def check_runs(connection: Connection, owner: str, more: int) -> None:
    """Raise BadInput where `more` runs would be too many of `owner`'s that wait, train or are paused."""
    if owner == LOCAL_OWNER or not more:
        return
    most = _read(*RUNS)
    query = select(func.count()).select_from(run).where(run.c.owner == owner, run.c.status.in_(_UNDER_WAY))
    under_way = connection.scalar(query) or 0
    if under_way + more > most:
        raise BadInput(
            f"{under_way:,} of your runs have not ended, and {more:,} more would pass the {most:,} that one person may "
            "have here; wait for some, or stop them.",
            field="runs",
        )
    if is_trial():
        _check_all(connection, more)


def _check_all(connection: Connection, more: int) -> None:
    """Raise BadInput where `more` runs would be too many of all visitors together."""
    count = select(func.count()).select_from(run)
    waiting = connection.scalar(count.where(run.c.status.in_(_UNDER_WAY))) or 0
    if waiting + more > _ALL_WAITING:
        raise BadInput(f"{waiting} runs of visitors have not ended; launch again in a minute.", field="runs")
    if (connection.scalar(count) or 0) + more > _ALL_STORED:
        raise BadInput(f"this demonstration has its {_ALL_STORED:,} runs; install fairpriv for more.", field="runs")


def check_bytes(connection: Connection, owner: str, more: int) -> None:
    """Raise BadInput where an upload of `more` bytes would be too much beside what `owner` has stored."""
    if owner == LOCAL_OWNER:
        return
    most = _read(*MEGABYTES)
    n_bytes = connection.scalar(select(func.sum(upload.c.bytes)).where(upload.c.owner == owner)) or 0
    if n_bytes + more > most * _MEGABYTE:
        raise BadInput(
            f"your uploads take {n_bytes / _MEGABYTE:,.1f} MB, and {more / _MEGABYTE:,.1f} MB more would pass the "
            f"{most:,} MB that one person may store here; delete some.",
            field="file",
        )


def _read(name: str, default: int) -> int:
    """Return a quota of the environment; BadInput where it is no whole number."""
    value = os.environ.get(name, "").strip()
    if not value:
        return _ON_TRIAL[name] if is_trial() else default
    if not value.isdecimal() or len(value) > len(str(2**63)):
        raise BadInput(f"{name} must be a whole number, got '{value}'.", field=name)
    return int(value)
