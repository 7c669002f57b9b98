"""Rates, gaps and intervals out of noisy counts alone: what a paid evaluation may say of a classifier.

Intervals are for the population that the rows were drawn from: they cover the noise and the sampling. A rate p over
denominator D with numerator A has, at the true p, the variance D p (1 - p) of the rows plus (1 - p)^2 v1 + p^2 v0 of
the noise in A - p D (v1 the variance of the noise in the numerator, v0 of that in the rest of the denominator).
The interval is every p at which A - p D lies within z standard deviations of 0: Wilson's (1927) without noise,
Fieller's (1954) without sampling. Differences of two groups combine their intervals as Newcombe (1998) does, and
the largest of several takes each at level 1 - 0.05 / their number.

Counts may be of randomised answers too: `Flips` undoes them on average, and says what they leave in doubt. An answer
that counts for one group counts against the others, so errors of two groups do not cancel: the difference of their
rates is within that of their intervals' ends, whichever way the errors go together.
"""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations, permutations
from statistics import NormalDist
from typing import Any

import numpy as np

from fairpriv_core.notions import rates
from fairpriv_core.notions.catalog import notions
from fairpriv_core.notions.metrics import GROUP_RATES
from fairpriv_core.notions.notion import Notion, format_undefined
from fairpriv_core.notions.rates import TWO, Floats, Rate
from fairpriv_core.notions.scores import format_unscored

LEVEL = 0.95
_FEW_IN_GROUP = "group '{}' has too few noisy rows."
LEAST_ROWS = 30
LEAST_DEVIATIONS = 5.0
STATEMENT = (
    "From noisy joint counts alone, within epsilon. Intervals hold for the population with about 95 % chance "
    "each: they cover the noise and the sampling of the test rows. Of a group with too few noisy rows nothing is "
    "shown; where its size is near that limit, an interval that is shown holds with about 80 % chance."
)
_ANSWERED = (
    "From randomised answers alone, within epsilon: each counts so that flips cancel on average. Intervals hold for "
    "the population with about 95 % chance each: they cover the flips and the sampling of the test rows. Of a group "
    "with too few rows for its flips nothing is shown; where its size is near that limit, an interval that is shown "
    "may hold with 85 % chance alone."
)


@dataclass(frozen=True)
class Flips:
    """What k-ary randomised response leaves in doubt; `misreport` is the chance of each answer that is not the truth.

    A row counts (1[z = a] - m) / (1 - k m) in group a: on average over flips 1 in its own, 0 in others.
    """

    misreport: float

    def undo(self, answers: np.ndarray) -> Floats:
        """Return unbiased counts (k, l, l) by group from those by answer; they may be negative."""
        counts = np.asarray(answers, dtype=np.float64)
        unbiased: Floats = (counts - self.misreport * counts.sum(axis=0)) / self._kept(len(counts))
        return unbiased

    def variances(self, counts: Floats) -> Floats:
        """Return the variance (k, l, l) that flips give unbiased counts, at the true sizes that these estimate."""
        k, others = len(counts), self.misreport
        own = 1.0 - (k - 1) * others
        rows = counts.sum(axis=0)
        members = counts.clip(0.0, rows)
        spread: Floats = members * own * (1.0 - own) + (rows - members) * others * (1.0 - others)
        return spread / self._kept(k) ** 2

    def _kept(self, k: int) -> float:
        return 1.0 - k * self.misreport


Noise = float | Flips


@dataclass(frozen=True)
class Share:
    """A rate with its interval at some level, all in [0, 1]."""

    value: float
    low: float
    high: float


def measure_noisy(
    counts: np.ndarray, noise: Noise, group_names: Sequence[str], label_names: Sequence[str] = ()
) -> dict[str, object]:
    """Return a record's `metrics_private` out of noisy counts (k, l, l) over group, label and decision; JSON.

    `noise` is the standard deviation of each count's noise, > 0, or the flips that counts were undone of. `accuracy`
    and `positive_rate`, for each notion of rates `<notion>_gap` and `<notion>_ratio`, and in `groups` each group's
    `size` and rates, each with a `…_interval`.
    What stands on fewer than 30 noisy rows, or on fewer than five standard deviations of their noise, is None with a
    sentence under `reasons`, and so is the number of every other notion. Of more than two labels there is no
    `positive_rate`, and as in metrics.py groups have the shares that are `decided` for each class, and `classes` are
    listed too.
    """
    table = _Table(np.asarray(counts, dtype=np.float64), noise, tuple(map(str, group_names)))
    reasons: dict[str, str] = {}
    numbers: dict[str, object] = {}
    for name in ("accuracy", "positive_rate") if table.labels == TWO else ("accuracy",):
        numbers |= _state(name, table.share(GROUP_RATES[name], None), reasons, "there are too few rows.")
    for notion in notions().values():
        if notion.is_rate:
            numbers |= _compare(notion, table, reasons)
        else:
            numbers |= _state(notion.metric, None, reasons, format_unscored(notion, table.labels))
    groups = range(len(table.names))
    if table.labels == TWO:
        numbers["groups"] = [_measure_group(table, index, reasons) for index in groups]
    else:
        classes = tuple(map(str, label_names or range(table.labels)))
        numbers["groups"] = [_measure_many(table, index, classes, reasons) for index in groups]
        numbers["classes"] = [_measure_class(table, index, name, reasons) for index, name in enumerate(classes)]
    flips = isinstance(noise, Flips)
    doubt = {"misreport": noise.misreport} if isinstance(noise, Flips) else {"noise": float(noise)}
    result = {
        "level": LEVEL,
        **doubt,
        "counts": table.counts.tolist(),
        "statement": _ANSWERED if flips else STATEMENT,
    }
    return {**numbers, "reasons": reasons, **result}


