"""Bringing a store of an earlier version to this one; nothing that was stored is lost."""

from __future__ import annotations

import json

from sqlalchemy import Connection, bindparam, select, text, update

from fairpriv_core.data.groups import Groups
from fairpriv_core.runs.artifact import DESCRIPTION
from fairpriv_core.runs.claim import Artifact
from fairpriv_core.runs.record import RunRecord
from fairpriv_core.runs.store_tables import ADDED, SCHEMA_VERSION, artifact, run, schema, store_info


def upgrade(connection: Connection, version: int) -> None:
    """Add what a store of an earlier version lacks: columns, their indexes, and what finished runs keep in brief."""
    for first, column in ADDED:
        if version < first:
            kind = column.type.compile(connection.dialect)
            connection.execute(text(f"ALTER TABLE {column.table.name} ADD COLUMN {column.name} {kind}"))
    for index in [each for table in schema.tables.values() for each in table.indexes]:
        index.create(connection, checkfirst=True)
    _fill_briefs(connection)
    _forget_measured(connection)
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
