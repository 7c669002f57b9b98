"""A PostgreSQL server of one's own on the loopback, in a temporary folder, gone at the end, whatever that is."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

MISSING = "needs PostgreSQL's initdb and pg_ctl (on Debian: apt install postgresql)."
# Waits until the process that has the server closes the pipe, or is gone; then stops the server and removes its folder.
_WATCH = """
import shutil, subprocess, sys
sys.stdin.buffer.read()
quiet = subprocess.DEVNULL
subprocess.run(sys.argv[2:], cwd="/", stdin=quiet, stdout=quiet, stderr=quiet)
shutil.rmtree(sys.argv[1], ignore_errors=True)
"""
#: variables of fairpriv are none of the server's: what ends processes by them leaves it to the one that watches
_ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("FAIRPRIV_")}


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
        server.close()


class Server:
    """A server that can be killed, and started again with what it had stored; it is gone with this process."""

    def __init__(self, programs: Path, *, durable: bool = False) -> None:
        self.folder = Path(tempfile.mkdtemp(prefix="fairpriv-pg-"))
        if os.getuid() == 0:
            shutil.chown(self.folder, "postgres")
        port = find_port()
        self.url = f"postgresql://fairpriv@127.0.0.1:{port}/postgres"
        self._programs, self._data = programs, self.folder / "data"
        self._options = f"-p {port} -h 127.0.0.1 -k {self.folder}" + ("" if durable else " -F")
        self._watcher = self._watch()
        _call(programs / "initdb", "-A", "trust", "-U", "fairpriv", "--no-sync", "-D", self._data)

    def start(self) -> None:
        """Start it, and wait until it answers."""
        log = self.folder / "log"
        _call(self._programs / "pg_ctl", "-D", self._data, "-o", self._options, "-l", log, "-w", "start")

    def kill(self) -> None:
        """End it at once, in the middle of what it does."""
        subprocess.run(self._stop, check=False, cwd="/", stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def close(self) -> None:
        """End it and remove its folder."""
        self._watcher.communicate()

    @property
    def _stop(self) -> list[str]:
        return _as_server(self._programs / "pg_ctl", "-D", self._data, "-m", "immediate", "stop")

    def _watch(self) -> subprocess.Popen[bytes]:
        """Start the process that ends the server and what it has; no Ctrl-C reaches it."""
        command = [sys.executable, "-I", "-S", "-c", _WATCH, str(self.folder), *self._stop]
        return subprocess.Popen(command, stdin=subprocess.PIPE, env=_ENVIRONMENT, start_new_session=True)


def find_port() -> int:
    """Return a port of the loopback that nothing listens on."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _as_server(program: Path, *arguments: object) -> list[str]:
    """Return the command of a server program, as the user postgres where we are root, whom it refuses."""
    command = [str(program), *map(str, arguments)]
    return ["runuser", "-u", "postgres", "--", *command] if os.getuid() == 0 else command


def _call(program: Path, *arguments: object) -> None:
    command = _as_server(program, *arguments)
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    subprocess.run(command, check=True, cwd="/", env=_ENVIRONMENT, **quiet)
