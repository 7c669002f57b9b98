"""People's own files as a store knows them: what it calls a file's content, and whether a file is what a run says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from sqlalchemy import select

from fairpriv_core.data.download import hash_file
from fairpriv_core.data.faults import check_file as check_readable
from fairpriv_core.data.read import digest_content
from fairpriv_core.errors import BadInput
from fairpriv_core.records.config import RunConfig
from fairpriv_core.records.ledger_entry import find_published, is_published, name_bytes
from fairpriv_core.records.source import check_file
from fairpriv_core.store.database import Database
from fairpriv_core.store.identity import BYTES, CONTENT, add_digests, draw_id, find_ids, find_same, is_read, seal
from fairpriv_core.store.tables import data_identity


class FileStore:
    """The verbs of files. Each needs the file itself: nothing leads from an id to a digest, or from one to an id."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def identify(self, path: str | Path) -> str:
        """Return what this store calls the content of the file at `path`: a new id at random where it is new.

        A copy of a published file is called by its public checksum. BadInput for what cannot be read.
        """
        sealed = _hash(path)
        known = find_published(sealed) or self._find_read(sealed)
        if known is not None:
            return known
        digests = {BYTES: name_bytes(sealed), CONTENT: digest_content(Path(path))}
        with self._database.ledger() as connection:
            name = next(iter(find_ids(connection, digests)), None) or draw_id()
            add_digests(connection, name, digests)
        return name

    def find(self, path: str | Path) -> list[str]:
        """Return all that this store calls the content of a file, the usual first; nothing is stored. [] if it is new.

        Raises BadInput for what cannot be read.
        """
        sealed = _hash(path)
        published = find_published(sealed)
        if published is not None:
            return [published]
        digests = {BYTES: name_bytes(sealed)}
        if self._find_read(sealed) is None:
            digests[CONTENT] = digest_content(Path(path))
        with self._database.read() as connection:
            ids = find_ids(connection, digests)
            return [
                *dict.fromkeys([*ids, *(other for name in ids[:1] for other in sorted(find_same(connection, name)))])
            ]

    def name_upload(self, sealed: str) -> str:
        """Return what the bytes with the SHA-256 `sealed` are called, before anybody has read them as rows."""
        published, digests = find_published(sealed), {BYTES: name_bytes(sealed)}
        if published is not None:
            return published
        with self._database.ledger() as connection:
            name = next(iter(find_ids(connection, digests)), None) or draw_id()
            add_digests(connection, name, digests)
        return name

    def find_bytes(self, sealed: str) -> str | None:
        """Return what the bytes with the SHA-256 `sealed` are called; None where they are new."""
        with self._database.read() as connection:
            return next(iter(find_ids(connection, {BYTES: name_bytes(sealed)})), find_published(sealed))

    def settle(self, config: RunConfig) -> RunConfig:
        """Return a config with the id of its file; BadInput where it has one that is not, or may not be, the file's."""
        path = config.data.file
        if path is None:
            return config
        if config.file_id is None:
            return replace(config, file_id=self.identify(path))
        if not self._knows(config.file_id):
            raise BadInput(
                f"this store does not know the content '{config.file_id}', so it cannot check that {path} has it; "
                "name the file with --csv to go on with it all the same.",
                field="file",
            )
        self.check(path, config.file_id)
        return config

    def check(self, path: str | None, file_id: str | None) -> None:
        """Raise BadInput where the file at `path` does not have the content `file_id`; a benchmark has neither."""
        if path is not None and file_id is not None:
            check_file(path, unchanged=Path(path).is_file() and file_id in self.find(path))

    def seal(self, digest: str) -> str:
        """Return a digest of rows as this store may keep it: nobody can make it without the store's secret."""
        with self._database.read() as connection:
            return seal(connection, f"data {digest}")

    def _find_read(self, sealed: str) -> str | None:
        """Return what the content is called of a file with these bytes, where its rows have been digested."""
        with self._database.read() as connection:
            found = find_ids(connection, {BYTES: name_bytes(sealed)})
            return next((name for name in found[:1] if is_read(connection, name)), None)

    def _knows(self, file_id: str) -> bool:
        if is_published(file_id):
            return True
        known = select(data_identity.c.id).where(data_identity.c.id == file_id)
        with self._database.read() as connection:
            return connection.execute(known).first() is not None


def _hash(path: str | Path) -> str:
    check_readable(Path(path))
    return hash_file(Path(path))
