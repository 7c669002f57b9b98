"""The run store as those who work on runs use it: claim, commit, finish, hand back.

A claim raises the row's attempt, and every later write names that attempt: whoever was overtaken can write nothing.
Metrics, checkpoint, heartbeat and the count of releases are one transaction. Runs of one chunk train together, so
that each verb is one transaction for all of them. A run whose process died is queued again, split from its chunk where
they cannot train together, or failed; where nobody was there to see it die, its host went down, and it is never failed
for that. A commit that is further than ever forgets both.
"""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict
from typing import Any

from sqlalchemy import (
    ColumnElement,
    Connection,
    RowMapping,
    bindparam,
    case,
    delete,
    exists,
    false,
    func,
    insert,
    or_,
    select,
    update,
)

from fairpriv_core.errors import Damaged
from fairpriv_core.privacy.event import from_json, to_json
from fairpriv_core.records.ledger_entry import record_posting
from fairpriv_core.records.record import RunRecord, failed_record
from fairpriv_core.store.checkpoint import Checkpoint
from fairpriv_core.store.checksum import open_document, seal_document
from fairpriv_core.store.claim import FREE, Beginning, Claim, Ending, LeaseLost, Progress, hold
from fairpriv_core.store.database import Database, upsert
from fairpriv_core.store.dialects import is_json, now
from fairpriv_core.store.ledger import admit
from fairpriv_core.store.previews import PreviewStore
from fairpriv_core.store.rows import ENDED, check_config, find_lost, is_lost, lease_over, read_record, write_record
from fairpriv_core.store.runs import RunStore, end_cancelled
from fairpriv_core.store.tables import artifact, checkpoint, metric, run, snapshot, whole_chunk
from fairpriv_core.store.uploads import FileStore

Claims = Sequence[Claim]
MOST_CRASHES = 3
MOST_HOST_DEATHS = 10
_WENT_DOWN = (
    "the machine or the process that trains went down {} times while the run was at step {:,}; look for the reason, "
    "such as too little memory, then resume the run."
)
_EXPLORED = run.c.exploring.is_not(None)
_CLAIMED = ("key", "config", "seconds", "step", "epoch", "created", "owner")


