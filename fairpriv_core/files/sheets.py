"""Workbooks: Excel (.xlsx, .xls, .xlsb) and OpenDocument (.ods). Which of their sheets holds a table, and its cells."""

from __future__ import annotations

import io
import subprocess
import sys
import zipfile
import zlib
from collections.abc import Iterator
from datetime import date, datetime, time
from pathlib import Path
from subprocess import DEVNULL, PIPE
from typing import Any, BinaryIO

from python_calamine import CalamineWorkbook

from fairpriv_core.files.faults import check_size, fault
from fairpriv_core.files.sheet_extent import Extent

_BLOCK = 1 << 20
_PART_HEADER = 30  # bytes of a zip's header of a part, before the part's name
_CONTENT = "content.xml"  # of an OpenDocument file
_BINARY = "xl/workbook.bin"  # of .xlsb
_WHOLE = 2**53
_TRY_SECONDS = 60


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


def check_sheets(path: Path, limit_bytes: int | None) -> None:
    """Raise BadInput where a workbook is larger than the limit once it is unpacked, or its sheets are mostly empty.

    What reads workbooks unpacks a part to its end, whatever the directory says of its size, makes room for each cell
    up to a sheet's last one, and repeats a cell of OpenDocument as often as it says.
    """
    if not zipfile.is_zipfile(path) or _check_parts(path, limit_bytes) or limit_bytes is not None:
        _try_apart(path, limit_bytes)


def _check_parts(path: Path, limit_bytes: int | None) -> bool:
    """Check what a zip unpacks to and how far sheets reach in XML; return whether its sheets are none."""
    with zipfile.ZipFile(path) as packed, path.open("rb") as file:
        parts = packed.infolist()
        check_size(path.name, sum(part.file_size for part in parts), limit_bytes=limit_bytes, unpacked=True)
        size, extent = 0, Extent(path.name)
        for part in parts:
            for count in extent.read(_unpack_part(file, part)):
                size += count
                check_size(path.name, max(size, extent.size), limit_bytes=limit_bytes, unpacked=True)
        return _BINARY in packed.namelist()


def _try_apart(path: Path, limit_bytes: int | None) -> None:
    """Raise BadInput unless a process of its own, of limited memory, reads a workbook and finds it within the limit.

    Cells of binary workbooks say where they stand, and texts are named as often as one likes: a few bytes would end
    this process.
    """
    command = [sys.executable, "-m", "fairpriv_core.files.sheet_trial", str(path), str(limit_bytes or sys.maxsize)]
    try:
        tried = subprocess.run(command, stdout=PIPE, stderr=DEVNULL, timeout=_TRY_SECONDS, check=False)
    except subprocess.TimeoutExpired:
        tried = None
    if tried is None or tried.returncode:
        raise fault(
            f"{path.name} is damaged, no workbook, or needs more memory than any table may; save the table as CSV."
        )
    check_size(path.name, int(tried.stdout), limit_bytes=limit_bytes, unpacked=True)


def _unpack_part(file: BinaryIO, part: zipfile.ZipInfo) -> Iterator[bytes]:
    """Yield the bytes of a zip's part until its packed data end, of which the directory may say less."""
    if part.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        raise zipfile.BadZipFile("a part is packed in a way that workbooks do not use")
    file.seek(part.header_offset)
    header = file.read(_PART_HEADER)
    lengths = [int.from_bytes(header[at : at + 2], "little") for at in (26, 28)]  # of its name, and of what it adds
    file.seek(sum(lengths), io.SEEK_CUR)
    n_bytes = part.compress_size
    if part.compress_type == zipfile.ZIP_STORED:
        while n_bytes > 0 and (plain := file.read(min(n_bytes, _BLOCK))):
            n_bytes -= len(plain)
            yield plain
        return
    inflate = zlib.decompressobj(-zlib.MAX_WBITS)
    while not inflate.eof and n_bytes > 0 and (packed := file.read(min(n_bytes, _BLOCK))):
        n_bytes -= len(packed)
        while packed and not inflate.eof:
            yield inflate.decompress(packed, _BLOCK)
            packed = inflate.unconsumed_tail


def _spell(cell: Any, decimal: str) -> str:
    """Return a cell as a CSV has it: whole numbers without a point, a day without its time."""
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < _WHOLE else repr(cell).replace(".", decimal)
    if isinstance(cell, datetime):
        return (cell.date() if cell.time() == time() else cell).isoformat()
    return cell.isoformat() if isinstance(cell, date | time) else str(cell)
