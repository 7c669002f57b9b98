"""Accuracy and gap of a finished run as far as they may be seen: from its releases where these tell them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from fairpriv_core.methods.catalog import methods
from fairpriv_core.notions.catalog import notions
from fairpriv_core.records.record import RunRecord, accuracy_is_public
from fairpriv_core.records.source import is_published


@dataclass(frozen=True)
class Shown:
    """Shares in [0, 1]; an error is one standard error of a number that was released, None of one that was measured.

    `raw` says whether one of the two numbers is of protected data and no noise covers it.
    """

    accuracy: float
    gap: float
    accuracy_error: float | None
    gap_error: float | None
    raw: bool


def read_shown(record: RunRecord) -> Shown | None:
    """Return what a finished run came to; None where it has no gap or no accuracy."""
    metric, metrics, notes = notions()[record.config["notion"]].metric, record.metrics or {}, record.notes
    gap, gap_error = _find(notes, "released_gaps", "released_gap_errors", metric)
    accuracy, error = _find(notes, "released_accuracy", "released_accuracy_errors", "accuracy")
    gap = metrics.get(metric) if gap_error is None else gap
    accuracy = metrics.get("accuracy") if error is None else accuracy
    if gap is None or accuracy is None:
        return None
    kind = methods().get(record.config["method"]["name"])
    looks = kind is None or kind.info.needs_group_at_prediction
    is_released = error is not None and record.epsilon is not None
    covered = gap_error is not None and (
        is_released or accuracy_is_public(record.threat_model, record.epsilon, uses_group=looks)
    )
    return Shown(accuracy, gap, error, gap_error, not covered and not is_published(record.config["data"]))


def _find(notes: Mapping[str, Any], numbers: str, errors: str, name: str) -> tuple[float | None, float | None]:
    """Return a released number with its error; None twice where either is not there."""
    pair = tuple(notes.get(part, {}).get(name) for part in (numbers, errors))
    return pair if None not in pair else (None, None)
