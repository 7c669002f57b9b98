"""The form of a person's file of rows: packing, encoding, separator and decimal sign; and its rows as plain UTF-8.

A form is found by what the file holds. Reading goes on in blocks, whatever the form; a workbook alone is read whole.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import math
import re
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import date, datetime, time
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import Any, BinaryIO, Literal, cast

from python_calamine import CalamineError, CalamineWorkbook

from fairpriv_core.data.faults import check_size, fault, find_bad_byte, read_header, read_start
from fairpriv_core.data.several import SEPARATORS, list_members, read_members
from fairpriv_core.data.spelling import MISSING, parse_number

_BLOCK = 1 << 20
_SAMPLE_ROWS = 200
_MOST_RAGGED = 0.1  # of the sampled rows: with a separator more are of another length, it is none
_MARKS = {  # the longest first: a mark of UTF-16 begins one of UTF-32
    codecs.BOM_UTF32_LE: "utf-32",
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
    codecs.BOM_UTF8: "utf-8-sig",
}
_WESTERN, _LATIN = "cp1252", "latin-1"
_NOT_WESTERN = bytes([0x81, 0x8D, 0x8F, 0x90, 0x9D])  # stand for nothing in Windows-1252
_WHOLE = 2**53
_NAMES = {"utf-16": "UTF-16", "utf-32": "UTF-32", _WESTERN: "Windows-1252 (Western European)", _LATIN: "Latin-1"}
_GZIP, _ZIP, _OLD_WORKBOOK, _PARQUET = b"\x1f\x8b", b"PK\x03\x04", b"\xd0\xcf\x11\xe0", b"PAR1"
_PART_HEADER = 30  # bytes of a zip's header of a part, before the part's name
_SHEETS = "xl/workbook"  # a file of this name makes a zip a workbook
_WITH_COMMA, _WITH_POINT = re.compile(r"[+-]?\d*,\d+"), re.compile(r"[+-]?\d*\.\d+")
_THOUSANDS = re.compile(r"[+-]?\d{1,3}(,\d{3})+")
_UNPACKING = (
    *(OSError, EOFError, zlib.error, zipfile.BadZipFile, NotImplementedError, RuntimeError, CalamineError),
    UnicodeDecodeError,
)


@dataclass(frozen=True)
class Form:
    """How a file of rows is written down; `encoding` is one of Python's names, `decimal` the sign in its numbers.

    A zip may hold several `files` of one shape, whose rows follow each other in the order of the files' names.
    """

    packing: Literal["", "gzip", "zip", "workbook", "parquet"] = ""
    encoding: str = "utf-8"
    separator: str = ","
    decimal: str = "."
    files: int = 1

    @property
    def is_plain(self) -> bool:
        """Whether the file's own bytes are its rows as UTF-8."""
        return not self.packing and self.encoding in ("utf-8", "utf-8-sig")

    def describe(self) -> str:
        """Return what is unusual, such as "as Latin-1, with decimal commas"; "" for nothing."""
        said = [f"{SEPARATORS[self.separator]} between values"] if self.separator != "," else []
        said += ["decimal commas"] if self.decimal == "," else []
        named = [f"as {self.files} files in the order of their names"] if self.files > 1 else []
        named += [f"as {_NAMES[self.encoding]}"] if self.encoding in _NAMES else []
        return ", ".join(named + ([f"with {' and '.join(said)}"] if said else []))


def find_form(path: Path, *, limit_bytes: int | None = None) -> Form:
    """Return the form of the file at `path`, which has been found to be one.

    Text that is not UTF-8 is taken for Windows-1252, unless some of it is UTF-8 beyond ASCII. A comma is a decimal sign
    only in numbers between other separators, and where it does not part thousands.

    Raises BadInput for what is no table, cannot be unpacked, or is larger than the limit once it is.
    """
    packing = _find_packing(path)
    if packing == "parquet":
        return Form(packing)
    if packing == "workbook":
        _check_unpacked(path, limit_bytes)
        return Form(packing)
    files = _count_files(path) if packing == "zip" else 1
    encoding = _find_encoding(path, packing, limit_bytes)
    with open_rows(path, Form(packing, encoding)) as stream:
        sample = read_start(stream)
    separator = _find_separator(sample)
    return Form(packing, encoding, separator, _find_decimal(_list_rows(sample, separator), separator), files)


@contextmanager
def open_rows(path: Path, form: Form) -> Iterator[BinaryIO]:
    """Give a file's rows as a stream of UTF-8; those of a workbook's first sheet as CSV.

    Raises BadInput where the file is damaged, also while the stream is read.
    """
    with _explain(path):
        if form.packing == "workbook":
            yield io.BytesIO(_write_sheet(path))
            return
        with _unpack(path, form.packing) as stream:
            yield (
                stream
                if form.encoding in ("utf-8", "utf-8-sig")
                else cast(BinaryIO, _Joined(_recode(stream, form.encoding)))
            )


