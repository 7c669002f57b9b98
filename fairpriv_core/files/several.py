"""Several files of one shape as one table: a zip of CSV or of Parquet, whose rows follow in the order of names."""

from __future__ import annotations

import codecs
import csv
import re
import zipfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path, PurePath, PurePosixPath
from shutil import copyfileobj
from tempfile import TemporaryDirectory
from typing import IO

import pyarrow as pa
from pyarrow import dataset

from fairpriv_core.files.faults import check_size, fault

_BLOCK = 1 << 20
BLANKS = " "  # any number of blanks and tabs between two values
#: what may stand between values, and what it is called
SEPARATORS: Mapping[str, str] = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars", BLANKS: "blanks"}
_WIDE = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE, codecs.BOM_UTF32_BE)
_PACKED = (b"\x1f\x8b", b"PK\x03\x04", b"\xd0\xcf\x11\xe0", b"PAR1")
_PARQUET = b"PAR1"
_SEPARATOR_LINE = re.compile(rb"sep=.\r?\n", re.IGNORECASE)  # of Excel
_KEY = re.compile(r"[^/\\=]+=[^/\\=]+")  # a folder that says a value of all rows in it, such as sex=f
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
    counts: Counter[str] = Counter()
    with zipfile.ZipFile(target, "w") as packed:
        for name, source in sorted(sources, key=lambda each: each[0]):
            counts[name] += 1
            path = PurePath(name)
            unique = name if counts[name] == 1 else f"{path.stem}_{counts[name]}{path.suffix}"
            with packed.open(zipfile.ZipInfo(unique), "w", force_zip64=True) as member:  # a ZipInfo has no date
                copyfileobj(source, member, _BLOCK)
    with zipfile.ZipFile(target) as packed:
        if not are_parquet(packed):
            for _ in read_members(packed, list_members(packed)):
                pass


def list_parts(folder: Path) -> list[Path]:
    """Return the Parquet files in a folder and those below it, by their names; none that are hidden."""
    paths = sorted(path for path in folder.rglob("*.parquet") if path.is_file())
    return [path for path in paths if not any(part[:1] in "._" for part in path.relative_to(folder).parts)]


def are_parquet(packed: zipfile.ZipFile) -> bool:
    """Return whether the files of a zip are Parquet; BadInput where only some are."""
    kinds = {member.filename: _is_parquet(packed, member) for member in list_members(packed)}
    if any(kinds.values()) and not all(kinds.values()):
        other_name = next(name for name, kind in kinds.items() if not kind)
        raise fault(f"{other_name} is no Parquet, and other files beside it are; put them into files of their own.")
    return any(kinds.values())


def _is_parquet(packed: zipfile.ZipFile, member: zipfile.ZipInfo) -> bool:
    with packed.open(member) as file:
        return file.read(len(_PARQUET)) == _PARQUET


@contextmanager
def open_parts(path: Path, limit_bytes: int | None = None) -> Iterator[dataset.Dataset]:
    """Give a Parquet file, or a zip of several that are one table, in the order of names.

    Folders such as `sex=f` say a value of all rows of the files in them. BadInput where columns differ, or where the
    files are larger than the limit once they are unpacked.
    """
    if not zipfile.is_zipfile(path):
        yield dataset.dataset([str(path)], format="parquet")
        return
    with TemporaryDirectory() as folder, zipfile.ZipFile(path) as packed:
        members = list_members(packed)
        _unpack_parts(path.name, packed, members, Path(folder), limit_bytes)
        parts = dataset.dataset(folder, format="parquet", partitioning="hive")
        first, *other_schemas = [fragment.physical_schema for fragment in parts.get_fragments()]
        for member, schema in zip(members[1:], other_schemas, strict=True):
            if not schema.equals(first):
                raise fault(f"{member.filename} has other columns than {members[0].filename}; {_THE_SAME}.")
        yield parts


def _unpack_parts(
    name: str, packed: zipfile.ZipFile, members: Sequence[zipfile.ZipInfo], folder: Path, limit_bytes: int | None
) -> None:
    """Write each file into a folder of its own, by its number, below folders that say a value of its rows."""
    size = 0
    for number, member in enumerate(members):
        keys = [part for part in PurePosixPath(member.filename).parts[:-1] if _KEY.fullmatch(part)]
        place = Path(folder, f"{number:08}", *keys)
        place.mkdir(parents=True)
        with packed.open(member) as file, (place / "part.parquet").open("wb") as target:
            while block := file.read(_BLOCK):
                size += target.write(block)
                check_size(name, size, limit_bytes=limit_bytes, unpacked=True)


