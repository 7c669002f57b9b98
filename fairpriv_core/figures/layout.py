"""What stands around the marks of a drawing, as plain mappings: axes, panel titles, reference lines, names of lines."""

from __future__ import annotations

import html
import math
import re
import textwrap
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations
from typing import Any

from fairpriv_core.figures.figure import Axis, FigureData, Reference, Series
from fairpriv_core.figures.styles import COLORS, Theme, fill

Note = dict[str, Any]
Box = tuple[float, float, float]  # where a name stands, from left and from below, and how wide it is
LINE_HEIGHT = 15
HEADER_ROW = 18
_ROOM = 0.2  # of the plot's width, for the label of a vertical line
PANEL_GAP = 44
_SIDE_GAP = 88  # between panels that stand beside each other: room for the axis of the right one
_BESIDE = {"line", "points", "cloud"}  # kinds of series whose panels can stand beside each other
MAX_TICKS = 8
_NARROW = 440.0  # pixels: the narrowest plot beside another one, in which names have to fit
_PER_LETTER, _ASIDE = 6.5, 8.0  # pixels: how wide a letter is, and from a point to its name
_APART = 1.2 * LINE_HEIGHT
_MIDDLE = 0.6  # of the plot's width: names of points beyond stand on their left
_PAD = 0.07  # of what is drawn, around it where labels need to know the axes' ends
_SHADE = "green"


def rich(text: str) -> str:
    """Return text as Plotly writes it: what a person named is taken literally, C_p and λ_max get a subscript.

    >>> rich("C_p of <30")
    'C<sub>p</sub> of &lt;30'
    """
    return re.sub(r"\b(C|λ)_(p|d|max)\b", r"\1<sub>\2</sub>", html.escape(text, quote=False))


def axis_suffix(panel: int) -> str:
    """Return what Plotly appends to an axis' name: "" for the first panel, then "2", "3", …"""
    return "" if panel == 0 else str(panel + 1)


def shorten(name: str) -> str:
    """Return at most 28 characters of a name, for the end of a line."""
    return name if len(name) <= 28 else name[:27] + "…"


def build_shapes(figure: FigureData, theme: Theme) -> list[Note]:
    """Return regions and reference lines. On a log axis their place is the value itself (a note's is its logarithm)."""
    stroke = {"color": theme.text, "width": 1.5, "dash": "dash"}
    shapes = [shape for place in range(len(figure.regions)) for shape in _shade(figure, place, theme)]
    for reference in figure.references:
        for panel in _panels(figure, reference):
            shapes.append({"type": "line", "line": stroke, **_span(reference, axis_suffix(panel))})
    return shapes


def _shade(figure: FigureData, place: int, theme: Theme) -> list[Note]:
    """Return a rectangle behind the marks, and a line for each edge that is stated, which a page may let drag.

    A side that is not stated is the panel's, or just beyond its axis. An edge's name says whose it is: "edge 0 y 1" is
    the upper end of the first region.
    """
    region = figure.regions[place]
    color = COLORS[_SHADE][0 if theme.name == "light" else 1]
    suffix = axis_suffix(region.panel)
    sides = (("x", region.x, figure.x), ("y", region.y, figure.panels[region.panel].y))
    at: Note = {}
    for name, (low, high), axis in sides:
        is_open = low is None and high is None
        first, last = (0.0, 1.0) if is_open else _find_span(figure, axis, name, region.panel)
        if axis.log and not is_open:
            first, last = 10**first, 10**last
        at |= {f"{name}ref": f"{name}{suffix}{' domain' * is_open}"}
        at |= {f"{name}0": first if low is None else low, f"{name}1": last if high is None else high}
    shapes = [{"type": "rect", "layer": "below", "fillcolor": fill(color, 0.13), "line": {"width": 0}, **at}]
    edge = {"type": "line", "line": {"color": color, "width": 2, "dash": "dot"}}
    for name, ends, _ in sides:
        for end, value in enumerate(ends):
            if value is not None:
                along = {f"{name}0": value, f"{name}1": value}
                shapes.append({**edge, **at, **along, "name": f"edge {place} {name} {end}"})
    return shapes