@dataclass(frozen=True)
class _Table:
    counts: Floats
    noise: Noise
    names: tuple[str, ...]

    @property
    def labels(self) -> int:
        """The number of labels."""
        return int(self.counts.shape[-1])

    def share(self, rate: Rate, group: int | None, tests: int = 1) -> Share | None:
        """Return a rate over one group (None: everyone) at level 1 - 0.05 / tests; None where it stands on too few."""
        cells: Any = self.counts if group is None else self.counts[group : group + 1]
        numerator, denominator = (float(value.sum()) for value in rates.sum_rate(rate, cells))
        parts, total = (float(value.sum()) for value in rates.sum_rate(rate, self._variances(group)))
        if denominator < max(LEAST_ROWS, LEAST_DEVIATIONS * math.sqrt(total)):
            return None
        low, high = noisy_interval(numerator, denominator, variances=(parts, total), tests=tests)
        value = min(max(numerator / denominator, 0.0), 1.0)
        return Share(value, min(low, value), max(high, value))

    def fold_gaps(self, conditions: Iterable[Sequence[Share]]) -> Share:
        """Return the largest difference between any two groups under any condition."""
        return _fold_gaps(conditions, operator.add if isinstance(self.noise, Flips) else math.hypot)

    def _variances(self, group: int | None) -> Any:
        """Return the variance of the noise in each count of one group (1, l, l), or of everyone.

        Flips move nobody out of the sum over all groups.
        """
        if not isinstance(self.noise, Flips):
            return np.full_like(self.counts if group is None else self.counts[:1], self.noise**2)
        if group is None:
            return np.zeros_like(self.counts)
        return self.noise.variances(self.counts)[group : group + 1]


@dataclass(frozen=True)
class Apart:
    """How far groups are apart, and which two are furthest; `small` ones have too few rows to be held against others.

    Groups are given by their places. `gap` is among those that are large enough, with its 95 % interval for the
    population that the rows were drawn from.
    """

    gap: Share
    pair: tuple[int, int]
    small: tuple[int, ...]


def find_apart(counts: np.ndarray, notion: Notion, noise: Noise = 0.0) -> Apart | None:
    """Return how far groups are apart in counts (k, l, l) over group, label and decision, by every pair of large ones.

    A group is large that has 30 rows of those that are compared, and five standard deviations of its noise. `noise` is
    as of `measure_noisy`, 0 for exact counts. None where fewer than two are, or where the notion is undefined.
    """
    table = _Table(np.asarray(counts, dtype=np.float64), noise, ())
    conditions = rates.rates_of(notion, table.labels)
    groups = range(len(table.counts))
    tests = len(conditions) * math.comb(len(groups), 2)
    intervals = [{group: table.share(rate, group, tests) for group in groups} for rate in conditions]
    known = [{group: share for group, share in shares.items() if share} for shares in intervals]
    pairs = [(abs(s[one].value - s[other].value), one, other) for s in known for one, other in combinations(s, 2)]
    if not pairs:
        return None
    small = tuple(group for group in groups if any(shares[group] is None for shares in intervals))
    return Apart(table.fold_gaps([[*shares.values()] for shares in known]), max(pairs)[1:], small)


def gap_interval(counts: np.ndarray, notion: Notion) -> Share | None:
    """Return the notion's gap in exact counts (k, l, l) over group, label and decision, with its 95 % interval.

    None where a group has fewer than 30 rows of those that are compared, and where the notion is undefined.
    """
    apart = find_apart(counts, notion)
    return None if apart is None or apart.small else apart.gap


def noisy_interval(
    numerator: float, denominator: float, *, variances: tuple[float, float], tests: int = 1
) -> tuple[float, float]:
    """Return the interval of a rate, within [0, 1], at level 1 - 0.05 / tests.

    `variances` are those of the noise in numerator and denominator, whose counts the numerator's are among; the
    denominator is at least five standard deviations of its noise.
    """
    z2 = NormalDist().inv_cdf(1 - (1 - LEVEL) / (2 * tests)) ** 2
    parts, total = variances
    square = denominator**2 + z2 * (denominator - total)
    linear = -2 * numerator * denominator - z2 * (denominator - 2 * parts)
    constant = numerator**2 - z2 * parts
    middle, spread = -linear / (2 * square), math.sqrt(max(linear**2 - 4 * square * constant, 0.0)) / (2 * square)
    return min(max(middle - spread, 0.0), 1.0), min(max(middle + spread, 0.0), 1.0)


