"""A paper's figure or table, from run records, drawn in the paper's arrangement."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial

from fairpriv_core.data.catalog import problems
from fairpriv_core.facts import wording
from fairpriv_core.figures.figure import Axis, FigureData, Panel, Reference, Series
from fairpriv_core.figures.origin import ALL_RAW, PUBLIC
from fairpriv_core.papers.catalog import name_paper
from fairpriv_core.papers.gains import list_gains
from fairpriv_core.papers.preset import (
    ACCURACY,
    SECONDS,
    Drawing,
    GainTable,
    MeanGain,
    PaperTable,
    Part,
    Plot,
    Preset,
    Released,
    Value,
)
from fairpriv_core.papers.values import (
    ALWAYS,
    Runs,
    amount,
    by_config,
    by_setting,
    choose,
    count_alike,
    fold,
    format_same_answers,
    list_paths,
    place,
    shown,
    value_at,
    with_half,
)
from fairpriv_core.records.source import is_published
from fairpriv_core.stats import Mean
from fairpriv_core.text import delta_text, epsilon_text

_METHOD, _VARIANT = "config/method/name", "config/method/variant"
_FAR = 3.0  # times the span of a panel's values
Grid = tuple[FigureData, ...]  # from left to right
Bars = Sequence[tuple[str, Mean]]
Ends = tuple[float | None, ...]


def format_run_sentences(preset: Preset, runs: Runs) -> str:
    """Return the sentences under a figure or table, of mean gains on the runs that they are of."""
    if isinstance(preset.drawing, GainTable):
        runs = [run for part in _parts(preset) for run in choose(runs, part.where)]
    if not runs:
        return "No finished run yet."
    alike = format_same_answers(runs)
    parts = [
        _format_data(runs),
        _format_seeds(preset, runs),
        _format_budgets(preset, runs),
        *_format_settings(preset, runs),
        f"{alike[:1].upper()}{alike[1:]}." if alike else "",
    ]
    return " ".join(part for part in parts if part)


def format_sentences(preset: Preset, runs: Runs) -> str:
    """Return the sentences under a drawing, or under several that show the runs."""
    sentences = (format_run_sentences(preset, runs), _format_knobs(preset.drawing, runs), preset.caution)
    return " ".join(part for part in sentences if part)


def format_own_sentences(preset: Preset, shown_by: Sequence[Runs]) -> list[str]:
    """Return the sentences on each of several figures that differ between them; `shown_by` are the runs of each.

    What they share `format_sentences` says of all their runs.
    """
    alike = any(count_alike(runs)[0] for runs in shown_by)
    tells = (
        _format_data,
        partial(_format_seeds, preset),
        lambda runs: f"ε: {budget_text(runs)}.",
        lambda runs: " ".join(_format_settings(preset, runs)),
        partial(_format_knobs, preset.drawing),
        _format_alike if alike else lambda _: "",
    )
    texts_by_kind = [[tell(runs) for runs in shown_by] for tell in tells]
    unlike = [texts_of_one for texts_of_one in texts_by_kind if len(set(texts_of_one)) > 1]
    return [" ".join(text for text in texts if text) for texts in zip(*unlike, strict=True)] or [""] * len(shown_by)


def is_raw(preset: Preset, runs: Runs) -> bool:
    """Return whether a preset shows more than accuracies and times of groups that not everybody has the rows of."""
    shows_more = any(path not in (*ALWAYS, ACCURACY.path, SECONDS.path) for path in list_paths(preset))
    return shows_more and not all(is_published(run.data) for run in runs)


def has_budgets(table: PaperTable) -> bool:
    """Return whether each line of a table is of one method, so that it has an ε."""
    return all(_METHOD in row.where for row in table.rows)


def budget_text(runs: Runs) -> str:
    """Return the ε of runs of one method: "2.35 proved", "3.06 by the paper, not proved", "none"."""
    if not any(run.threat_model for run in runs):
        return "none" if runs else "–"
    proved, claimed = _range(runs, published=False), _range(runs, published=True)
    parts = (f"{proved} proved" if proved else "", f"{claimed} by the paper, not proved" if claimed else "")
    return ", ".join(text for text in parts if text) or "not proved"


def name_data(runs: Runs) -> list[str]:
    """Return the names of the data sets of runs, without what brackets add to them."""
    titles = {problems()[run.data["dataset"] or ""].title for run in runs}
    return sorted(title.partition(" (")[0] for title in titles)


def _format_data(runs: Runs) -> str:
    groups = sorted({str(run.data["sensitive"]).lower() for run in runs})
    *names, last = name_data(runs)
    data_text = f"{', '.join(names)} and {last}" if names else last
    return f"Data: {data_text}, by {' and '.join(groups)}."


def _format_seeds(preset: Preset, runs: Runs) -> str:
    seeds = [len({run.seed for run in own}) for own in by_config(runs)]  # some settings may have more than others
    low, high = min(seeds), max(seeds)
    if high == 1:
        return wording.ONE_SEED
    intervals = "" if SECONDS.path in list_paths(preset) else " with 95 % intervals"
    return f"Means over {high if low == high else f'{low} to {high}'} seeds{intervals}."


def _format_alike(runs: Runs) -> str:
    same, models = count_alike(runs)
    return f"Nearly the same answer for all: {same} of {models} models."


def _format_budgets(preset: Preset, runs: Runs) -> str:
    """Return delta, what ε protects, and the ε of each line by who accounts for it."""
    private = [run for run in runs if run.threat_model]
    if not private:
        return ""
    deltas = " or ".join(delta_text(delta) for delta in sorted({run.config["delta"] for run in private}))
    models = sorted({run.threat_model for run in private if run.threat_model is not None})
    protects = " or ".join(map(wording.protected, models))
    sentence = f"δ = {deltas}; ε protects {protects}."
    if isinstance(preset.drawing, PaperTable) and has_budgets(preset.drawing):
        return f"{sentence} Each line has its ε beside it; where that is by the paper, it is not proved to hold."
    for published, lead in ((False, "ε, proved"), (True, "ε by the paper's own accounting, not proved to hold")):
        names: dict[str, list[str]] = {}
        for part in _parts(preset):
            names.setdefault(_range(choose(private, part.where), published=published), []).append(part.name)
        budgets_text = ", ".join(f"{epsilons} ({'; '.join(own)})" for epsilons, own in names.items() if epsilons)
        sentence += f" {lead}: {budgets_text}." if budgets_text else ""
    return sentence


def find_knob(plot: Plot, runs: Runs) -> Value | None:
    """Return the setting that tells the points of a series apart; None where its runs have none."""
    choices = (plot.along,) if isinstance(plot.along, Value) else plot.along
    return next((choice for choice in choices if any(shown(run, choice) is not None for run in runs)), None)


def _format_knobs(drawing: Drawing | None, runs: Runs) -> str:
    """Return the sentence on what the numbers at points are, with the lines that have each where they differ."""
    if not isinstance(drawing, Plot) or drawing.kind != "points":
        return ""
    names_by_title: dict[str, list[str]] = {}
    for part in drawing.series:
        own = choose(runs, part.where)
        along = find_knob(drawing, own)
        if along is not None and len(by_setting(own, along)) > 1:
            names_by_title.setdefault(along.title, []).append(part.name)
    if len(names_by_title) == 1:
        return f"Numbers at points: {next(iter(names_by_title))}."
    sentence = "; ".join(f"{title} ({' and '.join(names)})" for title, names in names_by_title.items())
    return f"Numbers at points: {sentence}." if sentence else ""


def _parts(preset: Preset) -> Sequence[Part]:
    """Return what a preset calls its methods: a figure's series, of curves its columns; a table's lines or columns.

    Of mean gains it is their two sides.
    """
    drawing = preset.drawing
    if isinstance(drawing, PaperTable):
        return drawing.rows if has_budgets(drawing) else tuple(part for part, _ in drawing.columns)
    if isinstance(drawing, GainTable):
        sides = [side for gain in drawing.gains for side in (gain.one, gain.other)]
        return list({side.name: Part(side.name, side.where) for side in sides}.values())
    if drawing is None:
        return ()
    return drawing.columns if drawing.kind == "curve" else drawing.series


def _range(runs: Runs, *, published: bool) -> str:
    """Return the ε of the runs that have one by that accounting, from the smallest to the largest; "" for none."""
    budgets = [run.stated_epsilon for run in runs if (run.variant == "published") == published]
    values = sorted(epsilon for epsilon in budgets if epsilon is not None)
    ends = list(dict.fromkeys(epsilon_text(value) for value in values[:1] + values[-1:]))
    return " to ".join(ends)


def _format_settings(preset: Preset, runs: Runs) -> list[str]:
    """Return for the methods that are shown in both variants in which settings these differ."""
    methods_by_names: dict[str, list[str]] = {}
    for part in _parts(preset):
        if part.where.get(_VARIANT) == "published":
            own, proved = choose(runs, part.where), choose(runs, {**part.where, _VARIANT: "proved"})
            names = ", ".join(_differing(own, proved)) if own and proved else ""
            methods_by_names.setdefault(names, []).append(part.name.partition(", as published")[0])
    return [
        f"{' and '.join(methods)}: the proved variant has other settings than the published one ({names}), which "
        "may be why the two lie apart."
        for names, methods in methods_by_names.items()
        if names
    ]


def _differing(first_runs: Runs, second_runs: Runs) -> list[str]:
    """Return the names of the method's settings whose values are not the same in both lists of runs."""
    values = [_settings(runs) for runs in (first_runs, second_runs)]
    return sorted(name.replace("_", " ") for name in values[0] if values[0][name] != values[1].get(name))


