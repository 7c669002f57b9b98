"""Takes a figure away: its numbers as CSV, one offline HTML file, or an image from a browser that stays warm."""

from __future__ import annotations

import os
import shutil
from typing import Literal

import kaleido

from fairpriv_core.errors import BadInput
from fairpriv_core.report.browser import Painter
from fairpriv_core.report.draw import WIDTH, draw, write_html
from fairpriv_core.report.figure import FigureData
from fairpriv_core.report.looks import ThemeName
from fairpriv_core.report.page import write_page
from fairpriv_core.report.rows import write_csv

ImageFormat = Literal["png", "svg", "pdf"]
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")
_PAINTER = Painter(kaleido.Kaleido)


def to_csv(figure: FigureData) -> str:
    """Return the figure's numbers, one row a value, in the units of its axes; undefined is empty."""
    return write_csv(figure)


def to_html(figure: FigureData, *, theme: ThemeName = "light") -> str:
    """Return one HTML file that works without a network: the figure, its caption, and its numbers as a table."""
    return write_page(figure, write_html(draw(figure, theme=theme)), theme=theme)


def to_image(figure: FigureData, image_format: ImageFormat, *, theme: ThemeName = "light", width: int = WIDTH) -> bytes:
    """Return the figure as on screen, with its caption, as PNG (twice the pixels), SVG or PDF.

    The first image starts a browser that stays for the next ones.

    Raises:
        BadInput: an unknown format, no Chromium, or a browser that does not answer.
    """
    if image_format not in ("png", "svg", "pdf"):
        raise BadInput(f"format must be one of png, svg, pdf, got '{image_format}'.", field="format")
    drawing = draw(figure, theme=theme, caption=True, width=width)
    size = {"width": width, "height": drawing["layout"]["height"], "scale": 2 if image_format == "png" else 1}
    return _PAINTER.paint(drawing, {"format": image_format, **size}, browser=find_browser())


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