def goes_across(figure: FigureData) -> bool:
    """Return whether a figure's panels can stand beside each other, where a sheet is wide and low."""
    return len(figure.panels) == 2 and {series.kind for series in figure.series} <= _BESIDE


def panel_size(figure: FigureData, wide: float, plot: float, *, across: bool) -> tuple[float, float]:
    """Return width and height of one panel in pixels, of a plot that has all panels, below or beside each other."""
    count = len(figure.panels)
    if across:
        return (wide - _SIDE_GAP * (count - 1)) / count, plot
    return wide, (plot - PANEL_GAP * (count - 1)) / count


def build_notes(figure: FigureData, theme: Theme) -> list[Note]:
    """Return every text that is written into the panels."""
    labels = [
        _label(figure, reference, sum(earlier.axis == "x" for earlier in figure.references[:index]), theme)
        for index, reference in enumerate(figure.references)
        if reference.label
    ]
    titles = [_panel_title(index, panel.title) for index, panel in enumerate(figure.panels) if panel.title]
    panels = range(len(figure.panels))
    names = [note for index in panels for note in (*_line_names(figure, index), *_point_names(figure, index))]
    return [*labels, *titles, *names]


def build_caption(figure: FigureData, theme: Theme, *, below: float, width: int) -> list[Note]:
    """Return the caption as one note `below` pixels under the plot, wrapped for `width` pixels; [] without one."""
    lines = [rich(row) for row in textwrap.wrap(figure.text, max(30, int(width / 5.9)))]
    note = {"x": 0, "y": 0, "xref": "paper", "yref": "paper", "xanchor": "left", "yanchor": "top", "align": "left"}
    text = {"text": "<br>".join(lines), "showarrow": False, "font": {"color": theme.muted, "size": 12}}
    return [{**note, **text, "yshift": -below}] if lines else []


def _panels(figure: FigureData, reference: Reference) -> tuple[int, ...]:
    return tuple(range(len(figure.panels))) if reference.panel is None else (reference.panel,)


def _span(reference: Reference, suffix: str) -> Note:
    value = reference.value
    if reference.axis == "x":
        return {"xref": f"x{suffix}", "yref": f"y{suffix} domain", "x0": value, "x1": value, "y0": 0, "y1": 1}
    return {"xref": f"x{suffix} domain", "yref": f"y{suffix}", "x0": 0, "x1": 1, "y0": value, "y1": value}


def _label(figure: FigureData, reference: Reference, order: int, theme: Theme) -> Note:
    panel = _panels(figure, reference)[0]
    suffix = axis_suffix(panel)
    style = {"text": rich(reference.label), "showarrow": False, "font": {"size": 12}}
    axis = figure.x if reference.axis == "x" else figure.panels[panel].y
    value = math.log10(reference.value) if axis.log else reference.value
    if reference.axis == "y":
        has_names = any(series.labelled and series.panel == panel for series in figure.series)
        at = {"x": 0.01 if has_names else 1.0, "y": value, "xref": f"x{suffix} domain", "yref": f"y{suffix}"}
        side = "left" if has_names else "right"
        return {**style, **at, "xanchor": side, "yanchor": "bottom", "bgcolor": fill(theme.background, 0.8)}
    side = _choose_side(figure, reference)
    at = {"x": value, "y": 1.0, "xref": f"x{suffix}", "yref": f"y{suffix} domain", "yanchor": "bottom"}
    rise = HEADER_ROW * (order + bool(figure.panels[panel].title))
    return {**style, **at, "xanchor": side, "xshift": 6 if side == "right" else -6, "yshift": rise}


def _choose_side(figure: FigureData, reference: Reference) -> str:
    """Return "right" for a label that ends at its line, "left" for one that starts there; outer ones point outwards."""
    values = [mark.value for mark in figure.references if mark.axis == "x" and mark is not reference]
    if values and reference.value <= min(values) and _place(figure, reference.value) > _ROOM:
        return "right"
    if values and reference.value >= max(values) and _place(figure, reference.value) < 1 - _ROOM:
        return "left"
    return "right" if _place(figure, reference.value) > 0.6 else "left"


