"""How much memory training a network takes, and how much there is. Free of torch."""

from __future__ import annotations

import os
from pathlib import Path

from fairpriv_core.engine.presets import AnyShape

_LIMIT = Path("/sys/fs/cgroup/memory.max")  # of a container, in bytes, or "max"
_OF_PARAMETER = 70  # bytes: the parameter, its gradients and moments, its noise, a checkpoint of all that
_OF_VALUE = 8  # bytes of a batch's value: as it is gathered and as it is passed through


def estimate_memory(shape: AnyShape, batch_size: int) -> int:
    """Return about how many bytes training one model takes at its peak, beside the data set."""
    return _OF_PARAMETER * shape.size + _OF_VALUE * batch_size * shape.inputs


def find_memory() -> int | None:
    """Return how many bytes of memory this machine, or this container, has; None where that cannot be told."""
    try:
        here = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None
    limit = _LIMIT.read_text().strip() if _LIMIT.is_file() else ""
    return min(here, int(limit)) if limit.isdecimal() else here