def _compare(notion: Notion, table: _Table, reasons: dict[str, str]) -> dict[str, object]:
    """Return a notion's gap and ratio over all pairs of groups and all conditions."""
    groups, conditions = range(len(table.names)), rates.rates_of(notion, table.labels)
    pairs = len(conditions) * math.comb(len(table.names), 2)
    by_pair = [[table.share(rate, group, pairs) for group in groups] for rate in conditions]
    by_group = [
        [table.share(rate, group, len(conditions) * len(table.names)) for group in groups] for rate in conditions
    ]
    small = next((table.names[group] for shares in by_pair for group in groups if shares[group] is None), None)
    why = _FEW_IN_GROUP.format(small) if small is not None else "the rate is 0 in every group."
    gap = None if small is not None else table.fold_gaps([[s for s in shares if s] for shares in by_pair])
    known = [[s for s in shares if s] for shares in by_group]
    if table.labels > TWO:  # a class that nobody is decided for has no ratio
        known = [shares for shares in known if any(share.value > 0 for share in shares)]
    ratio = None if small is not None or not known else _fold_ratios(known)
    if not conditions:
        gap, why = None, format_undefined(notion, table.labels)
    return {**_state(f"{notion.name}_gap", gap, reasons, why), **_state(f"{notion.name}_ratio", ratio, reasons, why)}


def _fold_gaps(conditions: Iterable[Sequence[Share]], join: Callable[[float, float], float]) -> Share:
    """Return the largest difference between two groups under any condition; `join` puts two errors together."""
    value = low = high = 0.0
    for shares in conditions:
        for one, other in combinations(shares, 2):
            difference = one.value - other.value
            down = join(one.value - one.low, other.high - other.value)
            up = join(one.high - one.value, other.value - other.low)
            value = max(value, abs(difference))
            low = max(low, difference - down, -difference - up)
            high = max(high, abs(difference - down), abs(difference + up))
    return Share(value, min(low, value), min(high, 1.0))


def _fold_ratios(conditions: Iterable[Sequence[Share]]) -> Share | None:
    """Return the lowest rate over the highest under any condition; None where every rate is 0."""
    value = low = high = 1.0
    for shares in conditions:
        for one, other in permutations(shares, 2):
            if max(share.value for share in shares) == 0:
                return None
            value = min(value, one.value / other.value if other.value > 0 else 1.0)
            low = min(low, one.low / other.high if other.high > 0 else 1.0)
            high = min(high, one.high / other.low if other.low > 0 else 1.0)
    return Share(value, min(low, value), max(high, value))


def _measure_group(table: _Table, group: int, reasons: dict[str, str]) -> dict[str, object]:
    name = table.names[group]
    described: dict[str, object] = {"name": name, "size": float(table.counts[group].sum())}
    for rate_name, rate in GROUP_RATES.items():
        described |= _state(rate_name, table.share(rate, group), reasons, _FEW_IN_GROUP.format(name), f"groups/{name}/")
    return described


def _measure_many(table: _Table, group: int, classes: Sequence[str], reasons: dict[str, str]) -> dict[str, object]:
    """Return one group where there are more than two labels."""
    name = table.names[group]
    right = table.share(GROUP_RATES["accuracy"], group)
    shares = [_pair("share", table.share(rates.decided(label), group)) for label in range(len(classes))]
    return {
        "name": name,
        "size": float(table.counts[group].sum()),
        **_state("accuracy", right, reasons, _FEW_IN_GROUP.format(name), f"groups/{name}/"),
        "decided": {label: share["share"] for label, share in zip(classes, shares, strict=True)},
        "decided_interval": {label: share["share_interval"] for label, share in zip(classes, shares, strict=True)},
    }


def _measure_class(table: _Table, label: int, name: str, reasons: dict[str, str]) -> dict[str, object]:
    """Return how one class fares: its accuracy, and the share of all rows that is decided for it."""
    right = table.share(rates.among(rates.correct, label), None)
    return {
        "name": name,
        "size": float(table.counts[:, label].sum()),
        **_state("accuracy", right, reasons, f"class '{name}' has too few noisy rows.", f"classes/{name}/"),
        **_pair("decided", table.share(rates.decided(label), None)),
    }


def _pair(name: str, share: Share | None) -> dict[str, object]:
    value, interval = (None, None) if share is None else (share.value, [share.low, share.high])
    return {name: value, f"{name}_interval": interval}


def _state(name: str, share: Share | None, reasons: dict[str, str], why: str, within: str = "") -> dict[str, object]:
    """Return a share as JSON; where there is none, `reasons` gets why, under `within` + name."""
    if share is None:
        reasons[f"{within}{name}"] = why
    return _pair(name, share)
