"""Previews in the run store: asked for by a page, made by a worker, kept by what was asked."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from sqlalchemy import func, select, update

from fairpriv_core.store.claim import hold
from fairpriv_core.store.database import Database, upsert
from fairpriv_core.store.rows import find_lost
from fairpriv_core.store.tables import preview

LEASE_SECONDS = 60.0
_MOST_ATTEMPTS = 2
_MOST_AT_ONCE = 2  # of one person's: curves need not wait for an audit, nor one person for another
_UNDER_WAY = ("queued", "running")


@dataclass(frozen=True)
class Preview:
    """A preview: queued, running, finished, failed or cancelled, "" where nobody asked for it; its result or error."""

    status: str = ""
    result: Mapping[str, Any] | None = None
    error: str | None = None

    @property
    def waits(self) -> bool:
        """Whether it waits or is being made."""
        return self.status in _UNDER_WAY


def name_request(request: Mapping[str, object]) -> str:
    """Return the key of the preview that `request` (JSON) describes."""
    text = json.dumps(request, sort_keys=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class PreviewStore:
    """The verbs of the preview table; each is one transaction. `owner` is who asks here, and who may cancel."""

    def __init__(self, database: Database, owner: str | None = None) -> None:
        self._database, self._owner = database, owner

    def ask(self, request: Mapping[str, object], *, again: bool = False) -> str:
        """Queue the preview that `request` (JSON) describes unless it is there; return its key.

        One that failed or was cancelled is made anew, with `again` also one that is there; one that is being made is
        left alone.
        """
        key = name_request(request)
        old = self.look(key)
        if old.status in ("", "failed", "cancelled") or (again and old.status == "finished"):
            self._put(request, status="queued", result=None)
        return key

    def note(self, request: Mapping[str, object], result: Mapping[str, object]) -> None:
        """Store the `result` of what `request` (JSON) describes, which was made elsewhere."""
        self._put(request, status="finished", result=dict(result))

    def _put(self, request: Mapping[str, object], **columns: Any) -> None:
        row = {"key": name_request(request), "owner": self._owner, "request": dict(request), "error": None}
        with self._database.write(durable=True) as connection:
            upsert(connection, preview, [{**row, "created": time.time(), "attempt": 0, **columns}])

    def cancel(self, key: str) -> None:
        """Drop a preview that the owner asked for and that waits or is being made; any other is left alone."""
        mine = (preview.c.key == key) & (preview.c.owner == self._owner) & preview.c.status.in_(_UNDER_WAY)
        with self._database.write() as connection:
            connection.execute(update(preview).where(mine).values(status="cancelled", worker=None))

    def is_own(self, key: str) -> bool:
        """Return whether the owner asked for a preview, and may cancel it."""
        with self._database.read() as connection:
            return connection.scalar(select(preview.c.owner).where(preview.c.key == key)) == self._owner

    def look(self, key: str) -> Preview:
        """Return how far a preview is."""
        query = select(preview.c.status, preview.c.result, preview.c.error).where(preview.c.key == key)
        with self._database.read() as connection:
            row = connection.execute(query).first()
        return Preview() if row is None else Preview(*row)

    def request(self, key: str) -> dict[str, object]:
        """Return what was asked for."""
        with self._database.read() as connection:
            return dict(connection.scalar(select(preview.c.request).where(preview.c.key == key)) or {})

    def claim(self) -> str | None:
        """Claim the newest queued preview (a slider's last position) and return its key; a few of each person's."""
        sibling = preview.alias()
        at_work = select(func.count()).where(sibling.c.status == "running", sibling.c.owner == preview.c.owner)
        free = at_work.correlate(preview).scalar_subquery() < _MOST_AT_ONCE
        waiting = select(preview.c.key).where(preview.c.status == "queued", free)
        waiting = waiting.order_by(preview.c.created.desc()).limit(1)
        with self._database.read() as connection:
            if connection.scalar(waiting) is None:
                return None
        with self._database.write() as connection:
            key = connection.scalar(waiting.with_for_update(skip_locked=True))
            if key is not None:
                row = update(preview).where(preview.c.key == key)
                connection.execute(row.values(status="running", attempt=preview.c.attempt + 1, **hold(LEASE_SECONDS)))
            return key

    def extend(self, key: str) -> None:
        """Hold a preview that is being made in the name of this process."""
        with self._database.write() as connection:
            mine = (preview.c.key == key) & (preview.c.status == "running")
            connection.execute(update(preview).where(mine).values(**hold(LEASE_SECONDS)))

    def finish(self, key: str, *, result: Mapping[str, object] | None = None, error: str | None = None) -> None:
        """Store a result, or why there is none; of one that was cancelled neither."""
        values = {"status": "failed" if error else "finished", "result": result, "error": error, "worker": None}
        with self._database.write() as connection:
            going_on = (preview.c.key == key) & (preview.c.status == "running")
            connection.execute(update(preview).where(going_on).values(**values))

    def uncancelled(self, keys: Iterable[str]) -> set[str]:
        """Return those of `keys` whose previews are not cancelled: they are being made, or were a moment ago."""
        is_wanted = preview.c.status.in_(("running", "finished", "failed"))
        query = select(preview.c.key).where(preview.c.key.in_(list(keys)), is_wanted)
        with self._database.read() as connection:
            return set(connection.scalars(query))

    def abandon(self, key: str) -> None:
        """Queue a preview again whose process died; after _MOST_ATTEMPTS it has failed."""
        with self._database.write() as connection:
            query = select(preview).where(preview.c.key == key).with_for_update()
            row = connection.execute(query).mappings().first()
            if row is None or row["status"] != "running":
                return
            change = {"status": "queued", "worker": None, "error": None}
            if row["attempt"] >= _MOST_ATTEMPTS:
                change |= {"status": "failed", "error": "the process that made the preview died."}
            connection.execute(update(preview).where(preview.c.key == key).values(**change))

    def recover(self) -> None:
        """Queue previews again whose process or lease is gone."""
        with self._database.read() as connection:
            keys = find_lost(connection, preview)
        for key in keys:
            self.abandon(key)
