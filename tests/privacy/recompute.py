"""Epsilon from a record's `event` (JSON) with dp_accounting alone: none of the project's code.

A second way to the same number: dp_accounting's own accountant and events, one composition at a time, no merging.
"""

from __future__ import annotations

from typing import Any

import dp_accounting
from dp_accounting.pld import PLDAccountant

ADD_REMOVE = dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE
REPLACE = dp_accounting.NeighboringRelation.REPLACE_ONE


def epsilon_from_json(event: list[dict[str, Any]], delta: float) -> float:
    """Return the composition's epsilon; a dp_accounting Gaussian is 0 against 1, or -1 against +1 under replacement."""
    relation = REPLACE if any(part.get("relation") == "replace" for part in event) else ADD_REMOVE
    accountant = PLDAccountant(relation)
    for part in event:
        accountant.compose(_to_event(part, relation), part["count"])
    return float(accountant.get_epsilon(delta))


def _to_event(part: dict[str, Any], relation: Any) -> dp_accounting.DpEvent:
    if part["kind"] == "gaussian":  # a full shift of 1: half of what replacement would make of it
        return dp_accounting.GaussianDpEvent(part["noise_multiplier"] * (2 if relation is REPLACE else 1))
    if part["kind"] == "laplace" and relation is ADD_REMOVE:
        return dp_accounting.LaplaceDpEvent(part["scale"])
    if part["kind"] == "sampled_gaussian":
        noise = dp_accounting.GaussianDpEvent(part["noise_multiplier"])
        return dp_accounting.PoissonSampledDpEvent(part["sampling_rate"], noise)
    raise ValueError(part["kind"])