class WorkStore:
    """The verbs of workers; each is one transaction. LeaseLost where one of the claims is no longer valid."""

    def __init__(self, database: Database) -> None:
        self.previews = PreviewStore(database)
        self.files = FileStore(database)
        self._database = database

    def claim(
        self, key: str | None = None, chunk: str | Sequence[str] | None = None, *, exploring: bool = False
    ) -> tuple[Claim, ...]:
        """Claim the run `key` alone, or the oldest queued one with all that it trains with; () if there is none.

        Those are the queued runs of its chunk at the same step. A chunk waits while another run has still to make a
        release that it uses. `chunk` names one chunk, or several, to take it from; what a chunk was split into belongs
        to it. Runs that are explored are left to who asks for them: by key, or for `exploring` alone.
        """
        waiting = run.c.status == "queued"
        if key is None:
            waiting &= _EXPLORED if exploring else ~_EXPLORED
        if chunk is not None:
            waiting &= whole_chunk().in_([chunk] if isinstance(chunk, str) else chunk)
        waiting &= _is_ready() & _is_first() if key is None else run.c.key == key
        with self._database.read() as connection:
            if not connection.scalar(select(exists().where(waiting))):
                return ()
        query = select(run.c.key, run.c.chunk, run.c.step).where(waiting).order_by(run.c.created, run.c.key).limit(1)
        with self._database.write() as connection:
            first = connection.execute(query.with_for_update(skip_locked=True)).first()
            if first is None:
                return ()
            together = run.c.key == first.key
            if key is None and first.chunk is not None:
                together = (run.c.status == "queued") & (run.c.chunk == first.chunk) & (run.c.step == first.step)
            return _take(connection, together)

    def claimable(self, chunks: Sequence[str] | None = None) -> dict[str, dict[str, str]]:
        """Return what could be claimed just now, of `chunks` or of all, oldest first: by name, what `claim` takes.

        A name is that of a chunk, of a part that it was split into, or the key of a run that trains alone.
        """
        waiting = (run.c.status == "queued") & ~_EXPLORED & _is_ready() & _is_first()
        if chunks is not None:
            waiting &= whole_chunk().in_(chunks)
        query = select(run.c.key, run.c.chunk).where(waiting).order_by(run.c.created, run.c.key)
        with self._database.read() as connection:
            rows = connection.execute(query).all()
        return {
            row.chunk or row.key: {"chunk": row.chunk.partition(".")[0]} if row.chunk else {"key": row.key}
            for row in rows
        }

    def explores(self) -> bool:
        """Return whether a run that is explored waits."""
        with self._database.read() as connection:
            return bool(connection.scalar(select(exists().where(_EXPLORED, run.c.status == "queued"))))

    def is_superseded(self) -> bool:
        """Return whether a run that is explored is at work although it was told to stop."""
        is_stopped = _EXPLORED & (run.c.status == "running") & (run.c.request == "stop")
        with self._database.read() as connection:
            return bool(connection.scalar(select(exists().where(is_stopped))))

    def recover(self, reason: str | None = None) -> int:
        """Hand back runs whose process or lease is gone; return how many there were.

        Their hosts went down, or what started them, unless the caller saw their process die, for this `reason`.
        """
        with self._database.read() as connection:
            keys = find_lost(connection, run)
        if keys:
            query = select(run, lease_over(run)).where(run.c.key.in_(keys)).order_by(run.c.key)
            with self._database.write(scrub=True) as connection:
                rows = connection.execute(query.with_for_update(skip_locked=True)).mappings().all()
                _settle_deaths(connection, [row for row in rows if is_lost(row)], reason)
        return len(keys)

    def adopt(self, claims: Claims) -> dict[str, str]:
        """Extend the leases in the name of this process; return what a person asked for ("pause", "stop") by key."""
        with self._database.write() as connection:
            return _extend(connection, claims)

    def begin(self, claims: Claims, beginnings: Sequence[Beginning]) -> None:
        """Store what is known before training; BadInput, and nothing stored, where that is beyond a cap."""
        with self._database.ledger() as connection:
            _extend(connection, claims)
            columns = [{**write_record(beginning.draft), "steps": beginning.steps} for beginning in beginnings]
            _set_each(connection, claims, columns)
            admit(connection, *[record_posting(beginning.draft) for beginning in beginnings])

    def find_record(self, key: str) -> RunRecord:
        """Return the record of another run; BadInput where there is none."""
        return RunStore(self._database).source(key)

    def checkpoint(self, claim: Claim) -> Checkpoint | None:
        """Return the run's last checkpoint; Damaged where it is not what was committed."""
        with self._database.read() as connection:
            return read_checkpoint(connection, claim.key)

    def commit(self, claims: Claims, progress: Sequence[Progress], saved: Sequence[Checkpoint]) -> dict[str, str]:
        """Store metrics, checkpoints, heartbeat and what was released; return what a person asked for, by key."""
        with self._database.write(durable=True) as connection:
            requests = _extend(connection, claims)
            _forget_crashes(connection, claims, progress)
            _store_progress(connection, claims, progress)
            _store_checkpoints(connection, claims, saved)
            return requests

    def finish(self, claims: Claims, endings: Sequence[Ending]) -> None:
        """Store records that have come to their end (finished or failed), and drop the checkpoints."""
        files = [(claim.key, item) for claim, end in zip(claims, endings, strict=True) for item in end.artifacts]
        with self._database.ledger(scrub=True) as connection:
            _extend(connection, claims, **FREE)
            _store_progress(connection, claims, [end.progress for end in endings])
            _set_each(connection, claims, [_write_ending(end) for end in endings])
            if files:
                values = [
                    {"key": key, "name": f.name, "content": f.content, "bytes": len(f.content), "sha256": f.sha256}
                    for key, f in files
                ]
                connection.execute(insert(artifact), values)
            connection.execute(delete(checkpoint).where(checkpoint.c.key.in_([claim.key for claim in claims])))

    def refuse(self, claim: Claim, error: str, kind: str) -> None:
        """End a run that could not begin, or not go on: it has paid for what it released before, and goes on no more.

        `kind` is "bad_input" or "failed".
        """
        own = run.c.key == claim.key
        with self._database.write(durable=True, scrub=True) as connection:
            _extend(connection, [claim], **FREE)
            row = connection.execute(select(run).where(own)).mappings().one()
            connection.execute(update(run).where(own).values(**_failed(connection, row, error, kind)))
            connection.execute(delete(checkpoint).where(checkpoint.c.key == claim.key))

    def hand_back(self, claims: Claims, status: str = "queued", error: str | None = None) -> None:
        """Leave runs `status` ("queued" or "paused"), or as a person asked of each: paused, or ended as cancelled.

        What is not ended goes on from its last checkpoint; `error` says what is in its way.
        """
        with self._database.write(scrub=True) as connection:
            _leave(connection, claims, _extend(connection, claims), status=status, error=error)

    def split(self, claims: Claims, starts: Sequence[Checkpoint | None]) -> None:
        """Queue the runs of a chunk as two halves, each a chunk of its own, since one of them cannot go on.

        Those that a person asked to pause or to stop do. `starts` are stored of those that have no checkpoint yet: what
        they have released is released once, with one noise.
        """
        with self._database.write(durable=True, scrub=True) as connection:
            requests = _extend(connection, claims)
            new = [(claim, saved) for claim, saved in zip(claims, starts, strict=True) if saved is not None]
            _store_checkpoints(connection, [claim for claim, _ in new], [saved for _, saved in new])
            _leave(connection, claims, requests, status="queued")
            halve(connection, [claim.key for claim in claims])

    def crash(self, claims: Claims, reason: str) -> None:
        """Queue runs again whose process died, as its supervisor saw; one that died too often has failed.

        Leaves those that were overtaken.
        """
        query = select(run).where(_is_held(claims)).order_by(run.c.key).with_for_update()
        with self._database.write(scrub=True) as connection:
            _settle_deaths(connection, connection.execute(query).mappings().all(), reason)

    def asked(self, claims: Claims) -> dict[str, str]:
        """Return the requests ("pause", "stop") that runs have not met yet, by key."""
        query = select(run.c.key, run.c.request).where(_is_held(claims), run.c.request.is_not(None))
        with self._database.read() as connection:
            return dict(connection.execute(query).all())


