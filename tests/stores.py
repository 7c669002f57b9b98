"""Stores to test on: SQLite, and where a test asks for it a PostgreSQL server of its own on the loopback."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import psycopg
import pytest

from benchmarks.postgres import MISSING, find_programs, serve_postgres
from fairpriv_core.records.config import RunConfig, build_config
from fairpriv_core.store.runs import RunStore, open_store

_NAMES = count()
#: for what each database does in a way of its own: locks, claims, clocks, upserts, JSON, bytes, first openings
ON_BOTH = pytest.mark.parametrize("place", ["sqlite", "postgresql"], indirect=True)
#: for tests of whole processes, which take seconds: that both databases keep the same promises is tested quicker
ON_SQLITE_FIRST = pytest.mark.parametrize(
    "place", ["sqlite", pytest.param("postgresql", marks=pytest.mark.long)], indirect=True
)


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """Return the URL of a database on a fresh PostgreSQL server."""
    programs = find_programs()
    if programs is None:
        pytest.skip(MISSING)
    with serve_postgres(programs) as url:
        yield url


@pytest.fixture
def postgres_place(postgres: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """Return where an empty PostgreSQL store can be opened, whose uploads and locks lie in this test's folder."""
    monkeypatch.setenv("HOME", str(tmp_path))
    name = f"store{next(_NAMES)}"
    with psycopg.connect(postgres, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    return f"{postgres}?options=-csearch_path%3D{name}"


@pytest.fixture
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return where an empty store can be opened: on SQLite, and on PostgreSQL where a test says `ON_BOTH`."""
    kind = getattr(request, "param", "sqlite")
    return str(tmp_path / "runs.db") if kind == "sqlite" else request.getfixturevalue("postgres_place")


@pytest.fixture
def store(place: str) -> Iterator[RunStore]:
    """Return an empty store at `place`."""
    with open_store(place) as opened:
        yield opened


@pytest.fixture
def default(store: RunStore, place: str, monkeypatch: pytest.MonkeyPatch) -> RunStore:
    """Return an empty store at `place`, the default one of this test and of its processes."""
    monkeypatch.setenv("FAIRPRIV_STORE", place)
    return store


@pytest.fixture
def local(own_store: Path) -> Iterator[RunStore]:
    """Return an empty SQLite store, the default one of this test."""
    with open_store(str(own_store)) as opened:
        yield opened


@pytest.fixture
def configure() -> Callable[..., RunConfig]:
    """Return a function from hyper-parameters to a short run's config on the embedded data set."""

    def build(method: str = "none", *, replay_noise: int | None = None, seed: int = 0, **given: object) -> RunConfig:
        data = {"dataset": "synthetic", "sensitive": "group"}
        named = {"name": method, "epochs": 2, **given}
        return build_config(
            {
                "data": data,
                "notion": "demographic_parity",
                "method": named,
                "epsilon": 1,
                "seed": seed,
                "replay_noise": replay_noise,
            }
        )

    return build
