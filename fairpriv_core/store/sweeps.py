"""The run table as a sweep uses it: its runs are queued, resumed, paused and looked at together."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, TypedDict

from sqlalchemy import Connection, RowMapping, case, func, insert, select, update

from fairpriv_core.records.config import RunConfig
from fairpriv_core.records.ledger_entry import Posting
from fairpriv_core.records.plan import DatasetCache
from fairpriv_core.records.source import ConfigJson
from fairpriv_core.store.claim import FREE
from fairpriv_core.store.ledger import admit
from fairpriv_core.store.mode import check_trial
from fairpriv_core.store.previews import name_request
from fairpriv_core.store.quota import check_runs
from fairpriv_core.store.rows import ENDED, SHORT, RunRow, is_lost, read_row
from fairpriv_core.store.runs import RunStore, name_next
from fairpriv_core.store.tables import preview, run, whole_chunk

_MOST_LISTED = 20  # of the sweeps that a person launched
Runs = Sequence[tuple[RunConfig, str]]


class SkippedCell(TypedDict):
    """A combination that no run can have, with the reason."""

    cell: dict[str, object]
    reason: str | None


class SweptEpsilon(TypedDict):
    """What a sweep costs if all of its results are released, of one sensitive column or of whole records (None).

    `protected` says whether a run of the sweep protects that at all. `epsilon` is of the sweep's runs together,
    `epsilon_own_samples` the same if none shared its secret samples, `most_alone` the largest of one run,
    `epsilon_after` with all else that the data's ledger holds. None with `reason` where no bound holds.
    """

    data: str
    delta: float
    column: str | None
    protected: bool
    epsilon: float | None
    epsilon_own_samples: float | None
    most_alone: float | None
    epsilon_after: float | None
    reason: str | None


class SweepCost(TypedDict):
    """What running a sweep costs.

    How many `combinations`, `runs` and `chunks` there are; of the runs those that are `new`, were begun and are
    `unfinished`, have `ended`; what is `skipped`; and about how many `seconds` it takes with so many `workers`, but for
    the `untold` runs.
    """

    combinations: int
    runs: int
    chunks: int
    new: int
    unfinished: int
    ended: int
    skipped: list[SkippedCell]
    share_samples: bool
    share_release: bool
    protected: list[SweptEpsilon]
    seconds: float
    untold: int
    workers: int


class SweepPreview(TypedDict):
    """What a worker tells of a sweep; `refusal` is why a launch would be refused now, None where it would not."""

    cost: SweepCost
    keys: list[str]
    max_runs: int
    refusal: str | None


class SweepStore:
    """The verbs of sweeps; each is one transaction. `keys` are those of configs, and mean a config's newest run."""

    def __init__(self, store: RunStore) -> None:
        self._store, self._database = store, store.database

    def find(self, keys: Sequence[str]) -> dict[str, RunRow]:
        """Return the runs of configs, by `RunConfig.key`; of those that have none nothing."""
        with self._database.read() as connection:
            return {key: read_row(row) for key, row in _find(connection, keys).items()}

    def submit(self, runs: Runs, planned: Mapping[str, Posting] | None = None) -> None:
        """Queue runs, (config, chunk) each, all or none; those of one chunk train together.

        A config that has a run keeps it, however it ended; one that waits or runs and is in no chunk joins this one.
        `planned` has by key what those will release that make a release for others of `runs`, and what those others
        will: they are taken up when that release is there, and hold nothing back from a cap until then.

        Raises:
            BadInput: together the new ones would bring their data set beyond a cap, or their owner beyond a quota;
                nothing is stored then.
        """
        for config, _ in runs:
            check_trial(config)
        keys, postings = [config.key for config, _ in runs], self._plan(runs, planned or {})
        now, waiting = time.time(), {config.key for config, _ in runs if config.reuse in (planned or {})}
        with self._database.ledger() if postings else self._database.write(durable=True) as connection:
            rows = _find(connection, keys)
            new_rows, owner = [], self._store.payer
            for config, chunk in [(config, chunk) for config, chunk in runs if config.key not in rows]:
                row = {**name_next(connection, config.key), "status": "queued", "config": config.to_json()}
                new_rows.append({**row, "owner": owner, "chunk": chunk, "reserved": None})
                if config.key in postings:
                    postings[config.key] = postings[config.key].named(row["key"])
                    new_rows[-1]["reserved"] = None if config.key in waiting else postings[config.key].to_json()
            admit(connection, *postings.values())
            check_runs(connection, owner, len(new_rows))
            if new_rows:
                connection.execute(insert(run), [{**row, "created": now + at / 1e6} for at, row in enumerate(new_rows)])
            _join(connection, runs, rows)

    def check(self, runs: Runs, planned: Mapping[str, Posting]) -> None:
        """Raise BadInput where `submit` would."""
        postings = self._plan(runs, planned)
        with self._database.read() as connection:
            admit(connection, *postings.values())
            present = _find(connection, [config.key for config, _ in runs])
            check_runs(connection, self._store.payer, len({config.key for config, _ in runs} - set(present)))

    def _find_own(self, connection: Connection, keys: Sequence[str]) -> list[RowMapping]:
        owner = self._store.owner
        return [row for row in _find(connection, keys).values() if owner is None or row["owner"] == owner]

    def _plan(self, runs: Runs, planned: Mapping[str, Posting]) -> dict[str, Posting]:
        """Return what the new ones of `runs` will release, by key, where a cap asks for it."""
        present, datasets = self.find([config.key for config, _ in runs]), DatasetCache(splits=1)
        ledger = self._store.ledger
        postings: dict[str, Posting | None] = {}
        for config in [config for config, _ in runs if config.key not in present]:
            if config.key in planned:
                posting = planned[config.key]
                postings[config.key] = posting if ledger.caps(posting.data) else None
            else:
                postings[config.key] = ledger.plan(config, find_record=self._store.source, datasets=datasets)
        return {key: posting for key, posting in postings.items() if posting is not None}

    def launched(self) -> dict[str, Mapping[str, Any]]:
        """Return the requests (as `request_cost`) of sweeps that were launched, by name, newest first."""
        mine = preview.c.request["owner"].as_string() == self._store.payer
        query = select(preview.c.request).where(mine).order_by(preview.c.created.desc())
        with self._database.read() as connection:
            launches = [request for request in connection.scalars(query) if "launch" in request]
        requests = [request for request in launches if all(map(self._store.shows, _list_data(request["sweep"])))]
        costs = [{name: request[name] for name in request if name != "launch"} for request in requests[:_MOST_LISTED]]
        return {name_request(request): request for request in costs}

    def go_on(self, keys: Sequence[str]) -> None:
        """Queue those runs again that are paused, or whose process is gone; they go on from their checkpoints.

        Of those that are about to pause nobody asks it any more. Other people's runs are left alone.
        """
        with self._database.write() as connection:
            rows = self._find_own(connection, keys)
            idle = [
                row["key"] for row in rows if row["status"] == "paused" or (is_lost(row) and row["request"] != "stop")
            ]
            pausing = [row["key"] for row in rows if row["request"] == "pause" and row["key"] not in idle]
            connection.execute(update(run).where(run.c.key.in_(idle)).values(status="queued", **FREE))
            connection.execute(update(run).where(run.c.key.in_(pausing)).values(request=None))

    def pause(self, keys: Sequence[str], *, also_working: bool = False) -> None:
        """Pause those runs that nobody works on; `also_working`: ask the others to pause, which takes seconds.

        Other people's runs are left alone.
        """
        with self._database.write() as connection:
            rows = self._find_own(connection, keys)
            idle = [
                row["key"] for row in rows if row["status"] == "queued" or (is_lost(row) and row["request"] != "stop")
            ]
            working = [row["key"] for row in rows if row["status"] == "running" and row["request"] is None]
            connection.execute(update(run).where(run.c.key.in_(idle)).values(status="paused", **FREE))
            if also_working:
                at_work = run.c.key.in_(set(working) - set(idle)) & (run.c.status == "running")
                connection.execute(update(run).where(at_work).values(request="pause"))

    def progress(self, keys: Sequence[str]) -> tuple[dict[str, int], float]:
        """Return how many of the runs have each status, and how many runs' worth of steps are made."""
        has_ended = run.c.status.in_(ENDED)
        share = case((has_ended, 1.0), (run.c.steps > 0, run.c.step * 1.0 / run.c.steps), else_=0.0)
        query = select(run.c.status, func.count(), func.sum(share)).where(run.c.config_key.in_(keys), _newest())
        with self._database.read() as connection:
            rows = connection.execute(query.group_by(run.c.status)).all()
        return {status: count for status, count, _ in rows}, sum(float(steps) for _, _, steps in rows)

    def waiting(self, chunks: Sequence[str]) -> int:
        """Return how many runs of chunks, or of what became of them, wait or are at work."""
        query = select(func.count()).where(run.c.status.in_(("queued", "running")), whole_chunk().in_(chunks))
        with self._database.read() as connection:
            return int(connection.scalar(query) or 0)

    def configs(self, chunks: Sequence[str]) -> list[ConfigJson]:
        """Return the JSON of the configs of the runs of chunks, or of what became of them."""
        with self._database.read() as connection:
            return list(connection.scalars(select(run.c.config).where(whole_chunk().in_(chunks))))

    def at_work(self, chunks: Sequence[str]) -> int:
        """Return how many runs of chunks, or of what became of them, are at work."""
        query = select(func.count()).where(run.c.status == "running", whole_chunk().in_(chunks))
        with self._database.read() as connection:
            return int(connection.scalar(query) or 0)