def _settings(runs: Runs) -> Mapping[str, set[str]]:
    values_by_name: dict[str, set[str]] = {}
    for own in by_config(runs):
        for name, value in own[0].method.items():
            if name != "variant":
                values_by_name.setdefault(name, set()).add(json.dumps(value, sort_keys=True))
    return values_by_name


def draw_preset(preset: Preset, runs: Runs) -> Grid:
    """Return a preset's figures from left to right; none for a table, or without runs."""
    drawing = preset.drawing
    if not isinstance(drawing, Plot) or not runs:
        return ()
    if drawing.kind == "bar":
        return tuple(_bar_figure(preset, drawing, row, runs) for row in drawing.rows)
    columns = [column for column in drawing.columns if choose(runs, column.where)]
    plots = [replace(drawing, rows=(row,)) for row in drawing.rows] if drawing.across else [drawing]
    own = format_own_sentences(preset, [choose(runs, column.where) for column in columns])
    return tuple(
        replace(_figure(preset, plot, column, runs), own=text)
        for column, text in zip(columns, own, strict=True)
        for plot in plots
    )


def list_cells(preset: Preset, runs: Runs) -> list[dict[str, str]]:
    """Return a table's lines, each cell a mean with half its 95 % interval; none for a figure.

    A line that is of one method has its ε beside its name.
    """
    table = preset.drawing
    if isinstance(table, GainTable):
        return [line for gain in table.gains for at in (0, -1) for line in _list_gains(gain, runs, at)]
    if not isinstance(table, PaperTable):
        return []
    return [
        {"what": row.name}
        | ({"ε": budget_text(choose(runs, row.where))} if has_budgets(table) else {})
        | {part.name: with_half(fold(choose(runs, row.where, part.where), value)) for part, value in table.columns}
        for row in table.rows
    ]


