"""One setting's accuracy, gap and groups with their 95 % intervals, from the best numbers that may be shown.

A number is taken from where it says most to most people: public (a benchmark's rows, or an accuracy that follows from
what ε takes as public), else released (noisy counts that ε covers), else raw, which only an analyst's runs hold.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Literal

from fairpriv_core.facts.aim import Reached, fold_apart, judge_aim
from fairpriv_core.facts.measures import CountTable, Fact, Measures, cut_interval, find_worst, fold_facts, widen
from fairpriv_core.facts.run_facts import RunFacts
from fairpriv_core.facts.tables import TableRow
from fairpriv_core.methods.catalog import methods
from fairpriv_core.notions.catalog import notions
from fairpriv_core.notions.noisy import find_apart, gap_interval
from fairpriv_core.plain import Json
from fairpriv_core.records.release import Kind
from fairpriv_core.stats import Mean, mean_interval, wilson_interval

_NOTHING = Mean(None, None, None, 0)


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
        kind: of the number that may be shown to the fewest people.
        accuracy, gap: means over seeds with 95 % t intervals, cut to what a share or gap can be, or one seed's interval
            over its test rows (and noise).
        by_seed: accuracy and gap of each seed that has both.
        groups: of the first seed, under the first condition of the notion, where that may be told.
        sizes: how many test rows each group has, by its name.
        constant: the accuracy of the same answer for everybody.
        reached: whether it came to the gap that it was asked for; None where it was asked for none.
        gaps: those of the notions that were not asked for, by notion.
        among_large: the gap; where a group is too small to tell of all, the largest between the others.
        answered: whether its gaps are estimates from randomised answers, which its seeds share.
    """

    name: str
    method: str
    pursues: bool
    epsilon: float | None
    published: bool
    kind: Kind
    accuracy: Mean
    gap: Mean
    by_seed: Mapping[int, tuple[float, float]]
    groups: tuple[GroupShare, ...]
    constant: float | None
    reached: Reached | None = None
    gaps: Mapping[str, Mean] = field(default_factory=dict)
    among_large: Mean = _NOTHING
    sizes: Mapping[str, float] = field(default_factory=dict)
    answered: bool = False


def measure(runs: Sequence[RunFacts[Kind]], name: str = "") -> Measured:
    """Return what one setting came to; `runs` are its seeds, as an audience may see them.

    Where one of the numbers is raw all are exact: raw and noisy numbers never share a sentence.
    """
    metrics = ("accuracy", runs[0].notion.metric)
    if any(fact.kind == "raw" for run in runs for metric in metrics if (fact := run.read(metric))):
        runs = [run.without_released() for run in runs]
    first, outcome = runs[0], runs[0].outcome
    by_metric = {metric: [run.read(metric) for run in runs] for metric in metrics}
    accuracy, gap = (_fold(runs, metric, by_metric[metric]) for metric in by_metric)
    pairs = zip(runs, *by_metric.values(), strict=True)
    kinds: list[Kind] = [fact.kind for facts in by_metric.values() for fact in facts if fact]
    tables = list(_list_tables(runs, first.notion.metric)) if first.gap_target is not None or gap.mean is None else []
    kind = find_worst([*kinds, "released"] if any(noise for _, noise in tables) else kinds)
    constants = [fact for run in runs if (fact := run.read("constant_accuracy"))]
    constant = mean_interval(fact.value for fact in constants if find_worst([fact.kind, kind]) == kind).mean
    return Measured(
        name=name,
        method=outcome.method,
        pursues=first.method.pursues_notion,
        epsilon=outcome.epsilon if outcome.epsilon is not None else first.epsilon.proved,
        published=outcome.variant == "published",
        kind=kind,
        accuracy=accuracy,
        gap=gap,
        by_seed={run.seed: (a.value, g.value) for run, a, g in pairs if a and g},
        groups=tuple(_list_groups(first)),
        constant=constant,
        reached=judge_aim(runs, tables),
        gaps=dict(_list_gaps(runs, kind)),
        among_large=gap if gap.mean is not None else _measure_large(tables, first),
        sizes={str(group["name"]): max(0.0, group["size"]) for group in _find_groups(first)},
        answered=first.data.answered,
    )


def format_levels(exact: Measures[Kind]) -> tuple[str, ...]:
    """Return each level of a run's exact numbers, a sentence each; () of numbers from before there were any."""
    levels = [
        (notion, fact) for notion in notions().values() if notion.is_level and (fact := exact.read(notion.metric))
    ]
    raw = ", raw" if exact.kind == "raw" else ""
    return tuple(f"{notion.title}, a level and no gap: {fact.value:.3f} nats{raw}." for notion, fact in levels)


def measure_row(row: TableRow, name: str = "") -> Measured:
    """Return what a row of the run table came to, from the exact numbers that it holds."""
    return Measured(
        name=name,
        method=row.method,
        pursues=methods()[row.method].info.pursues_notion,
        epsilon=row.epsilon,
        published=row.variant == "published",
        kind=row.kind,
        accuracy=cut_interval(row.accuracy),
        gap=cut_interval(row.gap, notions()[row.notion]),
        by_seed={},
        groups=(),
        constant=row.constant,
    )