def _is_first() -> Any:
    """Return the condition that a run is the first of its chunk: whoever claims it claims the whole chunk.

    One query finds the first runs of all chunks; a query for each of thousands of runs takes seconds.
    """
    sibling = run.alias()
    queued = (sibling.c.status == "queued") & sibling.c.chunk.is_not(None)
    return run.c.chunk.is_(None) | run.c.key.in_(
        select(func.min(sibling.c.key)).where(queued).group_by(sibling.c.chunk, sibling.c.step)
    )


def _is_ready() -> Any:
    """Return the condition that a run, and all that train with it, need no release that another run has yet to make."""
    waits, maker = run.alias(), run.alias()
    reused = case((is_json(waits.c.config), waits.c.config["reuse"].as_string()))
    uses = (waits.c.status == "queued") & (maker.c.key == reused)
    unmade = [uses, maker.c.status.not_in(ENDED)]
    chunks = select(waits.c.chunk).where(*unmade, waits.c.chunk.is_not(None))
    alone = run.c.chunk.is_(None) & run.c.key.not_in(select(waits.c.key).where(*unmade, waits.c.chunk.is_(None)))
    return alone | run.c.chunk.not_in(chunks)


def _take(connection: Connection, together: Any) -> tuple[Claim, ...]:
    """Make the runs that `together` selects this process's own, and return the claims on them by key."""
    query = select(run).where(together).order_by(run.c.key).with_for_update()
    rows = connection.execute(query).mappings().all()
    values: dict[str, object] = {"status": "running", "attempt": run.c.attempt + 1, "resumed_from_step": run.c.step}
    values |= {"started": func.coalesce(run.c.started, now()), "heartbeat": now(), "error": None}
    intact = [row for row in rows if not _end_damaged(connection, row)]
    mine = run.c.key.in_([row["key"] for row in intact])
    connection.execute(update(run).where(mine).values(**values, **hold()))
    return tuple(Claim(attempt=row["attempt"] + 1, **{name: row[name] for name in _CLAIMED}) for row in intact)