def read_batches(parts: dataset.Dataset, rows: int, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
    """Yield the rows of Parquet files in their order, a few thousand at a time."""
    yield from parts.to_batches(columns=list(columns), batch_size=rows, batch_readahead=1, fragment_readahead=1)


def list_members(packed: zipfile.ZipFile) -> list[zipfile.ZipInfo]:
    """Return the files of a zip by their names; what macOS adds to each is none."""
    files = [file for file in packed.infolist() if not file.is_dir() and not file.filename.startswith("__MACOSX/")]
    plain = [file for file in files if PurePosixPath(file.filename).name[:1] not in "._"]  # as Spark's _SUCCESS
    files = plain or files
    return sorted(files, key=lambda member: member.filename)


def read_members(packed: zipfile.ZipFile, members: Sequence[zipfile.ZipInfo]) -> Iterator[bytes]:
    """Give the bytes of files that have the same columns, the line that names them once.

    Raises BadInput, naming file and column, where a file has others, or is no text in UTF-8 or a plain encoding.
    """
    first: _Header | None = None
    for member in members:
        with packed.open(member) as file:
            lines = iter(partial(file.readline, _BLOCK), b"")
            line = next((line for line in lines if line.strip()), b"")
            head = line if _SEPARATOR_LINE.fullmatch(line.removeprefix(codecs.BOM_UTF8)) else b""
            line = next((line for line in lines if line.strip()), b"") if head else line
            header = _read_header(member.filename, line)
            if first is None:
                first = header
                yield head + line
            elif header != first:
                raise fault(_format_difference(members[0].filename, first, member.filename, header))
            last = line
            for block in iter(lambda: file.read(_BLOCK), b""):
                last = block
                yield block
            if not last.endswith(b"\n"):
                yield b"\n"


def _read_header(name: str, line: bytes) -> _Header:
    if not line:
        raise fault(f"{name} is empty; leave it out, or give it the header and rows.")
    if line.startswith(_PACKED) or line.lstrip()[:1] in (b"{", b"[", b"@"):
        raise fault(f"{name} is no CSV; several files at once must be CSV or Parquet.")
    if line.startswith(_WIDE):
        raise fault(f"{name} is in UTF-16 or UTF-32; save several files as UTF-8.")
    try:
        text, is_utf8 = line.decode("utf-8-sig"), True
    except UnicodeDecodeError:
        text, is_utf8 = line.decode("latin-1"), False
    if text.count('"') % 2:
        raise fault(f"the first line of {name} opens a quotation mark and does not close it; name columns in one line.")
    splits = {separator: _split(text, separator) for separator in SEPARATORS if separator != BLANKS}
    separator = max(splits, key=lambda each: len(splits[each]))
    return _Header(splits[separator], separator, is_utf8)


def _split(text: str, separator: str) -> tuple[str, ...]:
    try:
        return tuple(name.strip() for name in next(csv.reader([text.strip("\r\n")], delimiter=separator), []))
    except csv.Error:
        return ()


def _format_difference(first: str, first_header: _Header, second: str, header: _Header) -> str:
    """Return in which column two files differ."""
    if first_header.separator != header.separator:
        between, usual = SEPARATORS[header.separator], SEPARATORS[first_header.separator]
        return f"{second} has {between} between values, and {first} has {usual}; save both alike."
    if first_header.is_utf8 != header.is_utf8:
        return f"{second} and {first} are in different encodings; save both as UTF-8."
    for name in first_header.names:
        if name not in header.names:
            return f"{second} has no column '{name}', which {first} has; {_THE_SAME}."
    for name in header.names:
        if name not in first_header.names:
            return f"{second} has a column '{name}', which {first} has not; {_THE_SAME}."
    pairs = enumerate(zip(header.names, first_header.names, strict=False), 1)
    place, (name, usual) = next(((place, pair) for place, pair in pairs if pair[0] != pair[1]), (0, ("", "")))
    if not place:
        return f"{second} names a column twice, and {first} does not; {_THE_SAME}."
    return f"column {place} of {second} is '{name}', and that of {first} is '{usual}'; {_THE_SAME}."
