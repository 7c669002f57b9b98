"""Reading all that a store holds, to name what is damaged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import Connection, RowMapping, select

from fairpriv_core.errors import Damaged, StoreError
from fairpriv_core.store.rows import lease_over, read_brief, read_record, read_row
from fairpriv_core.store.runs import RunStore
from fairpriv_core.store.tables import artifact, checkpoint, run
from fairpriv_core.store.work import read_checkpoint

_MOST_TOLD = 3  # of what SQLite finds in its pages


@dataclass(frozen=True)
class Found:
    """How many runs, checkpoints and files a store has, and a sentence for each damage."""

    runs: int
    checkpoints: int
    files: int
    damage: tuple[str, ...]


def check_store(store: RunStore) -> Found:
    """Read every run, checkpoint, file and line of the ledger, and verify a SQLite file's structure."""
    database, damage = store.database, []

    def note(read: Callable[[Connection], object]) -> None:
        try:
            with database.read() as connection:
                read(connection)
        except (Damaged, StoreError) as error:
            damage.append(str(error))

    with database.read() as connection:
        keys = connection.scalars(select(run.c.key).order_by(run.c.created, run.c.key)).all()
        saved = connection.scalars(select(checkpoint.c.key).order_by(checkpoint.c.key)).all()
        files = connection.execute(select(artifact.c.key, artifact.c.name).order_by(artifact.c.key)).all()
    if database.path is not None:
        note(_check_structure)
    for key in keys:
        for part in (read_row, read_record, read_brief):
            note(lambda connection, key=key, part=part: part(_find(connection, key)))  # type: ignore[misc]
    for key in saved:
        note(lambda connection, key=key: read_checkpoint(connection, key))  # type: ignore[misc]
    for key, name in files:
        note(lambda _, key=key, name=name: store.artifact(key, name))  # type: ignore[misc]
    return Found(len(keys), len(saved), len(files), (*damage, *store.ledger.list_damage()))


def _check_structure(connection: Connection) -> None:
    """Raise Damaged for what SQLite finds wrong with pages, indexes and references."""
    pages = [str(told) for told in connection.exec_driver_sql("PRAGMA integrity_check").scalars() if told != "ok"]
    lost = [f"a row of {row[0]} is of no run" for row in connection.exec_driver_sql("PRAGMA foreign_key_check")]
    if pages or lost:
        raise Damaged(f"the file of the run store is damaged: {'; '.join([*pages, *lost][:_MOST_TOLD])}.")


def _find(connection: Connection, key: str) -> RowMapping:
    return connection.execute(select(run, lease_over(run)).where(run.c.key == key)).mappings().one()
