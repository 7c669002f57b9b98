"""The lines of a text: what parts their values, where the table begins, whether its first line names the columns."""

from __future__ import annotations

import csv
import io
import math
import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise, zip_longest

from fairpriv_core.files.notations import part_blanks
from fairpriv_core.files.several import BLANKS, SEPARATORS
from fairpriv_core.files.spelling import MISSING, parse_number

#: so many rows at the start of a file show its form
SAMPLE_ROWS = 200
_MOST_RAGGED = 0.1  # of the sampled rows: with a separator more are of another length, it is none
_MOST_TITLES = 30  # lines above a table
_WITH_COMMA, _WITH_POINT = re.compile(r"[+-]?\d*,\d+"), re.compile(r"[+-]?\d*\.\d+")
_THOUSANDS, _BY_POINTS = (re.compile(rf"[+-]?[1-9]\d{{0,2}}({sign}\d{{3}})+") for sign in (",", r"\."))
_COUNTED = 3  # so many rising numbers in a first line are names, such as years


@dataclass(frozen=True)
class Line:
    """A row of a text or sheet: its first and last line, from 1, and its values."""

    start: int
    end: int
    cells: list[str]


def list_lines(sample: str, separator: str) -> list[Line]:
    """Return the first rows of a text that are not empty; [] where they cannot be parted so."""
    text = part_blanks(sample.encode()).decode() if separator == BLANKS else sample
    rows = csv.reader(io.StringIO(text, newline=""), delimiter="\t" if separator == BLANKS else separator)
    lines: list[Line] = []
    try:
        before = 0
        for row in rows:
            if row:
                lines.append(Line(before + 1, rows.line_num, row))
            if len(lines) == SAMPLE_ROWS:
                break
            before = rows.line_num
    except csv.Error:
        return []
    return lines


@dataclass(frozen=True)
class Parted:
    """The first rows of a text with a separator: where the table begins, and how many values most rows have."""

    lines: list[Line]
    first: int
    width: int
    rows_named: bool = False

    @property
    def fits(self) -> bool:
        """Whether nearly all rows have as many values."""
        body = self.lines[self.first + self.rows_named :]
        ragged = sum(len(line.cells) != self.width for line in body)
        return self.width > 1 and ragged <= _MOST_RAGGED * len(body)

    @property
    def unparted(self) -> float:
        """Which share of the cells holds what else could part values, and is no number with it."""
        cells = [cell.strip() for line in self.lines[self.first :] for cell in line.cells]
        with_signs = [cell for cell in cells if any(sign in cell for sign in SEPARATORS if sign != BLANKS)]
        return sum(not _is_number(cell) for cell in with_signs) / max(len(cells), 1)


def part_lines(lines: list[Line], *, below: bool) -> Parted:
    """Return how rows are parted: by the first of them, or also where the table begins `below` it, or names its rows.

    Rows of which half the cells are empty, or more, are titles above a table, as a sheet has them. A first row with
    one value less than all others has names of columns, as R writes them, and they begin with theirs.
    """
    if not lines or not below:
        return Parted(lines, find_first(lines), len(lines[0].cells) if lines else 0)
    lengths = [len(line.cells) for line in lines]
    width = Counter(lengths).most_common(1)[0][0]
    first = next(at for at, length in enumerate(lengths) if length >= width)
    first += find_first(lines[first:])
    if first > _MOST_TITLES:
        return Parted(lines, 0, 0)
    body = lengths[first:]
    one_less = first > 0 and lengths[first - 1] == width - 1 > 1
    if one_less and len(body) > 1 and set(body) == {width}:
        return Parted(lines, first - 1, width, rows_named=True)
    return Parted(lines, first, width)


def find_first(lines: Sequence[Line]) -> int:
    """Return which line is the first with more than half as many filled cells as the fullest one; 0 for none."""
    filled = [sum(bool(cell.strip()) for cell in line.cells) for line in lines]
    return next((at for at, count in enumerate(filled[:_MOST_TITLES]) if count > max(filled) / 2), 0)


def find_separator(sample: str) -> tuple[str, Parted]:
    """Return what parts most rows into as many values as the first has: of several what leaves least unparted, or most.

    Where none does, the table may begin below the first row, and where none does then, blanks may part its values.
    """
    signs = [sign for sign in SEPARATORS if sign != BLANKS]
    for tried, below in ((signs, False), (signs, True), ([BLANKS], False), ([BLANKS], True)):
        parted = {sign: part_lines(list_lines(sample, sign), below=below) for sign in tried}
        fitting = {sign: (-item.unparted, item.width) for sign, item in parted.items() if item.fits}
        if fitting:
            best = max(fitting, key=fitting.__getitem__)
            return _prefer_blanks(sample, best, parted[best])
    return ",", part_lines(list_lines(sample, ","), below=False)


def _prefer_blanks(sample: str, separator: str, parted: Parted) -> tuple[str, Parted]:
    """Return blanks in place of tabs where each row has several blanks between values beside its tab."""
    wide = all(any("  " in cell.strip() for cell in line.cells) for line in parted.lines)
    blanks = part_lines(list_lines(sample, BLANKS), below=False) if separator == "\t" and wide else None
    return (separator, parted) if blanks is None or not blanks.fits else (BLANKS, blanks)


def is_header(first: Sequence[str], rows: Sequence[Sequence[str]]) -> bool:
    """Return whether a first row names columns: more of its cells are unlike the values below them than like these.

    Like them is a number above numbers, or a text that comes again; numbers that count up, such as years, are names.
    """
    numbers = [parse_number(cell) for cell in first if _is_number(cell) and cell.strip() not in MISSING]
    if len(numbers) >= _COUNTED and all(late - early == 1 for early, late in pairwise(numbers)):
        return True
    unlike = like = 0
    other_rows = [row for row in rows if list(row) != list(first)]
    for cell, *below in zip_longest(first, *other_rows, fillvalue=""):
        values = [value.strip() for value in below if value.strip() not in MISSING]
        if cell.strip() in MISSING or not values:
            continue
        if all(map(_is_number, values)):
            like, unlike = (like + 1, unlike) if _is_number(cell.strip()) else (like, unlike + 1)
        else:
            like += cell.strip() in values
    return like <= unlike


def find_decimal(rows: Sequence[Sequence[str]], separator: str) -> str:
    """Return the sign before decimals: a comma where numbers with it fill a column, and points only part thousands."""
    if separator == ",":
        return "."
    columns = [[cell.strip() for cell in column if cell.strip()] for column in zip_longest(*rows, fillvalue="")]
    commas = [cells for cells in columns if any(map(_WITH_COMMA.fullmatch, cells)) and all(map(_is_number, cells))]
    cells_with_comma = [cell for cells in commas for cell in cells if "," in cell]
    may_part = all(map(_THOUSANDS.fullmatch, cells_with_comma))
    points = [cell for cells in columns for cell in cells if _WITH_POINT.fullmatch(cell)]
    no_decimals = not points or (not may_part and all(map(_BY_POINTS.fullmatch, points)))
    return "," if cells_with_comma and no_decimals and not (separator != ";" and may_part) else "."


def _is_number(cell: str) -> bool:
    return not math.isnan(parse_number(cell.replace(",", "."))) or cell in MISSING
