"""Opening the run store: SQLite by default, PostgreSQL by URL. Every failure is a StoreError with one sentence.

SQLite writers take the lock at their start (BEGIN IMMEDIATE): a transaction that reads first and writes later is
refused at once when another one wrote in between, whatever the time-out. Readers never wait (WAL).
"""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from functools import cache
from pathlib import Path
from time import monotonic, sleep
from typing import IO, Any

from sqlalchemy import (
    URL,
    Connection,
    Engine,
    Insert,
    Table,
    create_engine,
    event,
    exc,
    insert,
    inspect,
    make_url,
    select,
    text,
)
from sqlalchemy.dialects import postgresql, sqlite

from fairpriv_core.errors import BadInput, StoreError
from fairpriv_core.store.checksum import read_json
from fairpriv_core.store.identity import make_secret
from fairpriv_core.store.tables import SCHEMA_VERSION, schema, store_info

_BUSY_SECONDS = 30
_AGAIN_SECONDS = 0.01
_CONNECT_SECONDS = 10
_ELSEWHERE = "set FAIRPRIV_STORE to another place"
_SCRUB_SECONDS = 2
_LOCK_DIGITS = 16
_PRAGMAS = (
    "synchronous=NORMAL",
    "foreign_keys=ON",
    "secure_delete=ON",  # a deleted checkpoint holds the key of a run's noise
)
_CREATE_LOCK = 7_461_002  # any fixed number: makes two first openings of one PostgreSQL store wait for each other
_LEDGER_LOCK = 7_461_003  # likewise for transactions of the ledger


