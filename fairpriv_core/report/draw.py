"""Draws a figure's data with Plotly: one template for screen and export, in light and dark."""

from __future__ import annotations

import math
import textwrap
from typing import Any

import plotly.graph_objects as go
import plotly.io

from fairpriv_core.report.figure import Axis, FigureData
from fairpriv_core.report.looks import THEMES, Theme, ThemeName
from fairpriv_core.report.notes import LINE_HEIGHT, axis_suffix, build_caption, build_notes, build_shapes, shorten
from fairpriv_core.report.traces import build_traces

FONT = "Arial, 'Liberation Sans', Helvetica, sans-serif"  # metric-compatible: the same on screen and in an export
WIDTH = 900
_TOP, _BOTTOM, _LEGEND_ROW, _TITLE_ROW, _PANEL_GAP = 62, 54, 21, 19, 44


def draw(figure: FigureData, *, theme: ThemeName = "light", caption: bool = False, width: int = WIDTH) -> go.Figure:
    """Return `figure` drawn in `theme`; with `caption` its caption stands below the plot, as in an export.

    The drawing has a height of its own and takes any width; `width` in pixels only guides line breaks. Zoom stays
    over redraws: `uirevision` is the figure's name.
    """
    colors = THEMES[theme]
    traces = [trace for series in figure.series for trace in build_traces(series, colors)]
    plot = go.Figure(data=traces, layout={"template": _template(colors), "uirevision": figure.name})
    plot.update_layout(_axes(figure))
    plot.update_layout(_frame(figure, colors, caption=caption, width=width))
    return plot


def write_html(plot: go.Figure) -> str:
    """Return the drawing as an HTML fragment that needs no network."""
    options = {"displaylogo": False, "responsive": True}
    return str(plotly.io.to_html(plot, full_html=False, include_plotlyjs=True, include_mathjax=False, config=options))


def _frame(figure: FigureData, colors: Theme, *, caption: bool, width: int) -> dict[str, Any]:
    """Return title, margins, legend, notes and height."""
    title = textwrap.wrap(figure.title, 44)
    plot = _plot_height(figure)
    legend = [series.name for series in figure.series if not series.labelled and series.kind != "histogram"]
    top = _TOP + _TITLE_ROW * (len(title) - 1)
    below = _BOTTOM + (_LEGEND_ROW * _legend_rows(legend, width) + 10 if len(legend) > 1 else 0)
    note = build_caption(figure, colors, below=below, width=width) if caption else []
    bottom = below + sum(LINE_HEIGHT * (1 + each["text"].count("<br>")) + 10 for each in note)
    named = max((len(shorten(series.name)) for series in figure.series if series.labelled), default=0)
    return {
        "title": {"text": "<br>".join(title)},
        "height": top + plot + bottom,
        "margin": {"l": 64, "r": 18 + 7 * named, "t": top, "b": bottom},
        "showlegend": len(legend) > 1,
        "legend": {"y": -(_BOTTOM - 4) / plot},
        "shapes": build_shapes(figure, colors),
        "annotations": [*build_notes(figure, colors, _panel_height(figure)), *note],
        "meta": {"alt": figure.alt},
        "bargap": 0.25,
    }


def _axes(figure: FigureData) -> dict[str, Any]:
    """Return the axes of every panel, one below the other; all x axes move together and the last has the labels."""
    count, plot = len(figure.panels), _plot_height(figure)
    gap = _PANEL_GAP / plot
    height = (1.0 - gap * (count - 1)) / count
    axes: dict[str, Any] = {}
    for index, panel in enumerate(figure.panels):
        suffix, top, last = axis_suffix(index), 1.0 - index * (height + gap), index == count - 1
        x = {**_options(figure.x), "anchor": f"y{suffix}", "showticklabels": last}
        axes[f"xaxis{suffix}"] = x | ({"title": {"text": figure.x.label}} if last else {})
        if index > 0:
            axes[f"xaxis{suffix}"]["matches"] = "x"
        domain = [max(0.0, top - height), min(1.0, top)]
        y = {**_options(panel.y), "anchor": f"x{suffix}", "domain": domain, "title": {"text": panel.y.label}}
        axes[f"yaxis{suffix}"] = y
    if figure.horizontal:
        axes["yaxis"] |= {"autorange": "reversed", "showgrid": False}
        axes["xaxis"] |= {"rangemode": "tozero"}
    if any(series.kind == "dots" for series in figure.series):
        axes["xaxis"] |= {"visible": False, "fixedrange": True, "constrain": "domain", "constraintoward": "left"}
        axes["yaxis"] |= {"visible": False, "fixedrange": True, "scaleanchor": "x"}
    return axes


def _options(axis: Axis) -> dict[str, Any]:
    options: dict[str, Any] = {"type": "log", "tickformat": "~g"} if axis.log else {}
    if axis.range is not None:
        options["range"] = [math.log10(end) for end in axis.range] if axis.log else list(axis.range)
    return options


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
    title = {"x": 0.0, "xref": "paper", "xanchor": "left", "y": 1.0, "yref": "container", "yanchor": "top"}
    layout = {
        "font": {"family": FONT, "size": 13, "color": colors.text},
        "title": {**title, "pad": {"t": 14}, "font": {"size": 16, "color": colors.text}},
        "paper_bgcolor": colors.background,
        "plot_bgcolor": colors.background,
        "legend": {"orientation": "h", "x": 0.0, "yanchor": "top", "traceorder": "normal", "bgcolor": "rgba(0,0,0,0)"},
        "hoverlabel": {"bgcolor": colors.background, "font": {"color": colors.text}},
        "barmode": "group",
        "xaxis": axis,
        "yaxis": axis,
    }
    return {"layout": layout}


def _legend_rows(names: list[str], width: int) -> int:
    entry = 48 + 7 * max((len(name) for name in names), default=0)
    return math.ceil(len(names) / max(1, (width - 90) // entry))


def _panel_height(figure: FigureData) -> float:
    count = len(figure.panels)
    return (_plot_height(figure) - _PANEL_GAP * (count - 1)) / count


def _plot_height(figure: FigureData) -> int:
    if figure.horizontal:
        return max(120, 26 * sum(len(series.x) for series in figure.series) + 40)
    if any(series.kind in ("dots", "points") for series in figure.series):
        return 300
    each = 110 if any(series.kind == "histogram" for series in figure.series) else 200
    return 270 if len(figure.panels) == 1 else (each + _PANEL_GAP) * len(figure.panels) - _PANEL_GAP
