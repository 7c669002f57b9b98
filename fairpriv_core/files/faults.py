"""What is wrong with a person's file, in one sentence that says where and what to do."""

from __future__ import annotations

import codecs
import csv
import io
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

from fairpriv_core.errors import BadInput

#: what names of tables end with
ENDINGS = (
    *(".csv", ".tsv", ".data", ".gz", ".zip", ".xlsx", ".xls", ".xlsb", ".ods", ".parquet"),
    *(".arff", ".json", ".jsonl", ".ndjson"),
)
#: of one file
MOST_COLUMNS = 2_000
_BLOCK = 1 << 20
_MEGABYTE = 1_000_000
_MOST_NAMED = 20


def check_file(path: Path, *, limit_bytes: int | None = None) -> None:
    """Raise BadInput unless `path` is a readable file, neither empty nor above the limit."""
    if path.is_dir():
        raise fault(_explain_folder(path))
    if not path.is_file():
        raise fault(f"there is no file {path}; check the path.")
    size = path.stat().st_size
    if size == 0:
        raise fault(f"{path.name} is empty; it needs a header line and rows.")
    check_size(path.name, size, limit_bytes=limit_bytes)
    try:
        path.open("rb").close()
    except OSError as error:
        raise fault(f"{path.name} cannot be read ({error.strerror}).") from error


def _explain_folder(path: Path) -> str:
    """Return the sentence for a folder in place of a file: most likely one of images."""
    if any(path.rglob("*.parquet")):
        return f"{path} is a folder of Parquet files; zip it and name the zip, or give it to fairpriv train --file."
    names = sorted(member.name for member in path.iterdir() if member.suffix.lower() in ENDINGS)
    listed = f"give {' or '.join(names[:3])} in it" if names else "put a table into it"
    return f"there is no file {path}, only a folder; {listed} that names each image, its label and sensitive attribute."


def check_size(name: str, size: int, *, limit_bytes: int | None, unpacked: bool = False) -> None:
    """Raise BadInput for a file of `size` bytes, or so many once it is unpacked, above the limit; None is no limit."""
    if limit_bytes is not None and size > limit_bytes:
        raise fault(
            f"{name} has {size / _MEGABYTE:.1f} MB{' unpacked' if unpacked else ''} and the limit is "
            f"{limit_bytes / _MEGABYTE:g} MB; use fewer rows, or fairpriv train --csv, which takes a file of any size."
        )


def read_header(name: str, stream: BinaryIO, *, separator: str = ",") -> tuple[int, list[str]]:
    """Return the number of empty lines before the header of a CSV in UTF-8, and its names without surrounding blanks.

    Raises BadInput, which calls the file `name`, where it has nothing but empty lines or is no CSV.
    """
    text = read_start(stream)
    rows = csv.reader(io.StringIO(text, newline=""), delimiter=separator)
    try:
        blank, header = next(((count, row) for count, row in enumerate(rows) if row), (0, []))
    except csv.Error as error:
        raise fault(f"the header line of {name} cannot be read ({error}).") from error
    if not header:
        raise fault(f"{name} is empty; it needs a header line and rows.")
    return blank, [name.strip() for name in header]


def read_start(stream: BinaryIO) -> str:
    """Return the first lines of a text in UTF-8, whole ones where it has several, without a mark at its start."""
    start = stream.read(_BLOCK)
    lines = start[: start.rfind(b"\n") + 1] or start if len(start) == _BLOCK else start
    return lines.decode("utf-8-sig", errors="replace")


def check_header(path: Path, header: Sequence[str]) -> None:
    """Raise BadInput for a header that names a column twice or has more than MOST_COLUMNS."""
    if len(header) > MOST_COLUMNS:
        raise fault(f"{path.name} has {len(header):,} columns, and at most {MOST_COLUMNS:,} are read; leave some out.")
    twice = sorted(name for name, count in Counter(header).items() if name and count > 1)
    if twice:
        names = ", ".join(f"'{_shorten(name)}'" for name in twice[:5])
        raise fault(f"{path.name} has more than one column named {names}; rename them so that each is unique.")


def check_several(path: Path, columns: Sequence[str]) -> None:
    """Raise BadInput for a table of one column, which nothing can be learned from."""
    if len(columns) < 2:
        only = columns[0] if columns else ""
        raise fault(
            f"{path.name} has one column, '{_shorten(only)}'; it needs a label, a sensitive attribute and a feature."
        )


def explain(
    error: Exception, path: Path, header: Sequence[str], *, row: tuple[int | None, int, str] | None
) -> BadInput:
    """Return the sentence for a parser's error; `row` is (number or None, its fields, its text) of a ragged row."""
    text = str(error)
    if row is not None:
        number, fields, content = row
        where = f"row {number}" if number is not None else "a row"
        return fault(
            f"{path.name}: {where} has {fields} fields, the header {len(header)}: '{_shorten(content)}'; "
            f"correct that row or quote its text."
        )
    if "Could not skip" in text:  # the header is all there is
        return no_rows(path)
    if "straddling" in text:
        return fault(f"{path.name}: a row is longer than a block; look for a quotation mark that is never closed.")
    if "Empty CSV" in text:
        return fault(f"{path.name} is empty; it needs a header line and rows.")
    return fault(f"{path.name} cannot be read: {_shorten(' '.join(text.split()), 200).rstrip('.')}.")


def no_rows(path: Path) -> BadInput:
    """Return the sentence for a file that has a header and nothing else."""
    return fault(f"{path.name} has a header and no rows; it needs rows to learn from.")


def find_bad_byte(name: str, file: BinaryIO) -> str:
    """Return the sentence that names the first byte that is not UTF-8."""
    decoder = codecs.getincrementaldecoder("utf-8")()
    line, offset = 1, 0
    while block := file.read(_BLOCK):
        n_pending = len(decoder.getstate()[0])
        try:
            decoder.decode(block)
        except UnicodeDecodeError as error:
            at = error.start - n_pending
            line += block[: max(at, 0)].count(b"\n")
            return (
                f"{name} is UTF-8 with a fault: byte 0x{error.object[error.start]:02X} in line {line} (byte "
                f"{offset + at + 1} of the file) is none; correct that line, or save the file anew as UTF-8."
            )
        line += block.count(b"\n")
        offset += len(block)
    return f"{name} is not UTF-8: its last character is cut off; save the file as UTF-8."


def fault(sentence: str) -> BadInput:
    """Return the error that says what is wrong with a file."""
    return BadInput(sentence, field="file")


def refuse_stated(name: str, value: object, right: str) -> BadInput:
    """Return the error for what a file's owner states of its form and cannot be; `right` is what it must be."""
    return fault(f"{name} '{_shorten(str(value))}' of the file must be {right}.")


def _shorten(text: str, limit: int = 60) -> str:
    return text if len(text) <= limit else f"{text[: limit - 1]}…"


def name_columns(names: Sequence[str]) -> str:
    """Return the names of columns for a sentence: the first, and how many more there are.

    >>> name_columns(["age"]), name_columns(["age", "sex"])
    ("column 'age'", "columns 'age', 'sex'")
    """
    listed = ", ".join(f"'{_shorten(name)}'" for name in names[:_MOST_NAMED])
    more = f" and {len(names) - _MOST_NAMED} more" if len(names) > _MOST_NAMED else ""
    return f"column{'' if len(names) == 1 else 's'} {listed or '(none)'}{more}"
