"""A number with its kind: who may see it is part of what it is, and mypy knows it.

`Measures[Open]` holds nothing raw: what asks for it cannot be given what was measured on protected rows as they are.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Generic, Literal, TypeVar

import numpy as np

from fairpriv_core.methods.catalog import methods
from fairpriv_core.notions.metrics import count_decisions
from fairpriv_core.notions.noisy import Flips, Noise
from fairpriv_core.notions.notion import Notion
from fairpriv_core.plain import Json
from fairpriv_core.records.record import accuracy_is_public
from fairpriv_core.records.release import Kind
from fairpriv_core.records.source import find_answers, is_published
from fairpriv_core.stats import Mean, mean_interval

#: what may be handed on: nobody's secret, or noisy and covered by an ε
Open = Literal["public", "released"]
#: the kinds of what is measured, those that most people may see first
KINDS: tuple[Kind, ...] = ("public", "released", "raw")
K = TypeVar("K", bound=Kind, covariant=True)
M = TypeVar("M", bound=Mean)
CountTable = tuple[np.ndarray, Noise]  # counts (k, l, l) over group, label and decision, and the noise in each


def find_worst(kinds: Sequence[Kind]) -> Kind:
    """Return the kind of what is made of numbers of these `kinds`; "public" of none."""
    return max(kinds, key=KINDS.index, default="public")


@dataclass(frozen=True)
class Fact(Generic[K]):
    """A share, or a gap, in [0, 1]; its 95 % interval where it was released with one."""

    kind: K
    value: float
    interval: tuple[float, float] | None = None


@dataclass(frozen=True)
class MeanFact(Mean, Generic[K]):
    """A number's mean over seeds with its 95 % t interval; `kind` is the worst of theirs."""

    kind: K


def fold(values: Iterable[float | None], kind: Kind) -> MeanFact[Kind]:
    """Return the mean over seeds of numbers, the worst of which is of this kind; None where one is undefined."""
    mean = mean_interval(values)
    return MeanFact(mean.mean, mean.low, mean.high, mean.n, kind)


def fold_facts(facts: Iterable[Fact[Kind] | None]) -> MeanFact[Kind]:
    """Return the mean over seeds of a number; None where one is undefined."""
    present = [fact for fact in facts if fact is not None]
    return fold((fact.value for fact in present), find_worst([fact.kind for fact in present]))


def widen(mean: M, intervals: Sequence[Sequence[float]]) -> M:
    """Return the mean over seeds of gaps by answers; its interval reaches at least as far as its runs' own on average.

    Answers are flipped once for all runs on them, so that more seeds leave no less of the flips in doubt.
    """
    if mean.mean is None or not intervals:
        return mean
    lows, highs = zip(*intervals, strict=True)
    low, high = math.fsum(lows) / len(lows), math.fsum(highs) / len(highs)
    ends = [mean.mean, low, high, *(end for end in (mean.low, mean.high) if end is not None)]
    return cut_interval(replace(mean, low=min(ends), high=max(ends)))


def cut_interval(mean: M, notion: Notion | None = None) -> M:
    """Return a mean over seeds, its interval as far as what is meant can be: a share in [0, 1], of two seeds too.

    `notion`: whose gap it is; None for an accuracy, or a gap of shares. A level, in nats, has no largest value.
    """
    if mean.mean is None or mean.low is None or mean.high is None:
        return mean
    most = math.inf if notion is not None and notion.is_level else 1.0
    return replace(mean, low=min(mean.mean, max(0.0, mean.low)), high=max(mean.mean, min(most, mean.high)))


@dataclass(frozen=True)
class Measures(Generic[K]):
    """What a model came to on its test rows, all of one kind: exact, or "released" from noisy counts that ε covers.

    `found` is as `notions/metrics.py` or `notions/noisy.py` wrote it, or a part of that.
    """

    kind: K
    found: Json

    def read(self, name: str) -> Fact[K] | None:
        """Return a number by its name there; None where it is not, or is undefined."""
        value = self.found.get(name)
        ends = self.found.get(f"{name}_interval")
        return None if value is None else Fact(self.kind, value, None if ends is None else (ends[0], ends[1]))

    def why(self, name: str) -> str:
        """Return why a number is undefined."""
        return str(self.found["reasons"][name])

    @property
    def by_answers(self) -> bool:
        """Whether the numbers of groups are estimates from randomised answers."""
        return "misreport" in self.found

    @property
    def groups(self) -> Sequence[Json]:
        """What is told of each group; () where nothing is."""
        return self.found.get("groups") or ()

    @property
    def table(self) -> CountTable:
        """The counts that the groups' rates and gaps are from."""
        if self.kind == "released":
            noise = Flips(self.found["misreport"]) if self.by_answers else self.found["noise"]
            return np.array(self.found["counts"]), noise
        return count_decisions(self.found), 0.0


def find_kinds(record: Json) -> tuple[Kind, Kind]:
    """Return the kind of a record's exact accuracy, and the kind of its other exact numbers.

    Where groups are randomised answers, exact numbers are of all test rows together and so have the kind of accuracy.
    `record` is a record's JSON, or as much of it as tables over thousands of runs need.
    """
    config = record["config"]
    if is_published(config["data"]):
        return "public", "public"
    method = methods().get(config["method"]["name"])
    uses_group = method is None or method.info.needs_group_at_prediction
    public = accuracy_is_public(record["threat_model"], record["epsilon"], uses_group=uses_group)
    accuracy: Kind = "public" if public else "raw"
    return accuracy, "raw" if find_answers(config["data"]) is None else accuracy
