"""Files that people bring: `uploads/<id>` beside the store, mode 0600, each with its owner, deletable.

Machines that share a database have the bytes there too (`carried.py`).

What a person shares has a second row, owned by "shared:<owner>": everyone sees it, and its owner alone takes it back.
"""

from __future__ import annotations

import hashlib
import os
import re
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import IO

from sqlalchemy import delete, insert, select

from fairpriv_core.data.download import hash_file
from fairpriv_core.data.table_schema import find_stated
from fairpriv_core.errors import BadInput, StoreError
from fairpriv_core.files.faults import check_file as check_readable
from fairpriv_core.files.forms import UNSTATED, Stated
from fairpriv_core.files.read import digest_content
from fairpriv_core.records.config import RunConfig
from fairpriv_core.records.ledger_entry import find_published, is_published, name_bytes
from fairpriv_core.records.source import check_file
from fairpriv_core.store.carried import LIMIT_BYTES, SHARED, copy_bytes, find_bytes, put_bytes, read_bytes
from fairpriv_core.store.checksum import build_damaged
from fairpriv_core.store.database import Database
from fairpriv_core.store.identity import BYTES, CONTENT, add_digests, draw_id, find_ids, find_same, is_read, seal
from fairpriv_core.store.quota import check_bytes
from fairpriv_core.store.tables import data_identity, upload

Digest = Callable[[Path, Stated], str]
_BLOCK = 1 << 20
_SHORTEST = 12


class FileStore:
    """The verbs of files. Each needs the file itself: nothing leads from an id to a digest, or from one to an id.

    `digest` reads a file's rows: in this process, or in another for one that has to stay small.
    """

    def __init__(self, database: Database, digest: Digest = digest_content) -> None:
        self._database, self._digest = database, digest

    def identify(self, path: str | Path, stated: Stated = UNSTATED) -> str:
        """Return what this store calls the content of the file at `path`: a new id at random where it is new.

        It is read as it seems to be written; what is `stated` counts only where it cannot be read so. A copy of a
        published file is called by its public checksum. BadInput for what cannot be read.
        """
        sealed = _hash(path)
        name = find_published(sealed) or self._find_read(sealed)
        if name is not None:
            return name
        digests = {BYTES: name_bytes(sealed), CONTENT: self._digest(Path(path), stated)}
        return self._name(digests)

    def find(self, path: str | Path) -> list[str]:
        """Return the ids that this store has for the content of a file, the usual one first; [] if it is new.

        Nothing is stored. Raises BadInput for what cannot be read.
        """
        sealed = _hash(path)
        published = find_published(sealed)
        if published is not None:
            return [published]
        digests = {BYTES: name_bytes(sealed)}
        if self._find_read(sealed) is None:
            digests[CONTENT] = self._digest(Path(path), UNSTATED)
        with self._database.read() as connection:
            ids = find_ids(connection, digests)
            return [*dict.fromkeys([*ids, *(same for name in ids[:1] for same in sorted(find_same(connection, name)))])]

    def name_upload(self, sealed: str) -> str:
        """Return what the bytes with the SHA-256 `sealed` are called, before anybody has read them as rows."""
        return find_published(sealed) or self._name({BYTES: name_bytes(sealed)})

    def settle(self, config: RunConfig) -> RunConfig:
        """Return a config with the id of its file; BadInput where it has one that is not, or may not be, the file's."""
        path = config.data.file
        if path is None:
            return config
        if config.file_id is None:
            return replace(config, file_id=self.identify(path, find_stated(config.data.schema)))
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

    @contextmanager
    def lend(self, path: str, file_id: str | None, person: str | None = None) -> Iterator[str]:
        """Give the path at which the file at `path` with the content `file_id` can be read within the block.

        On a machine that has no file there it is a copy of an upload that `person` may use. BadInput where there is
        none, or it has other content; Damaged where the bytes are not those that were uploaded.
        """
        upload_id, name = Path(path).stem, Path(path).name
        elsewhere = person is not None and not Path(path).is_file()
        owner = find_bytes(self._database, upload_id, person) if elsewhere else None
        if owner is None:
            self.check(path, file_id)
            yield path
            return
        with copy_bytes(self._database, upload_id, owner, name) as copy:
            check_file(path, unchanged=copy.stat().st_size > 0)
            self.check_bytes(upload_id, _hash(copy))
            self.check(str(copy), file_id)
            yield str(copy)

    def seal(self, digest: str) -> str:
        """Return a digest of rows as this store may keep it: nobody can make it without the store's secret."""
        with self._database.read() as connection:
            return seal(connection, f"data {digest}")

    def check_bytes(self, upload_id: str, sealed: str) -> None:
        """Raise Damaged where the bytes with the SHA-256 `sealed` were not uploaded as `upload_id`."""
        with self._database.read() as connection:
            ids = [find_published(sealed), *find_ids(connection, {BYTES: name_bytes(sealed)})]
        if upload_id not in ids:
            raise build_damaged(f"the uploaded file {upload_id}")

    def _name(self, digests: Mapping[str, str]) -> str:
        """Return what the content with these digests is called, from now on where it is new."""
        with self._database.ledger() as connection:
            name = next(iter(find_ids(connection, digests)), None) or draw_id()
            add_digests(connection, name, digests)
        return name

    def _find_read(self, sealed: str) -> str | None:
        """Return what the content is called of a file with these bytes, where its rows have been digested."""
        with self._database.read() as connection:
            ids = find_ids(connection, {BYTES: name_bytes(sealed)})
            return next((name for name in ids[:1] if is_read(connection, name)), None)

    def _knows(self, file_id: str) -> bool:
        if is_published(file_id):
            return True
        query = select(data_identity.c.id).where(data_identity.c.id == file_id)
        with self._database.read() as connection:
            return connection.execute(query).first() is not None


