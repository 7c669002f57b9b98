"""From a wanted epsilon to noise by a paper's own accounting (Rényi), which the proved accountant does not follow."""

from __future__ import annotations

from collections.abc import Callable

from fairpriv_core.privacy.calibrate import calibrate
from fairpriv_core.privacy.event import Events


def calibrate_published(events_for: Callable[[float], Events], *, epsilon: float, delta: float) -> float:
    """Return the smallest noise multiplier m with rdp_epsilon(events_for(m)) <= `epsilon`; errors as `calibrate`."""
    return calibrate(events_for, epsilon=epsilon, delta=delta, accountant="rdp")
