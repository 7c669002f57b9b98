"""Reading all that a store holds, to name what is damaged."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from sqlalchemy import RowMapping, select

from fairpriv_core.errors import Damaged, StoreError
from fairpriv_core.store.database import Database
from fairpriv_core.store.rows import lease_over, read_brief, read_posting, read_record, read_row
from fairpriv_core.store.runs import RunStore
from fairpriv_core.store.tables import artifact, checkpoint, run
from fairpriv_core.store.work import read_checkpoint

_MOST_FAULTS = 3  # of what SQLite finds in its pages, in one sentence


@dataclass(frozen=True)
class StoreCheck:
    """How many runs, checkpoints and files a store has, and a sentence for each damage."""

    runs: int
    checkpoints: int
    files: int
    damage: tuple[str, ...]


def check_store(store: RunStore) -> StoreCheck:
    """Read every run, checkpoint, file, upload and line of the ledger, and verify a SQLite file's structure."""
    database, damage = store.database, []

    def note(read: Callable[..., object], *what: object) -> None:
        try:
            read(*what)
        except (Damaged, StoreError) as error:
            damage.append(str(error))

    with database.read() as connection:
        keys = connection.scalars(select(run.c.key).order_by(run.c.created, run.c.key)).all()
        saved = connection.scalars(select(checkpoint.c.key).order_by(checkpoint.c.key)).all()
        files = connection.execute(select(artifact.c.key, artifact.c.name).order_by(artifact.c.key)).all()
    if database.path is not None:
        note(_check_structure, database)
    for key in keys:
        for part in (read_row, read_record, read_brief, read_posting):
            note(_read_part, database, key, part)
    for key in saved:
        note(_read_saved, database, key)
    for key, name in files:
        note(store.artifact, key, name)
    for upload in store.uploads.rows():
        note(store.uploads.check, upload)
    return StoreCheck(len(keys), len(saved), len(files), (*damage, *store.ledger.list_damage()))


def _check_structure(database: Database) -> None:
    """Raise Damaged for what SQLite finds wrong with pages, indexes and references."""
    with database.read() as connection:
        pages = [str(line) for line in connection.exec_driver_sql("PRAGMA integrity_check").scalars() if line != "ok"]
        orphans = [f"a row of {row[0]} is of no run" for row in connection.exec_driver_sql("PRAGMA foreign_key_check")]
    if pages or orphans:
        raise Damaged(f"the file of the run store is damaged: {'; '.join([*pages, *orphans][:_MOST_FAULTS])}.")


def _read_part(database: Database, key: str, read: Callable[[RowMapping], object]) -> None:
    with database.read() as connection:
        read(connection.execute(select(run, lease_over(run)).where(run.c.key == key)).mappings().one())


def _read_saved(database: Database, key: str) -> None:
    with database.read() as connection:
        read_checkpoint(connection, key)
