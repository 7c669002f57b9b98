"""What a person sees who moves a slider: the newest point with its trail, and each group's rate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from fairpriv_core.facts.grid import Expected
from fairpriv_core.facts.run_facts import read_facts
from fairpriv_core.facts.tables import TableRow
from fairpriv_core.figures.figure import Axis, FigureData, Panel, Series
from fairpriv_core.figures.figures import ACCURACY, GroupRates, group_bars
from fairpriv_core.figures.frontier import END_NAMES, Wanted, draw_end, draw_ends
from fairpriv_core.figures.origin import ALL_RAW, PUBLIC
from fairpriv_core.figures.styles import method_style
from fairpriv_core.notions.catalog import notions
from fairpriv_core.records.record import RunRecord
from fairpriv_core.records.shown import Shown, read_shown
from fairpriv_core.records.source import ConfigJson, is_published
from fairpriv_core.stats import Mean, spread
from fairpriv_core.text import epsilon_text, half_text, percent_text, points_text

_RELEASED = "The gap follows from what was released; the bar is one standard error of its noise."
_BOTH = "This gap and this accuracy may be published."
_TOLD = "Accuracy and gap follow from what was released; the bars are one standard error of its noise."
_PUBLIC = "Gaps are measured on the test rows, whose groups are public here."
_WHISKERS = "Whiskers: 95 % interval on the test rows."
_TEST = "One seed, on the test rows."
_EXPECTED = "Mean of {n} runs that ship with fairpriv; bars: 95 % prediction interval of a further run, by their seeds."
_BETWEEN = "Read between runs that ship with fairpriv, {n} a setting; bars: between their 95 % prediction intervals."


@dataclass(frozen=True)
class Explored:
    """One point: its numbers as they may be seen, and all that is told of it.

    Attributes:
        config: its run's, JSON, without folders.
        epsilon: what its run spent; None where there is none.
        constant: the accuracy of one answer for everybody; None where it is not known.
        groups, labels: as a record has them.
        expected: what the numbers are from, where the point has no run of its own; None where it has.
    """

    config: ConfigJson
    epsilon: float | None
    shown: Shown
    constant: float | None
    groups: Sequence[Mapping[str, Any]]
    labels: tuple[str, ...]
    expected: Expected | None = None

    @property
    def method(self) -> str:
        """The method's name."""
        return str(self.config["method"]["name"])

    @property
    def published(self) -> bool:
        """Whether its data are public."""
        return is_published(self.config["data"])

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
    numbers, facts = read_shown(record), read_facts(record)
    if numbers is None:
        return None
    constant = None if facts.exact is None else facts.exact.read("constant_accuracy")
    return Explored(
        config=facts.config,
        epsilon=facts.outcome.epsilon,
        shown=numbers,
        constant=None if constant is None else constant.value,
        groups=() if facts.exact is None else facts.exact.groups,
        labels=facts.data.labels,
    )


def place_expected(config: ConfigJson, expected: Expected, labels: Sequence[str]) -> Explored:
    """Return the point at which a run of public data is expected; `config` is its JSON."""
    accuracy, gap = expected.accuracy.mean, expected.gap.mean
    assert accuracy is not None and gap is not None
    numbers = Shown(accuracy, gap, None, None, raw=False)
    groups = [{"name": name, "positive_rate": rate} for name, rate in expected.rates.items()]
    return Explored(config, config["epsilon"], numbers, expected.constant, groups, tuple(labels), expected)


def draw_explored(
    trail: Sequence[Explored], *, plain: TableRow | None, title: str, notion: str, wanted: Wanted, waiting: bool
) -> FigureData:
    """Accuracy against gap of the newest of `trail`, those before it behind it; an open ghost while one is `waiting`.

    `plain` is a run without privacy and fairness to stand at the mixing line's end; without one the constant answer
    stands alone, and so where its raw numbers of protected data would stand beside released ones. `title` and `notion`
    are titles.
    """
    newest, numbers = trail[-1], trail[-1].shown
    kind = _format_kind(newest)
    if not (newest.is_raw or newest.published):
        plain = None
    return FigureData(
        name="explored",
        title=title,
        x=Axis(f"{notion} gap", "percentage points", with_zero=True),
        panels=(Panel(ACCURACY),),
        series=(*_draw_ends(newest, plain), _draw_path(trail), _draw_newest(newest, waiting=waiting)),
        caption=kind,
        alt=f"{name_point(newest)}: accuracy {percent_text(numbers.accuracy)}, gap {points_text(numbers.gap)}.",
        origin=ALL_RAW if newest.is_raw else PUBLIC,
        regions=(wanted.shade(),),
        shaded=wanted.said,
    )


