"""Draws a figure's data with Plotly: one template for screen and export, in light and dark."""

from __future__ import annotations

import math
import textwrap
from typing import Any

import plotly.io

from fairpriv_core.report.figure import FigureData
from fairpriv_core.report.layout import (
    HEADER_ROW,
    LINE_HEIGHT,
    build_axes,
    build_caption,
    build_notes,
    build_shapes,
    panel_height,
    plot_height,
    rich,
)
from fairpriv_core.report.styles import THEMES, Theme, ThemeName, fill
from fairpriv_core.report.traces import build_traces

FONT = "Arial, 'Liberation Sans', Helvetica, sans-serif"  # metric-compatible: the same on screen and in an export
WIDTH = 900
TITLE_CHARACTERS = 40  # a row of the title fits a phone
#: What Plotly is told wherever it draws for a browser. Its own default offers to upload the chart and all its numbers.
CONFIG = {"displaylogo": False, "showSendToCloud": False, "modeBarButtonsToRemove": ["lasso2d", "select2d"]}
#: Plotly's JSON of a figure: "data" and "layout"
Drawing = dict[str, Any]
_TOP, _BOTTOM, _LEGEND_ROW, _TITLE_ROW = 46, 54, 21, 19


def draw(figure: FigureData, *, theme: ThemeName = "light", caption: bool = False, width: int = WIDTH) -> Drawing:
    """Return `figure` drawn in `theme`, as Plotly's JSON; with `caption` its caption stands below the plot.

    The drawing has a height of its own and takes any width; `width` in pixels only guides line breaks. Zoom stays
    over redraws: `uirevision` is the figure's name. `plotly.graph_objects.Figure(drawing)` is the same; its checks of
    every property take far longer than the drawing and are left to the tests.
    """
    colors = THEMES[theme]
    traces = _name_once([trace for series in figure.series for trace in build_traces(series, colors)])
    layout = {
        "template": _template(colors),
        "uirevision": figure.name,
        **build_axes(figure, plot_height(figure)),
        **_frame(figure, colors, caption=caption, width=width),
    }
    return {"data": _to_json(traces), "layout": _to_json(layout)}


def write_html(drawing: Drawing) -> str:
    """Return the drawing as an HTML fragment that needs no network."""
    options = {"full_html": False, "include_plotlyjs": True, "include_mathjax": False, "validate": False}
    return str(plotly.io.to_html(drawing, config={**CONFIG, "responsive": True}, **options))


def _to_json(part: Any) -> Any:
    """Return `part` with what JSON knows alone: a number that is not finite is null; what is empty is left out."""
    if isinstance(part, dict):
        return {name: _to_json(inner) for name, inner in part.items() if inner not in (None, (), [])}
    if isinstance(part, list | tuple):
        return [_to_json(inner) for inner in part]
    return None if isinstance(part, float) and not math.isfinite(part) else part


def _frame(figure: FigureData, colors: Theme, *, caption: bool, width: int) -> dict[str, Any]:
    """Return title, margins, legend, notes and height."""
    title = textwrap.wrap(figure.title, TITLE_CHARACTERS)
    plot, left, right = plot_height(figure), _left_margin(figure), 18
    legend = _legend_names(figure)
    header = bool(figure.panels[0].title) + sum(reference.axis == "x" for reference in figure.references)
    top = _TOP + _TITLE_ROW * (len(title) - 1) + HEADER_ROW * header
    below = _BOTTOM + (_LEGEND_ROW * _legend_rows(legend, width - left - right) + 10 if len(legend) > 1 else 0)
    note = build_caption(figure, colors, below=below, width=width - left - right) if caption else []
    bottom = below + sum(LINE_HEIGHT * (1 + each["text"].count("<br>")) + 12 for each in note)
    return {
        "title": {"text": "<br>".join(rich(row) for row in title), "pad": {"t": 14 + 10 * (len(title) - 1), "l": 12}},
        "height": top + plot + bottom,
        "margin": {"l": left, "r": right, "t": top, "b": bottom},
        "showlegend": len(legend) > 1,
        "legend": {"y": -(_BOTTOM - 4) / plot},
        "shapes": build_shapes(figure, colors),
        "annotations": [*build_notes(figure, colors, panel_height(figure)), *note],
        "meta": {"alt": figure.alt},
        "bargap": 0.25,
    }


def _name_once(traces: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the traces with each name once in the legend; its entry hides and shows all that bear it."""
    named: set[str] = set()
    for trace in traces:
        if trace.get("showlegend", True):
            trace["showlegend"] = trace["name"] not in named
            named.add(trace["name"])
    return traces


def _legend_names(figure: FigureData) -> list[str]:
    unnamed = ("histogram", "arrow")
    named = [series for series in figure.series if not series.labelled and not series.faint]
    shown = [series.name for series in named if series.kind not in unnamed]
    return list(dict.fromkeys(shown))


def _left_margin(figure: FigureData) -> int:
    if not figure.horizontal:
        return 24 if any(series.kind == "box" for series in figure.series) else 64
    return 24 + 7 * max((len(str(name)) for series in figure.series for name in series.x), default=0)


def _template(colors: Theme) -> dict[str, Any]:
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
        "scene": dict.fromkeys(("xaxis", "yaxis", "zaxis"), _template_in_space(colors)),
    }
    return {"layout": layout}


def _template_in_space(colors: Theme) -> dict[str, Any]:
    strong = fill(colors.muted, 0.5)  # walls that are turned need more contrast than a flat grid
    axis = {"gridcolor": strong, "linecolor": colors.muted, "zeroline": False, "backgroundcolor": colors.background}
    return {**axis, "tickfont": {"color": colors.muted}, "title": {"font": {"color": colors.text, "size": 13}}}


def _legend_rows(names: list[str], width: int) -> int:
    entry = 48 + 7 * max((len(name) for name in names), default=0)
    return math.ceil(len(names) / max(1, width // entry))
