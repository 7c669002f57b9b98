"""A report, or a part of one, as Markdown; what a person named stays text. Figures are told in words."""

from __future__ import annotations

import re

from fairpriv_core.documents.document import Bullets, Code, Document, Part, Section, TablePart, show_cell
from fairpriv_core.figures.figure import FigureData


def escape(text: str) -> str:
    """Return text on one line in which Markdown and HTML find no markup.

    >>> escape("<b>*a*</b>")
    '\\\\<b\\\\>\\\\*a\\\\*\\\\</b\\\\>'
    """
    return re.sub(r"([\\`*_\[\]<>#|$~!&])", r"\\\1", " ".join(text.split()))


def write_markdown(document: Document) -> str:
    """Return the report as Markdown."""
    head = [f"# {escape(document.title)}", f"**{escape(document.notice)}**"]
    return "\n\n".join([*head, *(write_section(section) for section in document.sections)]) + "\n"


def write_section(section: Section) -> str:
    """Return a section as Markdown, its heading first."""
    return "\n\n".join(
        [f"{'#' * section.level} {escape(section.title)}", *(_write_part(part) for part in section.parts)]
    )


def _write_part(part: Part) -> str:
    if isinstance(part, FigureData):
        return f"Figure: {escape(part.title)}. {escape(part.alt)} {escape(part.text)}"
    if isinstance(part, TablePart):
        return _write_table(part)
    if isinstance(part, Bullets):
        return "\n".join(f"- {escape(item)}" for item in part.items)
    if isinstance(part, Code):
        return _write_code(part.text)
    text = escape(part.text)
    return f"**{text}**" if part.strong else text


def _write_table(part: TablePart) -> str:
    rows = [[escape(show_cell(cell)) for cell in row] for row in part.rows]
    lines = [[escape(name) for name in part.head], ["---"] * len(part.head), *rows]
    table = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"{table}\n\n{escape(part.text)}" if part.text else table


def _write_code(text: str) -> str:
    """Return a listing between fences that are longer than any in it."""
    longest = max((len(ticks) for ticks in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}toml\n{text.rstrip()}\n{fence}"
