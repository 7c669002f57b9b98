"""The bytes of uploads, where several machines share a store: in its database too, for workers that lack the file.

A SQLite file has none, since all that use it are on its machine. The bytes belong to an upload's row and go with it. A
worker has them as a file in a folder of its own, mode 0700, while it reads them.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Generator, Iterator
from contextlib import ExitStack, closing, contextmanager
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory

from sqlalchemy import Connection, func, insert, or_, select

from fairpriv_core.errors import RunFailed
from fairpriv_core.store.claim import identify, is_dead
from fairpriv_core.store.database import Database
from fairpriv_core.store.tables import upload, upload_part

#: of an upload to a dashboard; a larger one, which a command has joined, stays on its machine
LIMIT_BYTES = 50_000_000
SHARED = "shared:"
_BLOCK = 1 << 20
_FOLDER, _MARK = "carried", "+"
_OLDEST_SECONDS = 86_400.0


def put_bytes(connection: Connection, upload_id: str, owner: str, path: Path) -> None:
    """Store the bytes of the file at `path` beside the row of the upload, which is there."""
    with path.open("rb") as file:
        for place, block in enumerate(iter(partial(file.read, _BLOCK), b"")):
            connection.execute(insert(upload_part).values(id=upload_id, owner=owner, place=place, content=block))


def find_bytes(database: Database, upload_id: str, person: str | None = None) -> str | None:
    """Return whose bytes of an upload are in the database that `person` may use, or anybody's; None where none are."""
    owners = select(upload_part.c.owner).where(upload_part.c.id == upload_id, upload_part.c.place == 0)
    if person is not None:
        sharing = select(func.substr(upload.c.owner, len(SHARED) + 1)).where(
            upload.c.id == upload_id, upload.c.owner.startswith(SHARED)
        )
        owners = owners.where(or_(upload_part.c.owner == person, upload_part.c.owner.in_(sharing)))
    with database.read() as connection:
        return connection.scalar(owners.limit(1))


def read_bytes(database: Database, upload_id: str, owner: str) -> Generator[bytes]:
    """Yield the bytes of an upload of `owner`, block by block; nothing where none are in the database."""
    mine = select(upload_part.c.content).where(upload_part.c.id == upload_id, upload_part.c.owner == owner)
    with database.read() as connection:
        one_by_one = connection.execution_options(yield_per=1)
        yield from map(bytes, one_by_one.scalars(mine.order_by(upload_part.c.place)))


@contextmanager
def copy_bytes(database: Database, upload_id: str, owner: str, name: str) -> Iterator[Path]:
    """Give, within the block, a file called `name` with the bytes of an upload; RunFailed where it cannot be written.

    It is empty where the upload was deleted in this moment.
    """
    drop_left(database)
    parent = database.folder / _FOLDER
    with ExitStack() as resources:
        try:
            parent.mkdir(parents=True, exist_ok=True, mode=0o700)
            folder = resources.enter_context(TemporaryDirectory(prefix=f"{identify()}{_MARK}", dir=parent))
            copy = Path(folder) / name
            with copy.open("wb") as file, closing(read_bytes(database, upload_id, owner)) as blocks:
                file.writelines(blocks)
        except OSError as error:
            raise RunFailed(
                f"the uploaded file cannot be copied to {parent} ({error.strerror}); free some space there."
            ) from error
        yield copy


def drop_left(database: Database) -> None:
    """Delete the copies of processes that are gone; in a folder that hosts share, those of other hosts after a day."""
    for folder in (database.folder / _FOLDER).glob(f"*:*:*{_MARK}*"):
        try:
            gone = is_dead(folder.name.rpartition(_MARK)[0])
            if gone or (gone is None and folder.stat().st_mtime < time.time() - _OLDEST_SECONDS):
                shutil.rmtree(folder, ignore_errors=True)
        except OSError:  # gone in this moment
            continue
