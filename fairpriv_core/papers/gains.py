"""Mean gains of one side over another: in each cell, such as a data set at a budget, and on average over the cells.

A cell's gain is 100 (1 - r) %, with r the ratio of the sides' means at its level and its interval by the delta method.
Cells of one data set share splits, so that nobody knows how their errors go together. Half the interval of the mean
gain is therefore the mean of the cells' halves, as if all erred together: the standard deviation of a mean is never
larger than the mean of the standard deviations.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product

from fairpriv_core.papers.differences import compare, list_reaching, list_settings, reach
from fairpriv_core.papers.preset import Compare, MeanGain, Part
from fairpriv_core.papers.values import Runs, choose, measure
from fairpriv_core.stats import Mean


@dataclass(frozen=True)
class CellGain:
    """A cell's gain, in percent, and both sides, in shown units, at the settings that are taken.

    Attributes:
        name: the cell's. at_least: its level, in shown units.
        gain: its mean is None where a side has no setting at the level.
        best, worst: the highest lower end and the lowest upper end of the gain's interval over all pairs of settings
            that other seeds may take; of a side that may have none, the other has the better of it.
        runs: of both sides. may: the runs of each setting that other seeds may take.
    """

    name: str
    at_least: float
    one: Mean
    other: Mean
    gain: Mean
    best: float
    worst: float
    runs: Runs
    may: Sequence[Runs]


def list_gains(check: MeanGain, runs: Runs, at: int) -> list[CellGain]:
    """Return the gain in each cell that has runs of a side, at the cell's level in that place."""
    cells = [(part, levels[at], choose(runs, part.where)) for part, levels in check.cells]
    nonempty = [cell for cell in cells if any(choose(cell[2], side.where) for side in (check.one, check.other))]
    return [_find_gain(check, part, least, runs_of_cell) for part, least, runs_of_cell in nonempty]


def _find_gain(check: MeanGain, part: Part, least: float, runs: Runs) -> CellGain:
    sides = [list_settings(runs, side, check.level) for side in (check.one, check.other)]
    one, other = (reach(settings, least) for settings in sides)
    may = [list_reaching(settings, least) for settings in sides]
    ends = [_find_ends(check, *pair) for pair in product(*may)]
    return CellGain(
        part.name,
        least,
        measure(one, check.one)[0],
        measure(other, check.other)[0],
        _subtract(check, one, other),
        max(low for low, _ in ends),
        min(high for _, high in ends),
        [*one, *other],
        [own for settings in may for own in settings if own],
    )


def _subtract(check: MeanGain, one: Runs, other: Runs) -> Mean:
    """Return the gain of one side's runs over the other's, in percent."""
    ratio = compare(one, other, Compare(check.one, check.other, as_ratio=True))
    gain, low, high = (None if end is None else 100.0 * (1.0 - end) for end in (ratio.mean, ratio.high, ratio.low))
    return Mean(gain, low, high, ratio.n)


def _find_ends(check: MeanGain, one: Runs, other: Runs) -> tuple[float, float]:
    """Return the ends of a gain's interval; infinite where nothing is known."""
    if not one:
        return -math.inf, -math.inf
    if not other:
        return 100.0, 100.0
    gain = _subtract(check, one, other)
    return -math.inf if gain.low is None else gain.low, math.inf if gain.high is None else gain.high


def find_mean(gains: Sequence[Mean]) -> Mean:
    """Return the mean of gains, in percent, of as many seeds as the gain with the fewest; all of them have a mean.

    Half its interval is the mean of their halves; without one of these it has none.
    """
    mean = math.fsum(gain.mean or 0.0 for gain in gains) / len(gains)
    halves = [gain.half for gain in gains if gain.half is not None]
    fewest = min(gain.n for gain in gains)
    if len(halves) < len(gains):
        return Mean(mean, None, None, fewest)
    half = math.fsum(halves) / len(gains)
    return Mean(mean, mean - half, mean + half, fewest)