def difference(after: Measured, before: Measured, which: Literal["accuracy", "gap"]) -> Mean:
    """Return how far `which` moved, with a 95 % interval: paired over common seeds, else of two independent numbers.

    The interval is None where one of the two has none and fewer than two seeds are common. Two settings on the same
    test rows agree on much, so that the second interval is rather too wide. Gaps by randomised answers are not paired:
    seeds share the flips, so that they vary less than what is in doubt.
    """
    index = 0 if which == "accuracy" else 1
    seeds = after.by_seed.keys() & before.by_seed.keys()
    by_answers = which == "gap" and (after.answered or before.answered)
    if len(seeds) > 1 and not by_answers:
        return mean_interval(after.by_seed[seed][index] - before.by_seed[seed][index] for seed in seeds)
    return subtract(getattr(after, which), getattr(before, which))


def subtract(after: Mean, before: Mean) -> Mean:
    """Return the difference of two independent numbers; its interval is None where one of the two has none."""
    if after.mean is None or before.mean is None:
        return _NOTHING
    value = after.mean - before.mean
    if after.low is None or after.high is None or before.low is None or before.high is None:
        return Mean(value, None, None, 1)
    down = math.hypot(after.mean - after.low, before.high - before.mean)
    up = math.hypot(after.high - after.mean, before.mean - before.low)
    return Mean(value, value - down, value + up, 1)


def _list_tables(runs: Sequence[RunFacts[Kind]], name: str) -> Iterator[CountTable]:
    """Yield each run's counts over group, label and decision with their noise: those that its gap `name` is from.

    Where a gap may not be told because one group is small, those of the others may.
    """
    for run in runs:
        with_groups = [measures for measures in run.measures if measures.groups]
        source = next((measures for measures in with_groups if measures.read(name) is not None), None)
        for measures in [source] if source else with_groups[:1]:
            yield measures.table


def _measure_large(tables: Sequence[CountTable], run: RunFacts[Kind]) -> Mean:
    """Return the largest gap between two groups that are large enough, by counts of which one group is not."""
    gaps = [pair_gap for counts, noise in tables if (pair_gap := find_apart(counts, run.notion, noise))]
    return fold_apart(gaps, answered=run.data.answered) if gaps else _NOTHING


def _list_gaps(runs: Sequence[RunFacts[Kind]], kind: Kind) -> Iterator[tuple[str, Mean]]:
    """Yield the gaps of the notions that were not asked for, as far as they are for as many people as `kind`."""
    for name, notion in notions().items():
        if notion.is_level:
            continue
        facts = [run.read(notion.metric) for run in runs]
        is_shown = all(fact and find_worst([fact.kind, kind]) == kind for fact in facts)
        if notion is not runs[0].notion and is_shown:
            yield name, _fold(runs, notion.metric, facts)


def _fold(runs: Sequence[RunFacts[Kind]], name: str, facts: Sequence[Fact[Kind] | None]) -> Mean:
    """Return the mean over seeds; of one seed with the interval that its own rows and noise give it."""
    notion = None if name == "accuracy" else next(each for each in notions().values() if each.metric == name)
    mean = cut_interval(fold_facts(facts), notion)
    if runs[0].data.answered and name != "accuracy":
        return widen(mean, [fact.interval for fact in facts if fact and fact.interval])
    if mean.n != 1 or mean.mean is None:
        return mean
    run, fact = next((run, fact) for run, fact in zip(runs, facts, strict=True) if fact)
    ends = fact.interval if fact.kind == "released" else _measure_interval(run, fact, name)
    return mean if ends is None else Mean(mean.mean, min(ends[0], mean.mean), max(ends[1], mean.mean), 1)


def _measure_interval(run: RunFacts[Kind], fact: Fact[Kind], name: str) -> tuple[float, float] | None:
    """Return the 95 % interval of an exact number for the population that the test rows were drawn from."""
    if name == "accuracy":
        return wilson_interval(round(fact.value * run.data.n_test), run.data.n_test)
    measures = next(own for own in run.measures if own.read(name) is not None)
    if not measures.groups:
        return None
    notion = next(notion for notion in notions().values() if notion.metric == name)
    interval = gap_interval(measures.table[0], notion)
    return None if interval is None else (interval.low, interval.high)


def _list_groups(run: RunFacts[Kind]) -> Iterator[GroupShare]:
    """Yield the groups with the first rate that the notion compares; nothing where none may be told."""
    for group, rate in product(_find_groups(run), run.notion.rates[:1]):
        if group.get(rate) is not None:
            yield GroupShare(str(group["name"]), group["size"], group[rate], group.get(f"{rate}_interval"))


def _find_groups(run: RunFacts[Kind]) -> Sequence[Json]:
    """Return what may be told of each group; nothing where none may."""
    return next((measures.groups for measures in run.measures if measures.groups), ())
