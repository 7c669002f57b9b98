"""A paper's figure or table, from run records, drawn in the paper's arrangement."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace

from fairpriv_core.papers.catalog import name_paper
from fairpriv_core.papers.preset import Part, Plot, Preset, Table, Value
from fairpriv_core.report.figure import Axis, FigureData, Panel, Reference, Series
from fairpriv_core.report.paper_notes import (
    budget_text,
    describe_drawing,
    describe_each,
    find_knob,
    is_raw,
    name_data,
    tells_budgets,
)
from fairpriv_core.report.paper_values import Runs, amount, by_setting, choose, fold, place, value_at, with_half
from fairpriv_core.stats import Mean

Grid = tuple[FigureData, ...]  # from left to right
Bars = Sequence[tuple[str, Mean]]
Ends = tuple[float | None, ...]


def draw_preset(preset: Preset, runs: Runs) -> Grid:
    """Return a preset's figures from left to right; none for a table, or without runs."""
    drawing = preset.drawing
    if not isinstance(drawing, Plot) or not runs:
        return ()
    if drawing.kind == "bar":
        return tuple(_bar_figure(preset, drawing, row, runs) for row in drawing.rows)
    columns = [column for column in drawing.columns if choose(runs, column.where)]
    plots = [replace(drawing, rows=(row,)) for row in drawing.rows] if drawing.across else [drawing]
    own = describe_each(preset, [choose(runs, column.where) for column in columns])
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
    if not isinstance(table, Table):
        return []
    return [
        {"": row.name}
        | ({"ε": budget_text(choose(runs, row.where))} if tells_budgets(table) else {})
        | {part.name: with_half(fold(choose(runs, row.where, part.where), value)) for part, value in table.columns}
        for row in table.rows
    ]


def _figure(preset: Preset, plot: Plot, column: Part, runs: Runs) -> FigureData:
    here = choose(runs, column.where)
    plot = replace(plot, rows=tuple(value_at(value, column) for value in plot.rows))
    draw = _line if plot.kind == "line" else _points
    span = _span(here, plot.x)
    series = [
        draw(part, chosen, plot, panel, span)
        for panel in range(len(plot.rows))
        for part in plot.series
        if (chosen := choose(here, part.where))
    ]
    rows = tuple(Panel(Axis(value.title, value.unit, log=value.log)) for value in plot.rows)
    part = " · ".join(part for part in (plot.rows[0].title if plot.across else "", column.name) if part)
    title = _title(preset, part, here)
    return FigureData(
        name=_name(preset, part),
        title=title,
        x=Axis(plot.x.title, plot.x.unit, log=plot.x.log),
        panels=rows,
        series=tuple(series),
        caption=describe_drawing(preset, here),
        alt=_describe(f"{preset.title}. {part}", plot.rows, series),
        references=_references(plot.rows, here, bars=False),
        raw=is_raw(preset),
    )


def _references(values: Sequence[Value], runs: Runs, *, bars: bool) -> tuple[Reference, ...]:
    """Return the lines of the levels that values are compared with: across each one's panel, or across all bars."""
    found = []
    for panel, value in enumerate(values):
        level = None if value.mark is None else fold(runs, replace(value, path=value.mark.path)).mean
        if value.mark is not None and level is not None:
            label = f"{value.mark.name}: {amount(level)}{' %' if value.unit == '%' else ''}"
            found.append(Reference(level, label, axis="x" if bars else "y", panel=None if bars else panel))
    return tuple(found)


def _line(part: Part, runs: Runs, plot: Plot, panel: int, span: tuple[float, float]) -> Series:
    """Return a series over a setting; level where its runs do not have the setting."""
    points = [(x, fold(at, plot.rows[panel])) for x, at in by_setting(runs, plot.x)]
    if [x for x, _ in points] == [None]:
        points = [(end, points[0][1]) for end in span]
    known = [(x, mean) for x, mean in points if x is not None]
    means = [mean for _, mean in known]
    return Series(
        part.name,
        "line",
        tuple(x for x, _ in known),
        tuple(mean.mean for mean in means),
        low=_ends(means, plot.rows[panel])[0],
        high=_ends(means, plot.rows[panel])[1],
        look=part.look,
        panel=panel,
        variation=part.variation,
    )


def _points(part: Part, runs: Runs, plot: Plot, panel: int, _span: tuple[float, float]) -> Series:
    """Return a chain of points, one for each value of the setting `along`."""
    along = find_knob(plot, runs)
    groups = [(None, list(runs))] if along is None else by_setting(runs, along)
    found = [(at, fold(own, plot.x), fold(own, plot.rows[panel])) for at, own in groups]
    drawn = [one for one in found if one[1].mean is not None]
    return Series(
        part.name,
        "points",
        tuple(x.mean or 0.0 for _, x, _ in drawn),
        tuple(y.mean for _, _, y in drawn),
        low=_ends([y for _, _, y in drawn], plot.rows[panel])[0],
        high=_ends([y for _, _, y in drawn], plot.rows[panel])[1],
        look=part.look,
        panel=panel,
        variation=part.variation,
        x_low=_ends([x for _, x, _ in drawn], plot.x)[0],
        x_high=_ends([x for _, x, _ in drawn], plot.x)[1],
        text=tuple("" if at is None or len(drawn) == 1 else f"{at:g}" for at, _, _ in drawn),
    )


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
        caption=describe_drawing(preset, runs),
        alt=_describe(f"{preset.title}. {value.title}", (value,), series),
        references=_references((value,), runs, bars=True),
        horizontal=True,
        raw=is_raw(preset),
    )


def _bars(part: Part, bars: Bars, value: Value) -> Series:
    means = [mean for _, mean in bars]
    names, values = tuple(name for name, _ in bars), tuple(mean.mean for mean in means)
    low, high = _ends(means, value)
    return Series(part.name, "bar", names, values, low=low, high=high, look=part.look, variation=part.variation)


def _ends(means: Sequence[Mean], value: Value) -> tuple[Ends, Ends]:
    """Return the low and the high ends of the intervals, shares kept within 0 and 100 %; none where no mean has one."""
    if all(mean.low is None for mean in means):
        return (), ()
    least, most = (0.0, 100.0) if value.scale == 100.0 else (-math.inf, math.inf)
    low = tuple(None if mean.low is None else max(mean.low, least) for mean in means)
    return low, tuple(None if mean.high is None else min(mean.high, most) for mean in means)


def _span(runs: Runs, x: Value) -> tuple[float, float]:
    known = [at for at, _ in by_setting(runs, x) if at is not None]
    return (min(known), max(known)) if known else (0.1, 10.0)


def _describe(what: str, values: Sequence[Value], series: Iterable[Series]) -> str:
    parts = []
    for each in series:
        pairs = zip(each.x, each.y, strict=True)
        listed = ", ".join(f"{amount(y)} at {place(x)}" for x, y in pairs)
        parts.append(f"{values[each.panel].title} of {each.name}: {listed}")
    return f"{what}. " + ". ".join(parts) + "."


def _title(preset: Preset, part: str, runs: Runs) -> str:
    """Return paper, figure, data and part, so that a picture that is taken away says what it is."""
    figure, _, about = preset.title.partition(": ")
    data = [name for name in name_data(runs) if name != part.lower()]
    return f"{', '.join([name_paper(preset.id), figure, *data])}: {part or about}"


def _name(preset: Preset, part: str) -> str:
    """Return a file's name in ASCII: the preset's id and the part."""
    words = f"{preset.id}_{part}".lower().replace("ε", "epsilon")
    return "_".join("".join(letter if letter.isascii() and letter.isalnum() else " " for letter in words).split())
