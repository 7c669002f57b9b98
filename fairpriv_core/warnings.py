"""The warnings of this package, as Python has them: for whoever calls, and in no record, report or export.

A warning may have read protected rows: it is raw. What a record says in its own `warnings` follows from settings and
the number of rows alone, and is given as such a warning too.
"""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from itertools import count


class FairprivWarning(UserWarning):
    """Base of every warning of this package: a sentence or two, with what to do."""


class DataWarning(FairprivWarning):
    """Rows, labels or groups are likely to be read otherwise than was meant."""


class PrivacyWarning(FairprivWarning):
    """Epsilon or delta protects less than it seems, or may be spent for nothing."""


class TrainingWarning(FairprivWarning):
    """Training will hardly lead anywhere."""


_GRAVITY = (FairprivWarning, DataWarning, TrainingWarning, PrivacyWarning)


def warn_once(doubts: Sequence[FairprivWarning]) -> None:
    """Warn of all that was found at once, by the gravest kind there is; of nothing where nothing was."""
    if doubts:
        kind = max((type(warning) for warning in doubts), key=_GRAVITY.index)
        warn(kind(" ".join(map(str, doubts))))


def warn(warning: FairprivWarning) -> None:
    """Warn at the line that called this package."""
    package = __name__.partition(".")[0]
    frame = sys._getframe(1)
    for level in count(2):
        if frame.f_back is None or frame.f_globals.get("__name__", "").partition(".")[0] != package:
            warnings.warn(warning, stacklevel=level)
            return
        frame = frame.f_back
