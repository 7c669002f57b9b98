"""Files that a person lets a model decide on: one at a time, beside the store, for a day at most.

All of it lies in one folder, mode 0700: the file, what was asked, what was found, the decisions. No table, log or
preview holds a cell or a name of it, and with the folder all is gone.
"""

from __future__ import annotations

import hashlib
import json
import shutil
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import IO, Any
from uuid import uuid4

from fairpriv_core.errors import BadInput, StoreError
from fairpriv_core.files.forms import Stated
from fairpriv_core.store.database import Database
from fairpriv_core.store.quota import check_bytes
from fairpriv_core.store.uploads import read_suffix, write_upload

KEPT_SECONDS = 86_400.0
_FOLDER, _ASKED, _FOUND, _DECIDED = "decisions", "asked.json", "found-{}.json", "decided-{}.csv"


@dataclass(frozen=True)
class Asked:
    """A file that the model of the run `decide` decides on: whose it is, and the name it came with.

    `upload` names its folder, at random; a file of more than `limit_bytes`, as it is or unpacked, is refused. `stated`
    is what its owner says of how it is written, for the time number `turn`, and `form` how it was read before that.
    """

    decide: str
    owner: str
    upload: str
    limit_bytes: int
    name: str
    turn: int = 0
    stated: Mapping[str, object] = field(default_factory=dict)
    form: Mapping[str, object] | None = None

    @property
    def stored(self) -> str:
        """What the file is called in the store."""
        return f"{self.upload}{read_suffix(self.name)}"

    @property
    def request(self) -> dict[str, object]:
        """What a worker is asked for; it holds nothing of the file, not its name nor a sheet's."""
        return {name: getattr(self, name) for name in ("decide", "owner", "upload", "limit_bytes", "turn")}


class DecisionStore:
    """The verbs of one person's file that is decided on."""

    def __init__(self, database: Database, owner: str) -> None:
        self._database, self._owner = database, owner
        folder_name = hashlib.sha256(owner.encode()).hexdigest()[:32]
        self._folder = database.folder / _FOLDER / folder_name

    def put(self, source: IO[bytes], name: str, *, run: str, limit_bytes: int) -> Asked:
        """Store what `source` holds for the model of `run`, in place of the person's last; BadInput for a quota."""
        self._database.check_writable()
        asked = Asked(run, self._owner, uuid4().hex, limit_bytes, name)
        self.drop()
        try:
            path, size = write_upload(source, self._folder / asked.upload, lambda _: asked.stored)
            with self._database.read() as connection:
                check_bytes(connection, self._owner, size)
            _write(path.parent / _ASKED, asdict(asked))
        except OSError as error:
            raise StoreError(f"the file cannot be stored in {self._folder} ({error.strerror}).") from error
        except BadInput:
            self.drop()
            raise
        return asked

    def asked(self) -> Asked | None:
        """Return the request for the file that is decided on; None without one."""
        requests = [_read(path) for path in self._folder.glob(f"*/{_ASKED}")]
        return next((Asked(**request) for request in requests if request is not None), None)

    def restate(self, asked: Asked, stated: Stated, form: Mapping[str, object]) -> Asked:
        """Have the file read as `stated`, in place of as `form`; what was decided goes. BadInput where it is gone."""
        self._database.check_writable()
        again = replace(asked, turn=asked.turn + 1, stated=stated.to_json(), form=form)
        folder = self.file(asked).parent
        _write(folder / _ASKED, asdict(again))
        for name in (_FOUND, _DECIDED):
            (folder / name.format(asked.turn)).unlink(missing_ok=True)
        return again

    def file(self, asked: Asked) -> Path:
        """Return where the file lies; BadInput where it is gone."""
        paths = list((self._folder / asked.upload).glob(f"{asked.upload}*"))
        if not paths:
            raise BadInput("the file is gone; give it again.", field="file")
        return paths[0]

    def target(self, asked: Asked) -> Path:
        """Return the file, mode 0600 and empty, that the decisions go to; BadInput where its folder is gone."""
        path = self.file(asked).with_name(_DECIDED.format(asked.turn))
        path.touch(mode=0o600)
        return path

    def note(self, asked: Asked, found: Mapping[str, object]) -> None:
        """Store what a worker found in the file, for the page; BadInput where the file is gone."""
        _write(self.file(asked).with_name(_FOUND.format(asked.turn)), found)

    def found(self, asked: Asked) -> dict[str, Any] | None:
        """Return what a worker found in the file; None before that."""
        return _read(self._folder / asked.upload / _FOUND.format(asked.turn))

    def decisions(self, asked: Asked) -> bytes:
        """Return the decisions, as `fairpriv predict` writes them; BadInput where they are gone."""
        try:
            return self.file(asked).with_name(_DECIDED.format(asked.turn)).read_bytes()
        except OSError as error:
            raise BadInput("the decisions are gone; give the file again.", field="file") from error

    def drop(self) -> None:
        """Delete the person's file, what was found and the decisions."""
        shutil.rmtree(self._folder, ignore_errors=True)


def drop_old(database: Database) -> None:
    """Delete what has been kept for so long."""
    before = time.time() - KEPT_SECONDS
    for folder in (database.folder / _FOLDER).glob("*/*"):
        try:
            if folder.stat().st_mtime < before:
                shutil.rmtree(folder, ignore_errors=True)
        except OSError:  # gone in this moment
            continue


def _write(path: Path, content: Mapping[str, object]) -> None:
    path.touch(mode=0o600)
    path.write_text(json.dumps(content), encoding="utf-8")


def _read(path: Path) -> dict[str, Any] | None:
    try:
        document: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError):  # gone, or half written in this moment
        return None
    return document
