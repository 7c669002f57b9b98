"""What may be said about epsilon: a number with what it covers, or the reason why there is none."""

from __future__ import annotations

import math
from dataclasses import dataclass

from fairpriv_core.methods.base import Method
from fairpriv_core.privacy.accountants import epsilon as proved_epsilon
from fairpriv_core.privacy.event import Events


@dataclass(frozen=True)
class Statement:
    """Either `epsilon`, or None with `epsilon_reason`; `epsilon_if_secret` has the value of a replayed run."""

    epsilon: float | None = None
    epsilon_reason: str | None = None
    epsilon_if_secret: float | None = None


def state_epsilon(method: Method, events: Events, *, delta: float, replay_noise: int | None = None) -> Statement:
    """Return what holds for `method` having released `events`, by privacy loss distributions."""
    if method.info.threat_model is None:
        return Statement(epsilon_reason=f"Method '{method.info.name}' is not private: it adds no noise.")
    unproved = method.unproved_reason()
    if unproved is not None:
        return Statement(epsilon_reason=unproved)
    value = proved_epsilon(events, delta) if events else 0.0
    if not math.isfinite(value):
        return Statement(epsilon_reason="No finite epsilon is proved for what is released: it has next to no noise.")
    if replay_noise is not None:
        reason = f"The noise can be repeated from replay_noise = {replay_noise}, so it protects nobody."
        return Statement(epsilon_reason=reason, epsilon_if_secret=value)
    return Statement(epsilon=value)


def published_epsilon(method: Method, n_train: int, delta: float) -> float | None:
    """Return what the paper's own accounting claims; None where it claims nothing finite."""
    claim = method.published_epsilon(n_train, delta)
    return claim if claim is not None and math.isfinite(claim) else None
