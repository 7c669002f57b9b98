"""Takes a figure away: its numbers as CSV, one offline HTML file, or an image from a browser that stays warm."""

from __future__ import annotations

import asyncio
import atexit
import codecs
import os
import re
import shutil
import struct
import threading
import zlib
from collections.abc import Callable, Coroutine, Mapping
from concurrent.futures import TimeoutError as Overdue
from dataclasses import replace
from typing import Any, Literal

import kaleido

from fairpriv_core.errors import BadInput
from fairpriv_core.figures.draw import Drawing, draw, least_height, write_html
from fairpriv_core.figures.figure import FigureData, write_csv
from fairpriv_core.figures.page import write_page
from fairpriv_core.figures.sheet import PIXELS_AN_INCH, SHEETS, Sheet, make_room
from fairpriv_core.figures.styles import ThemeName

START_SECONDS = 30.0
PAINT_SECONDS = 30.0
_PDF_INFO = re.compile(rb"^%PDF[^<]*1 0 obj\s*<<(.*?)>>\s*endobj", re.S)
_SIGNED = " /Creator (fairpriv)"
ImageFormat = Literal["png", "svg", "pdf"]
_HEADER_END = 33  # of a PNG: its signature and the chunk with its size
#: Kaleido prints a PDF with margins of 0.1 inch, for which the browser shrinks the drawing and its text
_NO_MARGINS = "<style>@page { margin: 0 } img { display: block }</style></head>"
_BROWSERS = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome")


class _Paper:
    """The page that Kaleido draws on, printed as large as the drawing."""

    def generate_index(self) -> str:
        """Return the page as HTML."""
        return str(kaleido.PageGenerator(mathjax=False).generate_index()).replace("</head>", _NO_MARGINS)


class Painter:
    """Kaleido on an event loop in a thread of its own; a browser that dies or hangs is replaced once.

    `kaleido` is the class `kaleido.Kaleido`, or one that takes the same arguments and has its coroutines.
    """

    def __init__(self, kaleido: Callable[..., Any]) -> None:
        self._make = kaleido
        self._lock = threading.Lock()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._kaleido: Any = None

    def start(self, browser: str) -> None:
        """Start `browser` (a path) unless it runs; BadInput if it does not come up."""
        with self._lock:
            try:
                self._open(browser)
            except Exception as error:
                self._close()
                raise BadInput(f"the browser {browser} did not start: {_name(error)}.") from error

    def paint(self, figure: Mapping[str, Any], options: Mapping[str, Any], *, browser: str) -> bytes:
        """Return `figure` (Plotly JSON) as an image with Kaleido's `options`; BadInput if the browser cannot."""
        with self._lock:
            try:
                return self._paint(figure, options, browser)
            except Exception:
                self._close()
            try:
                return self._paint(figure, options, browser)
            except Exception as error:
                self._close()
                raise BadInput(f"the browser {browser} did not draw the image: {_name(error)}.") from error

    def close(self) -> None:
        """Close the browser, if one runs."""
        with self._lock:
            self._close()

    def _paint(self, figure: Mapping[str, Any], options: Mapping[str, Any], browser: str) -> bytes:
        self._open(browser)
        return bytes(self._wait(self._kaleido.calc_fig(figure, opts=dict(options)), PAINT_SECONDS))

    def _open(self, browser: str) -> None:
        if self._kaleido is not None:
            return
        if self._loop is None:
            self._loop = asyncio.new_event_loop()
            threading.Thread(target=self._loop.run_forever, name="figure-export", daemon=True).start()
            atexit.register(self.close)
        self._kaleido = self._wait(self._launch(browser), START_SECONDS)

    async def _launch(self, browser: str) -> Any:
        opened = self._make(n=1, timeout=PAINT_SECONDS, page_generator=_Paper(), path=browser)
        await opened.open()
        return opened

    def _close(self) -> None:
        opened, self._kaleido = self._kaleido, None
        if opened is not None:
            try:
                self._wait(opened.close(), 5.0)
            except Exception:
                return  # a dead browser cannot be closed

    def _wait(self, work: Coroutine[Any, Any, Any], seconds: float) -> Any:
        assert self._loop is not None
        future = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return future.result(seconds)
        except Overdue:
            future.cancel()
            raise


