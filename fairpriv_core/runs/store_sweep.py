"""The run table as a sweep uses it: its runs are queued, resumed, paused and looked at together."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, RowMapping, case, func, insert, select, update

from fairpriv_core.runs.config import RunConfig
from fairpriv_core.runs.ledger_entry import Post
from fairpriv_core.runs.rows import ENDED, RunRow, is_lost, read_row
from fairpriv_core.runs.shelf import Shelf
from fairpriv_core.runs.store import LOCAL_OWNER, RunStore, name_next
from fairpriv_core.runs.store_ledger import admit
from fairpriv_core.runs.store_tables import run, whole_chunk

_SHORT = [column for column in run.c if column.name != "record"]
_IDLE = {"request": None, "worker": None, "lease_expires": None}


class SweepStore:
    """The verbs of sweeps; each is one transaction. `keys` are those of configs, and mean a config's newest run."""

    def __init__(self, store: RunStore) -> None:
        self._store, self._database = store, store.database

    def find(self, keys: Sequence[str]) -> dict[str, RunRow]:
        """Return the runs of configs, by `RunConfig.key`; of those that have none nothing."""
        with self._database.read() as connection:
            return {key: read_row(stored) for key, stored in _find(connection, keys).items()}

    def submit(self, runs: Sequence[tuple[RunConfig, str]], owner: str = LOCAL_OWNER) -> None:
        """Queue runs, (config, chunk) each, all or none; those of one chunk train together.

        A config that has a run keeps it, however it ended; one that waits or runs and is in no chunk joins this one.

        Raises:
            BadInput: together the new ones would bring their data set beyond a cap; nothing is stored then.
        """
        keys = [config.key for config, _ in runs]
        known, shelf = self.find(keys), Shelf(splits=1)
        sources = {"find_record": self._store.source, "shelf": shelf}
        posts = {c.key: self._store.ledger.plan(c, **sources) for c, _ in runs if c.key not in known}
        now, capped = time.time(), any(posts.values())
        with self._database.ledger() if capped else self._database.write() as connection:
            found = _find(connection, keys)
            rows = [
                _describe(connection, config, posts.get(config.key)) | {"owner": owner, "chunk": chunk}
                for config, chunk in runs
                if config.key not in found
            ]
            admit(connection, *[Post.from_json(row["reserved"]) for row in rows if row["reserved"]])
            if rows:
                connection.execute(insert(run), [{**row, "created": now + at / 1e6} for at, row in enumerate(rows)])
            _join(connection, runs, found)

    def go_on(self, keys: Sequence[str]) -> None:
        """Queue those runs again that are paused, or whose process is gone; they go on from their checkpoints."""
        with self._database.write() as connection:
            idle = [
                stored["key"]
                for stored in _find(connection, keys).values()
                if stored["status"] == "paused" or (is_lost(stored) and stored["request"] != "stop")
            ]
            connection.execute(update(run).where(run.c.key.in_(idle)).values(status="queued", **_IDLE))

    def pause(self, keys: Sequence[str]) -> None:
        """Pause those runs that nobody works on."""
        with self._database.write() as connection:
            idle = [
                stored["key"]
                for stored in _find(connection, keys).values()
                if stored["status"] == "queued" or is_lost(stored)
            ]
            connection.execute(update(run).where(run.c.key.in_(idle)).values(status="paused", **_IDLE))

    def progress(self, keys: Sequence[str]) -> tuple[dict[str, int], float]:
        """Return how many of the runs have each status, and how many runs' worth of steps are made."""
        ended = run.c.status.in_(ENDED)
        share = case((ended, 1.0), (run.c.steps > 0, run.c.step * 1.0 / run.c.steps), else_=0.0)
        query = select(run.c.status, func.count(), func.sum(share)).where(run.c.config_key.in_(keys), _newest())
        with self._database.read() as connection:
            found = connection.execute(query.group_by(run.c.status)).all()
        return {status: count for status, count, _ in found}, sum(float(made) for _, _, made in found)

    def waiting(self, chunks: Sequence[str]) -> int:
        """Return how many runs of chunks, or of what became of them, wait or are at work."""
        query = select(func.count()).where(run.c.status.in_(("queued", "running")), whole_chunk().in_(chunks))
        with self._database.read() as connection:
            return int(connection.scalar(query) or 0)

    def configs(self, chunks: Sequence[str]) -> list[Mapping[str, Any]]:
        """Return the JSON of the configs of the runs of chunks, or of what became of them."""
        with self._database.read() as connection:
            return list(connection.scalars(select(run.c.config).where(whole_chunk().in_(chunks))))

    def at_work(self, chunks: Sequence[str]) -> int:
        """Return how many runs of chunks, or of what became of them, are at work."""
        query = select(func.count()).where(run.c.status == "running", whole_chunk().in_(chunks))
        with self._database.read() as connection:
            return int(connection.scalar(query) or 0)

    def queued(self, chunks: Sequence[str]) -> list[str]:
        """Return the names of chunks, or of the parts that they became, of which a run waits; the oldest first."""
        query = select(run.c.chunk).where(run.c.status == "queued", whole_chunk().in_(chunks)).group_by(run.c.chunk)
        with self._database.read() as connection:
            return [str(name) for name in connection.scalars(query.order_by(func.min(run.c.created)))]


def _find(connection: Connection, keys: Sequence[str]) -> dict[str, RowMapping]:
    query = select(*_SHORT).where(run.c.config_key.in_(keys)).order_by(run.c.repeat)
    return {stored["config_key"]: stored for stored in connection.execute(query).mappings()}


def _newest() -> Any:
    """Return the condition that no other run of the same config is newer."""
    other = run.alias()
    newer = (other.c.config_key == run.c.config_key) & (other.c.repeat > run.c.repeat)
    return ~select(other.c.key).where(newer).correlate(run).exists()


def _describe(connection: Connection, config: RunConfig, post: Post | None) -> dict[str, Any]:
    named = name_next(connection, config.key)
    reserved = None if post is None else post.named(named["key"]).to_json()
    return {**named, "status": "queued", "config": config.to_json(), "reserved": reserved}


def _join(connection: Connection, runs: Sequence[tuple[RunConfig, str]], found: Mapping[str, RowMapping]) -> None:
    """Put into its chunk each run that was there before, has not ended and is in none."""
    for config, chunk in runs:
        stored = found.get(config.key)
        if stored is not None and stored["chunk"] is None and stored["status"] not in ENDED:
            connection.execute(update(run).where(run.c.key == stored["key"]).values(chunk=chunk))
