"""What accompanies one fit in memory: its mechanism, what it showed and is not stored yet, the epsilon spent so far."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.evaluate import evaluate
from fairpriv_core.engine.training import Observer, Snapshot, Training
from fairpriv_core.notions.catalog import notions
from fairpriv_core.privacy.curve import LiveEpsilon
from fairpriv_core.privacy.mechanism import Mechanism
from fairpriv_core.records.plan import Plan

_CONSTANT = ("size", "positives", "selected", "correct", "base_rate")  # of a group: counts, and what no epoch changes

_OF_CLASS = ("accuracy", "accuracy_low", "accuracy_high", "decided")
NOISE = "mechanism_"  # what names of arrays of `Mechanism.state` begin with

Values = list[tuple[int, str, float | None]]


class Watch:
    """One run's plan while it trains; `values`, `histograms`, `epoch` are what it showed and is not stored yet.

    Of a run that does not train `alone` nothing is shown on the way, and no epsilon is stated before its end.
    """

    def __init__(self, plan: Plan, *, alone: bool = True) -> None:
        self.plan = plan
        self.mechanism: Mechanism | None = None
        self.values: Values = []
        self.histograms: dict[str, Any] | None = None
        self.epoch = 0
        self._replayed = plan.config.replay_noise is not None
        self._live: LiveEpsilon | None = None
        planned = plan.method.event(plan.train.n)
        if alone and planned and plan.method.unproved_reason() is None:
            self._live = LiveEpsilon(planned, plan.config.delta)

    def open(self, observer: Observer, mechanism: Mechanism, checkpoint: Mapping[str, Any] | None = None) -> Training:
        """Return what the fit is given: `mechanism`, and the arrays that it goes on from (None: it begins)."""
        self.mechanism = mechanism
        return Training(
            notion=notions()[self.plan.config.notion],
            seed=self.plan.config.seed,
            mechanism=mechanism,
            observer=observer,
            checkpoint=None if checkpoint is None or is_start(checkpoint) else checkpoint,
        )

    def show(self, snapshot: Snapshot) -> None:
        """Take the end of an epoch: scalars, clipped shares, and all that is measured on the test split."""
        self.values += snapshot_values(snapshot, self.plan.test)
        self.values += [(snapshot.step, name, value) for name, value in self._spent()]
        self.histograms = {name: _plain(asdict(histogram)) for name, histogram in snapshot.histograms.items()}
        self.epoch = snapshot.epoch

    def spent(self) -> float | None:
        """Return the epsilon spent by now; None where none may be stated."""
        return dict(self._spent()).get("epsilon")

    def _spent(self) -> list[tuple[str, float]]:
        if self._live is None or self.mechanism is None:
            return []
        value = self._live.epsilon_at(self.mechanism.events)
        return [("epsilon_if_secret" if self._replayed else "epsilon", value)] if math.isfinite(value) else []


def is_start(checkpoint: Mapping[str, Any]) -> bool:
    """Return whether a checkpoint holds the noise alone: the run begins anew, with the noise that it had."""
    return all(name.startswith(NOISE) for name in checkpoint)


def snapshot_values(snapshot: Snapshot, test: Dataset) -> Values:
    """Return (step, name, value) of the end of an epoch."""
    measured = evaluate(snapshot.network, snapshot.parameters, test)
    named: dict[str, float | None] = {_name_scalar(name): value for name, value in snapshot.scalars.items()}
    named |= name_measured(measured)
    for name, histogram in snapshot.histograms.items():
        named |= {f"clipped/{name}/{group}": share for group, share in histogram.clipped.items()}
    return [(snapshot.step, name, _finite(value)) for name, value in named.items()]


def _name_scalar(name: str) -> str:
    return f"train/{name}" if name == "loss" else name


def name_measured(measured: Mapping[str, Any]) -> dict[str, float | None]:
    """Return the numbers of `measure` as curves name them: of all rows, of each group and of each class."""
    named = {f"test/{name}": value for name, value in measured.items() if _is_number(value)}
    for group in measured["groups"]:
        rates = {name: group[name] for name in group if _is_number(group[name]) and not name.startswith(_CONSTANT)}
        named |= {f"group/{group['name']}/{name}": value for name, value in rates.items()}
    for each in measured.get("classes", ()):
        named |= {f"class/{each['name']}/{name}": each[name] for name in _OF_CLASS}
    return named


def _is_number(value: object) -> bool:
    return value is None or (isinstance(value, int | float) and not isinstance(value, bool))


def _finite(value: float | None) -> float | None:
    return float(value) if value is not None and math.isfinite(value) else None


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(item) for name, item in value.items()}
    return list(value) if isinstance(value, tuple) else value
