"""A figure as data: what is drawn, in which units, and what it says in words. Drawing is `figures/draw.py`'s."""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from fairpriv_core.figures.origin import PUBLIC, Origin
from fairpriv_core.text import write_lines

Value = float | None
Kind = Literal["line", "bar", "histogram", "points", "cloud", "dots", "box", "arrow", "heatmap"]
MAX_POINTS = 1000
COLUMNS = ("figure", "panel", "series", "x", "x_end", "x_low", "x_high", "y", "low", "high", "x_axis", "y_axis", "note")
_SPACE, _LABEL = ("z", "z_axis"), ("label",)


@dataclass(frozen=True)
class Axis:
    """An axis: its title, its unit ("" for none), whether it is logarithmic, and its range where it is fixed.

    `with_zero`: 0 is in sight where points have names, so that distances to it are seen as they are.
    """

    title: str
    unit: str = ""
    log: bool = False
    range: tuple[float, float] | None = None
    with_zero: bool = False

    @property
    def label(self) -> str:
        """The title with its unit, as drawn."""
        return f"{self.title} ({self.unit})" if self.unit else self.title


@dataclass(frozen=True)
class Series:
    """One set of values in the units of its axes; None is a gap.

    Attributes:
        name: what the legend says.
        kind: "line"; "bar" (x are categories); "histogram" (x are the edges, one more than y); "points"; "dots";
            "box" (around each x, from low to high, with its text inside); "arrow" (through its points to the last);
            "cloud" (points that are not joined); "heatmap" (one cell a place: x and y say where, z its value).
        x, y: values. low, high: ends of the 95 % interval of each y, or empty. x_low, x_high: of each x.
        style: a method's id, or a role of `figures/styles.py` ("total", "group 2", …).
        panel: index of the panel that it is drawn in.
        variation: 0, 1, … tells runs of one method apart.
        text: what stands beside each point ("" for nothing) or in each cell, or empty. hover: what a pointer on it is
            told, or empty.
        keys: what each point stands for, such as its runs, given to whoever picks it; or empty.
        labelled: the name stands at the line's end, or beside its points, instead of in the legend.
        faint: drawn behind the others, without band and legend: there to compare with.
        hollow: which points are open and faint, or empty.
    """

    name: str
    kind: Kind
    x: tuple[float | str, ...]
    y: tuple[Value, ...]
    low: tuple[Value, ...] = ()
    high: tuple[Value, ...] = ()
    style: str = "ink"
    panel: int = 0
    variation: int = 0
    labelled: bool = False
    text: tuple[str, ...] = ()
    x_low: tuple[Value, ...] = ()
    x_high: tuple[Value, ...] = ()
    z: tuple[Value, ...] = ()
    hover: tuple[str, ...] = ()
    keys: tuple[str, ...] = ()
    faint: bool = False
    hollow: tuple[bool, ...] = ()


@dataclass(frozen=True)
class Reference:
    """A straight line at a value of the x or the y axis, with its label; in one panel, or in all (None)."""

    value: float
    label: str
    axis: Literal["x", "y"] = "x"
    panel: int | None = None


@dataclass(frozen=True)
class Region:
    """A shaded part of a panel, from low to high on each axis; None is the panel's edge."""

    panel: int = 0
    x: tuple[Value, Value] = (None, None)
    y: tuple[Value, Value] = (None, None)


@dataclass(frozen=True)
class Panel:
    """One plot of a figure; panels stand below each other and share the x axis."""

    y: Axis
    title: str = ""


@dataclass(frozen=True)
class FigureData:
    """A figure before it is drawn.

    Attributes:
        name: id, stable over refreshes, so that zoom stays; also the file name of a download.
        title: at most about 60 characters.
        x: the axis that all panels share. z: the third axis, of cells' values.
        horizontal: bars lie, and categories stand on the vertical axis.
        caption: a sentence or two with the number of seeds, the method and the caveats; part of every export.
        own: what of the caption is of this figure alone, where a page says once what holds for several.
        alt: what a person who does not see the figure is told.
        origin: whose its numbers are.
        regions: what is shaded, behind everything. shaded: what that means.
    """

    name: str
    title: str
    x: Axis
    panels: tuple[Panel, ...]
    series: tuple[Series, ...]
    caption: str
    alt: str
    references: tuple[Reference, ...] = ()
    horizontal: bool = False
    z: Axis | None = None
    own: str = ""
    regions: tuple[Region, ...] = ()
    shaded: str = ""
    origin: Origin = PUBLIC

    @property
    def text(self) -> str:
        """What stands below the figure in every form of it: what it shows, and whose numbers these are."""
        return " ".join(part for part in (self.caption, self.shaded, self.origin.text) if part)

    @property
    def raw(self) -> bool:
        """Whether it shows what was computed on protected data without noise."""
        return self.origin.kind == "raw"

    def without_regions(self) -> FigureData:
        """Return the figure without what is shaded."""
        return replace(self, regions=(), shaded="")