def _format_kind(point: Explored) -> str:
    """Return where a point's numbers are from."""
    if point.expected is not None:
        return (_BETWEEN if point.expected.between else _EXPECTED).format(n=point.expected.accuracy.n)
    if point.shown.accuracy_error is not None and point.is_released:
        return _TOLD
    if point.is_released:
        return _RELEASED if point.is_raw or point.published else f"{_RELEASED} {_BOTH}"
    return _TEST if point.is_raw else f"{_TEST} {_PUBLIC}"


def _draw_ends(newest: Explored, plain: TableRow | None) -> list[Series]:
    constant = newest.constant
    public = newest.is_raw or newest.published
    ends = draw_ends(plain, 0)
    if ends or constant is None or not (public or newest.shown.accuracy_error is None):
        return ends  # the constant answer's accuracy was measured: it stands beside no released one
    return [draw_end(END_NAMES[0], 0.0, 100 * constant, 0)]


def _draw_path(trail: Sequence[Explored]) -> Series:
    return Series(
        "before",
        "points",
        tuple(100 * point.shown.gap for point in trail),
        tuple(100 * point.shown.accuracy for point in trail),
        style="muted",
        hollow=(True,) * len(trail),
        hover=tuple(_format_point(point) for point in trail),
    )


def _draw_newest(newest: Explored, *, waiting: bool) -> Series:
    point = Series(
        name_point(newest),
        "points",
        (100 * newest.shown.gap,),
        (100 * newest.shown.accuracy,),
        style=newest.method,
        variation=int(waiting),
        faint=waiting,
        text=(f"{'before: ' * waiting}{name_point(newest)}",),
        hover=(_format_point(newest),),
    )
    if newest.expected is not None:
        accuracy, gap = newest.expected.accuracy, newest.expected.gap
        return replace(point, hollow=(True,), **_whiskers(gap, "x_"), **_whiskers(accuracy, ""))
    if newest.shown.gap_error is not None:
        low, high = _reach(newest.shown.gap, newest.shown.gap_error)
        point = replace(point, x_low=(low,), x_high=(high,))
    if newest.shown.accuracy_error is not None:
        low, high = _reach(newest.shown.accuracy, newest.shown.accuracy_error)
        point = replace(point, low=(low,), high=(high,))
    return point


def _whiskers(interval: Mean, axis: str) -> dict[str, Any]:
    assert interval.low is not None and interval.high is not None
    return {f"{axis}low": (100 * interval.low,), f"{axis}high": (100 * interval.high,)}


def _reach(value: float, error: float) -> tuple[float, float]:
    """Return one standard error to both sides, in per cent."""
    return max(0.0, 100 * (value - error)), min(100.0, 100 * (value + error))


def name_point(point: Explored) -> str:
    """Return what the newest point's series is called."""
    return f"{method_style(point.method).title}{'' if point.epsilon is None else f', ε = {point.epsilon:g}'}"


def draw_groups(point: Explored) -> FigureData:
    """Each group's rate, by people out of 100: the first that its notion compares, or who is decided positively."""
    labels = point.labels
    rates = GroupRates(method_style(point.method).title, point.method, point.groups)
    rate = next(iter(notions()[point.config["notion"]].rates), "positive_rate")
    origin = PUBLIC if point.published else ALL_RAW
    figure = group_bars([rates], rate=rate)
    words_by_rate = {
        "positive_rate": f"decided “{labels[-1]}”",
        "accuracy": "decided rightly",
        "positive_predictive_value": f"truly “{labels[-1]}” of those who are decided so",
    }
    among = {"true_positive_rate": labels[-1], "false_positive_rate": labels[0]}
    words = words_by_rate.get(rate) or f"decided “{labels[-1]}” of those who are “{among.get(rate, '')}”"
    return replace(
        figure,
        title=f"Of 100 people in each group, {words}",
        x=Axis("people out of 100", range=(0.0, 100.0) if rate == "accuracy" else None),
        caption=_WHISKERS if point.expected is None else _format_kind(point).partition(";")[0] + ".",
        origin=origin,
    )


def format_explored(point: Explored) -> str:
    """Return the newest point in one line."""
    numbers = point.shown
    budget = "no ε: not private" if point.epsilon is None else f"ε = {epsilon_text(point.epsilon)}"
    if point.expected is not None:
        accuracy, reached = spread(point.expected.accuracy), spread(point.expected.gap)
        return f"Expected · {budget} · accuracy {accuracy} % · gap {reached} points"
    gap, right = map(half_text, (numbers.gap_error, numbers.accuracy_error))
    return f"{budget} · accuracy {100 * numbers.accuracy:.1f}{right} % · gap {100 * numbers.gap:.1f}{gap} points"


def _format_point(point: Explored) -> str:
    return format_explored(point).replace(" · ", "\n")
