"""Whose noise a run has: its own, or, where runs share secret samples, its own part of a common one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from fairpriv_core.privacy.mechanism import Mechanism
from fairpriv_core.privacy.randomness import Randomness
from fairpriv_core.records.config import RunConfig
from fairpriv_core.records.plan import Plan
from fairpriv_core.records.reuse import count_shared, name_stream

Arrays = Mapping[str, Any]


def open_mechanisms(plans: Sequence[Plan], checkpoints: Sequence[Arrays | None]) -> list[Mechanism]:
    """Return the mechanisms of runs that begin together: their checkpoints' (as arrays), else new ones.

    New noise is under a fresh key or, in replay mode, a repeatable one. Runs that share samples draw them from one
    stream a seed, under one key; their noise is independent.
    """
    restored = iter(Mechanism.from_states([held for held in checkpoints if held is not None]))
    opened: dict[int | None, Randomness] = {}
    found = []
    for model, (plan, held) in enumerate(zip(plans, checkpoints, strict=True)):
        found.append(next(restored) if held is not None else _open(plan, model, opened))
    return found


def note_stream(plan: Plan, mechanism: Mechanism) -> Plan:
    """Return a plan whose draft says which secret samples the run shares."""
    return replace(plan, draft=replace(plan.draft, notes={**plan.draft.notes, **name_stream(mechanism)}))


def _open(plan: Plan, model: int, opened: dict[int | None, Randomness]) -> Mechanism:
    config, released = plan.config, count_shared(plan.draft.notes)
    if not config.share_samples:
        return Mechanism(_open_randomness(config), released=released)
    if config.replay_noise not in opened:
        opened[config.replay_noise] = _open_randomness(config)
    return Mechanism(opened[config.replay_noise], model=model, released=released, stream=config.seed)


def _open_randomness(config: RunConfig) -> Randomness:
    return Randomness.fresh() if config.replay_noise is None else Randomness.replay(config.replay_noise)
