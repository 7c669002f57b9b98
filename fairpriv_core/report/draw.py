"""Draws a figure's data with Plotly: one template for screen and export, in light and dark."""

from __future__ import annotations

import math
import textwrap

import plotly.graph_objects as go
import plotly.io
from plotly.subplots import make_subplots

from fairpriv_core.report.figure import Axis, FigureData, Reference, Series
from fairpriv_core.report.looks import THEMES, Look, Theme, ThemeName, color_on, fill, look_of

FONT = "Arial, 'Liberation Sans', Helvetica, sans-serif"
_PATTERNS = {"solid": "", "dash": "/", "dot": ".", "dashdot": "x", "longdash": "\\", "longdashdot": "-"}
_TOP, _BOTTOM, _ROW = 64, 56, 22


def draw(figure: FigureData, *, theme: ThemeName = "light", caption: bool = False) -> go.Figure:
    """Return `figure` drawn in `theme`; with `caption` its caption stands below the plot, as in an export.

    The drawing has its own height and takes any width. Zoom stays over redraws (`uirevision` is the figure's name).
    """
    colors = THEMES[theme]
    rows = len(figure.panels)
    plot = make_subplots(rows=rows, cols=1, shared_xaxes=True, vertical_spacing=_spacing(rows))
    for series in figure.series:
        for trace in _traces(series, colors, figure):
            plot.add_trace(trace, row=series.panel + 1, col=1)
    _style_axes(plot, figure)
    for reference in figure.references:
        _add_reference(plot, figure, reference, colors)
    _name_panels(plot, figure, colors)
    _name_lines(plot, figure, colors)
    _lay_out(plot, figure, colors, caption=caption)
    return plot


def write_html(plot: go.Figure) -> str:
    """Return the drawing as an HTML fragment that needs no network."""
    options = {"displaylogo": False, "responsive": True}
    return str(plotly.io.to_html(plot, full_html=False, include_plotlyjs=True, include_mathjax=False, config=options))


def _traces(series: Series, colors: Theme, figure: FigureData) -> list[go.Scatter | go.Bar]:
    look = look_of(series.look)
    color = color_on(look, colors, series.variation)
    if series.kind == "histogram":
        return [_draw_histogram(series, color)]
    if series.kind == "bar":
        return [_draw_bars(series, look, color, colors)]
    if series.kind == "dots":
        marker = {"symbol": look.marker, "size": 14, "color": color, "line": {"width": 1.5, "color": color}}
        return [go.Scatter(x=series.x, y=series.y, mode="markers", name=series.name, marker=marker, hoverinfo="name")]
    if series.kind == "points":
        return [_draw_points(series, look, color)]
    return [*_draw_band(series, color), _draw_line(series, look, color)]


def _draw_line(series: Series, look: Look, color: str) -> go.Scatter:
    few = len(series.x) <= 12
    return go.Scatter(
        x=series.x,
        y=series.y,
        name=series.name,
        mode="lines+markers" if few else "lines",
        line={"color": color, "dash": look.dash, "width": look.width},
        marker={"symbol": _symbol(look, series.variation), "size": 8, "color": color},
        connectgaps=False,
        showlegend=not series.labelled,
        hovertemplate="%{y:.2f} at %{x}<extra>" + series.name + "</extra>",
    )


def _draw_band(series: Series, color: str) -> list[go.Scatter]:
    """Return the band as its two edges; its colour is its line's, given explicitly, and it has no markers."""
    if not series.low:
        return []
    known = [
        (x, low, high)
        for x, low, high in zip(series.x, series.low, series.high, strict=True)
        if low is not None and high is not None
    ]
    x = [row[0] for row in known]
    shape = {"mode": "lines", "line": {"width": 0}, "showlegend": False, "hoverinfo": "skip"}
    upper = go.Scatter(x=x, y=[row[2] for row in known], **shape)
    lower = go.Scatter(x=x, y=[row[1] for row in known], fill="tonexty", fillcolor=fill(color, 0.18), **shape)
    return [upper, lower]


def _draw_points(series: Series, look: Look, color: str) -> go.Scatter:
    return go.Scatter(
        x=series.x,
        y=series.y,
        name=series.name,
        mode="lines+markers",
        line={"color": color, "dash": look.dash, "width": 1.2},
        marker={"symbol": _symbol(look, series.variation), "size": 9, "color": color},
        error_y=_whiskers(series, color),
        hovertemplate="%{y:.2f} at %{x:.2f}<extra>" + series.name + "</extra>",
    )


