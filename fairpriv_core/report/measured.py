"""One setting's accuracy, gap and groups with their 95 % intervals, from the best numbers that may be shown.

A number is taken from where it says most to most people: public (a benchmark's rows, or an accuracy that follows from
what ε takes as public), else paid for (noisy counts that ε covers), else raw, which only an analyst's records hold.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

import numpy as np

from fairpriv_core.methods.catalog import methods
from fairpriv_core.notions.catalog import notions
from fairpriv_core.notions.noisy import find_apart, gap_interval
from fairpriv_core.notions.notion import Notion
from fairpriv_core.records.reached import Reached, Table, count_decisions, fold_apart, judge_aim
from fairpriv_core.records.record import accuracy_is_public, is_covered
from fairpriv_core.records.source import is_published
from fairpriv_core.report.tables import TableRow, read_outcome
from fairpriv_core.stats import Mean, mean_interval, wilson_interval

Source = Literal["public", "paid", "raw"]
SOURCES: tuple[Source, ...] = ("public", "paid", "raw")
Record = Mapping[str, Any]
_NOTHING = Mean(None, None, None, 0)
_OF_EVERYBODY = ("accuracy", "constant_accuracy")


@dataclass(frozen=True)
class GroupShare:
    """Of a group, `size` of its rows and the `share` of them that its notion compares, with a 95 % interval or None."""

    name: str
    size: float
    share: float
    interval: tuple[float, float] | None


@dataclass(frozen=True)
class Measured:
    """What one setting came to; shares in [0, 1].

    Attributes:
        name: how a sentence calls it, "" where it is alone.
        method: its method's id.
        pursues: whether it was trained for a small gap.
        epsilon: the budget asked for, else the one proved; None without one.
        published: whether that ε is the paper's claim.
        source: of the number that may be shown to the fewest people.
        accuracy, gap: means over seeds with 95 % t intervals, or one seed's over its test rows (and noise).
        by_seed: accuracy and gap of each seed that has both.
        groups: of the first seed, under the first condition of the notion, where that may be told.
        sizes: how many test rows each group has, by its name.
        constant: the accuracy of the same answer for everybody.
        reached: whether it came to the gap that it was asked for; None where it was asked for none.
        gaps: those of the notions that were not asked for, by notion.
        among_large: the gap; where a group is too small to tell of all, the largest between the others.
    """

    name: str
    method: str
    pursues: bool
    epsilon: float | None
    published: bool
    source: Source
    accuracy: Mean
    gap: Mean
    by_seed: Mapping[int, tuple[float, float]]
    groups: tuple[GroupShare, ...]
    constant: float | None
    reached: Reached | None = None
    gaps: Mapping[str, Mean] = field(default_factory=dict)
    among_large: Mean = _NOTHING
    sizes: Mapping[str, float] = field(default_factory=dict)


def measure(records: Sequence[Record], name: str = "") -> Measured:
    """Return what one setting came to; `records` are its seeds' records, as JSON, whole or cut down for policy.

    Where one of the numbers is raw, none is noisy: the two do not stand in one sentence.
    """
    first, outcome = records[0], read_outcome(records[0])
    notion, info = notions()[first["config"]["notion"]], methods()[outcome.method].info
    metrics = ("accuracy", notion.metric)
    if any(value[0] == "raw" for record in records for metric in metrics if (value := _read(record, metric))):
        records = [{**record, "metrics_private": None} for record in records]
        first = records[0]
    found = {metric: [_read(record, metric) for record in records] for metric in metrics}
    accuracy, gap = (_fold(records, metric, found[metric]) for metric in found)
    pairs = zip(records, *found.values(), strict=True)
    sources = [each[0] for values in (found[notion.metric], found["accuracy"]) for each in values if each]
    aims = first["config"]["method"].get("gap_target") is not None
    tables = list(_list_tables(records, notion.metric)) if aims or gap.mean is None else []
    sources += ["paid" for _, noise in tables if noise]
    source: Source = max(sources, key=SOURCES.index, default="public")
    constants = [value for record in records if (value := _read(record, "constant_accuracy"))]
    constant = mean_interval(value for one, value in constants if SOURCES.index(one) <= SOURCES.index(source)).mean
    return Measured(
        name=name,
        method=outcome.method,
        pursues=info.pursues_notion,
        epsilon=outcome.epsilon if outcome.epsilon is not None else first.get("epsilon"),
        published=outcome.variant == "published",
        source=source,
        accuracy=accuracy,
        gap=gap,
        by_seed={record["config"]["seed"]: (a[1], g[1]) for record, a, g in pairs if a and g},
        groups=tuple(_list_groups(first, notion)),
        constant=constant,
        reached=judge_aim(records, tables),
        gaps=dict(_list_gaps(records, notion, source)),
        among_large=gap if gap.mean is not None else _measure_large(tables, notion),
        sizes={str(group["name"]): max(0.0, group["size"]) for group in _find_groups(first)},
    )


def measure_row(row: TableRow, name: str = "") -> Measured:
    """Return what a row of the run table came to, from the exact numbers that it holds."""
    return Measured(
        name=name,
        method=row.method,
        pursues=methods()[row.method].info.pursues_notion,
        epsilon=row.epsilon,
        published=row.variant == "published",
        source="public" if is_published(row.asked) else "raw",
        accuracy=row.accuracy,
        gap=row.gap,
        by_seed={},
        groups=(),
        constant=row.constant,
    )


def difference(after: Measured, before: Measured, which: Literal["accuracy", "gap"]) -> Mean:
    """Return how far `which` moved, with a 95 % interval: paired over common seeds, else of two independent numbers.

    The interval is None where one of the two has none and fewer than two seeds are common. Two settings on the same
    test rows agree on much, so that the second interval is rather too wide.
    """
    index = 0 if which == "accuracy" else 1
    seeds = after.by_seed.keys() & before.by_seed.keys()
    if len(seeds) > 1:
        return mean_interval(after.by_seed[seed][index] - before.by_seed[seed][index] for seed in seeds)
    return subtract(getattr(after, which), getattr(before, which))


def subtract(one: Mean, other: Mean) -> Mean:
    """Return the difference of two independent numbers; its interval is None where one of the two has none."""
    if one.mean is None or other.mean is None:
        return _NOTHING
    value = one.mean - other.mean
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return Mean(value, None, None, 1)
    down = math.hypot(one.mean - one.low, other.high - other.mean)
    up = math.hypot(one.high - one.mean, other.mean - other.low)
    return Mean(value, value - down, value + up, 1)


def _sources(record: Record) -> Iterator[tuple[Source, Mapping[str, Any]]]:
    """Yield where a record's numbers may be read, the widest shown first."""
    exact, raw = record.get("metrics") or {}, record.get("metrics_are_raw", True)
    looks = methods()[record["config"]["method"]["name"]].info.needs_group_at_prediction
    if is_published(record["config"]["data"]) or not raw:
        yield "public", exact
    elif accuracy_is_public(record, uses_group=looks):
        yield "public", {name: exact.get(name) for name in _OF_EVERYBODY}
    if is_covered(record):
        yield "paid", record.get("metrics_private") or {}
    if raw:
        yield "raw", exact