def _list_gains(check: MeanGain, runs: Runs, at: int) -> list[dict[str, str]]:
    """Return a line for each cell of a mean gain: the gain in percent, both sides, and the level that they are at."""
    unit = check.level.unit
    return [
        {
            "what": cell.name,
            "Gain, %": with_half(cell.gain),
            check.one.name: with_half(cell.one),
            check.other.name: with_half(cell.other),
            f"{check.level.title}, at least": f"{cell.at_least:g} {unit}",
        }
        for cell in list_gains(check, runs, at)
    ]


def _figure(preset: Preset, plot: Plot, column: Part, runs: Runs) -> FigureData:
    column_runs = choose(runs, column.where)
    if plot.kind == "curve":
        plot = replace(plot, series=tuple(replace(part, style=column.style) for part in plot.series))
    else:
        plot = replace(plot, rows=tuple(value_at(value, column) for value in plot.rows))
    draw = _DRAW[plot.kind]
    span = _span(column_runs, plot.x)
    series = [
        draw(part, part_runs, plot, panel, span)
        for panel in range(len(plot.rows))
        for part in plot.series
        if (part_runs := choose(column_runs, part.where))
    ]
    series += [_released(item) for item in preset.released if item.column == column.name]
    levels = _references(plot.rows, column_runs, bars=False)
    far = [level for level in levels if _is_far(level, [item for item in series if item.panel == level.panel])]
    rows = tuple(Panel(Axis(value.title, value.unit, log=value.log)) for value in plot.rows)
    part = " · ".join(part for part in (plot.rows[0].title if plot.across else "", column.name) if part)
    title = _title(preset, part, column_runs)
    return FigureData(
        name=_name(preset, part),
        title=title,
        x=Axis(plot.x.title, plot.x.unit, log=plot.x.log),
        panels=rows,
        series=tuple(series),
        caption=" ".join(
            [format_sentences(preset, column_runs), *[f"Outside the plot: {level.label}." for level in far]]
        ),
        alt=_format_text(f"{preset.title}. {part}", plot.rows, series),
        references=tuple(level for level in levels if level not in far),
        origin=ALL_RAW if is_raw(preset, column_runs) else PUBLIC,
    )


