"""Several files of one shape as one table: a zip of CSV files, whose rows follow each other in the order of names."""

from __future__ import annotations

import codecs
import csv
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from shutil import copyfileobj
from typing import IO

from fairpriv_core.data.faults import fault

_BLOCK = 1 << 20
#: what may stand between values, and what it is called
SEPARATORS: Mapping[str, str] = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}
_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)
_PACKED = (b"\x1f\x8b", b"PK\x03\x04", b"\xd0\xcf\x11\xe0", b"PAR1")
_THE_SAME = "several files need the same columns in the same order"


@dataclass(frozen=True)
class _Header:
    """The first line of a file: its names, what stands between them, and whether it is UTF-8."""

    names: tuple[str, ...]
    separator: str
    is_utf8: bool


def name_joined(names: Sequence[str]) -> str:
    """Return what several files that are one table are called.

    >>> name_joined(["feb.csv", "jan.csv", "mar.csv"])
    'feb.csv and 2 more.zip'
    """
    return f"{min(names)} and {len(names) - 1} more.zip"


def join_files(sources: Sequence[tuple[str, IO[bytes]]], target: IO[bytes]) -> None:
    """Write files of rows, each with its name, into one zip: the same bytes in whatever order and whenever.

    Files of one name get a number, in the order in which they come. BadInput, naming file and column, where they are
    not of one shape.
    """
    counted: Counter[str] = Counter()
    with zipfile.ZipFile(target, "w") as packed:
        for name, source in sorted(sources, key=lambda each: each[0]):
            counted[name] += 1
            path = PurePath(name)
            unique = name if counted[name] == 1 else f"{path.stem}_{counted[name]}{path.suffix}"
            with packed.open(zipfile.ZipInfo(unique), "w", force_zip64=True) as member:  # a ZipInfo has no date
                copyfileobj(source, member, _BLOCK)
    with zipfile.ZipFile(target) as packed:
        for _ in read_members(packed, list_members(packed)):
            pass


def list_members(packed: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """Return the files of a zip by their names; what macOS adds to each is none."""
    files = [each for each in packed.infolist() if not each.is_dir() and not each.filename.startswith("__MACOSX/")]
    return sorted(files, key=lambda each: each.filename)


def read_members(packed: zipfile.ZipFile, members: Sequence[zipfile.ZipInfo]) -> Iterator[bytes]:
    """Give the bytes of files that have the same columns, the line that names them once.

    Raises BadInput, naming file and column, where a file has others, or is no text in UTF-8 or a plain encoding.
    """
    first: _Header | None = None
    for each in members:
        with packed.open(each) as member:
            line = next((line for line in iter(lambda: member.readline(_BLOCK), b"") if line.strip()), b"")
            header = _read_header(each.filename, line)
            if first is None:
                first = header
                yield line
            elif header != first:
                raise fault(_tell_difference(members[0].filename, first, each.filename, header))
            last = line
            for block in iter(lambda: member.read(_BLOCK), b""):
                last = block
                yield block
            if not last.endswith(b"\n"):
                yield b"\n"


def _read_header(name: str, line: bytes) -> _Header:
    if not line:
        raise fault(f"{name} is empty; leave it out, or give it the header and rows.")
    if line.startswith(_PACKED):
        raise fault(f"{name} is no CSV; several files at once must be CSV.")
    if line.startswith(_WIDE):
        raise fault(f"{name} is in UTF-16 or UTF-32; save several files as UTF-8.")
    try:
        text, is_utf8 = line.decode("utf-8-sig"), True
    except UnicodeDecodeError:
        text, is_utf8 = line.decode("latin-1"), False
    if text.count('"') % 2:
        raise fault(f"the first line of {name} opens a quotation mark and does not close it; name columns in one line.")
    splits = {separator: _split(text, separator) for separator in SEPARATORS}
    separator = max(splits, key=lambda each: len(splits[each]))
    return _Header(splits[separator], separator, is_utf8)


def _split(text: str, separator: str) -> tuple[str, ...]:
    try:
        return tuple(name.strip() for name in next(csv.reader([text.strip("\r\n")], delimiter=separator), []))
    except csv.Error:
        return ()


def _tell_difference(first: str, there: _Header, other: str, here: _Header) -> str:
    """Return in which column two files differ."""
    if there.separator != here.separator:
        between, usual = SEPARATORS[here.separator], SEPARATORS[there.separator]
        return f"{other} has {between} between values, and {first} has {usual}; save both alike."
    if there.is_utf8 != here.is_utf8:
        return f"{other} and {first} are in different encodings; save both as UTF-8."
    for name in there.names:
        if name not in here.names:
            return f"{other} has no column '{name}', which {first} has; {_THE_SAME}."
    for name in here.names:
        if name not in there.names:
            return f"{other} has a column '{name}', which {first} has not; {_THE_SAME}."
    pairs = enumerate(zip(here.names, there.names, strict=False), 1)
    place, (name, usual) = next(((place, pair) for place, pair in pairs if pair[0] != pair[1]), (0, ("", "")))
    if not place:
        return f"{other} names a column twice, and {first} does not; {_THE_SAME}."
    return f"column {place} of {other} is '{name}', and that of {first} is '{usual}'; {_THE_SAME}."