def _name(error: Exception) -> str:
    return f"{type(error).__name__} {error}".strip()


_PAINTER = Painter(kaleido.Kaleido)


def to_csv(figure: FigureData) -> str:
    """Return the figure's numbers, one row a value, in the units of its axes; undefined is empty."""
    return write_csv(figure)


def to_html(figure: FigureData, *, theme: ThemeName = "light") -> str:
    """Return one HTML file that works without a network: the figure, its caption, and its numbers as a table."""
    return write_page(figure, write_html(draw(figure, theme=theme)), theme=theme)


def to_image(
    figure: FigureData, image_format: ImageFormat, *, theme: ThemeName = "light", sheet: Sheet = SHEETS["screen"]
) -> bytes:
    """Return the figure on a `sheet` as PNG, SVG or PDF; without one as on screen, with its caption.

    A figure of raw numbers says so in the picture, with a caption or without. The first image starts a browser that
    stays for the next ones.

    Raises:
        BadInput: an unknown format, no Chromium, a browser that does not answer, or a figure too tall for the sheet.
    """
    if image_format not in ("png", "svg", "pdf"):
        raise BadInput(f"format must be one of png, svg, pdf, got '{image_format}'.", field="format")
    shown, sheet = _write_below(figure, sheet), fit_sheet(figure, sheet)
    width, height = sheet.pixels
    drawing = draw(shown, theme=theme, caption=True, width=width, height=height, across=sheet.across)
    if sheet.transparent:
        _take_ground(drawing)
    dense = sheet.dots / PIXELS_AN_INCH if image_format == "png" else 1
    zoom = sheet.width * PIXELS_AN_INCH / width  # the sheet's own, but for what the width in whole pixels leaves
    size = {"width": width, "height": drawing["layout"]["height"], "scale": zoom * dense}
    image = _PAINTER.paint(drawing, {"format": image_format, **size}, browser=find_browser())
    if image_format == "pdf":
        return sign_pdf(image, figure.title)
    return _say_density(image, sheet.dots) if image_format == "png" else image


def sign_pdf(pdf: bytes, title: str) -> bytes:
    """Return a PDF of Chromium's that says its `title` and this project, and no browser, system or time.

    What it said of itself is written over, so that the file's table of places stays right.
    """
    said = _PDF_INFO.search(pdf)
    if said is None:
        return pdf
    room = len(said[1])
    while len(signed := f"/Title <{codecs.BOM_UTF16_BE.hex()}{title.encode('utf-16-be').hex()}>{_SIGNED}") > room:
        title = title[:-1]
    return pdf[: said.start(1)] + signed.encode().ljust(room) + pdf[said.end(1) :]


def _say_density(png: bytes, dots: int) -> bytes:
    """Return a PNG that says how many dots an inch has: a document or a slide takes it as wide as the sheet is."""
    per_metre = round(dots / 0.0254)
    chunk = b"pHYs" + struct.pack(">IIB", per_metre, per_metre, 1)
    framed = struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk))
    return png[:_HEADER_END] + framed + png[_HEADER_END:]


def fit_sheet(figure: FigureData, sheet: Sheet) -> Sheet:
    """Return the sheet with text as small as the figure needs; BadInput where it could not be read."""
    shown, (width, _) = _write_below(figure, sheet), sheet.pixels
    return make_room(sheet, least_height(shown, caption=True, width=width, across=sheet.across))


def _write_below(figure: FigureData, sheet: Sheet) -> FigureData:
    """Return the figure with the caption that stands in the picture."""
    return (
        figure if sheet.caption else replace(figure, caption="", shaded="", origin=replace(figure.origin, published=()))
    )


def _take_ground(drawing: Drawing) -> None:
    """Make a drawing's ground transparent, and that of its texts."""
    drawing["layout"] |= dict.fromkeys(("paper_bgcolor", "plot_bgcolor"), "rgba(0,0,0,0)")
    for note in drawing["layout"].get("annotations", []):
        note.pop("bgcolor", None)


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
            "BROWSER_PATH; until then take HTML or CSV."
        )
    return found
