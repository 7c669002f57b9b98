"""How long tests wait for what must come: one number, large, so that a busy machine fails none of them."""

from __future__ import annotations

import os
import time
from collections.abc import Callable
from typing import TypeVar

PATIENCE = float(os.environ.get("FAIRPRIV_PATIENCE", "180"))  # seconds
_Found = TypeVar("_Found")


def wait_until(look: Callable[[], _Found], what: str) -> _Found:
    """Return what `look` finds as soon as that is true; fail, saying `what` did not come, when patience ends."""
    ends = time.monotonic() + PATIENCE
    while not (found := look()):
        assert time.monotonic() < ends, f"{what} did not come within {PATIENCE:.0f} s"
        time.sleep(0.05)
    return found