def _place(figure: FigureData, value: float) -> float:
    """Return how far along the x axis `value` stands, from 0 to 1; 0 where nothing is drawn."""
    fields = [x for series in figure.series for x in series.x if not isinstance(x, str)]
    if figure.horizontal:
        fields = [0.0] + [y for series in figure.series for y in (*series.y, *series.high) if y is not None]
    fields = [x for x in (*fields, *(figure.x.range or ())) if not figure.x.log or x > 0]
    if not fields:
        return 0.0
    scale = math.log10 if figure.x.log else float
    low, high = scale(min(fields)), scale(max(fields))
    return (scale(value) - low) / (high - low) if high > low else 0.0


def _panel_title(index: int, title: str) -> Note:
    suffix = axis_suffix(index)
    at = {"x": 0.0, "y": 1.0, "xref": f"x{suffix} domain", "yref": f"y{suffix} domain"}
    style = {"text": f"<b>{rich(title)}</b>", "showarrow": False, "font": {"size": 13}}
    return {**at, **style, "xanchor": "left", "yanchor": "bottom", "yshift": 2}


def name_directly(figure: FigureData, size: tuple[float, float]) -> FigureData:
    """Return the figure with names at lines' ends, and beside points, where all of them are apart; else in the legend.

    A labelled point, which the legend does not know, keeps its name. `size` is a panel's width and height in pixels.
    """
    placed = [_place_names(figure, panel, size) for panel in range(len(figure.panels))]
    lines, points = (all(_are_apart(names[which]) for names in placed) for which in (0, 1))
    if not lines:
        figure = name_lines_below(figure)
    if points:
        return figure
    nameless = [
        replace(series, text=()) if series.kind == "points" and not series.labelled else series
        for series in figure.series
    ]
    return replace(figure, series=tuple(nameless))


def name_lines_below(figure: FigureData) -> FigureData:
    """Return the figure with the names of its lines in the legend."""
    below = [series if series.text else replace(series, labelled=False) for series in figure.series]
    return replace(figure, series=tuple(below))


def name_lines_at_ends(figure: FigureData) -> FigureData:
    """Return the figure with the names of its lines at their ends."""
    renamed = [replace(series, labelled=True) if series.kind == "line" else series for series in figure.series]
    return replace(figure, series=tuple(renamed))


def _place_names(figure: FigureData, panel: int, size: tuple[float, float]) -> tuple[list[Box], list[Box]]:
    """Return where names stand and how wide they are, in pixels: those of lines, in one column, and those of points."""
    own = [series for series in figure.series if series.panel == panel]
    x_axis, y_axis = figure.x, figure.panels[panel].y
    (left, right), (low, high) = _find_span(figure, x_axis, "x", panel), _find_span(figure, y_axis, "y", panel)
    per_x, per_y = min(size[0], _NARROW) / (right - left), size[1] / (high - low)
    ends = [end for series in own if series.labelled and not series.text and (end := _last_point(series))]
    points = [
        (_scale(x_axis, x) * per_x, _scale(y_axis, y) * per_y - _APART * below, _PER_LETTER * len(text) + 2 * _ASIDE)
        for series in own
        for x, y, text, below in _texts(series)
    ]
    return [(0.0, _scale(y_axis, y) * per_y, 1.0) for _, y in ends], points


def _are_apart(names: Sequence[Box]) -> bool:
    """Return whether no two names are nearer than 1.2 of their height above each other where they meet sideways."""
    return all(abs(a[1] - b[1]) >= _APART or abs(a[0] - b[0]) >= max(a[2], b[2]) for a, b in combinations(names, 2))


def _line_names(figure: FigureData, panel: int) -> list[Note]:
    """Return the names of labelled lines beside their ends."""
    own = [series for series in figure.series if series.panel == panel and series.labelled and not series.text]
    return [_beside(figure, panel, *end, shorten(series.name)) for series in own if (end := _last_point(series))]


def _point_names(figure: FigureData, panel: int) -> list[Note]:
    """Return the texts beside points, above or below their whiskers and towards the middle of the panel."""
    notes = []
    left, right = _find_span(figure, figure.x, "x", panel)
    for x, y, text, below in (point for series in figure.series if series.panel == panel for point in _texts(series)):
        note = _beside(figure, panel, x, y, text)
        is_right = _scale(figure.x, x) - left > _MIDDLE * (right - left)
        inwards = {"xanchor": "right", "xshift": -_ASIDE} if is_right else {}
        notes.append({**note, **inwards, "yanchor": "top" if below else "bottom"})
    return notes


