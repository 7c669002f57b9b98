"""Draws a figure's data with Plotly: one template for screen and export, in light and dark."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Iterable
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Literal

import plotly.io

from fairpriv_core.figures.figure import FigureData
from fairpriv_core.figures.layout import (
    HEADER_ROW,
    LINE_HEIGHT,
    build_axes,
    build_caption,
    build_notes,
    build_shapes,
    goes_across,
    name_directly,
    name_lines_at_ends,
    name_lines_below,
    panel_size,
    plot_height,
    rich,
)
from fairpriv_core.figures.styles import THEMES, Theme, ThemeName
from fairpriv_core.figures.traces import build_traces
from fairpriv_core.methods.catalog import methods

FONT = "Arial, 'Liberation Sans', Helvetica, sans-serif"  # of exports: it is where they are drawn; a page has its own
WIDTH = 900
TITLE_CHARACTERS = 40  # a row of the title fits a phone
#: What Plotly is told wherever it draws for a browser. Its own default offers to upload the chart and all its numbers.
CONFIG = {"displaylogo": False, "showSendToCloud": False, "modeBarButtonsToRemove": ["lasso2d", "select2d", "toImage"]}
#: where names of lines stand: in a legend, or at the lines' ends where all of them are apart there
Place = Literal["below", "right", "ends"]
#: Plotly's JSON of a figure: "data" and "layout"
Drawing = dict[str, Any]
_TOP, _BOTTOM, _LEGEND_LINE, _TITLE_ROW = 46, 54, 17, 19
_LETTER, _TITLE_LETTER = 7, 8  # pixels, on average
_MOST_LETTERS = 22  # of a name on a line beside lying bars: more would leave these no room on a phone
_LEGEND_PART = 3  # a legend beside the plot takes one part in so many of a drawing's width at most
_LEGEND_BESIDE = {"orientation": "v", "x": 1.02, "y": 1.0, "yanchor": "top"}
_SQUEEZED = 0.6  # of a plot's own height, at least, where a sheet has less room


def draw(
    figure: FigureData,
    *,
    theme: ThemeName = "light",
    caption: bool = False,
    width: int = WIDTH,
    height: int | None = None,
    across: bool = False,
    legend: Place | None = None,
) -> Drawing:
    """Return `figure` drawn in `theme`, as Plotly's JSON; with `caption` its caption stands below the plot.

    The drawing takes any width; `width` in pixels only guides line breaks. It has a height of its own, or is `height`
    pixels high, but for what `least_height` leaves to what is drawn; `across` sets two panels beside each other;
    `legend` is another place of names. Zoom stays over redraws: `uirevision` is the figure's name.
    `plotly.graph_objects.Figure(drawing)` is the same; its checks of every property take far longer than the drawing
    and are left to the tests.
    """
    colors = THEMES[theme]
    measure = partial(
        _measure, colors=colors, caption=caption, width=width, height=height, across=across, legend=legend
    )
    if legend is not None:
        figure = name_lines_at_ends(figure) if legend == "ends" else name_lines_below(figure)
    room = measure(figure)
    direct = name_directly(figure, panel_size(figure, room.wide, room.plot, across=room.across))
    if direct is not figure:
        figure, room = direct, measure(direct)
    elif height is None:  # a drawing is as high when names of lines have met, and stand in the legend
        below = measure(name_lines_below(figure))
        room = replace(room, plot=below.top + below.plot + below.bottom - room.top - room.bottom)
    lone = len({series.style for series in figure.series if series.style in methods()}) == 1
    traces = _name_once([trace for series in figure.series for trace in build_traces(series, colors, lone=lone)])
    _wrap_names(traces, room, horizontal=figure.horizontal)
    layout = {
        "template": _template(colors),
        "uirevision": figure.name,
        **build_axes(figure, room.wide, room.plot, across=room.across),
        **_frame(figure, colors, room),
    }
    return {"data": _to_json(traces), "layout": _to_json(layout)}


def least_height(
    figure: FigureData, *, caption: bool, width: int, across: bool = False, legend: Place | None = None
) -> int:
    """Return how many pixels high a drawing has to be for nothing in it to lie on something else."""
    figure = figure if legend in (None, "ends") else name_lines_below(figure)
    room = _measure(figure, THEMES["light"], caption=caption, width=width, height=0, across=across, legend=legend)
    return room.top + room.plot + room.bottom


def write_html(drawing: Drawing) -> str:
    """Return the drawing as an HTML fragment that needs no network."""
    options = {"full_html": False, "include_plotlyjs": True, "include_mathjax": False, "validate": False}
    return str(plotly.io.to_html(drawing, config={**CONFIG, "responsive": True}, **options))


def _to_json(part: Any) -> Any:
    """Return `part` as JSON can hold it: numbers that are not finite are null, empty entries are left out."""
    if isinstance(part, dict):
        return {name: _to_json(inner) for name, inner in part.items() if inner not in (None, (), [])}
    if isinstance(part, list | tuple):
        return [_to_json(inner) for inner in part]
    return None if isinstance(part, float) and not math.isfinite(part) else part


@dataclass(frozen=True)
class _Room:
    """How a drawing's pixels are divided: the plot's own size, what is around it, and which texts take how much."""

    title: tuple[str, ...]
    left: int
    right: int
    top: int
    bottom: int
    wide: int
    plot: int
    across: bool
    beside: bool
    letters: int
    note: list[dict[str, Any]]


def _measure(
    figure: FigureData,
    colors: Theme,
    *,
    caption: bool,
    width: int,
    height: int | None,
    across: bool,
    legend: Place | None,
) -> _Room:
    across = across and goes_across(figure)
    title = tuple(textwrap.wrap(figure.title, min(TITLE_CHARACTERS, (width - 24) // _TITLE_LETTER)))
    names = _legend_names(figure)
    beside = legend == "right" and len(names) > 1
    left, right = _left_margin(figure, width), 18 + min(width // _LEGEND_PART, _legend_entry(names)) * beside
    wide = width - left - right
    letters = max(12, ((right - 18 if beside else wide) - 48) // _LETTER)  # of a name in the legend
    below, aside = _BOTTOM, 0
    if beside:
        aside = _legend_height(names, letters, 1)
    elif len(names) > 1:
        below += _legend_height(names, letters, wide) + 10
    header = bool(figure.panels[0].title) + sum(reference.axis == "x" for reference in figure.references)
    top = _TOP + _TITLE_ROW * (len(title) - 1) + HEADER_ROW * header
    note = build_caption(figure, colors, below=below, width=wide) if caption else []
    bottom = below + sum(LINE_HEIGHT * (1 + part["text"].count("<br>")) + 12 for part in note)
    own = _own_height(figure, width, across=across)
    if height is not None:
        own = max(height - top - bottom, own if figure.horizontal else round(_SQUEEZED * own))
    return _Room(title, left, right, top, bottom, wide, max(own, aside), across, beside, letters, note)


def _own_height(figure: FigureData, width: int, *, across: bool) -> int:
    """Return the plot's own height; of lying bars with room for names of several lines."""
    names = {str(name) for series in figure.series for name in series.x} if figure.horizontal else ()
    rows = [len(textwrap.wrap(name, _category_letters(width))) for name in names]
    return max(
        plot_height(figure, across=across), sum(8 + 18 * count for count in rows) if max(rows, default=0) > 1 else 0
    )


