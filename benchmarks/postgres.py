"""A PostgreSQL server of one's own on the loopback, in a temporary folder, gone at the end."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MISSING = "needs PostgreSQL's initdb and pg_ctl (on Debian: apt install postgresql)."


def find_programs() -> Path | None:
    """Return the folder of the server's programs; None where there is no server."""
    found = shutil.which("initdb")
    folders = [Path(found).parent] if found else sorted(Path("/usr/lib/postgresql").glob("*/bin"))
    return next((folder for folder in folders if (folder / "initdb").exists()), None)


@contextmanager
def serve_postgres(programs: Path, *, durable: bool = False) -> Iterator[str]:
    """Start a fresh server and give the URL of its database; without `durable` it does not wait for the disk."""
    server = Server(programs, durable=durable)
    try:
        server.start()
        yield server.url
    finally:
        server.kill()
        shutil.rmtree(server.folder, ignore_errors=True)


class Server:
    """A server that can be killed, and started again with what it had stored."""

    def __init__(self, programs: Path, *, durable: bool = False) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="fairpriv-pg-"))
        if os.getuid() == 0:
            shutil.chown(self.folder, "postgres")
        port = find_port()
        self.url = f"postgresql://fairpriv@127.0.0.1:{port}/postgres"
        self._programs, self._data = programs, self.folder / "data"
        self._options = f"-p {port} -h 127.0.0.1 -k {self.folder}" + ("" if durable else " -F")
        _call(programs / "initdb", "-A", "trust", "-U", "fairpriv", "--no-sync", "-D", self._data)

    def start(self) -> None:
        """Start it, and wait until it answers."""
        log = self.folder / "log"
        _call(self._programs / "pg_ctl", "-D", self._data, "-o", self._options, "-l", log, "-w", "start")

    def kill(self) -> None:
        """End it at once, in the middle of what it does."""
        _call(self._programs / "pg_ctl", "-D", self._data, "-m", "immediate", "stop", check=False)


def find_port() -> int:
    """Return a port of the loopback that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _call(program: Path, *arguments: object, check: bool = True) -> None:
    """Run a server program as the user postgres where we are root, whom it refuses."""
    command = [str(program), *map(str, arguments)]
    if os.getuid() == 0:
        command = ["runuser", "-u", "postgres", "--", *command]
    subprocess.run(command, check=check, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