class Database:
    """Connections to one store. `read()` and `write()` give a transaction; `where` names the store in messages."""

    def __init__(self, place: str | None = None, *, frozen: str = "") -> None:
        """Open, and create if it is not there. Raises StoreError; a store of another version is left untouched.

        `frozen` is the sentence with which every write is then refused; the connections themselves cannot write.
        """
        self.url, self._frozen = resolve(place), ""
        self.where = self.url.set(query={}).render_as_string(hide_password=True)  # a query may hold a password too
        self.path = Path(self.url.database or "") if self.url.get_backend_name() == "sqlite" else None
        self.writable = True
        self._file: int | None = None  # the file's number, by which another in its place is known
        self._watch: tuple[int | None, sqlite3.Connection] | None = None
        if self.path is not None:
            self.where = str(self.path)
            self.writable = self._prepare_file(self.path)
        self._engine = self._connect()
        self._readers = self._engine.execution_options(read_only=True)
        try:
            self._check_version()
        except StoreError:
            self.close()
            raise
        if frozen:
            self.close()
            self.writable, self._frozen = False, frozen
            self._engine = self._connect()
            self._readers = self._engine.execution_options(read_only=True)

    @contextmanager
    def read(self) -> Iterator[Connection]:
        """Give a connection for reading: one consistent view."""
        self._follow_file()
        with self._translate(), self._readers.begin() as connection:
            yield connection

    @contextmanager
    def write(self, *, durable: bool = False, scrub: bool = False) -> Iterator[Connection]:
        """Give a connection for one transaction, all or nothing; a `durable` one survives a power cut.

        What a `scrub` one deletes cannot be read from the store's files afterwards.
        """
        self.check_writable()
        self._follow_file()
        with self._translate(), self._engine.execution_options(durable=durable).begin() as connection:
            yield connection
        if scrub:
            self._scrub()

    @contextmanager
    def ledger(self, *, scrub: bool = False) -> Iterator[Connection]:
        """Give a connection for one durable transaction that no other of these overlaps."""
        with self.write(durable=True, scrub=scrub) as connection:
            if self.path is None:
                connection.execute(text(f"SELECT pg_advisory_xact_lock({_LEDGER_LOCK})"))
            yield connection

    def check_writable(self) -> None:
        """Raise BadInput where the store was opened frozen, StoreError where it cannot be written."""
        if self._frozen:
            raise BadInput(self._frozen)
        if not self.writable:
            raise StoreError(f"the run store {self.where} is read-only; make it writable or {_ELSEWHERE}.")

    def identify(self) -> str:
        """Return what tells this store from any other, by whatever address it was reached; holds no secret."""
        if self.path is not None:
            return str(self.path)
        query = "SELECT system_identifier, CAST('run' AS regclass)::oid FROM pg_control_system()"
        with self.read() as connection:
            return "/".join(map(str, connection.execute(text(query)).one()))

    @property
    def folder(self) -> Path:
        """Where files that belong to the store lie: beside a SQLite file, else ~/.fairpriv."""
        return Path.home() / ".fairpriv" if self.path is None else self.path.parent

    def open_lock(self, name: str) -> IO[bytes]:
        """Open the file by whose lock processes of this host agree on who does `name` for this store.

        Raises StoreError where it cannot be made.
        """
        digest = hashlib.sha256(self.identify().encode()).hexdigest()[:_LOCK_DIGITS]
        place = self.folder / f"{name}-{digest}.lock"
        try:
            self.folder.mkdir(parents=True, exist_ok=True, mode=0o700)
            return os.fdopen(os.open(place, os.O_CREAT | os.O_RDWR, 0o600), "wb")
        except OSError as error:
            raise StoreError(f"the lock {place} cannot be made ({error.strerror}); {_ELSEWHERE}.") from error

    def version(self) -> tuple[int | None, int] | None:
        """Return what any commit to a SQLite store changes, at a hundredth of a query's cost; None for PostgreSQL."""
        if self.path is None:
            return None
        self._follow_file()
        with self._translate():
            if self._watch is None or self._watch[0] != self._file:
                self._watch = (self._file, sqlite3.connect(self.path, _BUSY_SECONDS, check_same_thread=False))
            return self._file, self._watch[1].execute("PRAGMA data_version").fetchone()[0]

    def close(self) -> None:
        """Close all connections."""
        self._engine.dispose()
        if self._watch is not None:
            self._watch[1].close()
            self._watch = None

    def _scrub(self) -> None:
        """Empty SQLite's log, where pages lie as they were before a deletion overwrote them.

        One that is being read stays until the next call, or until the store is closed.
        """
        if self.path is None:
            return
        with (
            suppress(sqlite3.OperationalError),  # the deletion itself is done
            closing(sqlite3.connect(self.path, timeout=_SCRUB_SECONDS, isolation_level=None)) as opened,
        ):
            opened.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()

    def _follow_file(self) -> None:
        """Raise StoreError where a SQLite file is gone: connections would go on with what was moved or deleted."""
        if self.path is not None and not self.path.exists():
            raise StoreError(f"the run store {self.where} is gone; put it back or {_ELSEWHERE}.")
        file = None if self.path is None else self.path.stat().st_ino
        if self._file not in (None, file):
            self.close()
        self._file = file

    def _connect(self) -> Engine:
        """Return the engine; no traceback of it shows what is stored, such as rows or the key of noise."""
        try:
            if self.path is None:
                limits = {"connect_timeout": _CONNECT_SECONDS}
                options = {} if self.writable else {"postgresql_readonly": True}
                return create_engine(
                    self.url, pool_pre_ping=True, connect_args=limits, execution_options=options, hide_parameters=True
                )
            url = self.url
            if not self.writable:
                name, value = ("mode", "ro") if _has_write_mode(self.path.parent) else ("immutable", "1")
                url = URL.create("sqlite", database=self.path.as_uri(), query={"uri": "true", name: value})
            limits = {"timeout": _BUSY_SECONDS}
            engine = create_engine(url, json_deserializer=read_json, connect_args=limits, hide_parameters=True)
        except ModuleNotFoundError as error:
            raise StoreError(f"a PostgreSQL store needs the package '{error.name}'; pip install it.") from error
        event.listen(engine, "connect", _set_pragmas if self.writable else _set_no_pragmas)
        event.listen(engine, "begin", _begin)
        return engine

    def _prepare_file(self, path: Path) -> bool:
        """Create what is missing with private modes; return whether the file may be written."""
        try:
            if not path.parent.exists():
                path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)  # another opening may have made it by now
            if not path.exists():
                os.close(os.open(path, os.O_CREAT | os.O_WRONLY, 0o600))
        except OSError as error:
            raise StoreError(f"the run store {path} cannot be made ({error.strerror}); {_ELSEWHERE}.") from error
        if path.is_dir():
            raise StoreError(f"the run store {path} is a folder; {_ELSEWHERE}, such as {path / 'runs.db'}.")
        _check_file(path)
        return _has_write_mode(path) and _has_write_mode(path.parent)

    def _check_version(self) -> None:
        with self.read() as connection:
            tables = set(inspect(connection).get_table_names())
            versions = list(connection.scalars(select(store_info.c.version))) if "store_info" in tables else []
        _refuse(self.where, versions, tables)
        if not versions:
            self._create()

    def _create(self) -> None:
        """Make the tables, unless another first opening has made them by now."""
        with self.write() as connection:
            if self.path is None:
                connection.execute(text(f"SELECT pg_advisory_xact_lock({_CREATE_LOCK})"))
            schema.create_all(connection)
            if connection.scalar(select(store_info.c.version)) is None:
                connection.execute(insert(store_info).values(version=SCHEMA_VERSION))
                make_secret(connection)

    @contextmanager
    def _translate(self) -> Iterator[None]:
        try:
            yield
        except (exc.DBAPIError, sqlite3.Error) as error:
            raise StoreError(_format_failure(self.where, str(getattr(error, "orig", error)))) from error


def resolve(place: str | None) -> URL:
    """Return the URL of a store given as a path, a URL or None (FAIRPRIV_STORE, else ~/.fairpriv/runs.db)."""
    address = place or os.environ.get("FAIRPRIV_STORE") or str(Path.home() / ".fairpriv" / "runs.db")
    if "://" not in address:
        return URL.create("sqlite", database=str(Path(address).expanduser().absolute()))
    try:
        url = make_url(address.replace("postgres://", "postgresql://", 1))
    except exc.ArgumentError as error:
        raise StoreError("FAIRPRIV_STORE is neither a path nor a database URL.") from error
    if url.get_backend_name() == "postgresql":
        return url.set(drivername="postgresql+psycopg")
    if url.get_backend_name() != "sqlite" or not url.database:
        raise StoreError(f"a run store is a SQLite file or a PostgreSQL URL, got '{url.drivername}'.")
    return url.set(database=str(Path(url.database).absolute()))


