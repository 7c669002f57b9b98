"""What a person sees who moves a slider: the newest point with its trail, and each group's rate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fairpriv_core.methods.catalog import methods
from fairpriv_core.notions.catalog import notions
from fairpriv_core.records.record import accuracy_is_public
from fairpriv_core.records.source import is_published
from fairpriv_core.report.figure import Axis, FigureData, Panel, Series
from fairpriv_core.report.figures import GroupRates, group_bars
from fairpriv_core.report.frontier import ACCURACY, END_NAMES, Wanted, draw_end, draw_ends
from fairpriv_core.report.styles import method_style
from fairpriv_core.report.tables import TableRow, run_table
from fairpriv_core.text import epsilon_text, number_text, percent_text, points_text

_RELEASED = "The gap follows from what was released; the bar is one standard error of its noise."
_BOTH = "This gap and this accuracy may be published."
_PUBLIC = "Gaps are measured on the test rows, whose groups are public here."
_TEST = "One seed, on the test rows."


@dataclass(frozen=True)
class Explored:
    """One explored run, all shares in [0, 1].

    `error` is the standard error of a gap that follows from what was released, None of one that was measured.
    """

    key: str
    method: str
    epsilon: float | None
    accuracy: float
    gap: float
    error: float | None
    record: Mapping[str, Any]

    @property
    def is_released(self) -> bool:
        """Whether the gap follows from what was released alone."""
        return self.error is not None

    @property
    def is_raw(self) -> bool:
        """Whether its gap or its accuracy is of a person's own protected data and no noise covers it."""
        looks = methods()[self.record["config"]["method"]["name"]].info.needs_group_at_prediction
        covered = self.is_released and accuracy_is_public(self.record, uses_group=looks)
        return not covered and not is_published(self.record["config"]["data"])


def read_explored(record: Mapping[str, Any]) -> Explored | None:
    """Return what a finished run's record, JSON, came to; None where it has no gap."""
    metric, metrics = notions()[record["config"]["notion"]].metric, record["metrics"] or {}
    notes = record["notes"]
    released = notes.get("released_gaps", {}).get(metric)
    error = notes.get("released_gap_errors", {}).get(metric)
    gap = metrics.get(metric) if released is None or error is None else released
    if gap is None or metrics.get("accuracy") is None:
        return None
    [row] = run_table([record])
    return Explored(
        key=record["key"],
        method=row.method,
        epsilon=row.epsilon,
        accuracy=metrics["accuracy"],
        gap=gap,
        error=None if released is None else error,
        record=record,
    )


def draw_explored(
    trail: Sequence[Explored], *, plain: TableRow | None, title: str, notion: str, wanted: Wanted, waiting: bool
) -> FigureData:
    """Accuracy against gap of the newest of `trail`, those before it behind it; an open ghost while one is `waiting`.

    `plain` is a run without privacy and fairness to stand at the mixing line's end; without one the constant answer
    stands alone, and so where its raw numbers of protected data would stand beside released ones. `title` and `notion`
    are titles.
    """
    newest = trail[-1]
    said = _say_kind(newest)
    if not (newest.is_raw or is_published(newest.record["config"]["data"])):
        plain = None
    return FigureData(
        name="explored",
        title=title,
        x=Axis(f"{notion} gap", "percentage points", with_zero=True),
        panels=(Panel(ACCURACY),),
        series=(*_draw_ends(newest, plain), _draw_path(trail), _draw_newest(newest, waiting=waiting)),
        caption=said,
        alt=f"{_name(newest)}: accuracy {percent_text(newest.accuracy)}, gap {points_text(newest.gap)}.",
        raw=newest.is_raw,
        regions=(wanted.shade(),),
        shaded=wanted.said,
    )


def _say_kind(point: Explored) -> str:
    """Return where a point's numbers are from."""
    if point.is_released:
        return _RELEASED if point.is_raw or is_published(point.record["config"]["data"]) else f"{_RELEASED} {_BOTH}"
    return _TEST if point.is_raw else f"{_TEST} {_PUBLIC}"


def _draw_ends(newest: Explored, plain: TableRow | None) -> list[Series]:
    constant = (newest.record["metrics"] or {}).get("constant_accuracy")
    ends = draw_ends(plain, 0)
    if ends or constant is None:
        return ends
    return [draw_end(END_NAMES[0], 0.0, 100 * constant, 0)]


def _draw_path(trail: Sequence[Explored]) -> Series:
    return Series(
        "before",
        "points",
        tuple(100 * each.gap for each in trail),
        tuple(100 * each.accuracy for each in trail),
        style="muted",
        hollow=(True,) * len(trail),
        hover=tuple(_describe(each) for each in trail),
    )


def _draw_newest(newest: Explored, *, waiting: bool) -> Series:
    point = Series(
        _name(newest),
        "points",
        (100 * newest.gap,),
        (100 * newest.accuracy,),
        style=newest.method,
        variation=int(waiting),
        faint=waiting,
        text=(f"{'before: ' * waiting}{_name(newest)}",),
        hover=(_describe(newest),),
    )
    if newest.error is None:
        return point
    low, high = (100 * (newest.gap + sign * newest.error) for sign in (-1, 1))
    return replace(point, x_low=(max(0.0, low),), x_high=(high,))


def _name(point: Explored) -> str:
    return f"{method_style(point.method).title}{'' if point.epsilon is None else f', ε = {point.epsilon:g}'}"


def draw_groups(point: Explored) -> FigureData:
    """Each group's rate, by people out of 100; as `notion` compares them, the first of its rates."""
    notion = notions()[point.record["config"]["notion"]]
    metrics = point.record["metrics"] or {}
    rates = GroupRates(method_style(point.method).title, point.method, metrics["groups"])
    figure = group_bars([rates], rate=notion.rates[0])
    labels = point.record["data"]["label_names"]
    said = {"positive_rate": f"decided “{labels[-1]}”", "accuracy": "decided rightly"}
    among = {"true_positive_rate": labels[-1], "false_positive_rate": labels[0]}
    rate, raw = notion.rates[0], not is_published(point.record["config"]["data"])
    words = said.get(rate) or f"decided “{labels[-1]}” of those who are “{among.get(rate, '')}”"
    return replace(
        figure,
        title=f"Of 100 people in each group, {words}",
        x=Axis("people out of 100", range=(0.0, 100.0) if rate == "accuracy" else None),
        caption="Whiskers: 95 % interval on the test rows.",
        raw=raw,
    )


def say_explored(point: Explored) -> str:
    """Return the newest point in one line."""
    error = "" if point.error is None else f" ± {number_text(100 * point.error)}"
    budget = "no ε: not private" if point.epsilon is None else f"ε = {epsilon_text(point.epsilon)}"
    return f"{budget} · accuracy {100 * point.accuracy:.1f} % · gap {100 * point.gap:.1f}{error} points"


def _describe(point: Explored) -> str:
    return say_explored(point).replace(" · ", "\n")
