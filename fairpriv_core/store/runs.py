"""The run store as pages and the command line use it: submit, look, ask for a pause or a stop, delete.

The run table is the queue; what workers write is in `store_work.py`. A finished record never changes: what was paid for
or lost since stands among the ledger's charges, and is read with it. Deleting a run leaves a tombstone with what it
released.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Self, TypeVar

from sqlalchemy import Connection, RowMapping, Select, delete, func, insert, select, update

from fairpriv_core.engine.training import Histogram
from fairpriv_core.errors import BadInput, Damaged
from fairpriv_core.files.read import digest_content
from fairpriv_core.privacy.event import from_json
from fairpriv_core.records.config import RunConfig
from fairpriv_core.records.record import RunRecord, cancelled_record, chosen_record, withdrawn_record
from fairpriv_core.store.candidates import Candidates, find_candidates
from fairpriv_core.store.checksum import check_content
from fairpriv_core.store.claim import FREE
from fairpriv_core.store.curves import Point, read_curves
from fairpriv_core.store.database import Database
from fairpriv_core.store.decisions import DecisionStore
from fairpriv_core.store.labels import RunLabel, check_label, note_change, read_label, write_label
from fairpriv_core.store.ledger import LedgerStore, admit, find_chosen, find_evaluated, find_withdrawn, leave_tombstone
from fairpriv_core.store.mode import EVERYBODY, check_trial
from fairpriv_core.store.previews import PreviewStore
from fairpriv_core.store.quota import LOCAL_OWNER, check_runs
from fairpriv_core.store.rows import (
    BRIEF,
    ENDED,
    SHORT,
    RunRow,
    is_lost,
    lease_over,
    read_brief,
    read_record,
    read_row,
    write_record,
)
from fairpriv_core.store.tables import (
    artifact,
    charge,
    checkpoint,
    label,
    metric,
    run,
    snapshot,
    store_info,
    tombstone,
)
from fairpriv_core.store.uploads import Digest, FileStore, UploadStore

Stamp = tuple[int, int, int, int]
Read = TypeVar("Read")
_OVER = lease_over(run)
GOING_ON = ("queued", "running", "paused", "finished")


def open_store(url: str | None = None) -> RunStore:
    """Open the store at `url` (a path or a database URL; default FAIRPRIV_STORE, else ~/.fairpriv/runs.db).

    Raises:
        StoreError: it cannot be made or read, or a newer version wrote it; nothing in it was changed.
    """
    return RunStore(Database(url))


class RunStore:
    """The verbs of the run table. Each is one transaction; every read gives copies.

    `owner` is the person who uses the store: they own the runs that they launch, lists show these alone, and others'
    runs can be looked at by key but not changed. Without an owner (the command line) lists show all runs, and
    LOCAL_OWNER launches. `data_sets` names the benchmarks that are shown, None for all; runs on others are hidden.
    `digest` reads a file's rows (`FileStore`).
    """

    def __init__(
        self,
        database: Database,
        owner: str | None = None,
        *,
        data_sets: Sequence[str] | None = None,
        digest: Digest = digest_content,
    ) -> None:
        self.database, self.owner, self._data_sets = database, owner, data_sets
        self.previews = PreviewStore(database, self.payer)
        self.uploads = UploadStore(database)
        self.decisions = DecisionStore(database, self.payer)
        self.ledger = LedgerStore(database, owner)
        self.files = FileStore(database, digest)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the connections; `with open_store() as store:` does."""
        self.database.close()

    @property
    def payer(self) -> str:
        """Who launches and pays here."""
        return self.owner or LOCAL_OWNER

    def submit(self, config: RunConfig, *, again: bool = False) -> RunRow:
        """Queue a run and return its row; if the same config is queued, running, paused or finished, return that row.

        `again` makes a further run of the same config, with its own key "<config key>-2" and so on, fresh noise, and
        its own cost. So does a config whose last run failed or was cancelled.

        Raises:
            BadInput: the run would bring its data set beyond a cap or its owner beyond a quota, or use the release of
                a run that is not here, or is more than can be tried; nothing is stored then.
        """
        return self._queue(config, again=again)

    def explore(self, config: RunConfig) -> RunRow:
        """Queue a run that lists leave out until `keep`, and return its row; one that there is already is returned.

        Of the owner's earlier ones those that have not ended are cancelled: the newest is what is asked for now, and at
        most one of a person's waits. Errors as `submit`.
        """
        return self._queue(config, exploring=True)

    def keep(self, key: str) -> None:
        """Let lists show a run that was explored; BadInput where it is another's, or there is none."""
        with self.database.write(durable=True) as connection:
            mine = run.c.key == self._own_row(connection, key)["key"]
            connection.execute(update(run).where(mine).values(exploring=None))

    def explored(self, limit: int) -> list[RunRow]:
        """Return the owner's newest runs that were explored and not kept, newest first."""
        mine = self._shown(select(*SHORT).where(run.c.owner == self.payer, run.c.exploring.is_not(None)))
        with self.database.read() as connection:
            rows = connection.execute(mine.order_by(run.c.created.desc(), run.c.key).limit(limit)).mappings()
            return _read_whole(rows, read_row)

    def _queue(self, config: RunConfig, *, again: bool = False, exploring: bool = False) -> RunRow:
        check_trial(config)
        config = self.files.settle(config) if config.file_id is None else config
        reserved = self.ledger.plan(config, find_record=self.source)
        with self.database.write(durable=True) if reserved is None else self.database.ledger() as connection:
            present = None if again else _latest(connection, config.key)
            if present is not None and (present["status"] not in GOING_ON or present["request"] == "stop"):
                present = None
            if exploring:
                self._supersede(connection, None if present is None else present["key"])
            if present is not None:
                if not exploring:
                    connection.execute(update(run).where(run.c.key == present["key"]).values(exploring=None))
                return read_row(present)
            check_runs(connection, self.payer, 1)
            values: dict[str, Any] = {**name_next(connection, config.key), "owner": self.payer, "status": "queued"}
            if reserved is not None:
                posting = reserved.named(values["key"])
                admit(connection, posting)
                values["reserved"] = posting.to_json()
            values["exploring"] = 1 if exploring else None
            connection.execute(insert(run).values(**values, config=config.to_json(), created=time.time()))
            return read_row(self._row(connection, values["key"]))

    def _supersede(self, connection: Connection, kept_key: str | None) -> None:
        """Cancel what the owner explores and has not ended, but for the run that is `kept_key` now."""
        mine = (run.c.owner == self.payer) & run.c.exploring.is_not(None) & run.c.status.not_in(ENDED)
        query = select(run, _OVER).where(mine, run.c.key != (kept_key or ""))
        for row in connection.execute(query).mappings().all():
            change = _stop(connection, row) or {}
            connection.execute(update(run).where(run.c.key == row["key"]).values(**change))

    def find(self, config_key: str) -> RunRow | None:
        """Return the newest run of a config, by `RunConfig.key`."""
        with self.database.read() as connection:
            latest = _latest(connection, config_key)
        return None if latest is None else read_row(latest)

    def rows(self, *, limit: int | None = None) -> list[RunRow]:
        """Return the owner's runs, newest first; all runs where the store has no owner. Damaged ones are left out."""
        query = select(*SHORT).order_by(run.c.created.desc(), run.c.key).limit(limit)
        with self.database.read() as connection:
            return _read_whole(connection.execute(self._listed(query)).mappings(), read_row)

    def browse(self, *, limit: int | None = None, archived: bool = False) -> list[RunRow]:
        """Return the owner's runs as lists show them: pinned ones first, archived ones only with `archived`."""
        flags = (label.c.pinned, label.c.archived)
        pinned, hidden = (run.c.key.in_(select(label.c.key).where(flag == 1)) for flag in flags)
        query = self._listed(select(*SHORT)).order_by(run.c.created.desc(), run.c.key).limit(limit)
        query = query if archived else query.where(~hidden)
        with self.database.read() as connection:
            rows = [row for part in (pinned, ~pinned) for row in connection.execute(query.where(part)).mappings()]
            return _read_whole(rows, read_row)[:limit]

    def labels(self) -> dict[str, RunLabel]:
        """Return the labels of the owner's runs, by key. Labels that others wrote are left out."""
        query = self._shown(select(label).join(run, run.c.key == label.c.key))
        query = query if self.owner is None else query.where(run.c.owner == self.owner)
        with self.database.read() as connection:
            return {row["key"]: read_label(row) for row in connection.execute(query).mappings()}

    def label(
        self,
        key: str,
        *,
        name: str | None = None,
        tags: Sequence[str] | None = None,
        note: str | None = None,
        pinned: bool | None = None,
        archived: bool | None = None,
    ) -> RunLabel:
        """Change those parts of a run's label that are given, and return the whole label.

        A person's own words: no part of the run's key, record or files. An archived run counts wherever numbers of
        several runs do; only `browse` leaves it out.

        Raises:
            BadInput: there is no such run, or it is another's; or a text is longer than a label's may be.
        """
        changes = {"name": name, "tags": tags, "note": note, "pinned": pinned, "archived": archived}
        columns = check_label({part: value for part, value in changes.items() if value is not None})
        with self.database.write(durable=True) as connection:
            return write_label(connection, self._own_row(connection, key)["key"], columns)

    def read_all(self) -> tuple[list[tuple[RunRow, RunRecord | None]], list[str]]:
        """Return the owner's runs with their records, newest first, and the keys of those that are damaged."""
        pairs: list[tuple[RunRow, RunRecord | None]] = []
        damaged: list[str] = []
        query = select(*SHORT, run.c.record).order_by(run.c.created.desc(), run.c.key)
        with self.database.read() as connection:
            since = _read_since(connection)
            for row in connection.execute(self._listed(query)).mappings():
                try:
                    record = read_record(row)
                    pairs.append((read_row(row), None if record is None else _restate(record, since)))
                except Damaged:
                    damaged.append(row["key"])
        return pairs, damaged

    def row(self, key: str) -> RunRow:
        """Return a run that somebody opens; BadInput, with the owner's newest keys, where there is none.

        Whoever opens an explored run sees its raw numbers. The store notes that: a choice is among all runs whose raw
        numbers were seen.
        """
        row = self.glance(key)
        if self.database.writable:
            with self.database.read() as connection:
                unopened = (run.c.key == key) & (run.c.exploring == 1)
                first = connection.execute(select(run.c.key).where(unopened)).first() is not None
            if first:
                with self.database.write(durable=True) as connection:
                    connection.execute(update(run).where(unopened).values(exploring=2))
        return row

    def glance(self, key: str) -> RunRow:
        """Return a run of which only settings and epsilon are shown; unlike `row`, it notes nothing."""
        with self.database.read() as connection:
            row, withdrawn = read_row(self._row(connection, key)), find_withdrawn(connection)
        return replace(row, epsilon=None) if key in withdrawn else row

    def candidates(self, keys: Sequence[str]) -> list[Candidates]:
        """Return what a choice of the runs `keys` is among, for each question on own data that they answer."""
        with self.database.read() as connection:
            return find_candidates(connection, keys, self.owner)

    def record(self, key: str) -> RunRecord | None:
        """Return a run's record; of a running one the draft (what is known before training); None before that."""
        with self.database.read() as connection:
            record, since = read_record(self._row(connection, key)), _read_since(connection)
        return None if record is None else _restate(record, since)

    def source(self, key: str) -> RunRecord:
        """Return the record of a run whose release another one uses; BadInput where it has none."""
        record = self.record(key)
        if record is None:
            raise BadInput(f"the release of run {key} cannot be used: the run has not begun.", field="reuse")
        return record

    def records(self, keys: Sequence[str]) -> dict[str, RunRecord]:
        """Return the records of those of `keys` that have one; damaged ones are left out."""
        query = self._shown(select(run.c.key, run.c.record).where(run.c.key.in_(keys)))
        with self.database.read() as connection:
            stored_records = _read_whole(connection.execute(query).mappings(), read_record)
            since = _read_since(connection)
        records = {record.key: _restate(record, since) for record in stored_records if record is not None}
        return {key: records[key] for key in keys if key in records}

    def each_brief(
        self, note: Callable[[str], object] = str, *, keys: Sequence[str] | None = None
    ) -> Iterator[dict[str, Any]]:
        """Yield finished runs as slim records, as `rows` lists them: thousands in a fraction of a second.

        Each has key, status, created, finished, config and what `RunRecord.to_brief` keeps. With `keys` only these runs
        are read. Damaged ones are left out, and `note` is called with their keys.
        """
        query = select(run.c.key, run.c.created, run.c.finished, BRIEF)
        query = query.where(run.c.status == "finished").order_by(run.c.created.desc(), run.c.key)
        if keys is not None:
            query = query.where(run.c.key.in_(keys))
        with self.database.read() as connection:
            withdrawn = find_withdrawn(connection)
            for row in connection.execute(self._listed(query)).mappings():
                times = {"created": row["created"], "finished": row["finished"]}
                try:
                    brief = {"status": "finished", **times, **read_brief(row)}
                except Damaged:
                    note(row["key"])
                    continue
                if row["key"] in withdrawn and brief["epsilon"] is not None:
                    brief |= {"epsilon": None, "epsilon_reason": withdrawn[row["key"]]}
                yield brief

    def finished(self) -> list[str]:
        """Return the keys of the finished runs that `each_brief` reads, damaged ones included."""
        with self.database.read() as connection:
            return list(connection.scalars(self._listed(select(run.c.key).where(run.c.status == "finished"))))

    def stamp(self) -> Stamp:
        """Return four counts; one of them changes whenever `each_brief` or `labels` would return something else.

        They count finished runs, deleted ones (by their tombstones), charges, and changes of labels. The last three
        only grow, and while they stay as they are the first only grows too. A page can afford to ask at every turn.
        """
        count = select(func.count()).select_from
        finished = count(run).where(run.c.status == "finished", run.c.exploring.is_(None)).scalar_subquery()
        queries = [count(table).scalar_subquery() for table in (tombstone, charge)]
        queries.append(select(func.coalesce(store_info.c.labelled, 0)).scalar_subquery())
        with self.database.read() as connection:
            runs, deleted, charged, changes = connection.execute(select(finished, *queries)).one()
            return runs, deleted, charged, changes

    def metrics(self, key: str, since: int = -1) -> list[tuple[int, str, float | None]]:
        """Return every (step, name, value) with step > `since`, by step: all that an export has."""
        query = select(metric.c.step, metric.c.name, metric.c.value)
        query = query.where(metric.c.key == key, metric.c.step > since).order_by(metric.c.step, metric.c.name)
        with self.database.read() as connection:
            return [(step, name, value) for step, name, value in connection.execute(query)]

    def curves(self, key: str, is_shown: Callable[[str], bool], since: int = -1) -> list[Point]:
        """Return the points of the curves that `is_shown` accepts, by step, thinned to what a figure can draw.

        Where the curves have more than MOST_POINTS points each (fewer of many curves: MOST_VALUES together), of each
        the first point in each of equally many steps arrives, and its last one.
        """
        with self.database.read() as connection:
            return read_curves(connection, key, since, is_shown)

    def histograms(self, key: str) -> dict[str, Histogram]:
        """Return the latest histograms of a run by what they count; {} where it has shown none."""
        with self.database.read() as connection:
            histograms = connection.scalar(select(snapshot.c.histograms).where(snapshot.c.key == key)) or {}
        return {name: Histogram(**histogram) for name, histogram in histograms.items()}

    def artifact(self, key: str, name: str) -> bytes:
        """Return a stored file of a run ("model.safetensors", "model.json"); BadInput where there is none, Damaged."""
        with self.database.read() as connection:
            mine = artifact.c.key == self._row(connection, key)["key"]
            query = select(artifact.c.content, artifact.c.sha256).where(mine, artifact.c.name == name)
            row = connection.execute(query).first()
        if row is None:
            raise BadInput(f"run {key} has no '{name}': only a finished run has a model.", field="key")
        return check_content(bytes(row.content), row.sha256, f"'{name}' of run {key}")

    def request(self, key: str, what: str) -> RunRow:
        """Ask for "pause", "stop" or "resume"; at once where nobody works on the run, else within its next commits.

        Raises:
            BadInput: the run's state has no such step; the message says which state it is in. Or it is another's.
            Damaged: what is stored of the run is not what was written.
        """
        with self.database.write(durable=True, scrub=what == "stop") as connection:
            row = self._own_row(connection, key)
            status = read_row(row).status
            change = _transition(row, what) if what != "stop" else _stop(connection, row)
            if change is None:
                why = f" ({row['error']})" if row["error"] else ""
                state = "told to stop" if row["request"] == "stop" else f"{status}{why}"
                raise BadInput(f"run {key} is {state}: it cannot {what}.", field="key")
            connection.execute(update(run).where(run.c.key == row["key"]).values(**change))
            return read_row(self._row(connection, key))

    def delete(self, key: str) -> None:
        """Delete a run that nobody works on; of one that began a tombstone stays: deleting gives no epsilon back."""
        with self.database.ledger(scrub=True) as connection:
            row = self._own_row(connection, key)
            if row["status"] == "running" and not is_lost(row):
                raise BadInput(f"run {key} is running; stop it before deleting it.", field="key")
            leave_tombstone(connection, row)
            connection.execute(delete(run).where(run.c.key == row["key"]))
            note_change(connection)  # its label went with it

    def _own_row(self, connection: Connection, key: str) -> RowMapping:
        row = self._row(connection, key)
        if self.owner is not None and row["owner"] != self.owner:
            raise BadInput(
                f"run {key} is someone else's: you can look at it, and only they can change it.", field="key"
            )
        return row

    def _row(self, connection: Connection, key: str) -> RowMapping:
        query = self._shown(select(run, _OVER).where(run.c.key == key))
        row = connection.execute(query).mappings().first()
        if row is None:
            query = select(run.c.key).order_by(run.c.created.desc()).limit(5)
            recent = connection.scalars(self._listed(query)).all()
            none = "the store has no runs yet" if self.owner is None else "you have no runs yet"
            advice = f"the newest are {', '.join(recent)}" if recent else none
            raise BadInput(f"no run '{key}' in the store; {advice}.", field="key")
        return row

    def shows(self, data: Mapping[str, Any]) -> bool:
        """Return whether a config's `data` are shown here."""
        return self._data_sets is None or data.get("dataset") in self._data_sets

    def _shown(self, query: Select[Any]) -> Select[Any]:
        """Return a query of runs without those on data that are not shown here."""
        name = run.c.config["data"]["dataset"].as_string()
        return query if self._data_sets is None else query.where(name.in_(self._data_sets))

    def _listed(self, query: Select[Any]) -> Select[Any]:
        """Return a query of runs that are the owner's or everybody's, on data shown here, and not explored alone."""
        query = query.where(run.c.exploring.is_(None))
        return self._shown(query if self.owner is None else query.where(run.c.owner.in_((self.owner, EVERYBODY))))

    def add(self, records: Iterable[RunRecord]) -> None:
        """Put finished runs of elsewhere into a new store, for everybody to see; they keep their keys."""
        with self.database.write(durable=True) as connection:
            for at, record in enumerate(records):
                identity = {**name_next(connection, record.key), "owner": EVERYBODY, "status": "finished"}
                progress = {"created": time.time() + at / 1e6, "steps": record.steps, "epsilon": record.epsilon}
                row = {**identity, **progress, **write_record(record), "config": dict(record.config)}
                connection.execute(insert(run).values(**row))

    def count_before(self, row: RunRow) -> int:
        """Return how many runs that wait come before one that waits too."""
        earlier = (run.c.status == "queued") & run.c.exploring.is_(None) & (run.c.created < row.created)
        with self.database.read() as connection:
            return connection.scalar(select(func.count()).select_from(run).where(earlier)) or 0

    def tombstones(self) -> list[dict[str, Any]]:
        """Return what deleted runs released: key, owner, data, threat model, event and time."""
        with self.database.read() as connection:
            return [dict(row) for row in connection.execute(select(tombstone)).mappings()]


