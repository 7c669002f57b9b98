"""The right to work on a run, and what its holder writes."""

from __future__ import annotations

import hashlib
import os
import socket
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from fairpriv_core.engine.training import Histogram
from fairpriv_core.errors import FairprivError
from fairpriv_core.records.record import RunRecord
from fairpriv_core.records.source import ConfigJson
from fairpriv_core.store.dialects import now

LEASE_SECONDS = 15.0


def identify(pid: int | None = None) -> str:
    """Return "host:pid:start" of a process on this host (this one by default)."""
    number = os.getpid() if pid is None else pid
    return f"{socket.gethostname()}:{number}:{_started(number) or 0}"


def is_dead(identity: str | None) -> bool | None:
    """Return whether the process that `identity` names is gone; None where only its lease tells.

    That is a process of another host, and, without /proc, one whose id some process of this host has: maybe another.
    """
    if identity is None:
        return True
    host, pid, started = identity.rsplit(":", 2)
    if host != socket.gethostname():
        return None
    gone = _started(int(pid)) != int(started)
    return gone if gone or int(started) else None


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


class LeaseLost(FairprivError):
    """Another process has taken the run over; this one may not write to it any more."""


@dataclass(frozen=True)
class Claim:
    """The right to work on a run; `attempt` fences its writes. Earlier attempts spent `seconds` and got to `step`.

    `epoch` is the last whose end they measured. Runs that train together are claimed together, one claim each, and may
    have several owners. `created` tells the run from a deleted one of the same name: a run that had not begun leaves
    its name free.
    """

    key: str
    attempt: int
    config: ConfigJson = field(hash=False)
    seconds: float
    step: int
    epoch: int
    created: float
    owner: str


@dataclass(frozen=True)
class Progress:
    """What one commit stores: where training is, new metric values (step, name, value) and the latest histograms."""

    step: int
    epoch: int
    seconds: float
    epsilon: float | None = None
    values: Sequence[tuple[int, str, float | None]] = ()
    histograms: Mapping[str, Histogram] = field(default_factory=dict)


@dataclass(frozen=True)
class Beginning:
    """What is known of a run before it trains: the draft of its record, and how many steps it will take."""

    draft: RunRecord
    steps: int | None


@dataclass(frozen=True)
class Ending:
    """How a run ended: its record, what was not stored by then, and the files that it leaves."""

    record: RunRecord
    progress: Progress
    artifacts: Sequence[Artifact] = ()
    error_kind: str | None = None


@dataclass(frozen=True)
class Artifact:
    """A file that a finished run leaves."""

    name: str
    content: bytes

    @property
    def sha256(self) -> str:
        """The seal of `content`."""
        return hashlib.sha256(self.content).hexdigest()


#: the columns of a row that nobody holds, and of which nobody asks anything
FREE = {"worker": None, "lease_expires": None, "request": None}


def hold(seconds: float = LEASE_SECONDS) -> dict[str, object]:
    """Return the columns by which this process holds a row for `seconds` from now on."""
    return {"worker": identify(), "lease_expires": now() + seconds}
