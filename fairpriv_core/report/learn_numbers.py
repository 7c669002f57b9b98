"""The figures of the ideas on how results are to be read: seeds, intervals, base rates, multipliers, noisy counts."""

from __future__ import annotations

import math
from dataclasses import replace

from scipy.special import stdtrit

from fairpriv_core.report import wording
from fairpriv_core.report.figure import Axis, FigureData, Panel, Reference, Series, line
from fairpriv_core.report.learn import CELLS
from fairpriv_core.report.live import live_multipliers
from fairpriv_core.report.looks import method_look
from fairpriv_core.report.start import read_start_results
from fairpriv_core.stats import mean_interval

_MOST_SEEDS = 20
_NOISE = 10.0
_SIZES = [20.0 * 1.3**step for step in range(22)]
_EPOCHS = 8
_LIMIT, _STEP, _FIRST_GAP = 2.0, 2.0, 0.2


def base_rates() -> FigureData:
    """The share of each made-up group that truly is positive."""
    sizes = {group: sum(cells.values()) for group, cells in CELLS.items()}
    shares = [
        100.0 * sum(count for (label, _), count in cells.items() if label) / sizes[group]
        for group, cells in CELLS.items()
    ]
    said = ", ".join(f"{group} {share:.0f} %" for group, share in zip(CELLS, shares, strict=True))
    return FigureData(
        name="base_rates",
        title="Base rates of two groups",
        x=Axis("Truly positive", "%", range=(0.0, 100.0)),
        panels=(Panel(Axis("")),),
        series=(Series("Base rate", "bar", tuple(CELLS), tuple(shares), look="part"),),
        caption=f"A made-up example: two groups of {min(sizes.values())} people.",
        alt=f"Base rates: {said}.",
        horizontal=True,
    )


def growing_multiplier() -> FigureData:
    """A made-up λ that grows with the gap, which it makes smaller, towards its limit."""
    values = [0.0]
    while len(values) <= _EPOCHS:
        values.append(min(_LIMIT, values[-1] + _STEP * _FIRST_GAP / (1 + values[-1])))
    steps = [float(step) for step in range(len(values))]
    figure = live_multipliers({"multiplier/one constraint": (steps, values)}, limit=_LIMIT)
    return replace(
        figure,
        x=Axis("Epoch"),
        title="A multiplier over training",
        caption="A made-up example: the gap that is left shrinks as λ grows, so λ grows ever less; λ_max is its limit.",
    )


def results_by_seed() -> FigureData:
    """Gap of each stored run of one setting without noise: the seeds alone differ."""
    results = read_start_results()
    first = next(run for run in results.outcomes if run.threat_model is None)
    runs = sorted((run for run in results.outcomes if run.setting == first.setting), key=lambda run: run.seed)
    gaps = [100 * run.gap for run in runs if run.gap is not None]
    title = method_look(first.method).title
    mean = mean_interval(gaps).mean or 0.0
    return FigureData(
        name="results_by_seed",
        title="The same settings, other seeds",
        x=Axis("Seed"),
        panels=(Panel(Axis("Gap", "percentage points")),),
        series=(Series(title, "cloud", tuple(float(run.seed) for run in runs), tuple(gaps), look=first.method),),
        caption=f"{title}: stored results on {results.data['dataset']}, which is public. No noise: seeds alone differ.",
        alt=f"Gaps of {len(gaps)} seeds, from {min(gaps):.2f} to {max(gaps):.2f} percentage points.",
        references=(Reference(mean, f"mean {wording.number(mean)}", axis="y"),),
    )


def interval_by_seeds() -> FigureData:
    """Half the 95 % t interval over the number of seeds, in standard deviations between seeds."""
    seeds = [float(count) for count in range(2, _MOST_SEEDS + 1)]
    half = [float(stdtrit(count - 1, 0.975)) / math.sqrt(count) for count in seeds]
    return FigureData(
        name="interval_by_seeds",
        title="Half the interval, by number of seeds",
        x=Axis("Seeds"),
        panels=(Panel(Axis("± in standard deviations", log=True)),),
        series=(line("± of the mean", seeds, half, look="total"),),
        caption="Student's t at 95 %, in standard deviations between single seeds.",
        alt=f"± in standard deviations: {half[0]:.1f} of 2 seeds, {half[3]:.1f} of 5, {half[-1]:.1f} of {_MOST_SEEDS}.",
    )


def noisy_share() -> FigureData:
    """Half the interval of a group's share of one half by the group's size, with and without noise on its count."""
    plain = [100 * 1.96 * math.sqrt(0.25 / size) for size in _SIZES]
    noisy = [100 * 1.96 * math.sqrt(0.25 / size + (_NOISE / size) ** 2) for size in _SIZES]
    return FigureData(
        name="noisy_share",
        title="What noise does to a group's rate",
        x=Axis("People in the group", log=True),
        panels=(Panel(Axis("± of the rate", "percentage points", log=True)),),
        series=(
            line("Sampling and noise", _SIZES, noisy, look="budget"),
            line("Sampling alone", _SIZES, plain, look="muted"),
        ),
        caption=f"A made-up example: a rate of 50 %, its count with normal noise of standard deviation {_NOISE:g}.",
        alt=f"With {_SIZES[0]:.0f} people noise makes ± {noisy[0]:.0f} out of {plain[0]:.0f} points; with "
        f"{_SIZES[-1]:,.0f} people {noisy[-1]:.1f} out of {plain[-1]:.1f}.",
    )