def _beside(figure: FigureData, panel: int, x: float, y: float, text: str) -> Note:
    suffix = axis_suffix(panel)
    at = {"x": _scale(figure.x, x), "y": _scale(figure.panels[panel].y, y), "xref": f"x{suffix}", "yref": f"y{suffix}"}
    return {**at, "text": rich(text), "showarrow": False, "font": {"size": 12}, "xanchor": "left", "xshift": _ASIDE}


def _texts(series: Series) -> list[tuple[float, float, str, bool]]:
    """Return x, y and text of each named point, and whether the name stands below: its own curve rises from there."""
    if series.kind != "points" or not series.text:
        return []
    points = [(float(x), y, text) for x, y, text in zip(series.x, series.y, series.text, strict=True) if y is not None]
    return [(x, y, text, any(u > x and v > y for u, v, _ in points)) for x, y, text in points if text]


def _scale(axis: Axis, value: float) -> float:
    return math.log10(value) if axis.log else value


def _find_span(figure: FigureData, axis: Axis, name: str, panel: int) -> tuple[float, float]:
    """Return the ends of an axis ("x" or "y" of a panel) around all that is drawn; logarithms on a log axis."""
    if axis.range is not None:
        return _scale(axis, axis.range[0]), _scale(axis, axis.range[1])
    own = figure.series if name == "x" else [series for series in figure.series if series.panel == panel]
    parts = [(s.x, s.x_low, s.x_high) if name == "x" else (s.y, s.low, s.high) for s in own]
    values = [value for part in parts for side in part for value in side if isinstance(value, int | float)]
    values += [reference.value for reference in figure.references if reference.axis == name]
    regions = [region for region in figure.regions if name == "x" or region.panel == panel]
    values += [edge for region in regions for edge in getattr(region, name) if edge is not None]
    values += [0.0] * axis.with_zero
    scaled = [_scale(axis, value) for value in values if not axis.log or value > 0]
    low, high = min(scaled, default=0.0), max(scaled, default=1.0)
    pad = _PAD * ((high - low) or abs(high) or 1.0)
    return low - pad, high + pad


def _fix_range(figure: FigureData, axis: Axis, name: str, panel: int) -> dict[str, object]:
    """Return the range of an axis where names stand beside points: their places hold for it."""
    has_names = any(text for series in figure.series if series.kind == "points" for text in series.text)
    return {"range": list(_find_span(figure, axis, name, panel))} if has_names else {}


def _last_point(series: Series) -> tuple[float, float] | None:
    points = [(float(x), y) for x, y in zip(series.x, series.y, strict=True) if y is not None]
    return points[-1] if points else None


def build_axes(figure: FigureData, wide: int, height: int, *, across: bool) -> dict[str, Any]:
    """Return the axes of every panel; all x axes move together, and of panels below each other the last has the labels.

    The plot's width and height are in pixels; `across` sets the panels beside each other.
    """
    kinds = {series.kind for series in figure.series}
    count = len(figure.panels)
    size = panel_size(figure, wide, height, across=across)
    axes: dict[str, Any] = {}
    for index, panel in enumerate(figure.panels):
        suffix, last = axis_suffix(index), across or index == count - 1
        x = {**_options(figure.x, _x_values(figure)), "anchor": f"y{suffix}", "showticklabels": last}
        follow = {} if index == 0 else {"matches": "x"}
        x |= _fix_range(figure, figure.x, "x", index)
        axes[f"xaxis{suffix}"] = x | follow | ({"title": {"text": rich(figure.x.label)}} if last else {})
        y = {**_options(panel.y, _y_values(figure, index)), "anchor": f"x{suffix}"}
        y |= _fix_range(figure, panel.y, "y", index)
        axes[f"yaxis{suffix}"] = y | {"title": {"text": rich(panel.y.label)}}
        low, high = _cut_share(index, size[0] / wide if across else size[1] / height, count)
        axes[f"{'x' if across else 'y'}axis{suffix}"] |= {"domain": [low, high] if across else [1.0 - high, 1.0 - low]}
    if figure.horizontal:
        axes["yaxis"] |= {"autorange": "reversed", "showgrid": False}
        axes["xaxis"] |= {"rangemode": "tozero"}
    if any(series.kind == "box" for series in figure.series):
        for axis in axes.values():
            axis |= {"visible": False, "fixedrange": True}
    if "heatmap" in kinds:
        for name in ("xaxis", "yaxis"):
            axes[name] |= {"type": "category", "showgrid": False, "ticks": ""}
        bar = {
            "title": {"text": rich((figure.z or Axis("")).label), "side": "right", "font": {"size": 13}},
            "outlinewidth": 0,
            "thickness": 14,
        }
        axes["coloraxis"] = {"colorscale": "Cividis", "colorbar": bar}
    if "dots" in kinds:
        axes["xaxis"] |= {"visible": False, "fixedrange": True, "constrain": "domain", "constraintoward": "left"}
        axes["yaxis"] |= {"visible": False, "fixedrange": True, "scaleanchor": "x"}
    return axes