def _end_damaged(connection: Connection, row: RowMapping) -> bool:
    """End a queued run as failed where its settings are damaged; return whether they are."""
    try:
        check_config(row)
    except Damaged as error:
        columns = {"status": "failed", "error": str(error), "error_kind": "failed", "finished": time.time()}
        connection.execute(update(run).where(run.c.key == row["key"]).values(**columns))
        return True
    return False


def _extend(connection: Connection, claims: Claims, **values: Any) -> dict[str, str]:
    """Extend the leases and set `values`; return what was asked, by key. LeaseLost where one run is held no more."""
    changed = update(run).where(_is_held(claims)).values(**{**hold(), "heartbeat": now(), **values})
    requests: dict[str, str | None] = dict(connection.execute(changed.returning(run.c.key, run.c.request)).all())
    gone = [claim.key for claim in claims if claim.key not in requests]
    if gone:
        raise LeaseLost(f"run {gone[0]} was taken over or ended by another process; this one stops.")
    return {key: what for key, what in requests.items() if what is not None}


def _is_held(claims: Claims) -> ColumnElement[bool]:
    """Return the condition that a run is still one of those that `claims` give the right to work on."""
    attempts = [
        run.c.key.in_([claim.key for claim in claims if claim.attempt == attempt]) & (run.c.attempt == attempt)
        for attempt in {claim.attempt for claim in claims}
    ]
    same = run.c.created.in_([claim.created for claim in claims])
    return or_(false(), *attempts) & same & (run.c.status == "running")


def _leave(connection: Connection, claims: Claims, requests: Mapping[str, str], **values: Any) -> None:
    """Leave runs with `values`, or as a person `requests` of them by key: paused, or ended as cancelled."""
    _extend(connection, claims, **FREE, **values)
    paused = [key for key, what in requests.items() if what == "pause"]
    connection.execute(update(run).where(run.c.key.in_(paused)).values(status="paused"))
    for key in [key for key, what in requests.items() if what == "stop"]:
        connection.execute(update(run).where(run.c.key == key).values(**end_cancelled(connection, key)))


def _set_each(connection: Connection, claims: Claims, values: Sequence[Mapping[str, object]]) -> None:
    """Set columns of each run, the same columns for all; the caller has extended the leases."""
    if claims:
        rows = [{"own": claim.key, **columns} for claim, columns in zip(claims, values, strict=True)]
        connection.execute(update(run).where(run.c.key == bindparam("own")), rows)


def _write_ending(end: Ending) -> dict[str, object]:
    record = end.record
    columns = {"status": record.status, "error": record.error, "error_kind": end.error_kind}
    return {**write_record(record, end.error_kind), **columns, "finished": time.time()}


def _store_progress(connection: Connection, claims: Claims, progress: Sequence[Progress]) -> None:
    latest = {claim.key: item for claim, item in zip(claims, progress, strict=True)}
    places = [{"step": item.step, "epoch": item.epoch, "seconds": item.seconds} for item in progress]
    _set_each(connection, claims, places)
    for key, item in latest.items():
        if item.epsilon is not None:
            connection.execute(update(run).where(run.c.key == key).values(epsilon=item.epsilon))
    points = [(key, *point) for key, item in latest.items() for point in item.values]
    upsert(connection, metric, [{"key": key, "step": at, "name": name, "value": x} for key, at, name, x in points])
    snapshots = [
        {"key": key, "step": item.step, "epoch": item.epoch, "histograms": asdict(item)["histograms"]}
        for key, item in latest.items()
        if item.histograms
    ]
    upsert(connection, snapshot, snapshots)


def _forget_crashes(connection: Connection, claims: Claims, progress: Sequence[Progress]) -> None:
    """Count the crashes anew of runs that are further than ever: one that dies at the same step for ever still ends."""
    for step in {reached.step for reached in progress}:
        keys = [claim.key for claim, reached in zip(claims, progress, strict=True) if reached.step == step]
        further = run.c.key.in_(keys) & (run.c.step < step) & (run.c.crashes + run.c.host_deaths > 0)
        connection.execute(update(run).where(further).values(crashes=0, host_deaths=0))