def _list_tables(records: Sequence[Record], name: str) -> Iterator[Table]:
    """Yield each run's counts over group, label and decision with their noise: those that its gap `name` is from.

    Where a gap may not be told because one group is small, those of the others may.
    """
    for record in records:
        with_groups = [(source, found) for source, found in _sources(record) if found.get("groups")]
        told = next((pair for pair in with_groups if pair[1].get(name) is not None), None)
        for source, found in [told] if told else with_groups[:1]:
            yield (np.array(found["counts"]), found["noise"]) if source == "paid" else (count_decisions(found), 0.0)


def _measure_large(tables: Sequence[Table], notion: Notion) -> Mean:
    """Return the largest gap between two groups that are large enough, by counts of which one group is not."""
    found = [apart for counts, noise in tables if (apart := find_apart(counts, notion, noise))]
    return fold_apart(found) if found else _NOTHING


def _list_gaps(records: Sequence[Record], asked: Notion, source: Source) -> Iterator[tuple[str, Mean]]:
    """Yield the gaps of the notions that were not asked for, as far as they are for as many people as `source`."""
    for name, notion in notions().items():
        found = [_read(record, notion.metric) for record in records]
        known = all(each and SOURCES.index(each[0]) <= SOURCES.index(source) for each in found)
        if notion is not asked and known:
            yield name, _fold(records, notion.metric, found)


def _read(record: Record, name: str) -> tuple[Source, float] | None:
    return next(((source, found[name]) for source, found in _sources(record) if found.get(name) is not None), None)


def _fold(records: Sequence[Record], name: str, found: Sequence[tuple[Source, float] | None]) -> Mean:
    """Return the mean over seeds; of one seed with the interval that its own rows and noise give it."""
    mean = mean_interval(None if each is None else each[1] for each in found)
    if mean.n != 1 or mean.mean is None:
        return mean
    record, source = next((record, each[0]) for record, each in zip(records, found, strict=True) if each)
    metrics = dict(_sources(record))[source]
    ends = metrics.get(f"{name}_interval") if source == "paid" else _measure_interval(record, metrics, name)
    return mean if ends is None else Mean(mean.mean, min(ends[0], mean.mean), max(ends[1], mean.mean), 1)


def _measure_interval(record: Record, metrics: Mapping[str, Any], name: str) -> tuple[float, float] | None:
    """Return the 95 % interval of an exact number for the population that the test rows were drawn from."""
    if name == "accuracy":
        rows = record["data"]["n_test"]
        return wilson_interval(round(metrics[name] * rows), rows)
    if not metrics.get("groups"):
        return None
    found = gap_interval(count_decisions(metrics), notions()[name.removesuffix("_gap")])
    return None if found is None else (found.low, found.high)


def _list_groups(record: Record, notion: Notion) -> Iterator[GroupShare]:
    """Yield the groups with the first rate that the notion compares; nothing where none may be told."""
    rate = notion.rates[0]
    for group in _find_groups(record):
        if group.get(rate) is not None:
            yield GroupShare(str(group["name"]), group["size"], group[rate], group.get(f"{rate}_interval"))


def _find_groups(record: Record) -> Sequence[Mapping[str, Any]]:
    """Return what may be told of each group; nothing where none may."""
    listed = (found["groups"] for _, found in _sources(record) if found.get("groups"))
    found: Sequence[Mapping[str, Any]] = next(listed, ())
    return found
