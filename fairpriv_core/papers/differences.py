"""Differences between two sides of a claim: seed by seed where both ran the same seeds, so that splits cancel.

A ratio is the mean of one side over the mean of the other. Its interval is by the delta method: with the ratio r of the
means, one seed's x - r y over the mean of y is by how much that seed moves it. Spreads over several settings are taken
at each seed; of one setting over its seeds the ratio of two has an interval by Fisher's F.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import stdev
from typing import Literal

from scipy.special import fdtri

from fairpriv_core.papers.paper_run import PaperRun
from fairpriv_core.papers.preset import Compare, Quantity, Value
from fairpriv_core.papers.values import Runs, by_config, fold, has_interval, measure, shown
from fairpriv_core.stats import Mean, mean_interval


def compare(one: Runs, other: Runs, check: Compare) -> Mean:
    """Return the mean difference (or ratio) that a check is about, with its interval over seeds where there is one."""
    if check.one.of == "spread" and len(by_config(measure(one, check.one)[1])) < 2:
        return _compare_over_seeds(one, other, check)
    pairs = list_pairs(one, other, check)
    if pairs and not (check.as_ratio and not _mean_of_second(pairs)):
        mean = mean_interval(_ratios(pairs) if check.as_ratio else (x - y for x, y in pairs))
        return mean if has_interval(check.one.value) else Mean(mean.mean, None, None, mean.n)
    first = measure(one, check.one)[0]
    second = measure(other, check.other)[0].mean if isinstance(check.other, Quantity) else float(check.other)
    if first.mean is None or second is None or (check.as_ratio and second == 0):
        return Mean(None, None, None, 0)
    return Mean(first.mean / second if check.as_ratio else first.mean - second, None, None, first.n)


def _compare_over_seeds(one: Runs, other: Runs, check: Compare) -> Mean:
    """Return the difference of two spreads over seeds; its interval is that of their ratio, by Fisher's F."""
    spreads, counts = [], []
    for runs, side in ((one, check.one), (other, check.other)):
        if not isinstance(side, Quantity):
            return Mean(None, None, None, 0)
        values = list(_by_seed(measure(runs, side)[1], side.value).values())
        spreads.append(stdev(values) if len(values) > 1 else 0.0)
        counts.append(len(values))
    if min(counts) < 2:
        return Mean(None, None, None, min(counts))
    ends = [math.sqrt(fdtri(counts[1] - 1, counts[0] - 1, share)) for share in (0.025, 0.975)]
    low, high = (spreads[0] * end - spreads[1] for end in ends)
    return Mean(spreads[0] - spreads[1], low, high, min(counts))


def list_pairs(one: Runs, other: Runs, check: Compare) -> list[tuple[float, float]]:
    """Return both sides at each seed that both ran."""
    mine = _by_seed(measure(one, check.one)[1], check.one.value, check.one.of)
    if isinstance(check.other, Quantity):
        theirs = _by_seed(measure(other, check.other)[1], check.other.value, check.other.of)
    else:
        theirs = dict.fromkeys(mine, float(check.other))
    return [(mine[seed], theirs[seed]) for seed in sorted(mine.keys() & theirs.keys())]


def list_differences(runs: Runs, check: Compare) -> list[float]:
    """Return one side minus the other at each run where both are of the same runs, else at each seed."""
    other = check.other
    if isinstance(other, Quantity) and other.where == check.one.where:
        sides = [(shown(run, check.one.value), shown(run, other.value)) for run in measure(runs, check.one)[1]]
        return [x - y for x, y in sides if x is not None and y is not None]
    return [x - y for x, y in list_pairs(runs, runs, check)]


def used_by(runs: Runs, check: Compare) -> list[PaperRun]:
    """Return the runs that a comparison is made from."""
    other = measure(runs, check.other)[1] if isinstance(check.other, Quantity) else []
    return [*measure(runs, check.one)[1], *other]


@dataclass(frozen=True)
class SettingRuns:
    """The runs of one setting, with the mean and interval of a level, and the mean of what is to be small."""

    level: Mean
    mean: float
    runs: list[PaperRun]


def list_settings(runs: Runs, quantity: Quantity | float, level: Value) -> list[SettingRuns]:
    """Return the settings of a quantity's runs that have both numbers; none of a number."""
    if not isinstance(quantity, Quantity):
        return []
    runs_by_setting = by_config(measure(runs, quantity)[1])
    settings = [(fold(own, level), fold(own, quantity.value).mean, own) for own in runs_by_setting]
    return [SettingRuns(at, mean, own) for at, mean, own in settings if at.mean is not None and mean is not None]


def reach(settings: Sequence[SettingRuns], least: float) -> list[PaperRun]:
    """Return the runs of the setting with the smallest mean of those whose level is at least `least`; [] for none."""
    reaching = [setting for setting in settings if (setting.level.mean or 0.0) >= least]
    return min(reaching, key=lambda setting: setting.mean).runs if reaching else []


def list_reaching(settings: Sequence[SettingRuns], least: float) -> list[list[PaperRun]]:
    """Return the runs of each setting that other seeds may make `reach` take; [] among them where none may reach it.

    A setting may reach the level where its interval does not lie below it. None is taken whose mean is above that of
    one which surely reaches the level.
    """
    sure = [setting.mean for setting in settings if setting.level.low is not None and setting.level.low >= least]
    limit = min(sure, default=math.inf)
    near = [setting for setting in settings if setting.level.high is None or setting.level.high >= least]
    may = [setting.runs for setting in near if setting.mean <= limit]
    return may if sure else [*may, []]


def _ratios(pairs: Sequence[tuple[float, float]]) -> list[float]:
    """Return numbers whose mean is the ratio of the means, and whose spread is how far single seeds move it."""
    below = _mean_of_second(pairs)
    ratio = math.fsum(x for x, _ in pairs) / len(pairs) / below
    return [ratio + (x - ratio * y) / below for x, y in pairs]


def _mean_of_second(pairs: Sequence[tuple[float, float]]) -> float:
    return math.fsum(y for _, y in pairs) / len(pairs)


def _by_seed(runs: Runs, value: Value, of: Literal["mean", "spread"] = "mean") -> dict[int, float]:
    """Return the mean of a value, or its standard deviation over settings, at each seed."""
    values_by_seed: dict[int, list[float]] = {}
    for run in runs:
        number = shown(run, value)
        if number is not None:
            values_by_seed.setdefault(run.seed, []).append(number)
    if of == "spread":
        return {seed: stdev(values) for seed, values in values_by_seed.items() if len(values) > 1}
    return {seed: math.fsum(values) / len(values) for seed, values in values_by_seed.items()}
