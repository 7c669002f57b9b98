"""How far the sheets of a workbook reach, told by their XML: what reads them makes room for each cell up to the last.

A part of the zip is parsed as strictly as can be: what reads it later is laxer, and must find no cell that is not
counted here. A part of which this cannot be said, and that may hold a sheet, cannot be read.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from xml.parsers import expat

from fairpriv_core.files.faults import fault

#: what a cell takes in memory, at least
CELL_BYTES = 4
_MARKS = (b"sheetData", b"table:table")  # what a sheet of Excel or of OpenDocument has in it
_MARK_BYTES = max(map(len, _MARKS))
_PLACE = re.compile(r"([A-Za-z]{0,3})([0-9]{1,7})")
_MOST_ROWS = 1 << 20  # of a sheet, in Excel and in LibreOffice
_ROOMY = 10_000_000  # cells of a workbook, above which
_SHARE = 20  # one among so many has to hold something


class Extent:
    """The cells of a workbook's sheets so far: of each from its first one with content to its last one."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._before = self._filled = 0  # cells of sheets that have ended, and cells that hold something
        self._box: tuple[int, int, int, int] | None = None  # first and last row, first and last column
        self._start_sheet()

    @property
    def size(self) -> int:
        """How many bytes the cells take in memory, at least."""
        top, bottom, left, right = self._box or (0, -1, 0, -1)
        return CELL_BYTES * (self._before + (bottom - top + 1) * (right - left + 1))

    def read(self, part: Iterable[bytes]) -> Iterator[int]:
        """Count the cells of one part of the zip, and yield how many bytes each of its blocks has.

        Raises BadInput where the cells are many and hardly one holds something.
        """
        parser = expat.ParserCreate("utf-8")  # whatever the part itself says of its encoding
        parser.StartElementHandler, parser.EndElementHandler = self._start, self._end
        parser.StartDoctypeDeclHandler = _refuse_doctype
        broken, marked, tail = "", False, b""
        for block in part:
            marked = marked or any(mark in tail + block for mark in _MARKS)
            tail = block[-_MARK_BYTES:]
            broken = broken or _feed(parser, block)
            self._check()
            yield len(block)
        broken = broken or _feed(parser, b"", is_last=True)
        if broken and marked:
            raise fault(f"{self._name} cannot be read (a sheet in it is damaged: {broken}); save it anew.")
        self._start_sheet()

    def _check(self) -> None:
        cells = self.size // CELL_BYTES
        if cells > _ROOMY and cells > _SHARE * self._filled and self._box is not None:
            raise fault(
                f"{self._name} has a sheet that reaches to cell {_spell(self._box[3])}{self._box[1] + 1}, with "
                f"{self._filled:,} filled among {cells:,} cells; delete what stands outside the table."
            )

    def _start_sheet(self) -> None:
        self._before, self._box = self.size // CELL_BYTES, None
        self._row = self._column = self._last = 0
        self._place: tuple[int, int] | None = None  # of the cell of Excel that has begun
        self._repeats = self._row_repeats = 1
        self._holds = False

    def _start(self, name: str, attributes: Mapping[str, str]) -> None:
        """Note where a row or a cell begins, in either format: their elements have no name in common."""
        kind = name.rpartition(":")[2]
        if kind == "sheetData" or name == "table:table":
            self._start_sheet()
        elif kind == "row" and "r" in attributes:
            self._row, _ = self._find(attributes["r"])
        elif kind == "c":
            self._place = self._find(attributes["r"]) if "r" in attributes else (self._row, self._column)
            self._column = self._place[1]
        elif kind in ("v", "is") and self._place is not None:
            self._reach(*self._place)
            self._filled += 1
        elif kind == "table-row":
            self._column = self._last = 0
            self._row_repeats = _repeats(attributes, "rows")
        elif kind in ("table-cell", "covered-table-cell"):
            self._repeats = _repeats(attributes, "columns")
            self._holds = any("value" in key or key.endswith("formula") for key in attributes)
        else:
            self._holds = True

    def _end(self, name: str) -> None:
        kind = name.rpartition(":")[2]
        if kind == "row":
            self._row, self._column = self._row + 1, 0
        elif kind == "c":
            self._place, self._column = None, self._column + 1
        elif kind in ("table-cell", "covered-table-cell"):
            self._column += self._repeats
            self._last = self._column if self._holds else self._last
            self._filled += self._holds
        elif kind == "table-row":
            if self._last:
                self._reach(self._row, 0)
                self._reach(self._row + self._row_repeats - 1, self._last - 1)
            self._row += self._row_repeats

    def _find(self, place: str) -> tuple[int, int]:
        """Return row and column, from 0, of a place such as "B7" or, without a column, "7"."""
        match = _PLACE.fullmatch(place)
        row = int(match[2]) - 1 if match is not None else -1
        if match is None or not 0 <= row < _MOST_ROWS:
            raise fault(f"{self._name} has a cell at '{place[:20]}', where no sheet has one; save it anew.")
        column = 0
        for letter in match[1].upper():
            column = 26 * column + ord(letter) - ord("A") + 1
        return row, max(column - 1, 0)

    def _reach(self, row: int, column: int) -> None:
        top, bottom, left, right = self._box or (row, row, column, column)
        self._box = min(top, row), max(bottom, row), min(left, column), max(right, column)


def _feed(parser: expat.XMLParserType, block: bytes, *, is_last: bool = False) -> str:
    """Return why a block, and with it the part, cannot be parsed; "" where it can."""
    try:
        parser.Parse(block, is_last)
    except (expat.ExpatError, ValueError) as error:
        return str(error)
    return ""


def _refuse_doctype(*_: object) -> None:
    raise ValueError("it declares a type of document")  # whose entities would stand for cells


def _repeats(attributes: Mapping[str, str], what: str) -> int:
    count = next((value for key, value in attributes.items() if key.endswith(f"number-{what}-repeated")), "1")
    try:
        return max(int(count), 1)
    except ValueError:
        return 1


def _spell(column: int) -> str:
    """Return a column, from 0, in letters.

    >>> _spell(0), _spell(16383)
    ('A', 'XFD')
    """
    higher, letter = divmod(column, 26)
    return (_spell(higher - 1) if higher else "") + chr(ord("A") + letter)
