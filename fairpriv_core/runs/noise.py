"""Whose noise a run has: its own, or, where runs share secret samples, its own part of a common one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from fairpriv_core.privacy.event import Events
from fairpriv_core.privacy.mechanism import Mechanism
from fairpriv_core.privacy.randomness import Randomness
from fairpriv_core.runs.config import RunConfig
from fairpriv_core.runs.execute import Plan


@dataclass(frozen=True)
class Noise:
    """Secret streams, which of their models a run is, and which of their samples it takes (None: its own)."""

    randomness: Randomness
    model: int = 0
    stream: int | None = None

    def open(self, released: Events) -> Mechanism:
        """Return the run's mechanism; `released` is what it has released already."""
        shared: dict[str, Any] = {} if self.stream is None else {"stream": self.stream}
        return Mechanism(self.randomness, model=self.model, released=released, **shared)


def open_randomness(config: RunConfig) -> Randomness:
    """Return secret streams under a fresh key, or repeatable ones."""
    return Randomness.fresh() if config.replay_noise is None else Randomness.replay(config.replay_noise)


def share_noise(plans: Sequence[Plan]) -> list[Noise | None]:
    """Return the noise of runs that begin together: None for one that has its own.

    Those that share samples draw them from one stream a seed, under one key; their noise is independent.
    """
    opened: dict[int | None, Randomness] = {}
    shared: list[Noise | None] = []
    for model, config in enumerate(plan.config for plan in plans):
        if config.share_samples and config.replay_noise not in opened:
            opened[config.replay_noise] = open_randomness(config)
        shared.append(Noise(opened[config.replay_noise], model, config.seed) if config.share_samples else None)
    return shared
