"""Takes a figure away: its numbers as CSV, one offline HTML file, or an image from a browser that stays warm."""

from __future__ import annotations

import asyncio
import atexit
import codecs
import math
import os
import re
import shutil
import struct
import threading
import zlib
from base64 import b64encode
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from concurrent.futures import TimeoutError as Overdue
from dataclasses import replace
from string import ascii_lowercase
from typing import Any, Literal

import kaleido

from fairpriv_core.errors import BadInput
from fairpriv_core.figures.draw import Drawing, draw, least_height, write_html
from fairpriv_core.figures.figure import FigureData
from fairpriv_core.figures.page import write_document, write_figure
from fairpriv_core.figures.sheet import PIXELS_AN_INCH, POINTS_AN_INCH, SHEETS, TEXT_PIXELS, Sheet, make_room
from fairpriv_core.figures.styles import ThemeName

START_SECONDS = 30.0
PAINT_SECONDS = 30.0
_PDF_INFO = re.compile(rb"^%PDF[^<]*1 0 obj\s*<<(.*?)>>\s*endobj", re.S)
_SIGNED = " /Creator (fairpriv)"
ImageFormat = Literal["png", "svg", "pdf"]
_HEADER_END = 33  # of a PNG: its signature and the chunk with its size
#: Kaleido prints a PDF with margins of 0.1 inch, for which the browser shrinks the drawing and its text
_NO_MARGINS = "<style>@page { margin: 0 } img { display: block }</style></head>"
_NO_GROUND = dict.fromkeys(("paper_bgcolor", "plot_bgcolor"), "rgba(0,0,0,0)")
_ONE_TO_ONE = TEXT_PIXELS * POINTS_AN_INCH / PIXELS_AN_INCH  # points of a text whose pixels are the sheet's
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

    def _paint(self, figure: Mapping[str, object], options: Mapping[str, object], browser: str) -> bytes:
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
        kaleido = self._make(n=1, timeout=PAINT_SECONDS, page_generator=_Paper(), path=browser)
        await kaleido.open()
        return kaleido

    def _close(self) -> None:
        browser, self._kaleido = self._kaleido, None
        if browser is not None:
            try:
                self._wait(browser.close(), 5.0)
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


def to_html(figure: FigureData, *, theme: ThemeName = "light") -> str:
    """Return one HTML file that works without a network: the figure, its caption, and its numbers as a table."""
    body = write_figure(figure, write_html(draw(figure, theme=theme)))
    return write_document(figure.title, body, theme=theme)


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
    sheet = fit_sheet(figure, sheet)
    drawing = _lay_out(figure, sheet, theme)
    if sheet.transparent:
        _take_ground(drawing)
    return _print(drawing, image_format, sheet, figure.title)


def to_sheet(figures: Sequence[FigureData], image_format: ImageFormat, *, columns: int, sheet: Sheet) -> bytes:
    """Return figures as panels a, b, c … of one image: `columns` of them in a row, each as on a `sheet` of its own.

    Panels of a row are as high as the highest needs.
    """
    panels, down = [], 0.0
    for first in range(0, len(figures), columns):
        row = figures[first : first + columns]
        height = max(find_heights(figure, sheet)[1] for figure in row)
        for place, figure in enumerate(row):
            panel = replace(figure, title=f"{ascii_lowercase[first + place]}   {figure.title}")
            panels.append((place * sheet.width, down, to_image(panel, "svg", sheet=replace(sheet, height=height))))
        down += height
    page = replace(sheet, width=columns * sheet.width, height=down, points=_ONE_TO_ONE)
    svg = _join(panels, page)
    if image_format == "svg":
        return svg.encode()
    return _print(_hold(svg, page), image_format, page, figures[0].title)


def _join(panels: Iterable[tuple[float, float, bytes]], sheet: Sheet) -> str:
    """Return SVGs as one: each from so many inches from the left and from above."""
    place = '<svg x="{0}" y="{1}" '.format
    inner = [svg.decode().replace("<svg ", place(x * PIXELS_AN_INCH, y * PIXELS_AN_INCH), 1) for x, y, svg in panels]
    width, height = sheet.pixels
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    ground = "" if sheet.transparent else '<rect width="100%" height="100%" fill="white"/>'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {size}>{ground}{"".join(inner)}</svg>'


def _hold(svg: str, sheet: Sheet) -> Drawing:
    """Return a drawing that is filled by an SVG, for the browser to print."""
    source = f"data:image/svg+xml;base64,{b64encode(svg.encode()).decode()}"
    place = {"x": 0, "y": 1, "sizex": 1, "sizey": 1, "xref": "paper", "yref": "paper", "sizing": "stretch"}
    hidden = {"visible": False}
    layout = {"images": [{"source": source, **place}], "margin": dict.fromkeys("lrtb", 0), "height": sheet.pixels[1]}
    return {"data": [], "layout": {**layout, "xaxis": hidden, "yaxis": hidden, **_NO_GROUND}}


