"""From a wanted epsilon to noise by a paper's own accounting (Rényi), which the proved accountant does not follow."""

from __future__ import annotations

import math
from collections.abc import Callable

from fairpriv_core import checks
from fairpriv_core.errors import BadInput
from fairpriv_core.privacy.accountants import rdp_epsilon
from fairpriv_core.privacy.event import Events

_LOW, _HIGH = 1e-2, 1e6
_HALVINGS = 40


def calibrate_published(events_for: Callable[[float], Events], *, epsilon: float, delta: float) -> float:
    """Return the smallest noise multiplier m with rdp_epsilon(events_for(m)) <= `epsilon`; BadInput where none does."""
    checks.positive(epsilon=epsilon)
    checks.open_unit(delta=delta)
    least = rdp_epsilon(events_for(_HIGH), delta)
    if least > epsilon:
        raise BadInput(
            f"epsilon must be > {least:.4g} for this run by the published accounting, got {epsilon:g}.", field="epsilon"
        )
    low, high = math.log(_LOW), math.log(_HIGH)
    for _ in range(_HALVINGS):
        middle = (low + high) / 2
        enough = rdp_epsilon(events_for(math.exp(middle)), delta) <= epsilon
        low, high = (low, middle) if enough else (middle, high)
    return math.exp(high)