def _read_whole(rows: Iterable[RowMapping], reader: Callable[[RowMapping], Read]) -> list[Read]:
    """Return what `reader` makes of each row; those that are damaged are left out."""
    items = []
    for row in rows:
        with suppress(Damaged):
            items.append(reader(row))
    return items


@dataclass(frozen=True)
class _Since:
    """What happened to runs after they had finished, by key: paid evaluations, choices by raw numbers and by others."""

    evaluated: Mapping[str, Mapping[str, Any]]
    withdrawn: Mapping[str, str]
    chosen: Mapping[str, str]


def _read_since(connection: Connection) -> _Since:
    return _Since(find_evaluated(connection), find_withdrawn(connection), find_chosen(connection))


def _restate(record: RunRecord, since: _Since) -> RunRecord:
    evaluation, reason = since.evaluated.get(record.key), since.withdrawn.get(record.key)
    if evaluation is not None:
        record = replace(record, **{**evaluation, "assumptions": tuple(evaluation["assumptions"])})
    if reason is not None:
        return record if record.epsilon is None else withdrawn_record(record, reason)
    return chosen_record(record, since.chosen[record.key]) if record.key in since.chosen else record


def _latest(connection: Connection, config_key: str) -> RowMapping | None:
    query = select(run, _OVER).where(run.c.config_key == config_key).order_by(run.c.repeat.desc()).limit(1)
    return connection.execute(query).mappings().first()