def _draw_bars(series: Series, look: Look, color: str, colors: Theme) -> go.Bar:
    return go.Bar(
        x=series.y,
        y=series.x,
        orientation="h",
        name=series.name,
        marker={
            "color": fill(color, 0.75),
            "line": {"color": color, "width": 1.5},
            "pattern": {"shape": _PATTERNS[look.dash], "fgcolor": colors.background, "solidity": 0.25, "size": 7},
        },
        error_x=_whiskers(series, colors.text),
        hovertemplate="%{x:.2f} %<extra>" + series.name + "</extra>",
    )


def _draw_histogram(series: Series, color: str) -> go.Bar:
    edges = [float(edge) for edge in series.x]
    return go.Bar(
        x=edges[:-1],
        y=series.y,
        width=[b - a for a, b in zip(edges[:-1], edges[1:], strict=True)],
        offset=0,
        name=series.name,
        showlegend=False,
        marker={"color": fill(color, 0.8), "line": {"width": 0}},
        hovertemplate="%{y:.2f} % from %{x:.3g}<extra>" + series.name + "</extra>",
    )


def _whiskers(series: Series, color: str) -> dict[str, object] | None:
    if not series.low:
        return None
    rows = list(zip(series.y, series.low, series.high, strict=True))
    up = [0.0 if y is None or high is None else high - y for y, _, high in rows]
    down = [0.0 if y is None or low is None else y - low for y, low, _ in rows]
    return {"type": "data", "array": up, "arrayminus": down, "symmetric": False, "color": color, "thickness": 1.5}


def _symbol(look: Look, variation: int) -> str:
    return f"{look.marker}-open" if variation % 2 and not look.marker.endswith("open") else look.marker


def _style_axes(plot: go.Figure, figure: FigureData) -> None:
    last = len(figure.panels)
    plot.update_xaxes(_axis_options(figure.x), title_text="")
    plot.update_xaxes(title_text=figure.x.label, row=last, col=1)
    for index, panel in enumerate(figure.panels):
        plot.update_yaxes({**_axis_options(panel.y), "title_text": panel.y.label}, row=index + 1, col=1)
    if figure.horizontal:
        plot.update_yaxes(autorange="reversed", showgrid=False)
        plot.update_xaxes(rangemode="tozero")
    if any(series.kind == "dots" for series in figure.series):
        plot.update_xaxes(visible=False, fixedrange=True, constrain="domain")
        plot.update_yaxes(visible=False, fixedrange=True, scaleanchor="x")


def _axis_options(axis: Axis) -> dict[str, object]:
    options: dict[str, object] = {"type": "log", "dtick": "D2", "tickformat": "~g"} if axis.log else {}
    if axis.range is not None:
        options["range"] = [math.log10(end) for end in axis.range] if axis.log else list(axis.range)
    return options


def _add_reference(plot: go.Figure, figure: FigureData, reference: Reference, colors: Theme) -> None:
    """Add the line and, once, its label; on a log axis an annotation's place is log10 of the value, a line's is not."""
    panels = range(len(figure.panels)) if reference.panel is None else (reference.panel,)
    stroke = {"color": colors.text, "width": 1.5, "dash": "dash"}
    for panel in panels:
        add = plot.add_vline if reference.axis == "x" else plot.add_hline
        place = {"x": reference.value} if reference.axis == "x" else {"y": reference.value}
        add(**place, row=panel + 1, col=1, line=stroke)
    axis = figure.x if reference.axis == "x" else figure.panels[panels[0]].y
    value = math.log10(reference.value) if axis.log else reference.value
    suffix = "" if panels[0] == 0 else str(panels[0] + 1)
    vertical = reference.axis == "x"
    order = [other.axis for other in figure.references[: figure.references.index(reference)]].count("x")
    plot.add_annotation(
        x=value if vertical else 1.0,
        xref=f"x{suffix}" if vertical else f"x{suffix} domain",
        y=1.0 if vertical else value,
        yref=f"y{suffix} domain" if vertical else f"y{suffix}",
        xanchor="left" if vertical else "right",
        yanchor="top" if vertical else "bottom",
        xshift=4 if vertical else 0,
        yshift=-16 * order if vertical else 0,
        text=reference.label,
        showarrow=False,
        font={"color": colors.text, "size": 12},
        bgcolor=fill(colors.background, 0.8),
    )


def _name_panels(plot: go.Figure, figure: FigureData, colors: Theme) -> None:
    for index, panel in enumerate(figure.panels):
        if panel.title:
            suffix = "" if index == 0 else str(index + 1)
            plot.add_annotation(
                x=0.0,
                xref=f"x{suffix} domain",
                y=1.0,
                yref=f"y{suffix} domain",
                xanchor="left",
                yanchor="bottom",
                text=f"<b>{panel.title}</b>",
                showarrow=False,
                font={"color": colors.text, "size": 13},
            )


