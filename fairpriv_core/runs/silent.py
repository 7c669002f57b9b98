"""A journal that writes nothing down, for benchmarks and tests: its runs cannot be watched, stopped or resumed."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any

from fairpriv_core.engine.training import Training, Unwatched
from fairpriv_core.errors import BadInput
from fairpriv_core.records.plan import Plan
from fairpriv_core.runs.noise import open_mechanisms
from fairpriv_core.runs.observer import Watch


class SilentJournal:
    """`execute(config, SilentJournal())` runs a config in memory and returns its outcome."""

    def __init__(self) -> None:
        self._begun = time.monotonic()
        self._runs = 1

    def find_record(self, key: str) -> Mapping[str, Any]:
        """There is no other run: BadInput."""
        raise BadInput(f"run {key} is not here: this run keeps no store.", field="reuse")

    def begin(self, plans: Sequence[Plan]) -> list[Training]:
        """Return what each fit is given."""
        self._begun, self._runs = time.monotonic(), len(plans)
        mechanisms = open_mechanisms(plans, [None] * len(plans))
        each = zip(plans, mechanisms, strict=True)
        return [Watch(plan, alone=False).open(Unwatched(), mechanism) for plan, mechanism in each]

    def spent(self, place: int) -> dict[str, Any]:
        """Return the record's `seconds`: an equal share of what all took."""
        return {"seconds": round((time.monotonic() - self._begun) / self._runs, 3)}
