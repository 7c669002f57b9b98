"""A report as an HTML file that asks no server for anything."""

from __future__ import annotations

import html
import json
import re
from importlib.resources import files

from fairpriv_core.documents.document import DETAILS, Bullets, Code, Document, Part, Section, TablePart, show_cell
from fairpriv_core.figures.draw import CONFIG, draw
from fairpriv_core.figures.figure import FigureData
from fairpriv_core.figures.page import write_document, write_figure, write_table

#: what a column of text takes on A4 with its margins: on paper a figure is as wide as on a screen
WIDTH = 688


def write_report_table(part: TablePart) -> str:
    """Return a report's table, without its note."""
    return write_table(part.head, [[show_cell(cell) for cell in row] for row in part.rows], name="Table")


def write_html(document: Document) -> str:
    """Return the report as one HTML file: it opens from a disk, asks no server for anything, and prints on A4."""
    sections = [_write_section(section, index) for index, section in enumerate(document.sections)]
    first = next((index for index, section in enumerate(document.sections, 1) if section.title == DETAILS), 0)
    chapters = "\n".join([_write_contents(document, first), *sections[first:]])
    details = f'<details class="more"><summary>{DETAILS}</summary>\n{chapters}\n</details>'
    body = (
        f"<h1>{html.escape(document.title)}</h1>\n"
        f'<p class="notice">{html.escape(document.notice)}</p>\n'
        + "\n".join([*sections[: max(0, first - 1)], details if first else chapters])
        + "\n"
        f"<script>{read_library()}</script>\n"
        f"<script>const CONFIG = {json.dumps(CONFIG)}, ROOM = {WIDTH}\n{read_beside('report.js')}</script>"
    )
    return write_document(document.title, body, theme="light", style=read_beside("report.css"))


def read_beside(name: str) -> str:
    """Return the text of a file of this folder."""
    return files("fairpriv_core.documents").joinpath(name).read_text(encoding="utf-8")


def read_library() -> str:
    """Return the script that draws the figures, 4.7 MB."""
    return files("plotly").joinpath("package_data/plotly.min.js").read_text(encoding="utf-8")


def _write_contents(document: Document, first: int) -> str:
    """Return links to the chapters from the section number `first` on."""
    items = [
        f'<li><a href="#part-{index}">{html.escape(section.title)}</a></li>'
        for index, section in enumerate(document.sections)
        if section.level == 2 and index >= first
    ]
    return f'<nav aria-label="Contents"><ol>{"".join(items)}</ol></nav>'


def _write_section(section: Section, index: int) -> str:
    parts = "\n".join(_write_part(part) for part in section.parts)
    title = html.escape(section.title)
    return f'<section>\n<h{section.level} id="part-{index}">{title}</h{section.level}>\n{parts}\n</section>'


def _write_part(part: Part) -> str:
    if isinstance(part, FigureData):
        return write_figure(part, _write_plot(part))
    if isinstance(part, TablePart):
        note = f'<p class="note">{html.escape(part.text)}</p>' if part.text else ""
        return f"{write_report_table(part)}{note}"
    if isinstance(part, Bullets):
        return "<ul>" + "".join(f"<li>{html.escape(item)}</li>" for item in part.items) + "</ul>"
    if isinstance(part, Code):
        return f"<pre>{html.escape(part.text)}</pre>"
    text = html.escape(part.text)
    return f"<p><strong>{text}</strong></p>" if part.strong else f"<p>{text}</p>"


def _write_plot(figure: FigureData) -> str:
    """Return an empty place as high as the drawing, and the drawing as JSON beside it, which report.js draws there."""
    drawing = draw(figure, width=WIDTH)
    escaped = {"<": "\\u003c", ">": "\\u003e", "&": "\\u0026"}
    encoded = re.sub("[<>&]", lambda sign: escaped[sign.group()], json.dumps(drawing))
    height = drawing["layout"]["height"]
    return f'<div class="plot" style="height: {height}px"></div><script type="application/json">{encoded}</script>'
