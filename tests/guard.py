"""What tests start ends with them, however they end: Ctrl-C, SIGTERM and kill -9 leave no server and no browser behind.

A process of its own waits until the one that runs tests is gone: the system then closes the pipe between them. It ends
all that carry the mark of that one in their environment, which they have from whoever started them, at any depth.
"""

from __future__ import annotations

import os
import secrets
import signal
import subprocess
import sys
import time
from contextlib import suppress
from pathlib import Path

MARK = "FAIRPRIV_TESTS"
GRACE_SECONDS = 5.0  # in which what is told to end may put away its files
_guards: list[subprocess.Popen[bytes]] = []


def start_guard() -> None:
    """Have what this process starts from now on end with it."""
    mark = secrets.token_hex(8)
    command = [sys.executable, "-I", "-S", __file__, mark]
    # without an environment it has no mark itself, in a session of its own no Ctrl-C reaches it
    _guards.append(subprocess.Popen(command, stdin=subprocess.PIPE, env={}, start_new_session=True))
    os.environ[MARK] = mark


def find_marked(mark: str) -> list[int]:
    """Return the processes that carry a mark; none on a system without /proc."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if f"{MARK}={mark}".encode() in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
    return found


def end_marked(mark: str) -> None:
    """Tell all that carry a mark to end, and kill those that stay."""
    ends = time.monotonic() + GRACE_SECONDS
    told = set[int]()
    while left := find_marked(mark):
        for process in left:
            with suppress(ProcessLookupError):
                if time.monotonic() > ends:
                    os.kill(process, signal.SIGKILL)
                elif process not in told:
                    os.kill(process, signal.SIGTERM)
        told.update(left)
        time.sleep(0.05)


if __name__ == "__main__":
    sys.stdin.buffer.read()  # ends with the tests
    end_marked(sys.argv[1])
