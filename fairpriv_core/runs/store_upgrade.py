"""Bringing a store of an earlier version to this one; nothing that was stored is lost."""

from __future__ import annotations

from sqlalchemy import Connection, bindparam, select, text, update

from fairpriv_core.runs.record import RunRecord
from fairpriv_core.runs.store_tables import ADDED, SCHEMA_VERSION, run, schema, store_info
from fairpriv_core.runs.store_upgrade_files import name_files

_IDS_FROM = 5  # the version that has ids in place of checksums of files


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
    if version < _IDS_FROM:
        name_files(connection)
    connection.execute(update(store_info).values(version=SCHEMA_VERSION))


def _fill_briefs(connection: Connection) -> None:
    lacking = select(run.c.key, run.c.record).where(run.c.status == "finished", run.c.brief.is_(None))
    stored = connection.execute(lacking)
    filled = [{"own": key, "brief": RunRecord.from_json(record).to_brief()} for key, record in stored]
    if filled:
        connection.execute(update(run).where(run.c.key == bindparam("own")), filled)
