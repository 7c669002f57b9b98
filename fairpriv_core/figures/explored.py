"""What a person sees who moves a slider: the newest point with its trail, and each group's rate."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from fairpriv_core.facts.run_facts import RunFacts, read_facts
from fairpriv_core.facts.tables import TableRow
from fairpriv_core.figures.figure import Axis, FigureData, Panel, Series
from fairpriv_core.figures.figures import GroupRates, group_bars
from fairpriv_core.figures.frontier import ACCURACY, END_NAMES, Wanted, draw_end, draw_ends
from fairpriv_core.figures.origin import ALL_RAW, PUBLIC
from fairpriv_core.figures.styles import method_style
from fairpriv_core.records.record import RunRecord
from fairpriv_core.records.release import Kind
from fairpriv_core.records.shown import Shown, read_shown
from fairpriv_core.text import epsilon_text, number_text, percent_text, points_text

_RELEASED = "The gap follows from what was released; the bar is one standard error of its noise."
_BOTH = "This gap and this accuracy may be published."
_TOLD = "Accuracy and gap follow from what was released; the bars are one standard error of its noise."
_PUBLIC = "Gaps are measured on the test rows, whose groups are public here."
_TEST = "One seed, on the test rows."


@dataclass(frozen=True)
class Explored:
    """One explored run: its numbers as they may be seen, and all that there is to tell of it."""

    key: str
    method: str
    epsilon: float | None
    shown: Shown
    facts: RunFacts[Kind]

    @property
    def is_released(self) -> bool:
        """Whether the gap follows from what was released alone."""
        return self.shown.gap_error is not None

    @property
    def is_raw(self) -> bool:
        """Whether its gap or its accuracy is of a person's own protected data and no noise covers it."""
        return self.shown.raw


def read_explored(record: RunRecord) -> Explored | None:
    """Return what a finished run came to; None where it has no gap."""
    shown, facts = read_shown(record.to_json()), read_facts(record)
    return None if shown is None else Explored(record.key, facts.method.name, facts.outcome.epsilon, shown, facts)


def draw_explored(
    trail: Sequence[Explored], *, plain: TableRow | None, title: str, notion: str, wanted: Wanted, waiting: bool
) -> FigureData:
    """Accuracy against gap of the newest of `trail`, those before it behind it; an open ghost while one is `waiting`.

    `plain` is a run without privacy and fairness to stand at the mixing line's end; without one the constant answer
    stands alone, and so where its raw numbers of protected data would stand beside released ones. `title` and `notion`
    are titles.
    """
    newest = trail[-1]
    said = _format_kind(newest)
    if not (newest.is_raw or newest.facts.data.published):
        plain = None
    return FigureData(
        name="explored",
        title=title,
        x=Axis(f"{notion} gap", "percentage points", with_zero=True),
        panels=(Panel(ACCURACY),),
        series=(*_draw_ends(newest, plain), _draw_path(trail), _draw_newest(newest, waiting=waiting)),
        caption=said,
        alt=f"{_name(newest)}: accuracy {percent_text(newest.shown.accuracy)}, gap {points_text(newest.shown.gap)}.",
        origin=ALL_RAW if newest.is_raw else PUBLIC,
        regions=(wanted.shade(),),
        shaded=wanted.said,
    )


def _format_kind(point: Explored) -> str:
    """Return where a point's numbers are from."""
    if point.shown.accuracy_error is not None and point.is_released:
        return _TOLD
    if point.is_released:
        return _RELEASED if point.is_raw or point.facts.data.published else f"{_RELEASED} {_BOTH}"
    return _TEST if point.is_raw else f"{_TEST} {_PUBLIC}"


def _draw_ends(newest: Explored, plain: TableRow | None) -> list[Series]:
    exact = newest.facts.exact
    constant = None if exact is None else exact.read("constant_accuracy")
    public = newest.is_raw or newest.facts.data.published
    ends = draw_ends(plain, 0)
    if ends or constant is None or not (public or newest.shown.accuracy_error is None):
        return ends  # the constant answer's accuracy was measured: it stands beside no released one
    return [draw_end(END_NAMES[0], 0.0, 100 * constant.value, 0)]


def _draw_path(trail: Sequence[Explored]) -> Series:
    return Series(
        "before",
        "points",
        tuple(100 * each.shown.gap for each in trail),
        tuple(100 * each.shown.accuracy for each in trail),
        style="muted",
        hollow=(True,) * len(trail),
        hover=tuple(_describe(each) for each in trail),
    )


def _draw_newest(newest: Explored, *, waiting: bool) -> Series:
    point = Series(
        _name(newest),
        "points",
        (100 * newest.shown.gap,),
        (100 * newest.shown.accuracy,),
        style=newest.method,
        variation=int(waiting),
        faint=waiting,
        text=(f"{'before: ' * waiting}{_name(newest)}",),
        hover=(_describe(newest),),
    )
    if newest.shown.gap_error is not None:
        low, high = _reach(newest.shown.gap, newest.shown.gap_error)
        point = replace(point, x_low=(low,), x_high=(high,))
    if newest.shown.accuracy_error is not None:
        low, high = _reach(newest.shown.accuracy, newest.shown.accuracy_error)
        point = replace(point, low=(low,), high=(high,))
    return point


def _reach(value: float, error: float) -> tuple[float, float]:
    """Return one standard error to both sides, in per cent."""
    return max(0.0, 100 * (value - error)), min(100.0, 100 * (value + error))


def _name(point: Explored) -> str:
    return f"{method_style(point.method).title}{'' if point.epsilon is None else f', ε = {point.epsilon:g}'}"


def draw_groups(point: Explored) -> FigureData:
    """Each group's rate, by people out of 100: the first that its notion compares, or who is decided positively."""
    notion, labels, exact = point.facts.notion, point.facts.data.labels, point.facts.exact
    rates = GroupRates(method_style(point.method).title, point.method, () if exact is None else exact.groups)
    rate, origin = next(iter(notion.rates), "positive_rate"), PUBLIC if point.facts.data.published else ALL_RAW
    figure = group_bars([rates], rate=rate)
    said = {
        "positive_rate": f"decided “{labels[-1]}”",
        "accuracy": "decided rightly",
        "positive_predictive_value": f"truly “{labels[-1]}” of those who are decided so",
    }
    among = {"true_positive_rate": labels[-1], "false_positive_rate": labels[0]}
    words = said.get(rate) or f"decided “{labels[-1]}” of those who are “{among.get(rate, '')}”"
    return replace(
        figure,
        title=f"Of 100 people in each group, {words}",
        x=Axis("people out of 100", range=(0.0, 100.0) if rate == "accuracy" else None),
        caption="Whiskers: 95 % interval on the test rows.",
        origin=origin,
    )


def format_explored(point: Explored) -> str:
    """Return the newest point in one line."""
    shown = point.shown
    gap, right = map(_format_error, (shown.gap_error, shown.accuracy_error))
    budget = "no ε: not private" if point.epsilon is None else f"ε = {epsilon_text(point.epsilon)}"
    return f"{budget} · accuracy {100 * shown.accuracy:.1f}{right} % · gap {100 * shown.gap:.1f}{gap} points"


def _format_error(error: float | None) -> str:
    return "" if error is None else f" ± {number_text(100 * error)}"


def _describe(point: Explored) -> str:
    return format_explored(point).replace(" · ", "\n")