def decimate(
    x: Sequence[float], *columns: Sequence[Value], limit: int = MAX_POINTS
) -> tuple[tuple[float, ...], tuple[tuple[Value, ...], ...]]:
    """Return x and `columns` with at most `limit` (>= 4) points: the first, the last, and what stands out between.

    In each of equally long stretches the lowest and the highest point of the first column are kept, in order, so a
    spike of one point stays visible. Every column keeps the same rows.
    """
    size = len(x)
    if size <= limit:
        return tuple(x), tuple(tuple(column) for column in columns)
    first = np.array([math.nan if value is None else value for value in columns[0]], dtype=np.float64)
    bounds = np.linspace(1, size - 1, (limit - 2) // 2 + 1).astype(int)
    keep = {0, size - 1}
    for start, stop in zip(bounds[:-1].tolist(), bounds[1:].tolist(), strict=True):
        stretch = first[start:stop]
        if np.isnan(stretch).all():
            keep.add(start)
        else:
            keep |= {start + int(np.nanargmin(stretch)), start + int(np.nanargmax(stretch))}
    rows = sorted(keep)
    return tuple(x[row] for row in rows), tuple(tuple(column[row] for row in rows) for column in columns)


def line(
    name: str,
    x: Sequence[float],
    y: Sequence[Value],
    *,
    scale: float = 1.0,
    low: Sequence[Value] = (),
    high: Sequence[Value] = (),
    style: str = "ink",
    panel: int = 0,
    variation: int = 0,
    labelled: bool = False,
) -> Series:
    """Return a line of at most MAX_POINTS points, values times `scale`; NaN and infinity become gaps."""
    banded = bool(low) and bool(high)
    places, columns = decimate(x, y, *((low, high) if banded else ()))
    scaled = [tuple(_finite(value, scale) for value in column) for column in columns]
    ends = (scaled[1], scaled[2]) if banded else ((), ())
    return Series(
        name,
        "line",
        places,
        scaled[0],
        low=ends[0],
        high=ends[1],
        style=style,
        panel=panel,
        variation=variation,
        labelled=labelled,
    )


def from_zero(values: Sequence[Value], mark: float | None = None) -> tuple[float, float]:
    """Return an axis range from 0 to a little above the values and `mark`."""
    top = max((value for value in (*values, mark) if value is not None and math.isfinite(value)), default=0.0)
    return 0.0, 1.1 * top or 1.0


def _finite(value: Value, scale: float) -> Value:
    return None if value is None or not math.isfinite(value) else float(value) * scale


def list_columns(figure: FigureData) -> tuple[str, ...]:
    """Return the columns of `list_rows`: COLUMNS, those of a third axis, and "label" where points have texts."""
    return (*COLUMNS, *(() if figure.z is None else _SPACE), *(_LABEL if _has_texts(figure) else ()))


def list_rows(figure: FigureData) -> list[tuple[object, ...]]:
    """Return one row for each value, in the order of `list_columns`; None is undefined.

    `x_end` is a histogram bin's upper edge; `x_low` and `x_high` are the ends of x's interval. `note` says on every row
    what an export of raw numbers must say.
    """
    return [row for series in figure.series for row in _series_rows(figure, series)]


def write_csv(figure: FigureData) -> str:
    """Return the rows as CSV text with a header."""
    return write_table(list_columns(figure), list_rows(figure))


def write_table(head: Sequence[str], rows: Iterable[Sequence[object]]) -> str:
    """Return CSV text, in which no text is a formula."""
    text = io.StringIO()
    write_lines(text, head, rows)
    return text.getvalue()


def _series_rows(figure: FigureData, series: Series) -> list[tuple[object, ...]]:
    panel = figure.panels[series.panel]
    x_axis, y_axis = figure.x.label, panel.y.label
    if figure.horizontal:
        x_axis, y_axis = "group", figure.x.label
    note = figure.origin.mark if figure.raw else ""
    histogram = series.kind == "histogram"
    ends = series.x[1:] if histogram else (None,) * len(series.x)
    sides = (series.x_low, series.x_high, series.y, series.low, series.high)
    columns = zip(series.x, ends, *(side or (None,) * len(series.y) for side in sides), strict=False)
    title = panel.title or panel.y.title
    rows = [(figure.name, title, series.name, *values, x_axis, y_axis, note) for values in columns]
    if figure.z is not None:
        places = series.z or (None,) * len(rows)
        rows = [(*row, z, figure.z.label) for row, z in zip(rows, places, strict=True)]
    if not _has_texts(figure):
        return rows
    return [(*row, text) for row, text in zip(rows, series.text or ("",) * len(rows), strict=True)]


def _has_texts(figure: FigureData) -> bool:
    """Return whether points of a figure have texts of their own; the text of a cell is its value, `z`."""
    return any(series.text and series.kind != "heatmap" for series in figure.series)