def find_heights(figure: FigureData, sheet: Sheet) -> tuple[float, float]:
    """Return the least height of a figure on a sheet, and the one that it has where nobody chooses, in inches.

    Both are rounded up to a tenth of an inch.
    """
    sheet = fit_sheet(figure, sheet)
    usual = _lay_out(figure, sheet, "light")["layout"]["height"]
    an_inch = sheet.pixels[0] / sheet.width
    lowest, own = (math.ceil(10 * pixels / an_inch - 0.01) / 10 for pixels in (_find_least(figure, sheet), usual))
    return lowest, own


def _lay_out(figure: FigureData, sheet: Sheet, theme: ThemeName) -> Drawing:
    width, height = sheet.pixels
    return draw(
        _write_below(figure, sheet),
        theme=theme,
        caption=True,
        width=width,
        height=height,
        across=sheet.across,
        legend=sheet.legend,
    )


def _print(drawing: Drawing, image_format: ImageFormat, sheet: Sheet, title: str) -> bytes:
    """Return a drawing as an image as wide as a `sheet`."""
    width, height = sheet.pixels[0], drawing["layout"]["height"]
    dense = sheet.dots / PIXELS_AN_INCH if image_format == "png" else 1
    zoom = sheet.width * PIXELS_AN_INCH / width  # the sheet's own, but for what the width in whole pixels leaves
    size = {"width": width, "height": height, "scale": zoom * dense}
    image = _PAINTER.paint(drawing, {"format": image_format, **size}, browser=find_browser())
    if image_format == "pdf":
        return sign_pdf(image, title)
    return _write_density(image, sheet.dots) if image_format == "png" else image


def sign_pdf(pdf: bytes, title: str) -> bytes:
    """Return a PDF of Chromium's that says its `title` and this project, and no browser, system or time.

    What it said of itself is written over, so that the file's table of places stays right.
    """
    match = _PDF_INFO.search(pdf)
    if match is None:
        return pdf
    room = len(match[1])
    while len(signed := f"/Title <{codecs.BOM_UTF16_BE.hex()}{title.encode('utf-16-be').hex()}>{_SIGNED}") > room:
        title = title[:-1]
    return pdf[: match.start(1)] + signed.encode().ljust(room) + pdf[match.end(1) :]


def _write_density(png: bytes, dots: int) -> bytes:
    """Return a PNG that says how many dots an inch has: a document or a slide takes it as wide as the sheet is."""
    per_metre = round(dots / 0.0254)
    chunk = b"pHYs" + struct.pack(">IIB", per_metre, per_metre, 1)
    framed = struct.pack(">I", len(chunk) - 4) + chunk + struct.pack(">I", zlib.crc32(chunk))
    return png[:_HEADER_END] + framed + png[_HEADER_END:]


def fit_sheet(figure: FigureData, sheet: Sheet) -> Sheet:
    """Return the sheet with text as small as the figure needs; BadInput where it could not be read."""
    return make_room(sheet, _find_least(figure, sheet))


def _find_least(figure: FigureData, sheet: Sheet) -> int:
    """Return how many pixels high the figure has to be on a sheet."""
    picture, width = _write_below(figure, sheet), sheet.pixels[0]
    return least_height(picture, caption=True, width=width, across=sheet.across, legend=sheet.legend)


def _write_below(figure: FigureData, sheet: Sheet) -> FigureData:
    """Return the figure with the caption that stands in the picture."""
    return (
        figure if sheet.caption else replace(figure, caption="", shaded="", origin=replace(figure.origin, published=()))
    )


def _take_ground(drawing: Drawing) -> None:
    """Make a drawing's ground transparent, and that of its texts."""
    drawing["layout"] |= _NO_GROUND
    for note in drawing["layout"].get("annotations", []):
        note.pop("bgcolor", None)


def find_browser() -> str:
    """Return the path of Chromium or Chrome: BROWSER_PATH, or what the PATH holds; BadInput where there is none."""
    custom = os.environ.get("BROWSER_PATH")
    browser = next((path for name in (custom, *_BROWSERS) if name and (path := shutil.which(name))), None)
    if browser is None:
        raise BadInput(
            "an image needs Chromium, which is not on this machine: install it (Debian: apt install chromium) or set "
            "BROWSER_PATH; until then take HTML or CSV."
        )
    return browser
