"""A report as data: sections of text, lists, tables, listings and figures. How it is written down comes after."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from fairpriv_core.facts.run_facts import Audience
from fairpriv_core.figures.figure import FigureData
from fairpriv_core.figures.origin import ALL_RAW, PUBLIC, Origin

AUDIENCES: tuple[Audience, ...] = ("analyst", "policy")
NOTICES: dict[Audience, str] = {
    "analyst": "For the analyst: it holds numbers computed on protected data without noise. Do not publish it.",
    "policy": "May be shared: every number is public or protected by noise.",
}
#: the title of the section from which on a report goes into detail: what comes after is shown on request
DETAILS = "Details"
Cell = str | int | float | None


@dataclass(frozen=True)
class Text:
    """A paragraph; `strong` for what nobody may miss."""

    text: str
    strong: bool = False


@dataclass(frozen=True)
class Bullets:
    """A list of sentences."""

    items: tuple[str, ...]


@dataclass(frozen=True)
class TablePart:
    """Rows of cells under `head`; numbers are shown with at most two decimals. `note` stands below."""

    head: tuple[str, ...]
    rows: tuple[tuple[Cell, ...], ...]
    note: str = ""
    origin: Origin = PUBLIC

    @property
    def text(self) -> str:
        """What stands below it in every form."""
        return f"{self.note} {self.origin.text}".strip()

    @property
    def raw(self) -> bool:
        """Whether it shows what was computed on protected data without noise."""
        return self.origin.kind == "raw"


@dataclass(frozen=True)
class Code:
    """A text that a machine reads, as it is."""

    text: str


Part = Text | Bullets | TablePart | Code | FigureData


@dataclass(frozen=True)
class Section:
    """One headed part of a report; `level` 2 for a chapter, 3 for a part of one."""

    title: str
    parts: tuple[Part, ...]
    level: int = 2


@dataclass(frozen=True)
class Document:
    """A report before it is written; `origin` is that of exact numbers of its runs.

    Raises:
        ValueError: a raw figure or table in a report for policy.
    """

    title: str
    audience: Audience
    sections: tuple[Section, ...]
    origin: Origin = ALL_RAW

    def __post_init__(self) -> None:
        """Refuse raw figures and tables in a report for policy, so that no form of it can hold them."""
        raw = [part for part in list_parts(self) if isinstance(part, FigureData | TablePart) and part.raw]
        if raw and self.audience == "policy":
            raise ValueError(f"a report for policy holds {len(raw)} raw figures or tables.")

    @property
    def notice(self) -> str:
        """What stands at the top: for whom the report is."""
        if self.origin.kind == "public" and self.audience == "analyst":
            sentence = f"{self.origin.text}{self.origin.aside}" or "Gaps are told by randomised answers alone."
            return f"For the analyst. {sentence}"
        return NOTICES[self.audience]

    @property
    def figures(self) -> tuple[FigureData, ...]:
        """Every figure once, in order."""
        by_name = {
            part.name: part for section in self.sections for part in section.parts if isinstance(part, FigureData)
        }
        return tuple(by_name.values())


def show_cell(cell: Cell) -> str:
    """Return a table's cell as text: at most two decimals, a dash for none.

    >>> show_cell(0.12345), show_cell(33916), show_cell(None)
    ('0.12', '33,916', '–')
    """
    if cell is None:
        return "–"
    if isinstance(cell, str):
        return cell
    return f"{cell:,}" if isinstance(cell, int) else f"{cell:,.2f}"


def list_parts(document: Document) -> Iterator[Part]:
    """Yield every part in order."""
    for section in document.sections:
        yield from section.parts
