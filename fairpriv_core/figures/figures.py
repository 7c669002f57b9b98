"""Figures of results and plans, as data: trade-offs, group bars, clipping curves, predicted epsilon, the odds dots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from fairpriv_core.facts import wording
from fairpriv_core.facts.measures import cut_interval
from fairpriv_core.figures.figure import Axis, FigureData, Panel, Reference, Series, Value, from_zero, line
from fairpriv_core.figures.origin import ALL_RAW, PUBLIC, Origin
from fairpriv_core.figures.styles import count_earlier
from fairpriv_core.stats import Mean
from fairpriv_core.text import delta_text, epsilon_text, in_percent, number_text

EPSILON_AXIS = Axis("Privacy budget ε", log=True)
ACCURACY = Axis("Accuracy", "%")


def percent_ends(means: Sequence[Mean]) -> tuple[tuple[Value, ...], tuple[Value, ...]]:
    """Return the low and the high ends of the intervals, within 0 and 100 %; empty where none has an interval."""
    if all(mean.low is None for mean in means):
        return (), ()
    cut = [cut_interval(mean) for mean in means]
    return tuple(in_percent(mean.low) for mean in cut), tuple(in_percent(mean.high) for mean in cut)


@dataclass(frozen=True)
class GroupRates:
    """One run's groups for `group_bars`: its label, method id and a record's `metrics["groups"]`."""

    label: str
    method: str
    groups: Sequence[Mapping[str, Any]]


def group_bars(
    runs: Sequence[GroupRates],
    *,
    rate: str = "positive_rate",
    origin: Origin = ALL_RAW,
    of: Literal["group", "class"] = "group",
    by_answers: bool = False,
) -> FigureData:
    """One bar for each group and run with its 95 % interval; groups stand by position and label.

    `of` is "class" where the runs' `groups` are a record's classes. `origin` is of the rates: released ones are from
    noisy counts that ε covers, or `by_answers` that are randomised.
    """
    title, is_noisy = wording.metric_title(rate), origin.kind == "released" and not by_answers
    whiskers = wording.ESTIMATED if by_answers else f"Whiskers: 95 % Wilson interval of each {of} on the test split."
    series = []
    for run, same in zip(runs, count_earlier([run.method for run in runs]), strict=True):
        names = tuple(_group_label(group, runs) for group in run.groups)
        values = tuple(in_percent(group.get(rate)) for group in run.groups)
        ends: list[Sequence[Value]] = [group.get(f"{rate}_interval") or (None, None) for group in run.groups]
        low, high = (tuple(in_percent(end[side]) for end in ends) for side in (0, 1))
        series.append(Series(run.label, "bar", names, values, low=low, high=high, style=run.method, variation=same))
    return FigureData(
        name=f"{'classes' if of == 'class' else 'groups'}_{'paid_' if is_noisy else ''}{rate.replace('/', '_')}",
        title=f"{title} by {of}{', with noise' if is_noisy else ''}",
        x=Axis(title, "%"),  # short: beside long names little of a phone is left for it
        panels=(Panel(Axis("")),),
        series=tuple(series),
        caption=wording.PAID if is_noisy else whiskers,
        alt=f"{title} by {of}. " + " ".join(f"{bar.name}: {list_values(bar.x, bar.y, ' %')}." for bar in series),
        horizontal=True,
        origin=origin,
    )


def bias_variance(
    clips: Sequence[float],
    bias: Sequence[float],
    variance: Sequence[float],
    *,
    best: float | None,
    symbol: str = "C_p",
    current: float | None = None,
    source: str = "",
) -> FigureData:
    """Theorem 4 (C_p) or 5 (C_d) of PF-LD: bias, variance and their sum over the clipping bound.

    `clips` are > 0; `best` marks the minimiser, None where the sum only rises; `current` marks the chosen bound;
    `source` says at which model the curve was computed; nothing protected went into that model.
    """
    total = [b + v for b, v in zip(bias, variance, strict=True)]
    positive = [value for value in total if value > 0]
    valley = (min(positive) / 30, max(positive) * 2) if positive else None  # a bias that vanishes leaves the plot below
    parts = (
        ("Clipping (bias)", bias, "bias"),
        ("Noise (variance)", variance, "variance"),
        ("Sum", total, "total"),
    )
    marked = {"minimum": best, "chosen": current}
    marks = [Reference(bound, f"{word}: {bound:.3g}") for word, bound in marked.items() if bound is not None]
    lowest = "only rises: there is no minimum" if best is None else f"is smallest at {symbol} = {best:.3g}"
    theorem, what = ("Theorem 4", "constraint gradient") if symbol == "C_p" else ("Theorem 5", "violation")
    words = f"PF-LD {theorem}: a small bound clips (bias), a large one needs more noise (variance)."
    return FigureData(
        name=f"bias_variance_{symbol.lower()}",
        title=f"Expected error over clipping bound {symbol}",
        x=Axis(f"Clipping bound {symbol}", log=True),
        panels=(
            Panel(
                Axis(f"Bound on the error of the {what}", log=True, range=valley),
            ),
        ),
        series=tuple(line(name, clips, values, style=style) for name, values, style in parts),
        caption=" ".join(part for part in (words, source) if part),
        alt=f"Bound on the expected error over {symbol}: the sum {lowest}.",
        references=tuple(marks),
        origin=PUBLIC,
    )


def predicted_epsilon(
    epochs: Sequence[float],
    epsilon: Sequence[Value],
    *,
    budget: float | None,
    delta: float,
    protects: str,
) -> FigureData:
    """The proved ε that a planned run will have spent after each epoch, and the budget."""
    last = next((value for value in reversed(epsilon) if value is not None), None)
    ends = f"After {epochs[-1]:g} epochs ε = {epsilon_text(last)}." if epochs else "No epochs."
    marks = () if budget is None else (Reference(budget, f"budget {epsilon_text(budget)}", axis="y"),)
    return FigureData(
        name="predicted_epsilon",
        title="ε that the run will spend",
        x=Axis("Epoch"),
        panels=(Panel(Axis("ε spent", range=from_zero(epsilon, budget))),),
        series=(line("Proved", epochs, epsilon, style="budget"),),
        caption=f"{ends} δ = {delta_text(delta)}; protects {protects}.",
        alt=f"Predicted ε over epochs. {ends}",
        references=marks,
    )


def epsilon_dots(epsilon: float, sure: int) -> FigureData:
    """100 dots: from even odds (50) an attacker ends at most `sure` in 100 sure, 50 <= sure <= 100."""
    parts = (
        ("Even odds before: 50", range(50), "dot before"),
        (f"Added by ε, at most: {sure - 50}", range(50, sure), "dot added"),
        (f"Still unsure, at least: {100 - sure}", range(sure, 100), "dot rest"),
    )
    series = [
        Series(name, "dots", tuple(float(i % 10) for i in dots), tuple(9.0 - i // 10 for i in dots), style=style)
        for name, dots, style in parts
        if len(dots)
    ]
    return FigureData(
        name="epsilon_dots",
        title=f"ε = {epsilon_text(epsilon)}: at most {sure} % certain",
        x=Axis("", range=(-0.7, 9.7)),
        panels=(Panel(Axis("", range=(-0.7, 9.7))),),
        series=tuple(series),
        caption="Worst case, before δ: how certain an attacker who guesses 50:50 can become about one person.",
        alt=f"100 dots: 50 filled before, {sure - 50} more filled at ε = {epsilon_text(epsilon)}, {100 - sure} open.",
    )


def _group_label(group: Mapping[str, object], runs: Sequence[GroupRates]) -> str:
    """Return the group's name, with its size where every run has the same."""
    sizes = {candidate.get("size") for run in runs for candidate in run.groups if candidate["name"] == group["name"]}
    return (
        f"{group['name']} (n = {group['size']:,.0f})" if len(sizes) == 1 and None not in sizes else str(group["name"])
    )


def list_values(x: Sequence[Any], y: Sequence[Value], unit: str) -> str:
    """Return values with their places as text; of many the first and the last ones."""
    texts = [f"{number_text(value)}{unit} at {place}" for place, value in zip(x, y, strict=True)]
    return ", ".join(texts if len(texts) <= 8 else [*texts[:4], "…", *texts[-2:]])
