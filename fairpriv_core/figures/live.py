"""Figures of a run while it trains, and of runs laid over each other, as data."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from fairpriv_core.engine.training import Histogram
from fairpriv_core.facts import wording
from fairpriv_core.facts.grid import Expected
from fairpriv_core.figures.figure import Axis, FigureData, Panel, Reference, Series, Value, from_zero, line
from fairpriv_core.figures.origin import ALL_RAW, PUBLIC, Origin
from fairpriv_core.figures.styles import count_earlier
from fairpriv_core.stats import Mean, mean_interval, spread
from fairpriv_core.text import delta_text, epsilon_text, number_text, percent_text

History = Mapping[str, tuple[Sequence[float], Sequence[Value]]]
STEP = Axis("Step")
#: what a curve of one run can go along, with its axis' title
ALONG = {"steps": "Step", "epochs": "Epoch", "epsilon": "ε spent"}
MAX_GROUPS = 6
_FEW = 30  # rows of a group of which so many are told
_GAP = re.compile(r"test/(\w+)_gap")
_DRAWN = re.compile(
    r"train/loss|test/(accuracy|constant_accuracy|\w+_gap)|(group|class)/.+/(positive_rate|accuracy)(_low|_high)?|epsilon"
    r"|(multiplier|noise|clipped|contribution)/.+"
)
_QUANTITIES = {
    "gradient_norm": ("Gradient norms", Axis("Norm of a row's gradient"), "C_p", "gradient norm"),
    "output": ("Outputs", Axis("|h| of a row"), "C_d", "|h|"),
}
#: what the names of a curve begin with, the panel's title, its axis
_OVER_TIME = (
    ("clipped/gradient_norm/", "Gradients clipped", "Rows"),
    ("clipped/output/", "Outputs |h| clipped", "Rows"),
    ("contribution/", "Share of all gradients", "Share"),
)


@dataclass(frozen=True)
class RunCurve:
    """One run's values of one metric over steps; shares in [0, 1]. `low` and `high` are 95 % ends, or empty."""

    label: str
    method: str
    x: Sequence[float]
    y: Sequence[Value]
    low: Sequence[Value] = ()
    high: Sequence[Value] = ()


def is_drawn(name: str) -> bool:
    """Return whether a page of one run reads the curve called `name`, to draw it or to say what is wrong."""
    return _DRAWN.fullmatch(name) is not None


def is_overlaid(name: str) -> bool:
    """Return whether figures of several runs draw the curve called `name`."""
    return name == "test/accuracy" or _GAP.fullmatch(name) is not None


def collect(rows: Iterable[tuple[int, str, float | None]]) -> dict[str, tuple[list[float], list[Value]]]:
    """Return name -> (steps, values) from a store's (step, name, value) rows, by step.

    A step written twice (a run that was resumed from an earlier checkpoint) keeps its last value.
    """
    latest: dict[str, dict[int, Value]] = {}
    for step, name, value in rows:
        latest.setdefault(name, {})[step] = value
    return {
        name: ([float(step) for step in sorted(at)], [at[step] for step in sorted(at)]) for name, at in latest.items()
    }


def has_epochs(history: History) -> bool:
    """Return whether a history has numbers of single epochs, and not the ε of the run's end alone."""
    return any(name.startswith("test/") for name in history)


def has_curves(history: History) -> bool:
    """Return whether a measure has more than the one point of a method that trains in one go."""
    return any(len(xs) > 1 for name, (xs, _) in history.items() if name.startswith("test/"))


def rescale(history: History, along: str, reach: Mapping[str, float | None]) -> tuple[History, Axis]:
    """Return a history over "steps", "epochs" or "epsilon" (the ε spent by then), and that axis.

    `reach` is how far each of them is planned to go, None where that is not known, and the axis goes as far. What was
    measured at a step at which no ε was told is left out of a history over ε.
    """
    steps, epochs = reach["steps"] or 1.0, reach["epochs"] or 1.0
    if along == "epsilon":
        places = dict(zip(*_of(history, "epsilon"), strict=True))
    else:
        scale = epochs / steps if along == "epochs" else 1.0
        places = {step: scale * step for xs, _ in history.values() for step in xs}
    end = reach[along]
    axis = Axis(ALONG[along], range=None if end is None else (0.0, end))
    return {name: _place(places, *curve) for name, curve in history.items()}, axis


