"""The axes of a drawing, as plain mappings: panels below each other, ticks on logarithmic axes, heights in pixels."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

from fairpriv_core.report.figure import Axis, FigureData, Series
from fairpriv_core.report.notes import axis_suffix, rich

PANEL_GAP = 44
_PARTS: tuple[Callable[[Series], Sequence[object]], ...] = (lambda one: one.x, lambda one: one.y, lambda one: one.z)
MAX_TICKS = 8


def build_axes(figure: FigureData, height: int) -> dict[str, Any]:
    """Return the axes of every panel; all x axes move together and the last has the labels. `height` is in pixels."""
    kinds = {series.kind for series in figure.series}
    if "points3d" in kinds:
        return {"scene": _build_scene(figure)}
    count, gap = len(figure.panels), PANEL_GAP / height
    share = (1.0 - gap * (count - 1)) / count
    axes: dict[str, Any] = {}
    for index, panel in enumerate(figure.panels):
        suffix, top, last = axis_suffix(index), 1.0 - index * (share + gap), index == count - 1
        x = {**_options(figure.x, _x_values(figure)), "anchor": f"y{suffix}", "showticklabels": last}
        follow = {} if index == 0 else {"matches": "x"}
        axes[f"xaxis{suffix}"] = x | follow | ({"title": {"text": rich(figure.x.label)}} if last else {})
        y = {**_options(panel.y, _y_values(figure, index)), "anchor": f"x{suffix}"}
        domain = [max(0.0, top - share), min(1.0, top)]
        axes[f"yaxis{suffix}"] = y | {"domain": domain, "title": {"text": rich(panel.y.label)}}
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


def _build_scene(figure: FigureData) -> dict[str, Any]:
    """Return the axes of points in space: x, y of the first panel, and z."""
    values = [
        [value for series in figure.series for value in part(series) if isinstance(value, int | float)]
        for part in _PARTS
    ]
    named = zip(("xaxis", "yaxis", "zaxis"), (figure.x, figure.panels[0].y, figure.z or Axis("")), values, strict=True)
    scene: dict[str, Any] = {
        name: {**_options(axis, known), "title": {"text": rich(axis.label)}} for name, axis, known in named
    }
    return {
        **scene,
        "aspectmode": "cube",
        "camera": {"eye": {"x": 1.5, "y": -1.6, "z": 0.75}, "center": {"x": 0, "y": 0, "z": -0.12}},
    }


def log_ticks(low: float, high: float) -> tuple[float, ...]:
    """Return at most MAX_TICKS round values within [low, high], 0 < low <= high: 1, 2, 5 or whole decades.

    >>> log_ticks(0.1, 9)
    (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
    """
    first, last = math.floor(math.log10(low)), math.ceil(math.log10(high))
    steps = [(digits, 1) for digits in ((1, 2, 5), (1, 3), (1,))]
    steps += [((1,), every) for every in range(2, max(3, last - first))]
    found: tuple[float, ...] = ()
    for digits, every in steps:
        values = (float(f"{digit}e{power}") for power in range(first, last + 1, every) for digit in digits)
        found = tuple(value for value in values if low * (1 - 1e-9) <= value <= high * (1 + 1e-9))
        if len(found) <= MAX_TICKS:
            break
    return found


def panel_height(figure: FigureData) -> float:
    """Return the height of one panel in pixels."""
    count = len(figure.panels)
    return (plot_height(figure) - PANEL_GAP * (count - 1)) / count


def plot_height(figure: FigureData) -> int:
    """Return the height of all panels with the gaps between them, in pixels."""
    kinds = {series.kind for series in figure.series}
    if figure.horizontal:
        return max(120, 26 * sum(len(series.x) for series in figure.series) + 40)
    if "box" in kinds:
        return 260 if len(figure.panels) == 1 else (150 + PANEL_GAP) * len(figure.panels) - PANEL_GAP
    if "points3d" in kinds:
        return 520
    if "heatmap" in kinds:
        return max(160, 34 * len({y for series in figure.series for y in series.y}) + 30)
    if kinds & {"dots", "points", "cloud"}:
        return 300 if len(figure.panels) == 1 else (260 + PANEL_GAP) * len(figure.panels) - PANEL_GAP
    each = 110 if "histogram" in kinds else 200
    return 270 if len(figure.panels) == 1 else (each + PANEL_GAP) * len(figure.panels) - PANEL_GAP


def _options(axis: Axis, values: Sequence[float]) -> dict[str, Any]:
    options: dict[str, Any] = {"type": "log"} if axis.log else {}
    if axis.range is not None:
        options["range"] = [math.log10(end) for end in axis.range] if axis.log else list(axis.range)
    shown = axis.range or ((min(values), max(values)) if values else None)
    if axis.log and shown is not None:
        ticks = log_ticks(*shown)
        options |= {"tickvals": ticks, "ticktext": [f"{tick:g}" for tick in ticks]}
    return options


def _x_values(figure: FigureData) -> list[float]:
    numbers = [x for series in figure.series for x in series.x if not isinstance(x, str)]
    return [x for x in numbers if x > 0] if figure.x.log else numbers


def _y_values(figure: FigureData, panel: int) -> list[float]:
    here = [y for series in figure.series if series.panel == panel for y in series.y if y is not None]
    return [y for y in here if y > 0] if figure.panels[panel].y.log else here