def _references(values: Sequence[Value], runs: Runs, *, bars: bool) -> tuple[Reference, ...]:
    """Return the lines of the levels that values are compared with: across each one's panel, or across all bars."""
    marks = []
    for panel, value in enumerate(values):
        level = None if value.mark is None else fold(runs, replace(value, path=value.mark.path)).mean
        if value.mark is not None and level is not None:
            label = f"{value.mark.name}: {amount(level)}{' %' if value.unit == '%' else ''}"
            marks.append(Reference(level, label, axis="x" if bars else "y", panel=None if bars else panel))
    return tuple(marks)


def _is_far(level: Reference, series: Sequence[Series]) -> bool:
    """Return whether a level lies so far from its panel's values that these would be pressed together beside it."""
    values = [y for part in series for ys in (part.y, part.low, part.high) for y in ys if y is not None]
    if not values:
        return False
    low, high = min(values), max(values)
    return max(low - level.value, level.value - high) > _FAR * (high - low) > 0


def _line(part: Part, runs: Runs, plot: Plot, panel: int, span: tuple[float, float]) -> Series:
    """Return a series over a setting; level where its runs do not have the setting."""
    points = [(x, fold(at, plot.rows[panel])) for x, at in by_setting(runs, plot.x)]
    if [x for x, _ in points] == [None]:
        points = [(end, points[0][1]) for end in span]
    return _join(part, [(x, mean) for x, mean in points if x is not None], plot, panel)


def _curve(part: Part, runs: Runs, plot: Plot, panel: int, _span: tuple[float, float]) -> Series:
    """Return a series over training, or what else has steps, at those that the runs have."""
    value = plot.rows[panel]
    points = [(float(step), fold(runs, value_at(value, Part("", step=str(step))))) for step in plot.steps]
    return _join(part, [(x, mean) for x, mean in points if mean.mean is not None], plot, panel)


def _join(part: Part, points: Sequence[tuple[float, Mean]], plot: Plot, panel: int) -> Series:
    """Return a line through means, with the band of their intervals."""
    means = [mean for _, mean in points]
    low, high = _ends(means, plot.rows[panel])
    return Series(
        part.name,
        "line",
        tuple(x for x, _ in points),
        tuple(mean.mean for mean in means),
        low=low,
        high=high,
        style=part.style,
        panel=panel,
        variation=part.variation,
    )


