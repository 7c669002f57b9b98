"""Files that people bring: `uploads/<sha256>` beside the store, mode 0600, each with its owner, deletable."""

from __future__ import annotations

import hashlib
import os
import tempfile
import time
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import IO

from sqlalchemy import delete, insert, select

from fairpriv_core.errors import BadInput, StoreError
from fairpriv_core.runs.store_database import Database
from fairpriv_core.runs.store_tables import upload

_BLOCK = 1 << 20


@dataclass(frozen=True)
class Upload:
    """A stored file: its SHA-256, its owner, the name it came with, and where it lies."""

    sha256: str
    owner: str
    name: str
    bytes: int
    created: float
    path: Path


class UploadStore:
    """The verbs of uploads."""

    def __init__(self, database: Database) -> None:
        self._database, self._folder = database, database.folder / "uploads"

    def put(self, source: IO[bytes], name: str, owner: str) -> Upload:
        """Store what `source` holds under its SHA-256; the same content is stored once."""
        suffix = Path(name).suffix.lower()
        try:
            path, size = _write(source, self._folder, suffix)
        except OSError as error:
            raise StoreError(f"the upload cannot be stored in {self._folder} ({error.strerror}).") from error
        found = [item for item in self.rows(owner) if item.sha256 == path.stem]
        if found:
            return found[0]
        stored = Upload(path.stem, owner, name, size, time.time(), path)
        row = {item: value for item, value in asdict(stored).items() if item != "path"}
        with self._database.write() as connection:
            connection.execute(insert(upload).values(**row))
        return stored

    def rows(self, owner: str | None = None) -> list[Upload]:
        """Return uploads, newest first."""
        query = select(upload).order_by(upload.c.created.desc())
        query = query if owner is None else query.where(upload.c.owner == owner)
        with self._database.read() as connection:
            rows = connection.execute(query).mappings().all()
        return [Upload(**dict(row), path=self._place(row["sha256"], row["name"])) for row in rows]

    def delete(self, sha256: str, owner: str) -> None:
        """Delete a person's upload; the file goes with its last owner. BadInput where there is none."""
        mine = [item for item in self.rows(owner) if item.sha256 == sha256]
        if not mine:
            raise BadInput(f"no upload '{sha256}' of '{owner}'.", field="file")
        with self._database.write() as connection:
            connection.execute(delete(upload).where(upload.c.sha256 == sha256, upload.c.owner == owner))
            left = connection.scalar(select(upload.c.owner).where(upload.c.sha256 == sha256))
        if left is None:
            mine[0].path.unlink(missing_ok=True)

    def _place(self, sha256: str, name: str) -> Path:
        return self._folder / f"{sha256}{Path(name).suffix.lower()}"


def _write(source: IO[bytes], folder: Path, suffix: str) -> tuple[Path, int]:
    """Write a temporary file (mode 0600), then rename it to its SHA-256."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    digest, size = hashlib.sha256(), 0
    handle, temporary = tempfile.mkstemp(dir=folder)
    try:
        with os.fdopen(handle, "wb") as target:
            while block := source.read(_BLOCK):
                digest.update(block)
                size += len(block)
                target.write(block)
        place = folder / f"{digest.hexdigest()}{suffix}"
        os.replace(temporary, place)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return place, size
