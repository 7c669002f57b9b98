"""What SQLite and PostgreSQL say in words of their own: the store's clock, and whether a text is a document.

Leases are written and compared with the store's clock, so that no host's decides who holds a run.
"""

from __future__ import annotations

from typing import Any

from sqlalchemy import Boolean, Double
from sqlalchemy.ext.compiler import compiles
from sqlalchemy.sql.functions import FunctionElement

_EPOCH = 2440587.5  # the Julian day of 1970


class now(FunctionElement[float]):
    """Seconds since 1970 as the database counts them: SQLite by its host's clock, PostgreSQL by its server's."""

    type = Double()
    inherit_cache = True


@compiles(now, "sqlite")
def _of_sqlite(*_: Any, **__: Any) -> str:
    return f"((julianday('now') - {_EPOCH}) * 86400.0)"


@compiles(now, "postgresql")
def _of_postgresql(*_: Any, **__: Any) -> str:
    """As of this moment: a transaction may have begun long before, where it waited for another one."""
    return "CAST(EXTRACT(EPOCH FROM clock_timestamp()) AS DOUBLE PRECISION)"


class is_json(FunctionElement[bool]):
    """Whether a column holds JSON; PostgreSQL stores nothing else."""

    type = Boolean()
    inherit_cache = True


@compiles(is_json, "sqlite")
def _test_of_sqlite(element: is_json, compiler: Any, **asked: Any) -> str:
    return f"json_valid({compiler.process(element.clauses, **asked)})"


@compiles(is_json, "postgresql")
def _test_of_postgresql(*_: Any, **__: Any) -> str:
    return "TRUE"
