"""From a series to Plotly traces, as plain mappings: colour, dash and marker, bands and whiskers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import Any

from fairpriv_core.figures.figure import Kind, Series, Value
from fairpriv_core.figures.layout import axis_suffix, rich
from fairpriv_core.figures.styles import LineStyle, Theme, color_on, fill, style_of
from fairpriv_core.methods.base import DASHES
from fairpriv_core.methods.catalog import methods

Trace = dict[str, Any]
PATTERNS = ("", "/", ".", "x", "\\", "-")  # in the order of DASHES
MARKERS_SHOWN = 12
BOX_WIDTH = 0.84
_FAINT, _HOLLOW = 0.35, 0.6
_HOVER = "%{hovertext}<extra></extra>"


def build_traces(series: Series, theme: Theme, *, lone: bool = False) -> list[Trace]:
    """Return the traces that draw `series`: one, or with a band three, of which one is in the legend.

    The line of a `lone` method is solid: no other has to be told apart from it, and a short dashed line looks broken.
    """
    style = style_of(series.style)
    if lone and series.kind == "line" and series.style in methods():
        style = replace(style, dash="solid")
    suffix = axis_suffix(series.panel)
    color = color_on(style, theme, series.variation)
    place = {"xaxis": f"x{suffix}", "yaxis": f"y{suffix}"}
    name = {"name": rich(series.name), "legendgroup": rich(series.name)}
    traces = [{**place, **name, **trace} for trace in _BUILDERS[series.kind](series, style, color, theme)]
    return [{**trace, "opacity": _FAINT, "showlegend": False} for trace in traces] if series.faint else traces


def _line(series: Series, style: LineStyle, color: str, theme: Theme) -> list[Trace]:
    alone = sum(value is not None for value in series.y) == 1  # a line through one point shows nothing
    trace = {
        "type": "scatter",
        "x": series.x,
        "y": series.y,
        "mode": "lines+markers" if alone or series.style in methods() else "lines",
        "line": {"color": color, "dash": style.dash, "width": style.width},
        "marker": {
            "symbol": _symbol(style, series.variation),
            "size": 8,
            "color": color,
            "maxdisplayed": MARKERS_SHOWN,
        },
        "showlegend": not series.labelled,
        **_build_hover(series, "%{y:.2f} at %{x}"),
    }
    return [*_band(series, color), trace]


def _band(series: Series, color: str) -> list[Trace]:
    """Return the band's two edges; its colour is its line's, given explicitly, and it never has markers."""
    ends = zip(series.x, series.low, series.high, strict=True) if series.low else ()
    points = [(x, low, high) for x, low, high in ends if low is not None and high is not None]
    edge = {"type": "scatter", "x": [row[0] for row in points], "mode": "lines", "line": {"width": 0}}
    hidden = {**edge, "showlegend": False, "hoverinfo": "skip"}
    upper = {**hidden, "y": [row[2] for row in points]}
    inside = fill(color, 0.1 if series.labelled else 0.18)
    lower = {**hidden, "y": [row[1] for row in points], "fill": "tonexty", "fillcolor": inside}
    return [upper, lower] if points else []


def _points(series: Series, style: LineStyle, color: str, theme: Theme) -> list[Trace]:
    return [
        {
            "type": "scatter",
            "x": series.x,
            "y": series.y,
            "mode": "lines+markers",
            "line": {"color": color, "dash": style.dash, "width": 1.2},
            "marker": {**_point_marker(series, style), "size": 9, "color": color},
            "error_x": _whiskers(series.x, series.x_low, series.x_high, color),
            "error_y": _whiskers(series.y, series.low, series.high, color),
            "showlegend": not series.labelled,
            **_build_hover(series, "%{y:.2f} at %{x:.2f}"),
        }
    ]


def _point_marker(series: Series, style: LineStyle) -> Trace:
    """Return the symbol of all points; of hollow ones another."""
    if not any(series.hollow):
        return {"symbol": _symbol(style, series.variation)}
    return {
        "symbol": [_symbol(style, series.variation + hollow) for hollow in series.hollow],
        "opacity": [_HOLLOW if hollow else 1.0 for hollow in series.hollow],
    }


def _cloud(series: Series, style: LineStyle, color: str, theme: Theme) -> list[Trace]:
    return [
        {
            "type": "scatter",
            "x": series.x,
            "y": series.y,
            "mode": "markers",
            "marker": {"symbol": _symbol(style, series.variation), "size": 7, "color": color},
            **_build_hover(series, "%{y:.2f} at %{x:.2f}"),
        }
    ]


def _heatmap(series: Series, style: LineStyle, color: str, theme: Theme) -> list[Trace]:
    """Return one map; a place without a value, or without a cell, is left empty."""
    at = {(y, float(x)): index for index, (x, y) in enumerate(zip(series.x, series.y, strict=True)) if y is not None}
    columns, rows = sorted({column for _, column in at}), sorted({row for row, _ in at})
    cells = [[at.get((row, column)) for column in columns] for row in rows]

    def spread(values: Sequence[Any], empty: str | None = None) -> list[list[Any]]:
        return [[empty if cell is None else values[cell] for cell in row] for row in cells]

    texts = {"text": spread(series.text, ""), "texttemplate": "%{text}"} if series.text else {}
    hover = {"hovertext": spread(_hovers(series)), "hovertemplate": _HOVER} if series.hover else {}
    return [
        {
            "type": "heatmap",
            "x": [f"{column:g}" for column in columns],
            "y": [f"{row:g}" for row in rows],
            "z": spread(series.z),
            "customdata": spread(series.keys) if series.keys else None,
            "coloraxis": "coloraxis",
            "xgap": 2,
            "ygap": 2,
            "hoverongaps": False,
            "showlegend": False,
            **texts,
            **hover,
        }
    ]


def _build_hover(series: Series, template: str) -> Trace:
    """Return the text that a pointer on a point shows, and the keys that a click on it gives."""
    hover = {"hovertext": _hovers(series), "hovertemplate": _HOVER} if series.hover else {"hovertemplate": template}
    return hover | ({"customdata": series.keys} if series.keys else {})


def _hovers(series: Series) -> list[str]:
    return [rich(text).replace("\n", "<br>") for text in series.hover]


def _bars(series: Series, style: LineStyle, color: str, theme: Theme) -> list[Trace]:
    shape = PATTERNS[(DASHES.index(style.dash) + series.variation) % len(PATTERNS)]
    pattern = {"shape": shape, "bgcolor": fill(color, 0.75), "fgcolor": theme.background, "solidity": 0.25, "size": 8}
    return [
        {
            "type": "bar",
            "x": series.y,
            "y": [rich(str(name)) for name in series.x],
            "orientation": "h",
            "marker": {
                "color": fill(color, 0.75),
                "line": {"color": color, "width": 1.5},
                "pattern": pattern,
            },
            "error_x": _whiskers(series.y, series.low, series.high, theme.text),
            "hovertemplate": "%{x:.2f}",
        }
    ]


def _histogram(series: Series, style: LineStyle, color: str, theme: Theme) -> list[Trace]:
    edges = [float(edge) for edge in series.x]
    return [
        {
            "type": "bar",
            "x": edges[:-1],
            "y": series.y,
            "width": [high - low for low, high in pairwise(edges)],
            "offset": 0,
            "showlegend": False,
            "marker": {"color": fill(color, 0.8), "line": {"width": 0}},
            "hovertemplate": "%{y:.2f} % from %{x:.3g}",
        }
    ]


def _dots(series: Series, style: LineStyle, color: str, theme: Theme) -> list[Trace]:
    marker = {"symbol": style.marker, "size": 14, "color": color, "line": {"width": 1.5, "color": color}}
    return [{"type": "scatter", "x": series.x, "y": series.y, "mode": "markers", "marker": marker, "hoverinfo": "name"}]


def _boxes(series: Series, style: LineStyle, color: str, theme: Theme) -> list[Trace]:
    corners: list[tuple[float, Value]] = []
    for x, low, high in zip(series.x, series.low, series.high, strict=True):
        left, right = float(x) - BOX_WIDTH / 2, float(x) + BOX_WIDTH / 2
        corners += [(left, low), (right, low), (right, high), (left, high), (left, low), (left, None)]
    outline = {"x": [x for x, _ in corners], "y": [y for _, y in corners], "mode": "lines", "fill": "toself"}
    inside = "rgba(0,0,0,0)" if style.marker.endswith("-open") else fill(color, 0.2)
    words = [rich(text).replace("\n", "<br>") for text in series.text]
    lettering = {"mode": "text", "text": words, "textfont": {"size": 12, "color": theme.text}, "showlegend": False}
    line = {"color": color, "dash": style.dash, "width": style.width}
    return [
        {"type": "scatter", **outline, "fillcolor": inside, "line": line, "hoverinfo": "skip"},
        {"type": "scatter", "x": series.x, "y": series.y, **lettering, "hoverinfo": "skip"},
    ]


def _arrow(series: Series, style: LineStyle, color: str, theme: Theme) -> list[Trace]:
    head = {"symbol": "arrow", "angleref": "previous", "color": color, "size": [0] * (len(series.x) - 1) + [11]}
    line = {"color": color, "dash": style.dash, "width": style.width}
    trace = {"x": series.x, "y": series.y, "mode": "lines+markers", "line": line, "marker": head}
    return [{"type": "scatter", **trace, "showlegend": False, "hoverinfo": "skip"}]


def _whiskers(values: Sequence[Any], lows: Sequence[Value], highs: Sequence[Value], color: str) -> Trace | None:
    if all(end is None for end in (*lows, *highs)):
        return None
    rows = list(zip(values, lows, highs, strict=True))
    up = [0.0 if y is None or high is None else high - y for y, _, high in rows]
    down = [0.0 if y is None or low is None else y - low for y, low, _ in rows]
    return {"type": "data", "array": up, "arrayminus": down, "symmetric": False, "color": color, "thickness": 1.5}


def _symbol(style: LineStyle, variation: int) -> str:
    return f"{style.marker}-open" if variation % 2 else style.marker


_BUILDERS: dict[Kind, Callable[[Series, LineStyle, str, Theme], list[Trace]]] = {
    "line": _line,
    "bar": _bars,
    "histogram": _histogram,
    "points": _points,
    "cloud": _cloud,
    "heatmap": _heatmap,
    "dots": _dots,
    "box": _boxes,
    "arrow": _arrow,
}
