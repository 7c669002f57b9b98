"""A wall around what reads what others wrote."""

from __future__ import annotations

import os
import resource
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_SIZES = Path("/proc/self/statm")
_ROOM_BYTES = 1_500_000_000
_DATA = 5  # which of these sizes is what is mapped from no file


@contextmanager
def limited_memory() -> Iterator[None]:
    """Let this process map _ROOM_BYTES more than now, but for files; no limit where the system does not tell.

    What asks for more gets a MemoryError, or ends the process.
    """
    before = resource.getrlimit(resource.RLIMIT_DATA)
    if _SIZES.exists():
        limit = int(_SIZES.read_text().split()[_DATA]) * os.sysconf("SC_PAGE_SIZE") + _ROOM_BYTES
        hard = before[1]
        resource.setrlimit(resource.RLIMIT_DATA, (limit if hard < 0 else min(limit, hard), hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_DATA, before)
