"""Differences between two sides of a claim: seed by seed where both ran the same seeds, so that splits cancel."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from typing import Any

from fairpriv_core.papers.preset import Compare, Quantity, Reach, Value
from fairpriv_core.report.paper_values import Runs, fold, has_interval, measure, shown
from fairpriv_core.report.tables import Mean, mean_interval


def compare(one: Runs, other: Runs, check: Compare) -> Mean:
    """Return the mean difference (or ratio) that a check is about, with its interval over seeds where there is one."""
    pairs = list_pairs(one, other, check)
    if pairs:
        found = mean_interval(pairs)
        return found if has_interval(check.one.value) else Mean(found.mean, None, None, found.n)
    first = measure(one, check.one)[0]
    second = measure(other, check.other)[0].mean if isinstance(check.other, Quantity) else float(check.other)
    if first.mean is None or second is None or (check.as_ratio and second == 0):
        return Mean(None, None, None, 0)
    return Mean(first.mean / second if check.as_ratio else first.mean - second, None, None, first.n)


def list_pairs(one: Runs, other: Runs, check: Compare) -> list[float]:
    """Return the difference or ratio at each seed that both sides ran; none of spreads, which no seed has."""
    if check.one.of == "spread" or (isinstance(check.other, Quantity) and check.other.of == "spread"):
        return []
    mine = _by_seed(measure(one, check.one)[1], check.one.value)
    if isinstance(check.other, Quantity):
        theirs = _by_seed(measure(other, check.other)[1], check.other.value)
    else:
        theirs = dict.fromkeys(mine, float(check.other))
    seeds = sorted(mine.keys() & theirs.keys())
    if check.as_ratio and not all(theirs[seed] for seed in seeds):
        return []
    return [mine[seed] / theirs[seed] if check.as_ratio else mine[seed] - theirs[seed] for seed in seeds]


def used_by(runs: Runs, check: Compare) -> list[Mapping[str, Any]]:
    """Return the runs that a comparison is made from."""
    other = measure(runs, check.other)[1] if isinstance(check.other, Quantity) else []
    return [*measure(runs, check.one)[1], *other]


def reach(runs: Runs, quantity: Quantity, check: Reach) -> list[Mapping[str, Any]]:
    """Return the runs of the setting with the smallest mean of `quantity` among those that reach the check's level."""
    settings: dict[str, list[Mapping[str, Any]]] = {}
    for run in measure(runs, quantity)[1]:
        asked = {name: value for name, value in run["config"].items() if name != "seed"}
        settings.setdefault(json.dumps(asked, sort_keys=True), []).append(run)
    found = []
    for own in settings.values():
        level, mean = fold(own, check.level).mean, fold(own, quantity.value).mean
        if level is not None and mean is not None and level >= check.at_least:
            found.append((mean, own))
    return min(found, key=lambda item: item[0])[1] if found else []


def _by_seed(runs: Runs, value: Value) -> dict[int, float]:
    """Return the mean of a value at each seed."""
    found: dict[int, list[float]] = {}
    for run in runs:
        number = shown(run, value)
        if number is not None:
            found.setdefault(run["config"]["seed"], []).append(number)
    return {seed: math.fsum(values) / len(values) for seed, values in found.items()}