def _place(places: Mapping[float, Value], xs: Sequence[float], ys: Sequence[Value]) -> tuple[list[float], list[Value]]:
    points = [(place, y) for x, y in zip(xs, ys, strict=True) if (place := places.get(x)) is not None]
    return [x for x, _ in points], [y for _, y in points]


def live_accuracy(
    history: History, *, method: str, plain: float | None = None, x: Axis = STEP, origin: Origin = ALL_RAW
) -> FigureData:
    """Accuracy on test rows, beside that of one answer for all and that of `plain` training (a share), where known."""
    constant = _last(_of(history, "test/constant_accuracy")[1])
    marks = {"one answer for all": constant, "plain training": plain}
    return _live_measure(history, "accuracy", "%", marks, method=method, x=x, origin=origin)


def live_gap(
    history: History,
    *,
    method: str,
    notion: str,
    plain: float | None = None,
    aim: float | None = None,
    x: Axis = STEP,
    origin: Origin = ALL_RAW,
) -> FigureData:
    """The gap of a notion, by its id, on test rows, beside what is aimed at and that of `plain` training (shares)."""
    marks = {"aimed at": aim, "plain training": plain}
    return _live_measure(history, f"{notion}_gap", "percentage points", marks, method=method, x=x, origin=origin)


def _live_measure(
    history: History, metric: str, unit: str, marks: Mapping[str, Value], *, method: str, x: Axis, origin: Origin
) -> FigureData:
    title = wording.metric_title(metric)
    series = line(title, *_of(history, f"test/{metric}"), scale=100, style=method)
    levels = {f"{name} {100 * share:.1f}": 100 * share for name, share in marks.items() if share is not None}
    now, is_gap = number_text(_last(series.y)), metric.endswith("_gap")
    values = [value for value in (*series.y, *levels.values()) if value is not None]
    ends = from_zero(values) if is_gap else None
    return FigureData(
        name=f"live_{'gap' if is_gap else metric}",
        title=title,
        x=x,
        panels=(Panel(Axis("Gap" if is_gap else title, unit, range=ends)),),
        series=(series,),
        caption="On test rows. One run: no band.",
        alt=f"{title} on test rows now: {now} {unit}. " + ", ".join(levels) + "." * bool(levels),
        references=tuple(Reference(value, name, axis="y") for name, value in levels.items()),
        origin=origin,
    )


def expected_measures(
    expected: Expected, *, notion: str, plain: Mapping[str, Value], aim: float | None, x: Axis
) -> dict[str, FigureData]:
    """Accuracy and gap as runs that ship with this software let expect them, in the panels that a run will fill.

    `plain` has the numbers of plain training by metric, where known; `x` is the axis that the run will go along.
    """
    gap, history = f"{notion}_gap", {"test/constant_accuracy": ([0.0], [expected.constant])}
    panels = {
        "accuracy": live_accuracy(history, method="expected", plain=plain.get("accuracy"), x=x, origin=PUBLIC),
        "gap": live_gap({}, method="expected", notion=notion, plain=plain.get(gap), aim=aim, x=x, origin=PUBLIC),
    }
    return {name: _place_expected(panel, getattr(expected, name), x) for name, panel in panels.items()}


def _place_expected(panel: FigureData, mean: Mean, x: Axis) -> FigureData:
    ends = [[value] * 2 for value in (mean.mean, mean.low, mean.high)]
    band = line("expected", x.range or (0.0, 1.0), ends[0], low=ends[1], high=ends[2], scale=100, style="expected")
    axis, values = panel.panels[0].y, [mean.high, *(mark.value / 100 for mark in panel.references)]
    span = from_zero([100 * value for value in values if value is not None]) if axis.range is not None else None
    return replace(
        panel,
        name=panel.name.replace("live", "expected"),
        title=f"Expected {axis.title.lower()}: {spread(mean)}",
        panels=(Panel(replace(axis, range=span)),),
        series=(band,),
        caption=f"Band: 95 % prediction interval of a further run, by {mean.n} runs a setting that ship.",
        alt=f"{panel.title}: {spread(mean)} {axis.unit} expected.",
    )