def read_names(path: Path, form: Form) -> tuple[int, list[str]]:
    """Return how many empty lines a file of text has before its header, and the header's names."""
    with open_rows(path, form) as stream:
        return read_header(path.name, stream, separator=form.separator)


def _find_packing(path: Path) -> Literal["", "gzip", "zip", "workbook", "parquet"]:
    with path.open("rb") as file:
        start = file.read(4)
    if start == _PARQUET:
        return "parquet"
    if start.startswith(_GZIP):
        return "gzip"
    if start == _OLD_WORKBOOK:
        raise fault(f"{path.name} is an old Excel workbook; save it as .xlsx or its sheet as CSV.")
    if start != _ZIP:
        return ""
    with _explain(path), zipfile.ZipFile(path) as packed:
        return "workbook" if any(name.startswith(_SHEETS) for name in packed.namelist()) else "zip"


def _check_unpacked(path: Path, limit_bytes: int | None) -> None:
    """Raise BadInput where a workbook is larger than the limit once it is unpacked: by its directory, or in truth.

    What reads workbooks unpacks a part to its end, whatever the directory says of its size.
    """
    with _explain(path), zipfile.ZipFile(path) as packed, path.open("rb") as file:
        parts = packed.infolist()
        check_size(path.name, sum(part.file_size for part in parts), limit_bytes=limit_bytes, unpacked=True)
        size = 0
        for block in chain.from_iterable(_unpack_part(file, part) for part in parts if limit_bytes is not None):
            size += len(block)
            check_size(path.name, size, limit_bytes=limit_bytes, unpacked=True)


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


@contextmanager
def _explain(path: Path) -> Iterator[None]:
    """Say in a sentence that a file cannot be unpacked or decoded."""
    try:
        yield
    except _UNPACKING as error:
        raise fault(f"{path.name} cannot be read ({str(error)[:80] or type(error).__name__}).") from error


@contextmanager
def _unpack(path: Path, packing: str) -> Iterator[BinaryIO]:
    if packing == "gzip":
        with gzip.open(path) as unpacked:
            yield cast(BinaryIO, unpacked)
    elif packing == "zip":
        with zipfile.ZipFile(path) as packed, _open_members(path, packed) as rows:
            yield rows
    else:
        with path.open("rb") as file:
            yield file


def _count_files(path: Path) -> int:
    with _explain(path), zipfile.ZipFile(path) as packed:
        return len(list_members(packed))


@contextmanager
def _open_members(path: Path, packed: zipfile.ZipFile) -> Iterator[BinaryIO]:
    """Give the rows of a zip's files as one stream of bytes, with the header of the first."""
    members = list_members(packed)
    if not members:
        raise fault(f"{path.name} holds no file; put a table into it, or several of one shape.")
    if len(members) == 1:
        with packed.open(members[0]) as member:
            yield cast(BinaryIO, member)
        return
    yield cast(BinaryIO, _Joined(read_members(packed, members)))


def _find_encoding(path: Path, packing: str, limit_bytes: int | None) -> str:
    """Return the encoding of a file's text, which is read to its end."""
    with _explain(path), _unpack(path, packing) as stream:
        first = stream.read(_BLOCK)
        if first.startswith((_PARQUET, _ZIP, _GZIP)):
            raise fault(f"{path.name} holds a packed file; unpack it first.")
        found = next((name for mark, name in _MARKS.items() if first.startswith(mark)), "utf-8")
        text = _Text()
        for block in chain([first], iter(lambda: stream.read(_BLOCK), b"")):
            text.size += len(block)
            check_size(path.name, text.size, limit_bytes=limit_bytes, unpacked=bool(packing))
            if found.startswith("utf-8"):
                text.look_at(block)
        if text.is_binary:
            raise fault(f"{path.name} is no text: it holds zero bytes; save it as CSV in UTF-8.")
        if text.is_cut or (text.is_broken and text.is_beyond):
            raise fault(_locate_bad_byte(path, packing))
    return (_LATIN if text.is_latin else _WESTERN) if text.is_broken else found


def _locate_bad_byte(path: Path, packing: str) -> str:
    with _unpack(path, packing) as stream:
        return find_bad_byte(path.name, stream)


