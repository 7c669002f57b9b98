"""Takes a figure away: its numbers as CSV, one offline HTML file, or an image from a browser that stays warm."""

from __future__ import annotations

import csv
import html
import io
import os
import shutil
from typing import Literal

import kaleido

from fairpriv_core.errors import BadInput
from fairpriv_core.report import wording
from fairpriv_core.report.browser import Painter
from fairpriv_core.report.draw import WIDTH, draw, write_html
from fairpriv_core.report.figure import FigureData, Series
from fairpriv_core.report.looks import THEMES, ThemeName

ImageFormat = Literal["png", "svg", "pdf"]
COLUMNS = ("figure", "panel", "series", "x", "x_end", "y", "low", "high", "x_axis", "y_axis", "note")
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_PAINTER = Painter(kaleido.Kaleido)
_PAGE = """<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<style>
body {{ margin: 1rem auto; max-width: 60rem; padding: 0 1rem; font: 16px/1.5 Arial, "Liberation Sans", sans-serif;
  font-variant-numeric: tabular-nums; background: {background}; color: {text}; }}
figure {{ margin: 0; }}
figcaption, details {{ color: {muted}; }}
table {{ border-collapse: collapse; }}
th, td {{ padding: 0.1rem 0.7rem; text-align: left; border-bottom: 1px solid {grid}; }}
</style>
</head>
<body>
<figure>
<div role="img" aria-label="{alt}">{plot}</div>
<figcaption>{caption}</figcaption>
</figure>
<details><summary>The numbers of this figure</summary>
<table><thead><tr>{head}</tr></thead><tbody>
{rows}
</tbody></table>
</details>
</body>
</html>
"""


def to_csv(figure: FigureData) -> str:
    """Return the figure's numbers, one row a value, in the units of its axes (see COLUMNS); undefined is empty.

    `x_end` is a histogram bin's upper edge. `note` says on every row what an export of raw numbers must say.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    writer.writerows(_rows(figure))
    return text.getvalue()


def to_html(figure: FigureData, *, theme: ThemeName = "light") -> str:
    """Return one HTML file that works without a network: the figure, its caption, and its numbers as a table."""
    colors = THEMES[theme]
    rows = "\n".join("<tr>" + "".join(f"<td>{_cell(value)}</td>" for value in row) + "</tr>" for row in _rows(figure))
    return _PAGE.format(
        title=html.escape(figure.title),
        alt=html.escape(figure.alt),
        plot=write_html(draw(figure, theme=theme)),
        caption=html.escape(figure.caption),
        head="".join(f"<th>{name}</th>" for name in COLUMNS),
        rows=rows,
        background=colors.background,
        text=colors.text,
        muted=colors.muted,
        grid=colors.grid,
    )


def to_image(figure: FigureData, image_format: ImageFormat, *, theme: ThemeName = "light", width: int = WIDTH) -> bytes:
    """Return the figure as on screen, with its caption, as PNG (twice the pixels), SVG or PDF.

    The first image starts a browser that stays for the next ones.

    Raises:
        BadInput: an unknown format, no Chromium, or a browser that does not answer.
    """
    if image_format not in ("png", "svg", "pdf"):
        raise BadInput(f"format must be one of png, svg, pdf, got '{image_format}'.", field="format")
    plot = draw(figure, theme=theme, caption=True, width=width)
    size = {"width": width, "height": plot.layout.height, "scale": 2 if image_format == "png" else 1}
    return _PAINTER.paint(plot.to_dict(), {"format": image_format, **size}, browser=find_browser())


def warm_up() -> None:
    """Start the browser, so that the first image is as quick as the next; BadInput where there is none."""
    _PAINTER.start(find_browser())


def find_browser() -> str:
    """Return the path of Chromium or Chrome: BROWSER_PATH, or what the PATH holds; BadInput where there is none."""
    named = os.environ.get("BROWSER_PATH")
    found = next((path for name in (named, *_BROWSERS) if name and (path := shutil.which(name))), None)
    if found is None:
        raise BadInput(
            "an image needs Chromium, which is not on this machine: install it (Debian: apt install chromium) or set "
            "BROWSER_PATH; until then take HTML or CSV, or the chart's camera button, which your own browser serves."
        )
    return found


def _rows(figure: FigureData) -> list[tuple[object, ...]]:
    return [row for series in figure.series for row in _series_rows(figure, series)]


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


def _cell(value: object) -> str:
    return "" if value is None else html.escape(f"{value:.6g}" if isinstance(value, float) else str(value))