def upsert(connection: Connection, table: Table, rows: list[dict[str, Any]]) -> None:
    """Insert rows, or replace what is stored under their primary key."""
    if not rows:
        return
    connection.execute(_build_upsert(table, connection.dialect.name, tuple(rows[0])), rows)


@cache
def _build_upsert(table: Table, dialect: str, names: tuple[str, ...]) -> Insert:
    """Return the statement that inserts or replaces rows of the columns `names`; building it takes a while."""
    statement = postgresql.insert(table) if dialect == "postgresql" else sqlite.insert(table)
    primary = [column.name for column in table.primary_key]
    changed = {name: statement.excluded[name] for name in names if name not in primary}
    return statement.on_conflict_do_update(index_elements=primary, set_=changed)


def _check_file(path: Path) -> None:
    """Refuse, before anything is written, a file that is no store or one of another version."""
    if path.stat().st_size == 0:
        return
    try:
        connection = sqlite3.connect(f"{path.as_uri()}?mode=ro", _BUSY_SECONDS, uri=True)
        try:
            tables = {row[0] for row in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
            is_store = "store_info" in tables
            versions = [row[0] for row in connection.execute("SELECT version FROM store_info")] if is_store else []
        finally:
            connection.close()
    except sqlite3.Error as error:
        raise StoreError(_format_failure(str(path), str(error))) from error
    _refuse(str(path), versions, tables)


def _refuse(where: str, versions: list[int], tables: set[str]) -> None:
    if versions and versions != [SCHEMA_VERSION]:
        raise StoreError(
            f"the run store {where} was written by another fairpriv (its version is {versions[0]}, this one reads "
            f"{SCHEMA_VERSION} alone): export its runs with that one ('fairpriv export KEY' for each) and "
            f"{_ELSEWHERE}."
        )
    if tables and "store_info" not in tables:
        raise StoreError(f"{where} is a database of something else, not a run store; {_ELSEWHERE}.")


def _has_write_mode(path: Path) -> bool:
    """Return whether anyone may write: holds for the superuser too, whom the system would let through."""
    return bool(path.stat().st_mode & 0o222) and os.access(path, os.W_OK)


def _read_text(content: bytes) -> str:
    """Return stored text; damaged text too, so that one row of it does not hide the others."""
    return content.decode(errors="replace")


def _set_pragmas(connection: Any, _record: Any) -> None:
    connection.isolation_level, connection.text_factory = None, _read_text
    _keep_log(connection)
    for pragma in _PRAGMAS:
        connection.execute(f"PRAGMA {pragma}")


def _keep_log(connection: sqlite3.Connection) -> None:
    """Have a file write to a log (WAL), which readers never wait for.

    While another first opening does the same, SQLite refuses at once, whatever the time-out.
    """
    until = monotonic() + _BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
            return
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode != sqlite3.SQLITE_BUSY or monotonic() >= until:
                raise
        sleep(_AGAIN_SECONDS)


def _set_no_pragmas(connection: Any, _record: Any) -> None:
    connection.isolation_level, connection.text_factory = None, _read_text


def _begin(connection: Connection) -> None:
    options = connection.get_execution_options()
    if options.get("read_only", False):
        connection.exec_driver_sql("BEGIN")
        return
    connection.exec_driver_sql(f"PRAGMA synchronous={'FULL' if options.get('durable', False) else 'NORMAL'}")
    connection.exec_driver_sql("BEGIN IMMEDIATE")


def _format_failure(where: str, cause: str) -> str:
    cause = cause.strip().splitlines()[0] if cause.strip() else "no reason given"
    lower = cause.lower()
    if "readonly" in lower or "read-only" in lower:
        return f"the run store {where} is read-only; make it writable or {_ELSEWHERE}."
    if "is full" in lower or "no space" in lower:
        return (
            f"the disk of the run store {where} is full; nothing stored was changed: free some space or {_ELSEWHERE}."
        )
    if "malformed" in lower:
        return f"the run store {where} is damaged ({cause}); take it from a backup ('fairpriv check' lists all damage)."
    if "not a database" in lower:
        return f"{where} is not a run store ({cause}); {_ELSEWHERE}."
    if "locked" in lower:
        return f"the run store {where} has been busy for {_BUSY_SECONDS} seconds; try again."
    if _is_unreachable(lower):
        cause = cause.removeprefix("connection failed: ")
        return (
            f"the run store {where} could not be reached within {_CONNECT_SECONDS} seconds ({cause}); "
            f"start the database or {_ELSEWHERE}."
        )
    return f"the run store {where} cannot be used ({cause}); nothing stored was changed."


def _is_unreachable(cause: str) -> bool:
    """Return whether no database answered: one that did says FATAL."""
    silent = "connection failed" in cause and "fatal" not in cause
    return silent or "failed to resolve host" in cause or "timeout expired" in cause