def live_gaps(history: History, *, method: str, notion: str, origin: Origin = ALL_RAW) -> FigureData:
    """The gap of every notion on test rows; `notion` (its id) is drawn in the method's look."""
    names = [match.group(1) for name in history if (match := _GAP.fullmatch(name))]
    series = []
    for index, name in enumerate(sorted(names, key=lambda name: name != notion)):
        style = method if name == notion else f"group {index}"
        curve = _of(history, f"test/{name}_gap")
        series.append(line(wording.metric_title(name), *curve, scale=100, style=style, labelled=True))
    return FigureData(
        name="live_gaps",
        title="Fairness gaps on test rows",
        x=STEP,
        panels=(Panel(Axis("Gap", "percentage points")),),
        series=tuple(series),
        caption=f"In the method's colour and marker: the chosen notion, {wording.metric_title(notion).lower()}. "
        "One run: no band.",
        alt="Now: " + ", ".join(f"{gap.name} {number_text(_last(gap.y))}" for gap in series) + ".",
        origin=origin,
    )


def live_groups(history: History, *, origin: Origin = ALL_RAW) -> FigureData:
    """One line for each group's rate, with its 95 % interval where the history has `…_low` and `…_high`.

    It is the rate of positive predictions, or, where there are more than two labels, the accuracy.
    """
    rate = "accuracy" if has_classes(history) else "positive_rate"
    return _live_shares(history, of="group", rate=rate, origin=origin)


def has_classes(history: History) -> bool:
    """Return whether a history is of a run with more than two labels."""
    return any(name.startswith("class/") for name in history)


def has_own_classes(history: History) -> bool:
    """Return whether a history has classes that are not its groups too."""
    names = [{name.split("/")[1] for name in history if name.startswith(what)} for what in ("class/", "group/")]
    return has_classes(history) and names[0] != names[1]


def live_classes(history: History, *, origin: Origin = ALL_RAW) -> FigureData:
    """One line for each class's accuracy, with its 95 % interval: a class that is given up falls to 0."""
    return _live_shares(history, of="class", rate="accuracy", origin=origin)


def _live_shares(history: History, *, of: str, rate: str, origin: Origin) -> FigureData:
    title = wording.metric_title(rate)
    names = [name[len(of) + 1 : -len(rate) - 1] for name in history if re.fullmatch(rf"{of}/.+/{rate}", name)]
    series = []
    for index, name in enumerate(names):
        x, y = _of(history, f"{of}/{name}/{rate}")
        low, high = (_of(history, f"{of}/{name}/{rate}_{end}")[1] for end in ("low", "high"))
        if not len(low) == len(y) == len(high):
            low, high = (), ()
        series.append(line(name, x, y, scale=100, low=low, high=high, style=f"group {index}", labelled=True))
    band = f"Bands: 95 % Wilson interval of each {of}." if any(share.low for share in series) else ""
    return FigureData(
        name=f"live_{'classes' if of == 'class' else 'groups'}_{rate}",
        title=f"{title} of each {of}",
        x=STEP,
        panels=(Panel(Axis(title, f"% of the {of}")),),
        series=tuple(series),
        caption=band,
        alt=f"{title} now: " + ", ".join(f"{share.name} {number_text(_last(share.y))} %" for share in series) + ".",
        origin=origin,
    )


def live_multipliers(history: History, *, limit: float | None = None) -> FigureData:
    """The multiplier λ of each constraint; `limit` is λ_max, drawn where the multipliers come near it."""
    prefix = "multiplier/"
    names = [name for name in history if name.startswith(prefix)]
    series = [
        line(name[len(prefix) :], *_of(history, name), style=f"group {index}", labelled=True)
        for index, name in enumerate(names)
    ]
    values = [abs(value) for curve in series for value in curve.y if value is not None]
    near = limit is not None and bool(values) and max(values) > 0.7 * limit
    ends = (1, -1) if any(value < 0 for curve in series for value in curve.y if value is not None) else (1,)
    marks = tuple(Reference(end * (limit or 0.0), "λ_max" if end > 0 else "−λ_max", axis="y") for end in ends)
    return FigureData(
        name="live_multipliers",
        title="Multiplier λ of each constraint",
        x=STEP,
        panels=(Panel(Axis("Multiplier λ")),),
        series=tuple(series),
        caption="How hard each group's constraint pulls, and in which direction. Part of what the run releases.",
        alt="λ now: " + ", ".join(f"{curve.name} {number_text(_last(curve.y))}" for curve in series) + ".",
        references=marks if near else (),
    )