def _frame(figure: FigureData, colors: Theme, room: _Room) -> dict[str, Any]:
    """Return title, margins, legend, notes and height."""
    legend = len(_legend_names(figure)) > 1
    pad = {"t": 14 + 10 * (len(room.title) - 1), "l": 12}
    notes = build_notes(figure, colors)
    return {
        "title": {"text": "<br>".join(rich(row) for row in room.title), "pad": pad},
        "height": room.top + room.plot + room.bottom,
        "margin": {"l": room.left, "r": room.right, "t": room.top, "b": room.bottom},
        "showlegend": legend,
        "legend": _LEGEND_BESIDE if room.beside else {"y": -(_BOTTOM - 4) / room.plot},
        "shapes": build_shapes(figure, colors),
        "annotations": [*notes, *room.note],
        "meta": {"alt": figure.alt},
        "bargap": 0.25,
    }


def _wrap_names(traces: Iterable[dict[str, Any]], room: _Room, *, horizontal: bool) -> None:
    """Break names that are longer than there is room for, in the legend and beside lying bars."""
    for trace in traces:
        trace["name"] = _break(trace["name"], room.letters)
        if horizontal and trace["type"] == "bar":
            trace["y"] = [_break(name, _category_letters(room.left + room.wide + room.right)) for name in trace["y"]]


