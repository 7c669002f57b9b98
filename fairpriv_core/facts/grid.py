"""What to expect of a run before it is trained: runs that ship with this software, and what lies between them.

They cover two public data sets, four methods at their usual settings, and three sliders: epsilon, the gap that is
asked for, and the clipping bound of gradients. `examples/make_grid.py` makes them.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from fairpriv_core.records.source import ConfigJson
from fairpriv_core.stats import Mean, prediction_interval

PATH = Path(__file__).with_name("grid.parquet")
#: the settings of a method that are moved, beside epsilon
MOVED = ("gap_target", "clip_primal")
_NORMAL_QUANTILE = 1.959963984540054  # two-sided 95 %
_BY_FACTOR = ("epsilon", "clip_primal")  # along which a step is a factor


@dataclass(frozen=True)
class Expected:
    """What one more run will come to; shares in [0, 1].

    Attributes:
        accuracy, gap: means over the seeds that were run, with the 95 % prediction interval of one more run. Splits can
            be alike by chance: accuracy's is at least as long as drawing its test rows makes it.
        rates: the share of each group that is decided positively, by the groups' names.
        constant: the accuracy of one answer for everybody.
        between: whether it lies between settings that were run, and is interpolated.
    """

    accuracy: Mean
    gap: Mean
    rates: Mapping[str, float]
    constant: float
    between: bool


@dataclass(frozen=True)
class _Grid:
    """The runs of one setting: the stops along each axis that it has, and numbers at each of the stops' crossings."""

    axes: Mapping[str, np.ndarray]
    numbers: np.ndarray
    groups: tuple[str, ...]
    seeds: int

    def read(self, place: Sequence[float]) -> np.ndarray | None:
        """Return the numbers at a place, linear between the stops of each axis; None outside of them."""
        numbers = self.numbers
        for value, (name, stops) in zip(place, self.axes.items(), strict=True):
            if not stops[0] <= value <= stops[-1]:
                return None
            at = np.interp(_scale(name, value), _scale(name, stops), np.arange(len(stops)))
            below = min(int(at), len(stops) - 2)
            numbers = (below + 1 - at) * numbers[below] + (at - below) * numbers[below + 1]
        return numbers


def expect(config: ConfigJson) -> Expected | None:
    """Return what to expect of the run that a config's JSON asks for; None outside of what was run."""
    grid = _read_grid(name_setting(config))
    if grid is None:
        return None
    settings: dict[str, Any] = {"epsilon": config["epsilon"], **{name: config["method"].get(name) for name in MOVED}}
    place = [settings[name] for name in grid.axes]
    if None in place or any(value is not None for name, value in settings.items() if name not in grid.axes):
        return None
    point = grid.read(place)
    if point is None:
        return None
    constant, *rates = map(float, point[6:])
    stops = zip(place, grid.axes.values(), strict=True)
    return Expected(
        accuracy=_read_mean(point[:3], grid.seeds),
        gap=_read_mean(point[3:6], grid.seeds),
        rates=dict(zip(grid.groups, rates, strict=True)),
        constant=constant,
        between=not all(np.isclose(value, axis).any() for value, axis in stops),
    )


def name_setting(config: ConfigJson) -> str:
    """Return what runs of the grid have in common: a config's JSON without its seed and what the sliders move.

    Training never sees whether an evaluation is paid afterwards: that is left out too.
    """
    method = {name: value for name, value in config["method"].items() if name not in MOVED}
    blanks = {"epsilon": None, "seed": None, "private_evaluation": None}
    return json.dumps({**config, "method": method, **blanks}, sort_keys=True)


@cache
def _read_table() -> pd.DataFrame:
    return pd.read_parquet(PATH)


@lru_cache(maxsize=64)
def _read_grid(setting: str) -> _Grid | None:
    table = _read_table()
    runs = table[table["setting"] == setting]
    if runs.empty:
        return None
    axes = {name: np.sort(runs[name].unique()) for name in ("epsilon", *MOVED) if runs[name].notna().all()}
    points = [_summarise(same) for _, same in runs.groupby(list(axes), sort=True)]
    numbers = np.reshape(points, (*map(len, axes.values()), -1))
    groups = tuple(json.loads(runs["groups"].iloc[0]))
    return _Grid(axes, numbers, groups, runs["seed"].nunique())


def _summarise(runs: pd.DataFrame) -> np.ndarray:
    """Return accuracy and gap with their intervals, the constant answer's accuracy, and each group's rate."""
    accuracy, gap = (prediction_interval(runs[name].to_list()) for name in ("accuracy", "gap"))
    sampling_variance = float(np.mean(runs["accuracy"] * (1.0 - runs["accuracy"]) / runs["tested"]))
    half = max(accuracy.half or 0.0, _NORMAL_QUANTILE * math.sqrt(sampling_variance * (1.0 + 1.0 / len(runs))))
    middle = accuracy.mean or 0.0
    ends = np.clip([[middle, middle - half, middle + half], [gap.mean, gap.low, gap.high]], 0.0, 1.0)
    return np.concatenate([*ends, [runs["constant"].mean()], np.mean(np.stack(runs["rates"].to_list()), axis=0)])


def _read_mean(ends: np.ndarray, n: int) -> Mean:
    mean, low, high = map(float, ends)
    return Mean(mean, low, high, n)


def _scale(name: str, value: Any) -> Any:
    return np.log(value) if name in _BY_FACTOR else value