def _points(part: Part, runs: Runs, plot: Plot, panel: int, _span: tuple[float, float]) -> Series:
    """Return a chain of points, one for each value of the setting `along`."""
    along = find_knob(plot, runs)
    groups = [(None, list(runs))] if along is None else by_setting(runs, along)
    points = [(at, fold(own, plot.x), fold(own, plot.rows[panel])) for at, own in groups]
    complete = [point for point in points if point[1].mean is not None]
    low, high = _ends([y for _, _, y in complete], plot.rows[panel])
    left, right = _ends([x for _, x, _ in complete], plot.x)
    return Series(
        part.name,
        "points",
        tuple(x.mean or 0.0 for _, x, _ in complete),
        tuple(y.mean for _, _, y in complete),
        low=low,
        high=high,
        style=part.style,
        panel=panel,
        variation=part.variation,
        x_low=left,
        x_high=right,
        text=tuple("" if at is None or len(complete) == 1 else f"{at:g}" for at, _, _ in complete),
    )


def _released(source: Released) -> Series:
    """Return the authors' points, which nothing joins and no interval is known of."""
    x, y = zip(*source.points, strict=True)
    return Series(source.name, "cloud", x, y, style=source.style)


_DRAW = {"line": _line, "curve": _curve, "points": _points}


def _bar_figure(preset: Preset, plot: Plot, value: Value, runs: Runs) -> FigureData:
    """Return bars of one value: the columns are categories, a bar for each series."""
    series = []
    for part in plot.series:
        bars = [
            (c.name or preset.title, fold(choose(runs, c.where, part.where), value_at(value, c))) for c in plot.columns
        ]
        series.append(_bars(part, bars, value))
    return FigureData(
        name=_name(preset, value.title),
        title=_title(preset, value.title, runs),
        x=Axis(value.title, value.unit),
        panels=(Panel(Axis("")),),
        series=tuple(series),
        caption=format_sentences(preset, runs),
        alt=_format_text(f"{preset.title}. {value.title}", (value,), series),
        references=_references((value,), runs, bars=True),
        horizontal=True,
        origin=ALL_RAW if is_raw(preset, runs) else PUBLIC,
    )


def _bars(part: Part, bars: Bars, value: Value) -> Series:
    means = [mean for _, mean in bars]
    names, values = tuple(name for name, _ in bars), tuple(mean.mean for mean in means)
    low, high = _ends(means, value)
    return Series(part.name, "bar", names, values, low=low, high=high, style=part.style, variation=part.variation)


def _ends(means: Sequence[Mean], value: Value) -> tuple[Ends, Ends]:
    """Return the low and the high ends of the intervals, shares kept within 0 and 100 %; none where no mean has one."""
    if all(mean.low is None for mean in means):
        return (), ()
    floor, high = (0.0, 100.0) if value.scale == 100.0 else (-math.inf, math.inf)
    low = tuple(None if mean.low is None else max(mean.low, floor) for mean in means)
    return low, tuple(None if mean.high is None else min(mean.high, high) for mean in means)


def _span(runs: Runs, x: Value) -> tuple[float, float]:
    values = [at for at, _ in by_setting(runs, x) if at is not None]
    return (min(values), max(values)) if values else (0.1, 10.0)


def _format_text(what: str, values: Sequence[Value], series: Iterable[Series]) -> str:
    parts = []
    for own in series:
        pairs = zip(own.x, own.y, strict=True)
        points = ", ".join(f"{amount(y)} at {place(x)}" for x, y in pairs)
        parts.append(f"{values[own.panel].title} of {own.name}: {points}")
    return f"{what}. " + ". ".join(parts) + "."


def _title(preset: Preset, part: str, runs: Runs) -> str:
    """Return paper, figure, data and part, so that a picture that is taken away says what it is."""
    figure, _, about = preset.title.partition(": ")
    data = [name for name in name_data(runs) if name != part]
    return f"{', '.join([name_paper(preset.id), figure, *data])}: {part or about}"


def _name(preset: Preset, part: str) -> str:
    """Return a file's name in ASCII: the preset's id and the part."""
    words = f"{preset.id}_{part}".lower().replace("ε", "epsilon")
    return "_".join("".join(letter if letter.isascii() and letter.isalnum() else " " for letter in words).split())
