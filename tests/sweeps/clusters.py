"""Dask clusters for tests: a scheduler and workers, each a process of its own on the loopback."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import IO, Self

from benchmarks.postgres import find_port

ROOT = Path(__file__).parent.parent.parent


class Processes:
    """A scheduler and its workers; all are gone at the end of the `with` block."""

    def __init__(self, folder: Path, *, workers: int = 0) -> None:
        self.port = find_port()
        self.address = f"tcp://127.0.0.1:{self.port}"
        self.workers: list[subprocess.Popen[bytes]] = []
        self._folder, self._first, self._logs = folder, workers, list[IO[bytes]]()

    def __enter__(self) -> Self:
        self._scheduler = self._start_scheduler()
        for _ in range(self._first):
            self.start_worker()
        return self

    def __exit__(self, *_: object) -> None:
        started = [*self.workers, self._scheduler]
        for process in started:
            process.kill()
        for process in started:
            process.wait()
        for log in self._logs:
            log.close()

    def start_worker(self, env: Mapping[str, str | None] | None = None) -> None:
        """Start a worker; `env` is laid over this process's environment, None takes a variable away."""
        more = ("--nthreads", "1", "--no-nanny", "--no-dashboard", "--memory-limit", "0")
        self.workers.append(self._start("worker", self.address, *more, env=env or {}))

    def restart(self) -> None:
        """Kill the scheduler and start it again, with one worker: those that it had end with it."""
        self._scheduler.kill()
        self._scheduler.wait()
        self._scheduler = self._start_scheduler()
        self.start_worker()

    def told(self) -> str:
        """Return all that the processes said."""
        return "\n".join(path.read_text() for path in self._folder.glob("dask-*.log"))

    def _start_scheduler(self) -> subprocess.Popen[bytes]:
        return self._start("scheduler", "--port", str(self.port), "--no-dashboard", "--no-show", env={})

    def _start(self, what: str, *arguments: str, env: Mapping[str, str | None]) -> subprocess.Popen[bytes]:
        log = (self._folder / f"dask-{len(self._logs)}-{what}.log").open("wb")
        self._logs.append(log)
        command = [sys.executable, "-m", "dask", what, *arguments, "--host", "127.0.0.1"]
        whole = {**os.environ, "OMP_NUM_THREADS": "1", "PYTHONPATH": str(ROOT), **env}
        given = {name: value for name, value in whole.items() if value is not None}
        return subprocess.Popen(command, env=given, cwd=self._folder, stdout=log, stderr=log)