def _store_checkpoints(connection: Connection, claims: Claims, saved: Sequence[Checkpoint]) -> None:
    rows = []
    for claim, point in zip(claims, saved, strict=True):
        released = to_json(point.released)
        binding = seal_document(point.binding, *_list_beside(point.step, point.content, released))
        rows.append({"key": claim.key, "step": point.step, "content": point.content, "released": released})
        rows[-1]["binding"] = binding
    upsert(connection, checkpoint, rows)


def read_checkpoint(connection: Connection, key: str) -> Checkpoint | None:
    """Return a run's last checkpoint, None where it has none; Damaged where it is not what was committed."""
    row = connection.execute(select(checkpoint).where(checkpoint.c.key == key)).mappings().first()
    if row is None:
        return None
    content = bytes(row["content"])
    beside = _list_beside(row["step"], content, row["released"])
    binding = open_document(row["binding"], f"the checkpoint of run {key}", *beside)
    return Checkpoint(row["step"], content, from_json(row["released"]), binding)


def _list_beside(step: int, content: bytes, released: Any) -> tuple[bytes, ...]:
    """Return what the checksum of a checkpoint covers besides its binding."""
    return str(step).encode(), json.dumps(released).encode(), content


def _settle_deaths(connection: Connection, rows: Sequence[RowMapping], reason: str | None = None) -> None:
    """Queue runs again whose process died, or leave them as a person asked, unless that happens again and again.

    With the `reason` for which a living supervisor saw it die a run has then failed; where its host went down it is
    paused. Of a chunk it is not known which run it was, so that it is then split in halves, with one more attempt each.
    """
    for name in dict.fromkeys((item["chunk"], item["step"]) for item in rows if item["chunk"] is not None):
        chunk = [item for item in rows if (item["chunk"], item["step"]) == name]
        _settle_together(connection, chunk, reason)
    for item in rows:
        if item["chunk"] is None:
            _settle_together(connection, [item], reason)


def halve(connection: Connection, keys: Sequence[str]) -> None:
    """Make two chunks of the runs `keys` of one chunk; their names begin with its name."""
    middle = len(keys) // 2
    for place, part in enumerate((keys[:middle], keys[middle:])):
        connection.execute(update(run).where(run.c.key.in_(part)).values(chunk=run.c.chunk + f".{place}"))


def _settle_together(connection: Connection, rows: Sequence[RowMapping], reason: str | None) -> None:
    counter, limit = ("host_deaths", MOST_HOST_DEATHS) if reason is None else ("crashes", MOST_CRASHES)
    going_on = [row for row in rows if row["request"] is None]
    separate = len(going_on) > 1 and any(row[counter] + 1 >= limit for row in going_on)
    for row in rows:
        count = row[counter] + 1
        change: dict[str, object] = {counter: count, **FREE, "status": "queued"}
        if row["request"] == "stop":
            change = {counter: count, **end_cancelled(connection, row["key"])}
        elif row["request"] == "pause":
            change["status"] = "paused"
        elif separate:
            change[counter] = min(count, limit - 1)
        elif count >= limit and reason is None:
            change |= {"status": "paused", "error": _WENT_DOWN.format(count, row["step"])}
        elif count >= limit:
            error = f"the run's process died {count} times, the last time because {reason}."
            change |= _failed(connection, row, error, "crashed")
        connection.execute(update(run).where(run.c.key == row["key"]).values(**change))
    if separate:
        halve(connection, [row["key"] for row in going_on])


def _failed(connection: Connection, row: RowMapping, error: str, kind: str) -> dict[str, object]:
    """Return the columns of a run that failed without a word of its own; it has paid for what it released."""
    change = {"status": "failed", "error": error, "error_kind": kind, "finished": time.time()}
    draft = None
    with suppress(Damaged):  # such a record stays as it is
        draft = read_record(row)
    if draft is None:
        return change
    try:
        saved = read_checkpoint(connection, row["key"])
        released = () if saved is None else saved.released
    except Damaged:
        released = from_json(draft.event)
    work_done = {"steps": row["step"], "seconds": row["seconds"]}
    record = failed_record(draft, released=released, error=error, **work_done)
    return {**change, **write_record(record, kind)}
