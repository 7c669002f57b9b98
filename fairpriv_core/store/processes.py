"""Which process holds a run, and whether it is still there. Its start is part of its name: process ids are reused."""

from __future__ import annotations

import os
import socket
from pathlib import Path


def identify(pid: int | None = None) -> str:
    """Return "host:pid:start" of a process on this host (this one by default)."""
    number = os.getpid() if pid is None else pid
    return f"{socket.gethostname()}:{number}:{_started(number) or 0}"


def is_dead(identity: str | None) -> bool:
    """Return whether `identity` names a process of this host that is gone; of other hosts only a lease tells."""
    if identity is None:
        return True
    host, pid, started = identity.rsplit(":", 2)
    return host == socket.gethostname() and _started(int(pid)) != int(started)


def _started(pid: int) -> int | None:
    """Return the process's start in clock ticks since boot; 0 without /proc; None where it is gone or a zombie."""
    try:
        text = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return _started_without_proc(pid)
    after_name = text.rpartition(")")[2].split()
    return None if after_name[0] in "ZX" else int(after_name[19])


def _started_without_proc(pid: int) -> int | None:
    if Path("/proc/self").exists():
        return None
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return None
    except PermissionError:
        pass
    return 0
