"""Stores to test on: SQLite, and a PostgreSQL server of the test's own on the loopback."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path

import psycopg
import pytest

from fairpriv_core.runs.config import RunConfig, build_config
from fairpriv_core.runs.store import RunStore, open_store

_NAMES = count()


@pytest.fixture(scope="session")
def postgres() -> Iterator[str]:
    """Return the URL of a database on a fresh PostgreSQL server."""
    programs = _find_programs()
    if programs is None:
        pytest.skip("needs PostgreSQL's initdb and pg_ctl (on Debian: apt install postgresql).")
    folder = Path(tempfile.mkdtemp(prefix="fairpriv-pg-"))
    if os.getuid() == 0:
        shutil.chown(folder, "postgres")
    port = _free_port()
    options = f"-p {port} -h 127.0.0.1 -k {folder} -F"
    try:
        _call(programs / "initdb", "-A", "trust", "-U", "fairpriv", "--no-sync", "-D", folder / "data")
        _call(programs / "pg_ctl", "-D", folder / "data", "-o", options, "-l", folder / "log", "-w", "start")
        yield f"postgresql://fairpriv@127.0.0.1:{port}/postgres"
    finally:
        _call(programs / "pg_ctl", "-D", folder / "data", "-m", "immediate", "stop", check=False)
        shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture(params=["sqlite", "postgresql"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """Return where an empty store can be opened, on each kind of database."""
    if request.param == "sqlite":
        return str(tmp_path / "runs.db")
    server = request.getfixturevalue("postgres")
    name = f"store{next(_NAMES)}"
    with psycopg.connect(server, autocommit=True) as connection:
        connection.execute(f"CREATE SCHEMA {name}")
    return f"{server}?options=-csearch_path%3D{name}"


@pytest.fixture
def store(place: str) -> Iterator[RunStore]:
    """Return an empty store on each kind of database."""
    with open_store(place) as opened:
        yield opened


@pytest.fixture
def default(store: RunStore, place: str, monkeypatch: pytest.MonkeyPatch) -> RunStore:
    """Return an empty store on each kind of database, the default one of this test and of its processes."""
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


def _find_programs() -> Path | None:
    found = shutil.which("initdb")
    folders = [Path(found).parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    return next((folder for folder in folders if (folder / "initdb").exists()), None)


def _call(program: Path, *arguments: object, check: bool = True) -> None:
    """Run a server program as the user postgres where we are root, whom it refuses."""
    command = [str(program), *map(str, arguments)]
    if os.getuid() == 0:
        command = ["runuser", "-u", "postgres", "--", *command]
    subprocess.run(command, check=check, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
