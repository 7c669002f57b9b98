"""A figure's numbers as tidy rows: one value a row, with its interval, axes and caveat."""

from __future__ import annotations

import csv
import io

from fairpriv_core.report import wording
from fairpriv_core.report.figure import FigureData, Series

COLUMNS = ("figure", "panel", "series", "x", "x_end", "y", "low", "high", "x_axis", "y_axis", "note")


def list_rows(figure: FigureData) -> list[tuple[object, ...]]:
    """Return one row for each value, in the order of COLUMNS; None is undefined.

    `x_end` is a histogram bin's upper edge. `note` says on every row what an export of raw numbers must say.
    """
    return [row for series in figure.series for row in _series_rows(figure, series)]


def write_csv(figure: FigureData) -> str:
    """Return the rows as CSV text with a header."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(list_rows(figure))
    return text.getvalue()


def _series_rows(figure: FigureData, series: Series) -> list[tuple[object, ...]]:
    panel = figure.panels[series.panel]
    x_axis, y_axis = figure.x.label, panel.y.label
    if figure.horizontal:
        x_axis, y_axis = "group", figure.x.label
    note = wording.RAW if figure.raw else ""
    histogram = series.kind == "histogram"
    ends = series.x[1:] if histogram else (None,) * len(series.x)
    low, high = (side or (None,) * len(series.y) for side in (series.low, series.high))
    title = panel.title or panel.y.title
    return [
        (figure.name, title, series.name, series.x[i], ends[i], series.y[i], low[i], high[i], x_axis, y_axis, note)
        for i in range(len(series.y))
    ]