@dataclass
class _Text:
    """What is known of a text after its first blocks: whether it is UTF-8 that goes beyond ASCII, or Western."""

    size: int = 0
    is_binary: bool = False
    is_broken: bool = False
    is_beyond: bool = False
    is_latin: bool = False
    _decoder: codecs.IncrementalDecoder = field(default_factory=codecs.getincrementaldecoder("utf-8"))

    @property
    def is_cut(self) -> bool:
        """Whether the text would be UTF-8 if its last character were whole."""
        return not self.is_broken and bool(self._decoder.getstate()[0])

    def look_at(self, block: bytes) -> None:
        self.is_binary = self.is_binary or b"\0" in block
        if block.isascii() and not self._decoder.getstate()[0]:
            return
        self.is_latin = self.is_latin or len(block.translate(None, _NOT_WESTERN)) < len(block)
        if self.is_broken:
            return
        try:
            self.is_beyond = not self._decoder.decode(block).isascii() or self.is_beyond
        except UnicodeDecodeError as error:
            self.is_broken = True
            self.is_beyond = self.is_beyond or not error.object[: error.start].isascii()


def _recode(stream: BinaryIO, encoding: str) -> Iterator[bytes]:
    """Give a stream of text in another encoding as UTF-8."""
    decoder = codecs.getincrementaldecoder(encoding)()
    for block in iter(lambda: stream.read(_BLOCK), b""):
        yield decoder.decode(block).encode()
    yield decoder.decode(b"", final=True).encode()


class _Joined(io.RawIOBase):
    """Blocks of bytes, as one stream."""

    def __init__(self, blocks: Iterator[bytes]) -> None:
        self._blocks, self._left = blocks, b""

    def readable(self) -> bool:
        """Return True."""
        return True

    def readinto(self, target: Any) -> int:
        """Fill `target` with the next bytes; 0 at the end."""
        while not self._left:
            block = next(self._blocks, None)
            if block is None:
                return 0
            self._left = block
        count = min(len(target), len(self._left))
        target[:count], self._left = self._left[:count], self._left[count:]
        return count


def _list_rows(sample: str, separator: str) -> list[list[str]]:
    """Return the first rows of a text that are not empty; [] where they cannot be parted so."""
    rows = csv.reader(io.StringIO(sample, newline=""), delimiter=separator)
    try:
        return list(islice((row for row in rows if row), _SAMPLE_ROWS))
    except csv.Error:
        return []


def _find_separator(sample: str) -> str:
    """Return what parts most rows into as many values as the header has names; of several the one with most names."""
    names: dict[str, int] = {}
    for separator in SEPARATORS:
        lengths = [len(row) for row in _list_rows(sample, separator)]
        ragged = sum(length != lengths[0] for length in lengths)
        if lengths and lengths[0] > 1 and ragged <= _MOST_RAGGED * len(lengths):
            names[separator] = lengths[0]
    return max(names, key=names.__getitem__, default=",")


def _find_decimal(rows: Sequence[Sequence[str]], separator: str) -> str:
    """Return the sign before decimals: a comma where numbers with it fill a column, and none have a point."""
    if separator == ",":
        return "."
    columns = [[cell.strip() for cell in column if cell.strip()] for column in zip_longest(*rows[1:], fillvalue="")]
    commas = [cells for cells in columns if any(map(_WITH_COMMA.fullmatch, cells)) and all(map(_is_number, cells))]
    points = any(_WITH_POINT.fullmatch(cell) for cells in columns for cell in cells)
    stated = [cell for cells in commas for cell in cells if "," in cell]
    thousands = separator != ";" and all(map(_THOUSANDS.fullmatch, stated))
    return "," if stated and not points and not thousands else "."


def _is_number(cell: str) -> bool:
    return not math.isnan(parse_number(cell.replace(",", "."))) or cell in MISSING


def _write_sheet(path: Path) -> bytes:
    """Return the rows of a workbook's first sheet as CSV, without rows that are empty."""
    rows = CalamineWorkbook.from_path(str(path)).get_sheet_by_index(0).to_python()
    text = io.StringIO(newline="")
    csv.writer(text, lineterminator="\n").writerows(
        [_spell(cell) for cell in row] for row in rows if any(cell != "" for cell in row)
    )
    return text.getvalue().encode(errors="replace")


def _spell(cell: Any) -> str:
    """Return a cell as a CSV has it: whole numbers without a point, a day without its time."""
    if isinstance(cell, bool):
        return str(cell).lower()
    if isinstance(cell, float):
        return str(int(cell)) if cell.is_integer() and abs(cell) < _WHOLE else repr(cell)
    if isinstance(cell, datetime):
        return (cell.date() if cell.time() == time() else cell).isoformat()
    return cell.isoformat() if isinstance(cell, date | time) else str(cell)