def _name_lines(plot: go.Figure, figure: FigureData, colors: Theme) -> None:
    """Write the names of labelled lines at their ends, moved apart where they would overlap."""
    for index in range(len(figure.panels)):
        ends = [
            (y, x, series.name)
            for series in figure.series
            if series.labelled and series.panel == index
            for x, y in [_last_point(series)]
            if y is not None
        ]
        values = [v for s in figure.series if s.panel == index for v in (*s.y, *s.low, *s.high) if v is not None]
        span = (max(values) - min(values) or 1.0) if values else 1.0
        step = 15 * span * 1.1 / _panel_height(figure)
        previous = -math.inf
        suffix = "" if index == 0 else str(index + 1)
        for y, x, name in sorted(ends):
            previous = max(y, previous + step)
            shift = (previous - y) / step * 15
            plot.add_annotation(
                x=x,
                y=y,
                xref=f"x{suffix}",
                yref=f"y{suffix}",
                text=_shorten(name),
                xanchor="left",
                xshift=6,
                yshift=shift,
                showarrow=False,
                font={"color": colors.text, "size": 12},
            )


def _last_point(series: Series) -> tuple[float | str, float | None]:
    known = [(x, y) for x, y in zip(series.x, series.y, strict=True) if y is not None]
    return known[-1] if known else (0.0, None)


def _lay_out(plot: go.Figure, figure: FigureData, colors: Theme, *, caption: bool) -> None:
    title = "<br>".join(textwrap.wrap(figure.title, 46))
    named = [series for series in figure.series if not series.labelled and series.kind != "histogram"]
    legend = len(named) > 1
    note = textwrap.wrap(figure.caption, 118) if caption else []
    below = _BOTTOM + (_ROW * math.ceil(len(named) / 2) + 8 if legend else 0)
    height = _TOP + 18 * title.count("<br>") + _plot_height(figure) + below + 17 * len(note)
    labels = max((len(_shorten(series.name)) for series in figure.series if series.labelled), default=0)
    plot.update_layout(
        template=_template(colors),
        title={"text": title},
        height=height,
        margin={"l": 64, "r": 20 + 7 * labels, "t": _TOP + 18 * title.count("<br>"), "b": below + 17 * len(note)},
        showlegend=legend,
        legend={"y": -(_BOTTOM - 6) / _plot_height(figure)},
        uirevision=figure.name,
        barmode="group",
        bargap=0.25,
        meta={"alt": figure.alt},
    )
    if note:
        plot.add_annotation(
            x=0,
            y=0,
            xref="paper",
            yref="paper",
            xanchor="left",
            yanchor="top",
            yshift=-below,
            xshift=-50,
            align="left",
            text="<br>".join(note),
            showarrow=False,
            font={"color": colors.muted, "size": 12},
        )


def _template(colors: Theme) -> go.layout.Template:
    axis = {
        "gridcolor": colors.grid,
        "linecolor": colors.muted,
        "zerolinecolor": colors.grid,
        "tickcolor": colors.muted,
        "tickfont": {"color": colors.muted},
        "title": {"font": {"color": colors.text, "size": 13}, "standoff": 8},
        "ticks": "outside",
        "showline": True,
        "automargin": True,
    }
    layout = {
        "font": {"family": FONT, "size": 13, "color": colors.text},
        "title": {"x": 0.0, "xref": "paper", "xanchor": "left", "y": 1.0, "yref": "container", "yanchor": "top"},
        "paper_bgcolor": colors.background,
        "plot_bgcolor": colors.background,
        "legend": {"orientation": "h", "x": 0.0, "yanchor": "top", "traceorder": "normal", "itemsizing": "constant"},
        "hoverlabel": {"bgcolor": colors.background, "font": {"color": colors.text}},
        "xaxis": axis,
        "yaxis": axis,
    }
    layout["title"] |= {"pad": {"t": 14}, "font": {"size": 16, "color": colors.text}}  # type: ignore[operator]
    return go.layout.Template(layout=layout)


def _shorten(name: str) -> str:
    return name if len(name) <= 18 else name[:17] + "…"


def _panel_height(figure: FigureData) -> float:
    return _plot_height(figure) / len(figure.panels) - 40


def _plot_height(figure: FigureData) -> int:
    if figure.horizontal:
        bars = sum(len(series.x) for series in figure.series)
        return max(140, 26 * bars + 40)
    if any(series.kind == "dots" for series in figure.series):
        return 260
    each = 120 if figure.series and figure.series[0].kind == "histogram" else 190
    return 280 if len(figure.panels) == 1 else (each + 40) * len(figure.panels)


def _spacing(rows: int) -> float:
    return 0.0 if rows == 1 else min(0.14, 0.36 / rows)