def _break(name: str, max_letters: int) -> str:
    return "<br>".join(textwrap.wrap(name, max_letters, break_long_words=False)) or name


def _name_once(traces: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the traces with each name once in the legend; its entry hides and shows all that bear it."""
    names: set[str] = set()
    for trace in traces:
        if trace.get("showlegend", True):
            trace["showlegend"] = trace["name"] not in names
            names.add(trace["name"])
    return traces


def list_places(figure: FigureData, width: int) -> tuple[Place, ...]:
    """Return the places that names in a figure can have, their own place first; () where there is no choice.

    Names go to lines' ends only where they leave most of a drawing, `width` pixels wide, to the lines.
    """
    names = _legend_names(name_lines_below(figure))
    if len(names) < 2 or figure.horizontal:
        return ()
    if len(_legend_names(figure)) < len(names):
        return "ends", "below", "right"
    lines = all(series.kind == "line" for series in figure.series if series.name in names)
    short = _LETTER * max(map(len, names)) < width / _LEGEND_PART
    return ("below", "right", "ends") if lines and short and figure.x.range is None else ("below", "right")


def _legend_names(figure: FigureData) -> list[str]:
    unnamed = ("histogram", "arrow")
    candidates = [series for series in figure.series if not series.labelled and not series.faint]
    names = [series.name for series in candidates if series.kind not in unnamed]
    return list(dict.fromkeys(names))


def _left_margin(figure: FigureData, width: int) -> int:
    if not figure.horizontal:
        return 24 if any(series.kind == "box" for series in figure.series) else 64
    longest = max((len(str(name)) for series in figure.series for name in series.x), default=0)
    return 24 + _LETTER * min(longest, _category_letters(width))


def _category_letters(width: int) -> int:
    """Return how many letters of a category's name fit on a line beside lying bars, on a phone too."""
    return min(_MOST_LETTERS, max(12, 2 * width // (5 * _LETTER)))


def _template(colors: Theme) -> dict[str, object]:
    axis = {
        "gridcolor": colors.grid,
        "linecolor": colors.muted,
        "zeroline": False,
        "ticks": "outside",
        "tickcolor": colors.muted,
        "tickfont": {"color": colors.muted},
        "title": {"font": {"color": colors.text, "size": 13}, "standoff": 8},
        "showline": True,
        "automargin": True,
    }
    title = {"x": 0.0, "xref": "container", "xanchor": "left", "y": 1.0, "yref": "container", "yanchor": "top"}
    layout = {
        "font": {"family": FONT, "size": 13, "color": colors.text},
        "title": {**title, "font": {"size": 16, "color": colors.text}},
        "paper_bgcolor": colors.background,
        "plot_bgcolor": colors.background,
        "legend": {"orientation": "h", "x": 0.0, "yanchor": "top", "traceorder": "normal", "bgcolor": "rgba(0,0,0,0)"},
        "hoverlabel": {"bgcolor": colors.background, "font": {"color": colors.text}},
        "barmode": "group",
        "xaxis": axis,
        "yaxis": axis,
    }
    return {"layout": layout}


def _legend_height(names: list[str], letters: int, wide: int) -> int:
    """Return how high a legend is whose rows are `wide` pixels, and whose names break after so many letters."""
    lines = [len(textwrap.wrap(name, letters, break_long_words=False)) for name in names]
    a_row = max(1, wide // min(_legend_entry(names), 48 + _LETTER * letters))
    return sum(_LEGEND_LINE * max(lines[first : first + a_row]) + 4 for first in range(0, len(lines), a_row))


def _legend_entry(names: list[str]) -> int:
    """Return how many pixels the longest name takes in a legend with its line."""
    return 48 + _LETTER * max(map(len, names), default=0)
