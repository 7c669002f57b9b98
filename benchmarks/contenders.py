"""Ours, timed through the public API: what `fit` and `fit_many` do in an epoch of steady state.

The first epoch (multipliers still 0) and the last (nothing released at its end) are left out of it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from statistics import fmean
from typing import Any

from benchmarks.measuring import read_clock
from benchmarks.shapes import NOISE, RATE, Work
from fairpriv_core.engine.training import Snapshot, Training, Unwatched
from fairpriv_core.methods.base import Method
from fairpriv_core.methods.catalog import methods
from fairpriv_core.notions.catalog import notions
from fairpriv_core.privacy.mechanism import Mechanism
from fairpriv_core.privacy.randomness import Randomness
from fairpriv_core.records.parameters import build_method

_NOISES = ("noise_primal", "noise_dual", "noise_counts")
_MULTIPLIERS = {"noise_primal": NOISE, "noise_dual": 5.0, "noise_counts": 5.0}


@dataclass(frozen=True)
class Case:
    """A method, its variant ("" where it has none) and what else is set; a secret sample is as large as a batch."""

    method: str
    variant: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)

    def build(self, work: Work, *, epochs: int) -> Method:
        """Return the method at the work's batch, width and depth, with plain SGD and noise set by hand."""
        kind = methods()[self.method]
        known = kind.__dataclass_fields__
        shared = {"epochs": epochs, "batch_size": work.batch, "optimizer": "sgd", "learning_rate": RATE}
        network = {"hidden_layers": work.layers, "width": work.width}
        noise = {name: _MULTIPLIERS[name] for name in _NOISES if name in known}
        given = {"variant": self.variant} if self.variant else {}
        return build_method(kind, {**shared, **network, **noise, **given, **self.settings})


@dataclass
class Stopwatch:
    """An observer that keeps nothing but the time at the end of each epoch of `steps` steps.

    With `shown` the loop makes for it what a run on the dashboard is shown at the end of each epoch.
    """

    steps: int
    device: str = "cpu"
    shown: bool = False
    ends: list[float] = field(default_factory=list)
    _taken: int = 0

    def watches(self, epoch: int) -> bool:
        return self.shown

    def due(self) -> bool:
        self._taken += 1
        if self._taken % self.steps == 0:
            self.ends.append(read_clock(self.device))
        return False

    def show(self, snapshot: Snapshot) -> None:
        """Style away."""

    def commit(self, **progress: object) -> None:
        raise AssertionError("nothing is ever due")

    def steady(self) -> list[float]:
        """Return the seconds of each epoch but the first and the last."""
        return [after - before for before, after in zip(self.ends, self.ends[1:-1], strict=False)]


class Unseen(Stopwatch, Unwatched):
    """A stopwatch that no loop shows anything."""


def build_training(
    observer: Any, *, seed: int = 0, mechanism: Mechanism | None = None, given: Mapping[str, Any] | None = None
) -> Training:
    """Return what a fit is given, with fresh noise unless it has a mechanism."""
    made = Mechanism(Randomness.fresh()) if mechanism is None else mechanism
    return Training(notion=notions()["demographic_parity"], seed=seed, mechanism=made, observer=observer, given=given)


def time_epoch(case: Case, work: Work, *, epochs: int = 5, watched: bool = False) -> float:
    """Return the seconds of a steady epoch of one model: the mean of all but the first and the last of `epochs`.

    Some epochs draw a block of noise more than others, so a median would not do. With `watched` they count
    what the dashboard draws after each.
    """
    method = case.build(work, epochs=epochs)
    steps = method.steps(work.data.n) // epochs
    watch = Stopwatch(steps, work.device, shown=True) if watched else Unseen(steps, work.device)
    method.fit(work.data, replace(build_training(watch), device=work.device))
    return fmean(watch.steady())
