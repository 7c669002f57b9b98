"""A figure's numbers as tidy rows: one value a row, with its interval, axes and caveat."""

from __future__ import annotations

import io
from collections.abc import Iterable, Sequence

from fairpriv_core.report import wording
from fairpriv_core.report.figure import FigureData, Series
from fairpriv_core.text import write_lines

COLUMNS = ("figure", "panel", "series", "x", "x_end", "x_low", "x_high", "y", "low", "high", "x_axis", "y_axis", "note")
_SPACE, _LABEL = ("z", "z_axis"), ("label",)


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
    note = wording.RAW if figure.raw else ""
    histogram = series.kind == "histogram"
    ends = series.x[1:] if histogram else (None,) * len(series.x)
    sides = (series.x_low, series.x_high, series.y, series.low, series.high)
    columns = zip(series.x, ends, *(side or (None,) * len(series.y) for side in sides), strict=False)
    title = panel.title or panel.y.title
    named = [(figure.name, title, series.name, *values, x_axis, y_axis, note) for values in columns]
    if figure.z is not None:
        places = series.z or (None,) * len(named)
        named = [(*row, z, figure.z.label) for row, z in zip(named, places, strict=True)]
    if not _has_texts(figure):
        return named
    return [(*row, text) for row, text in zip(named, series.text or ("",) * len(named), strict=True)]


def _has_texts(figure: FigureData) -> bool:
    """Return whether points of a figure say what they are; cells say their value, which is `z`."""
    return any(series.text and series.kind != "heatmap" for series in figure.series)
