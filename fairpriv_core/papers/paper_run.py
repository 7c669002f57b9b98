"""A run as a paper's figures and claims read it: its settings, what it states of ε, and its numbers by their paths."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from fairpriv_core.data.problem import DataJson
from fairpriv_core.records.record import RunRecord
from fairpriv_core.records.source import ConfigJson

#: what a run states of its ε
STATED = ("threat_model", "variant", "epsilon", "epsilon_published")
_OWN = (*STATED, "seconds", "config", "metrics", "notes")
_TIME = "seconds_per_epoch"


@dataclass(frozen=True)
class PaperRun:
    """A finished run, from a store or from the committed results, which keep `numbers` alone.

    Attributes:
        config: as JSON.
        setting: what runs have in common that differ by seed alone; None where nothing names it.
        measured: what is measured beside `metrics` and `notes`, by the measure's name.
        numbers: by path; they stand in place of all others.
    """

    key: str
    config: ConfigJson
    seconds: float | None = None
    threat_model: str | None = None
    variant: str | None = None
    epsilon: float | None = None
    epsilon_published: float | None = None
    setting: Hashable | None = None
    metrics: Mapping[str, Any] = field(default_factory=dict)
    notes: Mapping[str, Any] = field(default_factory=dict)
    measured: Mapping[str, Any] = field(default_factory=dict)
    numbers: Mapping[str, float] = field(default_factory=dict)

    @staticmethod
    def of(record: RunRecord) -> PaperRun:
        """Return a store's finished run."""
        return PaperRun(
            record.key,
            record.config,
            seconds=record.seconds,
            **{name: getattr(record, name) for name in STATED},
            metrics=record.metrics or {},
            notes=record.notes,
        )

    @property
    def seed(self) -> int:
        """The run's seed."""
        return int(self.config["seed"])

    @property
    def data(self) -> DataJson:
        """What its config says of the data."""
        return self.config["data"]

    @property
    def method(self) -> Mapping[str, Any]:
        """What its config says of the method: name and hyper-parameters."""
        return self.config["method"]

    @property
    def stated_epsilon(self) -> float | None:
        """The ε of its accounting: the paper's of a published variant, else what is proved."""
        return self.epsilon_published if self.variant == "published" else self.epsilon

    def read(self, path: str) -> Any:
        """Return what stands at `path` ("config/method/name", "metrics/accuracy"); None where nothing does."""
        if path in self.numbers:
            return self.numbers[path]
        if path == "gap":
            return self.read(f"metrics/{self.config['notion']}_gap")
        if path == _TIME:
            epochs = self.method.get("epochs")
            return None if not epochs or self.seconds is None else self.seconds / epochs
        if path == "same_answer":
            rate = self.read("metrics/positive_rate")
            return self.read("metrics/largest_decided") if rate is None else max(rate, 1.0 - rate)
        first, *steps = _split(path)
        return _descend(getattr(self, first) if first in _OWN else self.measured.get(first), steps)


def _descend(value: Any, steps: Sequence[str]) -> Any:
    """Return the value at the path `steps` below `value`; items of a list are found by their names."""
    for step in steps:
        if isinstance(value, Mapping):
            value = value.get(step)
        elif isinstance(value, list):
            value = next((item for item in value if item["name"] == step), None)
        else:
            return None
    return value


@cache
def _split(path: str) -> tuple[str, ...]:
    return tuple(path.split("/"))
