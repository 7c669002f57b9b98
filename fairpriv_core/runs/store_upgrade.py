"""Bringing a store of an earlier version to this one; nothing that was stored is lost."""

from __future__ import annotations

import json

from sqlalchemy import Connection, bindparam, select, text, update

from fairpriv_core.data.groups import Groups
from fairpriv_core.privacy import event as events_of
from fairpriv_core.privacy.event import Events, Parallel, SampledGaussian
from fairpriv_core.runs.artifact import DESCRIPTION
from fairpriv_core.runs.claim import Artifact
from fairpriv_core.runs.record import RunRecord
from fairpriv_core.runs.store_tables import ADDED, SCHEMA_VERSION, artifact, run, schema, store_info
from fairpriv_core.runs.store_upgrade_files import name_files
from fairpriv_core.text import epsilon_text

_IDS_FROM = 5  # the version that has ids in place of checksums of files
_SUMS_FROM = 5  # the version from which on sums keep their bound
_LARGE_SAMPLE = 30_000
_NO_LONGER = (
    "It was stated as {epsilon} before sums kept their bound. In samples of about {rows:,.0f} rows rounding may add "
    "over 1 % to what one row moves, so it does not hold."
)


def upgrade(connection: Connection, version: int) -> None:
    """Add what a store of an earlier version lacks: columns, indexes, finished runs in brief, ids of files."""
    if version < _IDS_FROM:
        connection.execute(text("ALTER TABLE upload RENAME COLUMN sha256 TO id"))
    for first, column in ADDED:
        if version < first:
            kind = column.type.compile(connection.dialect)
            connection.execute(text(f"ALTER TABLE {column.table.name} ADD COLUMN {column.name} {kind}"))
    for index in [each for table in schema.tables.values() for each in table.indexes]:
        index.create(connection, checkfirst=True)
    _fill_briefs(connection)
    _forget_measured(connection)
    if version < _SUMS_FROM:
        _take_back_large_samples(connection)
    if version < _IDS_FROM:
        name_files(connection)
    connection.execute(update(store_info).values(version=SCHEMA_VERSION))


def _fill_briefs(connection: Connection) -> None:
    lacking = select(run.c.key, run.c.record).where(run.c.status == "finished", run.c.brief.is_(None))
    stored = connection.execute(lacking)
    filled = [{"own": key, "brief": RunRecord.from_json(record).to_brief()} for key, record in stored]
    if filled:
        connection.execute(update(run).where(run.c.key == bindparam("own")), filled)


def _forget_measured(connection: Connection) -> None:
    """Take out of stored models what earlier versions measured of a sensitive column: range, mean, deviation, deciles.

    Of models that decide by group the edges and the listed values stay, which is all that predicting needs.
    """
    models = connection.execute(select(artifact.c.key, artifact.c.content).where(artifact.c.name == DESCRIPTION))
    for key, content in models.all():
        described = json.loads(content)
        if described.get("grouping") is None:
            continue
        described["grouping"] = Groups.from_json(described["grouping"]).to_json()
        file = Artifact(DESCRIPTION, json.dumps(described, indent=1).encode())
        held = {"content": file.content, "bytes": len(file.content), "sha256": file.sha256}
        own = (artifact.c.key == key) & (artifact.c.name == DESCRIPTION)
        connection.execute(update(artifact).where(own).values(**held))


def _take_back_large_samples(connection: Connection) -> None:
    """Take back the epsilon of runs whose sums over many rows lost precision: nothing finite is proved of them.

    One product in float32 over s rows, whose errors are taken to be independent, is off by 2^-24 s^(3/2) / 34 of what a
    row may add (BLAS adds some 384 rows at a time): by 1 % at _LARGE_SAMPLE.
    """
    stored = connection.execute(select(run.c.key, run.c.record).where(run.c.record.is_not(None)))
    for key, record in stored.all():
        rows = _sampling_rate(events_of.from_json(record["event"])) * record["data"].get("n_train", 0)
        if record["epsilon"] is None or rows <= _LARGE_SAMPLE:
            continue
        reason = _NO_LONGER.format(epsilon=epsilon_text(record["epsilon"]), rows=rows)
        restated = {**record, "epsilon": None, "epsilon_reason": reason}
        brief = RunRecord.from_json(restated).to_brief()
        connection.execute(update(run).where(run.c.key == key).values(record=restated, brief=brief, epsilon=None))


def _sampling_rate(events: Events) -> float:
    """Return the highest rate at which rows were sampled for a sum; 0.0 for none."""
    branches = [branch for event in events if isinstance(event, Parallel) for branch in event.branches]
    own = [event.sampling_rate for event in events if isinstance(event, SampledGaussian)]
    return max([*own, *(_sampling_rate(branch) for branch in branches)], default=0.0)