def live_epsilon(
    history: History, *, budget: float | None, delta: float, protects: str, steps: int | None = None
) -> FigureData:
    """ε spent so far, against the budget, and what it `protects`; the axis reaches to the planned number of `steps`."""
    x, y = _of(history, "epsilon")
    epsilon = _last(y)
    words = f"ε = {epsilon_text(epsilon)} spent" if epsilon is not None else "Nothing spent yet"
    words += "." if budget is None else f" of {epsilon_text(budget)}."
    marks = () if budget is None else (Reference(budget, f"budget {epsilon_text(budget)}", axis="y"),)
    return FigureData(
        name="live_epsilon",
        title="ε spent against the budget",
        x=STEP if steps is None else Axis("Step", range=(0.0, float(steps))),
        panels=(Panel(Axis("ε spent", range=from_zero(y, budget))),),
        series=(line("ε spent", x, y, style="budget"),),
        caption=f"{words} δ = {delta_text(delta)}; protects {protects}.",
        alt=words,
        references=marks,
    )


def clipping_histogram(
    histogram: Histogram, *, quantity: str, symbol: str | None = None, origin: Origin = ALL_RAW
) -> FigureData:
    """How far rows reach, and what the clipping bound cuts off, one panel a group; of many groups the most clipped.

    `quantity` is "gradient_norm" (bound C_p) or "output" (bound C_d); `symbol` names another bound, such as C.
    Without a bound, where the method clips nothing, no words speak of clipping.
    """
    title, x, usual, words = _QUANTITIES[quantity]
    symbol = symbol or usual
    clipped = histogram.clipped
    names = sorted(histogram.counts, key=lambda name: -(clipped.get(name) or 0.0))
    groups = [name for name in histogram.counts if name in names[:MAX_GROUPS]]  # in an order that never changes
    n_hidden = len(names) - MAX_GROUPS
    series, panels = [], []
    for index, name in enumerate(groups):
        counts = histogram.counts[name]
        size = max(1, sum(counts))
        shares = tuple(100 * count / size for count in counts)
        series.append(Series(name, "histogram", tuple(histogram.edges), shares, style="part", panel=index))
        panels.append(Panel(Axis("Rows", "%"), _clipped_words(name, clipped.get(name), size)))
    sentence = "; ".join(panel.title for panel in panels)
    less = "are not shown" if histogram.bound is None else "are clipped less and not shown"
    more = f" {n_hidden} more groups {less}." if n_hidden > 0 else ""
    cut = "" if histogram.bound is None else f"; what lies right of {symbol} is clipped"
    return FigureData(
        name=f"clipping_{quantity}",
        title=f"{title} by group",
        x=replace(x, range=(histogram.edges[0], histogram.edges[-1])),
        panels=tuple(panels),
        series=tuple(series),
        caption=f"Share of each group's rows by {words}{cut}. The last bar holds all beyond.{more}",
        alt=f"{title} by group. {sentence}.{more}",
        references=tuple(_mark_bounds(histogram, groups, symbol)),
        origin=origin,
    )


def _mark_bounds(histogram: Histogram, groups: Sequence[str], symbol: str | None) -> Iterator[Reference]:
    """Yield a line at what clips the value; where it is not the same for all, at those of each group in its panel."""
    if histogram.bound is not None and not histogram.bounds:
        yield Reference(histogram.bound, f"{symbol} = {number_text(histogram.bound)}")
    for panel, name in enumerate(groups):
        for bound in histogram.bounds.get(name, ()):
            yield Reference(bound, f"{symbol} = {number_text(bound)}", panel=panel)


