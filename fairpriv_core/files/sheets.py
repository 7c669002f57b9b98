"""Workbooks: Excel (.xlsx, .xls, .xlsb) and OpenDocument (.ods). Which of their sheets holds a table, and its cells."""

from __future__ import annotations

import io
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Iterator
from datetime import date, datetime, time
from itertools import chain
from pathlib import Path
from subprocess import DEVNULL
from typing import Any, BinaryIO
from xml.etree import ElementTree

from python_calamine import CalamineWorkbook

from fairpriv_core.files.faults import check_size, fault

_BLOCK = 1 << 20
_PART_HEADER = 30  # bytes of a zip's header of a part, before the part's name
_CONTENT = "content.xml"  # of an OpenDocument file
_WHOLE = 2**53
_TRY_SECONDS = 60
_TRY = """
import resource, sys
resource.setrlimit(resource.RLIMIT_AS, (1 << 31, 1 << 31))
from python_calamine import CalamineWorkbook
with CalamineWorkbook.from_path(sys.argv[1]) as book:
    for name in book.sheet_names:
        book.get_sheet_by_name(name)
"""
_CELL_BYTES = 4  # in memory, at least


def is_workbook(packed: zipfile.ZipFile) -> bool:
    """Return whether a zip is a workbook of Excel or an OpenDocument file."""
    names = set(packed.namelist())
    return any(name.startswith("xl/workbook") for name in names) or {"mimetype", _CONTENT} <= names


def read_sheets(path: Path, *, only: str = "", decimal: str = ".") -> dict[str, list[list[str]]]:
    """Return the cells of each sheet of a workbook by its name, or of one, all rows from the first on, as in a CSV."""
    with CalamineWorkbook.from_path(str(path)) as book:
        sheets = {name: book.get_sheet_by_name(name) for name in book.sheet_names if only in ("", name)}
        return {
            name: [[]] * (sheet.start[0] if sheet.start else 0)
            + [[_spell(cell, decimal) for cell in row] for row in sheet.to_python()]
            for name, sheet in sheets.items()
        }


def check_unpacked(path: Path, limit_bytes: int | None) -> None:
    """Raise BadInput where a workbook is larger than the limit once it is unpacked: by its directory, or in truth.

    What reads workbooks unpacks a part to its end, whatever the directory says of its size, and repeats a cell of
    OpenDocument as often as it says.
    """
    with zipfile.ZipFile(path) as packed, path.open("rb") as file:
        parts = packed.infolist()
        check_size(path.name, sum(part.file_size for part in parts), limit_bytes=limit_bytes, unpacked=True)
        size = 0
        for block in chain.from_iterable(_unpack_part(file, part) for part in parts if limit_bytes is not None):
            size += len(block)
            check_size(path.name, size, limit_bytes=limit_bytes, unpacked=True)
        for cells in _count_cells(packed):
            check_size(path.name, _CELL_BYTES * cells, limit_bytes=limit_bytes, unpacked=True)


def check_old(path: Path) -> None:
    """Raise BadInput where an old Excel workbook (.xls) cannot be read within a memory that is enough for a whole one.

    Its cells say where they stand, and what reads them makes room up to the last one: a few wrong bytes would end this
    process, so another one tries first.
    """
    command = [sys.executable, "-c", _TRY, str(path)]
    try:
        ended = subprocess.run(command, stdout=DEVNULL, stderr=DEVNULL, timeout=_TRY_SECONDS, check=False).returncode
    except subprocess.TimeoutExpired:
        ended = 1
    if ended:
        raise fault(f"{path.name} is damaged, or no Excel workbook that can be read; save it as .xlsx or CSV.")


def _unpack_part(file: BinaryIO, part: zipfile.ZipInfo) -> Iterator[bytes]:
    """Yield the bytes of a zip's part until its packed data end, of which the directory may say less."""
    if part.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise zipfile.BadZipFile("a part is packed in a way that workbooks do not use")
    if part.compress_type == zipfile.ZIP_STORED:  # such a part is as large as what is read of it
        return
    file.seek(part.header_offset)
    header = file.read(_PART_HEADER)
    lengths = [int.from_bytes(header[at : at + 2], "little") for at in (26, 28)]  # of its name, and of what it adds
    file.seek(sum(lengths), io.SEEK_CUR)
    left, inflate = part.compress_size, zlib.decompressobj(-zlib.MAX_WBITS)
    while not inflate.eof and left > 0 and (packed := file.read(min(left, _BLOCK))):
        left -= len(packed)
        while packed and not inflate.eof:
            yield inflate.decompress(packed, _BLOCK)
            packed = inflate.unconsumed_tail


def _count_cells(packed: zipfile.ZipFile) -> Iterator[int]:
    """Yield how many cells an OpenDocument's sheets have so far, from their first to their last one with content."""
    if _CONTENT not in packed.namelist():
        return
    others = high = filled = wide = column = last = 0
    with packed.open(_CONTENT) as content:
        for event, element in ElementTree.iterparse(content, events=("start", "end")):
            kind = element.tag.rpartition("}")[2]
            if event == "start" and kind == "table":
                others, high, filled, wide = others + filled * wide, 0, 0, 0
            elif event == "start" and kind == "table-row":
                column = last = 0
            elif event == "end" and kind in ("table-cell", "covered-table-cell"):
                column += _repeats(element, "columns")
                last = column if len(element) or any(key.endswith("}value-type") for key in element.attrib) else last
                element.clear()
            elif event == "end" and kind == "table-row":
                high += _repeats(element, "rows")
                filled, wide = (high, max(wide, last)) if last else (filled, wide)
                element.clear()
                yield others + filled * wide


def _repeats(element: ElementTree.Element, what: str) -> int:
    said = next((value for key, value in element.attrib.items() if key.endswith(f"number-{what}-repeated")), "1")
    return int(said) if said.isascii() and said.isdigit() else 1


def _spell(cell: Any, decimal: str) -> str:
    """Return a cell as a CSV has it: whole numbers without a point, a day without its time."""
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < _WHOLE else repr(cell).replace(".", decimal)
    if isinstance(cell, datetime):
        return (cell.date() if cell.time() == time() else cell).isoformat()
    return cell.isoformat() if isinstance(cell, date | time) else str(cell)