def name_next(connection: Connection, config_key: str) -> dict[str, Any]:
    """Return key, config_key and repeat of a config's next run; a key is never used twice, deleted runs included."""
    counts = [
        connection.scalar(select(func.max(table.c.repeat)).where(table.c.config_key == config_key))
        for table in (run, tombstone)
    ]
    repeat = 1 + max(count or 0 for count in counts)
    return {"key": config_key if repeat == 1 else f"{config_key}-{repeat}", "config_key": config_key, "repeat": repeat}


def _transition(row: RowMapping, what: str) -> dict[str, object] | None:
    """Return the columns that a pause or a resume changes now; None where the state has no such step.

    What was told to stop does nothing else any more.
    """
    if row["request"] == "stop":
        return None
    status, is_held = row["status"], row["status"] == "running" and not is_lost(row)
    if what == "pause" and status in ("queued", "running"):
        return {"request": "pause"} if is_held else {"status": "paused", **FREE}
    if what == "resume" and (status == "paused" or (status == "running" and not is_held)):
        return {"status": "queued", "host_deaths": 0, **FREE}
    if what == "resume" and is_held and row["request"] == "pause":
        return {"request": None}
    if what == "resume" and status == "failed" and row["error_kind"] == "crashed":
        return {"status": "queued", "crashes": 0, "error": None, "error_kind": None, "finished": None, **FREE}
    return None


def _stop(connection: Connection, row: RowMapping) -> dict[str, object] | None:
    if row["status"] in ENDED:
        return None
    if row["status"] == "running" and not is_lost(row):
        return {"request": "stop"}
    return end_cancelled(connection, row["key"])


def end_cancelled(connection: Connection, key: str) -> dict[str, object]:
    """Return the columns of a run that a person stopped, its record included; drop its checkpoint."""
    row = connection.execute(select(run).where(run.c.key == key)).mappings().one()
    change: dict[str, object] = {"status": "cancelled", **FREE, "error": None}  # what was in the way of going on
    with suppress(Damaged):  # such a record stays as it is
        draft = read_record(row)
        if draft is not None:
            events = connection.scalar(select(checkpoint.c.released).where(checkpoint.c.key == key))
            released = from_json(list(events or []))
            record = cancelled_record(draft, released=released, steps=row["step"], seconds=row["seconds"])
            change |= write_record(record)
    connection.execute(delete(checkpoint).where(checkpoint.c.key == key))
    return {**change, "finished": time.time()}