def _cut_share(index: int, share: float, count: int) -> tuple[float, float]:
    """Return where the panel called `index` begins and ends, of 1.0, where each of `count` has this share."""
    start = index * (1.0 - share) / max(1, count - 1)
    return start, min(1.0, start + share)


def log_ticks(low: float, high: float) -> tuple[float, ...]:
    """Return at most MAX_TICKS round values within [low, high], 0 < low <= high: 1, 2, 5 or whole decades.

    >>> log_ticks(0.1, 9)
    (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
    """
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    steps = [(digits, 1) for digits in ((1, 2, 5), (1, 3), (1,))]
    steps += [((1,), stride) for stride in range(2, max(3, last - first))]
    ticks: tuple[float, ...] = ()
    for digits, stride in steps:
        values = (float(f"{digit}e{power}") for power in range(first, last + 1, stride) for digit in digits)
        ticks = tuple(value for value in values if low * (1 - 1e-9) <= value <= high * (1 + 1e-9))
        if len(ticks) <= MAX_TICKS:
            break
    return ticks


def plot_height(figure: FigureData, *, across: bool = False) -> int:
    """Return the height of all panels with the gaps between them, in pixels, where nothing says how high they are."""
    rows = 1 if across else len(figure.panels)
    kinds = {series.kind for series in figure.series}
    if figure.horizontal:
        return max(120, 26 * sum(len(series.x) for series in figure.series) + 40)
    if "box" in kinds:
        return 260 if rows == 1 else (150 + PANEL_GAP) * rows - PANEL_GAP
    if "heatmap" in kinds:
        return max(160, 34 * len({y for series in figure.series for y in series.y}) + 30)
    if kinds & {"dots", "points", "cloud"}:
        tall = 300 if "dots" in kinds else 400
        return tall if rows == 1 else (260 + PANEL_GAP) * rows - PANEL_GAP
    height = 110 if "histogram" in kinds else 200
    return 270 if rows == 1 else (height + PANEL_GAP) * rows - PANEL_GAP


def _options(axis: Axis, values: Sequence[float]) -> dict[str, object]:
    options: dict[str, object] = {"type": "log"} if axis.log else {}
    if axis.range is not None:
        options["range"] = [math.log10(end) for end in axis.range] if axis.log else list(axis.range)
    span = axis.range or ((min(values), max(values)) if values else None)
    if axis.log and span is not None:
        ticks = log_ticks(*span)
        options |= {"tickvals": ticks, "ticktext": [f"{tick:g}" for tick in ticks]}
    return options


def _x_values(figure: FigureData) -> list[float]:
    numbers = [x for series in figure.series for x in series.x if not isinstance(x, str)]
    return [x for x in numbers if x > 0] if figure.x.log else numbers


def _y_values(figure: FigureData, panel: int) -> list[float]:
    values = [y for series in figure.series if series.panel == panel for y in series.y if y is not None]
    return [y for y in values if y > 0] if figure.panels[panel].y.log else values