def live_clipping(history: History, *, origin: Origin = ALL_RAW) -> FigureData:
    """What clipping does over time: the share of each group's rows that it clips, and how hard each group pulls."""
    parts = [(prefix, *words) for prefix, *words in _OVER_TIME if any(name.startswith(prefix) for name in history)]
    series, n_hidden = [], 0
    for panel, (prefix, _, _) in enumerate(parts):
        names = [name for name in history if name.startswith(prefix)]
        largest = sorted(names, key=lambda name: -(_last(history[name][1]) or 0.0))[:MAX_GROUPS]
        n_hidden = max(n_hidden, len(names) - MAX_GROUPS)
        for index, name in enumerate(names):
            if name in largest:
                x, y = history[name]
                style = f"group {index}"
                series.append(line(name[len(prefix) :], x, y, scale=100, style=style, panel=panel, labelled=True))
    sentences = [
        f"{title}: "
        + ", ".join(f"{curve.name} {number_text(_last(curve.y))} %" for curve in series if curve.panel == at)
        for at, (_, title, _) in enumerate(parts)
    ]
    more = f"Of {n_hidden + MAX_GROUPS} groups the {MAX_GROUPS} largest of each panel. " if n_hidden > 0 else ""
    heights = [[value for curve in series if curve.panel == at for value in curve.y] for at in range(len(parts))]
    panels = [
        Panel(Axis(axis, "%", range=from_zero(values)), title)
        for (_, title, axis), values in zip(parts, heights, strict=True)
    ]
    return FigureData(
        name="live_clipping",
        title="Clipping of each group over time" if len(parts) > 1 else "How hard each group pulls",
        x=STEP,
        panels=tuple(panels),
        series=tuple(series),
        caption=f"{more}Share of all gradients: of the sum of all rows' norms after clipping.",
        alt=f"Now: {'; '.join(sentences)}.",
        origin=origin,
    )


def overlay(curves: Sequence[RunCurve], *, metric: str, origin: Origin = ALL_RAW) -> FigureData:
    """2 to 6 runs over each other: one metric over steps, each run in its method's look, lettered in the legend.

    Runs without a value of it are not drawn, and named in the caption.
    """
    title = wording.metric_title(metric)
    unit = "percentage points" if metric.endswith("_gap") else "%"
    series = []
    visible = [curve for curve in curves if _last(curve.y) is not None]
    for curve, same in zip(visible, count_earlier([curve.method for curve in visible]), strict=True):
        style = curve.method
        values = line(
            curve.label, curve.x, curve.y, scale=100, low=curve.low, high=curve.high, style=style, variation=same
        )
        series.append(values)
    absent = _format_missing([curve.label for curve in curves if curve not in visible])
    band = "Bands: 95 % interval over seeds." if any(drawing.low for drawing in series) else "One seed a run: no band."
    return FigureData(
        name=f"overlay_{metric}",
        title=f"{title} while training",
        x=STEP,
        panels=(Panel(Axis(title, unit)),),
        series=tuple(series),
        caption=f"{absent}{band}",
        alt=f"{absent}{title} at the end: "
        + ", ".join(f"{s.name} {number_text(_last(s.y))} {unit}" for s in series)
        + ".",
        origin=origin,
    )


def _of(history: History, name: str) -> tuple[Sequence[float], Sequence[Value]]:
    return history.get(name, ((), ()))


def _last(values: Sequence[Value]) -> Value:
    return next((value for value in reversed(values) if value is not None), None)


def _format_missing(labels: Sequence[str]) -> str:
    verb = "it keeps" if len(labels) == 1 else "they keep"
    return f"Not drawn, since {verb} no numbers of single epochs: {'; '.join(labels)}. " if labels else ""


def _clipped_words(group: str, share: float | None, size: int) -> str:
    title = f"{group} ({size} rows)" if size < _FEW else group
    return title if share is None else f"{title}: {percent_text(share)} clipped"


def fold_curves(label: str, method: str, histories: Sequence[History], metric: str) -> RunCurve:
    """Return the mean of `metric` ("accuracy", …) over runs at each step that all have, with its 95 % t interval.

    One run gives its own curve without an interval; a step where a run has no value is a gap.
    """
    curves = [dict(zip(*history.get(f"test/{metric}", ((), ())), strict=True)) for history in histories]
    steps = sorted(set.intersection(*(set(values) for values in curves))) if curves else []
    means = [mean_interval(values[step] for values in curves) for step in steps]
    y: list[Value] = [mean.mean if mean.n == len(curves) else None for mean in means]
    if len(curves) < 2:
        return RunCurve(label, method, steps, y)
    low: list[Value] = [mean.low for mean in means]
    return RunCurve(label, method, steps, y, low=low, high=[mean.high for mean in means])