def _list_data(raw: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Return the tables `data` that a sweep names, whether all its runs or some have them; an empty one for none."""
    tables = raw["axes"] if isinstance(raw["axes"], list) else [raw["axes"]]
    values = [raw.get("data"), *(value for table in tables for value in table.get("data", ()))]
    return [value for value in values if isinstance(value, Mapping)] or [{}]


def _find(connection: Connection, keys: Sequence[str]) -> dict[str, RowMapping]:
    query = select(*SHORT).where(run.c.config_key.in_(keys)).order_by(run.c.repeat)
    return {row["config_key"]: row for row in connection.execute(query).mappings()}


def _newest() -> Any:
    """Return the condition that no other run of the same config is newer."""
    later = run.alias()
    newer = (later.c.config_key == run.c.config_key) & (later.c.repeat > run.c.repeat)
    return ~select(later.c.key).where(newer).correlate(run).exists()


def _join(connection: Connection, runs: Runs, rows: Mapping[str, RowMapping]) -> None:
    """Put into its chunk each run that was there before, has not ended and is in none."""
    for config, chunk in runs:
        row = rows.get(config.key)
        if row is not None and row["chunk"] is None and row["status"] not in ENDED:
            connection.execute(update(run).where(run.c.key == row["key"]).values(chunk=chunk))