def _hash(path: str | Path) -> str:
    check_readable(Path(path))
    return hash_file(Path(path))


@dataclass(frozen=True)
class Upload:
    """A stored file: what the store calls its content, its owner, the name it came with, and where it lies."""

    id: str
    owner: str
    name: str
    bytes: int
    created: float
    path: Path


class UploadStore:
    """The verbs of uploads."""

    def __init__(self, database: Database) -> None:
        self._database, self._folder = database, database.folder / "uploads"
        self._files = FileStore(database)

    def put(self, source: IO[bytes], name: str, owner: str) -> Upload:
        """Store what `source` holds under an id at random; the same bytes are stored once. BadInput beyond a quota."""
        self._database.check_writable()
        suffix = read_suffix(name)
        try:
            path, size = write_upload(source, self._folder, lambda sealed: f"{self._files.name_upload(sealed)}{suffix}")
            earlier = next((item for item in self.rows(owner) if item.id == path.stem), None)
            record = earlier or Upload(path.stem, owner, name, size, time.time(), path)
            try:
                if earlier is None:
                    self._add(record)
            finally:
                self._drop_unused(path)
        except OSError as error:
            raise StoreError(f"the upload cannot be stored in {self._folder} ({error.strerror}).") from error
        return record

    def _add(self, item: Upload) -> None:
        row = {column: value for column, value in asdict(item).items() if column != "path"}
        with self._database.ledger() as connection:
            check_bytes(connection, item.owner, item.bytes)
            connection.execute(insert(upload).values(**row))
            if self._database.path is None and item.bytes <= LIMIT_BYTES:
                put_bytes(connection, item.id, item.owner, item.path)

    def check(self, item: Upload) -> None:
        """Raise Damaged where the bytes of an upload in the database are not those that were uploaded."""
        blocks = list(read_bytes(self._database, item.id, item.owner))
        if blocks:
            self._files.check_bytes(item.id, hashlib.sha256(b"".join(blocks)).hexdigest())

    def rows(self, owner: str | None = None) -> list[Upload]:
        """Return uploads, newest first."""
        query = select(upload).order_by(upload.c.created.desc())
        query = query if owner is None else query.where(upload.c.owner == owner)
        with self._database.read() as connection:
            rows = connection.execute(query).mappings().all()
        return [Upload(**dict(row), path=self._place(row["id"], row["name"])) for row in rows]

    def visible(self, person: str) -> list[Upload]:
        """Return what `person` may use: their own uploads, then those that others share; each content once."""
        rows = self.rows()
        mine = [item for item in rows if item.owner == person]
        of_others = [item for item in rows if item.owner.startswith(SHARED)]
        uploads = {item.id: item for item in (*reversed(of_others), *mine)}
        return sorted(uploads.values(), key=lambda item: (item.owner != person, -item.created))

    def find(self, digits: str, person: str) -> Upload:
        """Return the upload whose id starts with `digits` (12 or more), if `person` may use it; else BadInput."""
        visible = self.visible(person) if len(digits) >= _SHORTEST else []
        match = next((item for item in visible if item.id.startswith(digits)), None)
        if match is None or not match.path.is_file():
            raise BadInput(
                f"the file '{digits}' is not among your uploads, nor shared with you; upload it on the Data page.",
                field="data",
            )
        return match

    def share(self, upload_id: str, person: str, *, shared: bool) -> None:
        """Let everyone use an upload of `person`, or them alone again."""
        mine = self._own(upload_id, person)
        with self._database.write() as connection:
            connection.execute(delete(upload).where(upload.c.id == upload_id, upload.c.owner == SHARED + person))
            if shared:
                row = {name: value for name, value in asdict(mine).items() if name != "path"}
                connection.execute(insert(upload).values(**row | {"owner": SHARED + person}))

    def is_shared(self, upload_id: str, person: str) -> bool:
        """Return whether `person` shares this upload."""
        return any(item.id == upload_id for item in self.rows(SHARED + person))

    def delete(self, upload_id: str, owner: str) -> None:
        """Delete a person's upload, shared or not; the file goes with its last owner. BadInput where there is none."""
        mine, owners = self._own(upload_id, owner), (owner, SHARED + owner)
        with self._database.write() as connection:
            connection.execute(delete(upload).where(upload.c.id == upload_id, upload.c.owner.in_(owners)))
        self._drop_unused(mine.path)

    def _drop_unused(self, path: Path) -> None:
        """Delete a file that is nobody's."""
        with self._database.read() as connection:
            names = connection.scalars(select(upload.c.name).where(upload.c.id == path.stem)).all()
        if path not in [self._place(path.stem, name) for name in names]:
            path.unlink(missing_ok=True)

    def _own(self, upload_id: str, person: str) -> Upload:
        match = next((item for item in self.rows(person) if item.id == upload_id), None)
        if match is None:
            raise BadInput(f"no upload '{upload_id}' of '{person}'.", field="file")
        return match

    def _place(self, upload_id: str, name: str) -> Path:
        return self._folder / f"{upload_id}{read_suffix(name)}"


def read_suffix(name: str) -> str:
    """Return what a file's name ends with where that is plain letters, such as ".csv"."""
    suffix = Path(name).suffix.lower()
    return suffix if re.fullmatch(r"\.[a-z0-9]{1,8}", suffix) else ""


def write_upload(source: IO[bytes], folder: Path, name: Callable[[str], str]) -> tuple[Path, int]:
    """Write a temporary file (mode 0600), then rename it to what `name` makes of its SHA-256."""
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    digest, size = hashlib.sha256(), 0
    handle, temporary = tempfile.mkstemp(dir=folder)
    try:
        with os.fdopen(handle, "wb") as target:
            while block := source.read(_BLOCK):
                digest.update(block)
                size += len(block)
                target.write(block)
        place = folder / name(digest.hexdigest())
        os.replace(temporary, place)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise
    return place, size
