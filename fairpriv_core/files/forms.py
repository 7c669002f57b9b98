"""The form of a person's file of rows: packing, encoding, what parts values, where its names are; its rows as UTF-8.

A form is found by what the file holds, unless its owner states it. Reading goes on in blocks, whatever the form; a
workbook alone is read whole.
"""

from __future__ import annotations

import codecs
import csv
import gzip
import io
import re
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields, replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Literal, cast

from python_calamine import CalamineError

from fairpriv_core.errors import BadInput
from fairpriv_core.files import notations, sheets
from fairpriv_core.files.characters import PLAIN, check_encoding, find_encoding, is_encoding, name_encoding, recode
from fairpriv_core.files.faults import fault, read_header, read_start, refuse_stated
from fairpriv_core.files.lines import (
    SAMPLE_ROWS,
    Line,
    Parted,
    find_decimal,
    find_first,
    find_separator,
    is_header,
    list_lines,
    part_lines,
)
from fairpriv_core.files.several import BLANKS, SEPARATORS, are_parquet, list_members, read_members

_GZIP, _ZIP, _OLD_WORKBOOK, _PARQUET = b"\x1f\x8b", b"PK\x03\x04", b"\xd0\xcf\x11\xe0", b"PAR1"
_SEPARATOR_LINE = re.compile(r"sep=(.)\r?\n", re.IGNORECASE)  # what Excel writes and reads as the first line
_UNPACKING = (
    *(OSError, EOFError, zlib.error, zipfile.BadZipFile, NotImplementedError, RuntimeError, CalamineError),
    UnicodeDecodeError,
)


_ANY_TEXT = ("iso8859-1", "utf-16")  # of these one decodes nearly any text


@dataclass(frozen=True)
class Stated:
    """What a file's owner states of its form: it wins over what is found; "" and None where nothing is said.

    `header` is the number of the line, from 1, that names the columns, 0 for none; `decimal` is "." or ",".
    """

    encoding: str = ""
    separator: str = ""
    decimal: str = ""
    sheet: str = ""
    header: int | None = None

    def __bool__(self) -> bool:
        return self != UNSTATED

    def to_json(self) -> dict[str, Any]:
        """Return what is said, as a schema file has it."""
        return {name: value for name, value in vars(self).items() if value not in ("", None)}


#: nothing is stated
UNSTATED = Stated()
#: words for what may stand between values, beside the sign itself
SEPARATOR_WORDS: Mapping[str, str] = {
    **{"comma": ",", "semicolon": ";", "tab": "\t", "bar": "|", "blanks": BLANKS},
    **{"commas": ",", "semicolons": ";", "tabs": "\t", "bars": "|", "\\t": "\t"},
}


def read_stated(raw: Any) -> Stated:
    """Return what a mapping, as in a schema file, states of a file's form; BadInput for what makes no sense."""
    names = [item.name for item in fields(Stated)]
    if not isinstance(raw, Mapping) or not set(raw) <= set(names):
        raise BadInput(f"file in the schema must be a table of {', '.join(names)}, got {raw}.", field="schema")
    texts = {name: str(raw.get(name, "")) for name in names if name != "header"}
    separator = SEPARATOR_WORDS.get(texts["separator"].lower(), texts["separator"])
    if len(separator) > 1 or not separator.isascii() or separator in ('"', "\n", "\r"):
        raise refuse_stated("separator", texts["separator"], 'one sign or a word, such as ";" or tab')
    if texts["decimal"] not in ("", ".", ","):
        raise refuse_stated("decimal", texts["decimal"], '"." or ","')
    encoding = texts["encoding"]
    if encoding and not is_encoding(encoding):
        raise refuse_stated("encoding", encoding, "one that Python knows, such as utf-8, cp1252 or shift_jis")
    header = raw.get("header")
    if header is not None and (isinstance(header, bool) or not isinstance(header, int) or header < 0):
        raise refuse_stated("header", header, "the number of a line from 1 on, or 0 for none")
    return Stated(codecs.lookup(encoding).name if encoding else "", separator, texts["decimal"], texts["sheet"], header)


@dataclass(frozen=True)
class Form:
    """How a file of rows is written down; `encoding` is one of Python's names, `decimal` the sign in its numbers.

    A zip may hold several `files` of one shape, whose rows follow each other in the order of the files' names. `header`
    is the line that names the columns, 0 where none does; `titles` are lines with text above it. `rows_named` says that
    each row begins with a name of its own, and `others` are a workbook's other sheets with a table.
    """

    packing: Literal["", "gzip", "zip", "workbook", "parquet"] = ""
    encoding: str = "utf-8"
    separator: str = ","
    decimal: str = "."
    files: int = 1
    notation: notations.Notation = ""
    sheet: str = ""
    others: tuple[str, ...] = ()
    header: int = 1
    titles: int = 0
    rows_named: bool = False
    names: tuple[str, ...] = field(default=(), compare=False)
    skip: int = field(default=0, compare=False)  # lines of the stream before the first row

    @property
    def is_plain(self) -> bool:
        """Whether the file's own bytes are its rows as UTF-8 with one sign between values."""
        return not (self.packing or self.notation) and self.encoding in PLAIN and self.separator != BLANKS

    @property
    def delimiter(self) -> str:
        """What stands between values in the stream of rows."""
        return "\t" if self.separator == BLANKS else self.separator

    def format(self) -> str:
        """Return what is unusual, such as "as Latin-1, with decimal commas"; "" for nothing."""
        between = SEPARATORS.get(self.separator, f"'{self.separator}'")
        parts = [] if self.separator == "," else [f"{between} between values"]
        parts += ["decimal commas"] if self.decimal == "," else []
        parts += ["no line that names its columns"] if not self.header else []
        parts += [f"rows from line {self.skip + 1:,} on"] if not self.header and self.titles else []
        parts += [f"line {self.header:,} as the names of its columns"] if self.header and self.titles else []
        parts += ["each row's first value as its name, which is left out"] if self.rows_named else []
        sources = [f"as {self.files} files in the order of their names"] if self.files > 1 else []
        sources += [f"as {self.notation.upper()}"] if self.notation else []
        sources += [f"as {name_encoding(self.encoding)}"] if name_encoding(self.encoding) else []
        sources += [f"from its sheet '{self.sheet}'"] if self.sheet else []
        listed = " and ".join([", ".join(parts[:-1]), parts[-1]] if len(parts) > 1 else parts)
        return ", ".join(sources + ([f"with {listed}"] if parts else []))

    @property
    def sentences(self) -> tuple[str, ...]:
        """All that the file's owner should know of what was found; () where nothing is unusual."""
        described = self.format()
        return (*([f"The file is read {described}."] if described else []), *self.remarks)

    @property
    def remarks(self) -> tuple[str, ...]:
        """What else the file's owner should know of what was found, a sentence each."""
        sentences = [] if self.header else ["Its columns are called column 1, column 2 and so on."]
        sentences += [f"Further sheets hold a table too: {', '.join(self.others)}."] if self.others else []
        return tuple(sentences)


def find_form(path: Path, *, stated: Stated = UNSTATED, limit_bytes: int | None = None) -> Form:
    """Return the form of the file at `path`, which has been found to be one; what is stated of it wins.

    Text that is not UTF-8 is taken for Windows-1252, unless some of it is UTF-8 beyond ASCII. A comma is a decimal sign
    only in numbers between other separators, and where it does not part thousands. A first line that holds what values
    hold names no columns.

    Raises BadInput for what is no table, cannot be unpacked, is larger than the limit once it is, or is not as stated.
    """
    packing = _find_packing(path)
    if packing == "parquet":
        _check_stated(path, stated, "Parquet", ())
        return Form(packing, files=_count_files(path))
    if packing == "workbook":
        _check_stated(path, stated, "a workbook", ("sheet", "header", "decimal"))
        return _find_sheet(path, stated, limit_bytes)
    if stated.sheet:
        raise refuse_stated("sheet", stated.sheet, f"left out: {path.name} is no workbook")
    files = _count_files(path) if packing == "zip" else 1
    open_text = partial(_unpack, path, packing)
    with _explain(path):
        limits: dict[str, Any] = {"packed": bool(packing), "limit_bytes": limit_bytes}
        if stated.encoding:
            check_encoding(path.name, open_text, stated.encoding, **limits)
        encoding = stated.encoding or find_encoding(path.name, open_text, **limits)
    form = Form(packing, encoding, files=files)
    with open_rows(path, form) as stream:
        sample = read_start(stream)
    form = replace(form, notation=notations.find_notation(sample))
    if form.notation:
        return _find_names(path, form, sample, stated)
    form = _find_lines(path, form, sample, stated)
    if files > 1 and (form.titles or not form.header):
        raise fault(f"{path.name} holds several files; each must name its columns in its first line.")
    return form


def find_basis(path: Path, *, limit_bytes: int | None = None) -> Form | None:
    """Return what the form of a file that cannot be read as it seems is taken for, to be corrected by its owner.

    None where no other form can be stated of it, such as of a damaged workbook.
    """
    for encoding in ("", *_ANY_TEXT):
        try:
            form = find_form(path, stated=Stated(encoding), limit_bytes=limit_bytes)
        except BadInput:
            continue
        fixed = not encoding and (form.packing == "parquet" or form.notation)
        return None if fixed else replace(form, encoding="utf-8") if encoding else form
    return None


def _check_stated(path: Path, stated: Stated, what: str, allowed: Sequence[str]) -> None:
    """Raise BadInput where something is stated that files of this kind do not have."""
    for name, value in stated.to_json().items():
        if name not in allowed:
            raise refuse_stated(name, value, f"left out: {path.name} is {what}, which has none to state")


@contextmanager
def open_rows(path: Path, form: Form) -> Iterator[BinaryIO]:
    """Give a file's rows as a stream of UTF-8, `form.delimiter` between values, after `form.skip` lines.

    Raises BadInput where the file is damaged, also while the stream is read.
    """
    with _explain(path):
        if form.packing == "workbook":
            yield io.BytesIO(_write_sheet(path, form))
            return
        with _unpack(path, form.packing) as packed:
            stream = packed if form.encoding in PLAIN else cast(BinaryIO, _Joined(recode(packed, form.encoding)))
            if form.notation == "json" and form.names:
                stream = cast(BinaryIO, _Joined(notations.write_json(path.name, stream, form.names)))
            elif form.notation == "arff" and form.names:
                stream = cast(BinaryIO, _Joined(notations.write_arff(path.name, stream)))
            elif form.separator == BLANKS:
                stream = cast(BinaryIO, _Joined(notations.write_parted(stream)))
            yield stream


def list_rows(path: Path, form: Form) -> Iterator[list[str]]:
    """Yield the rows of a file that is no Parquet, without those that are empty."""
    with open_rows(path, form) as stream:
        lines = io.TextIOWrapper(stream, "utf-8-sig", newline="")
        for _ in range(form.skip):
            lines.readline()
        yield from (row for row in csv.reader(lines, delimiter=form.delimiter) if row)


def _find_packing(path: Path) -> Literal["", "gzip", "zip", "workbook", "parquet"]:
    with path.open("rb") as file:
        start = file.read(4)
    if start == _PARQUET:
        return "parquet"
    if start.startswith(_GZIP):
        return "gzip"
    if start == _OLD_WORKBOOK:
        return "workbook"
    if start != _ZIP:
        return ""
    with _explain(path), zipfile.ZipFile(path) as packed:
        if sheets.is_workbook(packed):
            return "workbook"
        return "parquet" if are_parquet(packed) else "zip"


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
        with zipfile.ZipFile(path) as packed:
            members = list_members(packed)
            if not members:
                raise fault(f"{path.name} holds no file; put a table into it, or several of one shape.")
            several = _Joined(read_members(packed, members))  # the rows of all, with the header of the first
            with packed.open(members[0]) if len(members) == 1 else several as rows:
                yield cast(BinaryIO, rows)
    else:
        with path.open("rb") as file:
            yield file


def _count_files(path: Path) -> int:
    if not zipfile.is_zipfile(path):
        return 1
    with _explain(path), zipfile.ZipFile(path) as packed:
        return len(list_members(packed))


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


def _find_lines(path: Path, form: Form, sample: str, stated: Stated) -> Form:
    """Return the form of a text of lines: what parts their values, and which of them names the columns."""
    separator_line = _SEPARATOR_LINE.match(sample)
    text = sample if separator_line is None else "\n" + sample[separator_line.end() :]
    separator = stated.separator or (separator_line[1] if separator_line else "")
    if separator:
        lines = list_lines(text, separator)
        parted = min((part_lines(lines, below=below) for below in (False, True)), key=lambda each: not each.fits)
    else:
        separator, parted = find_separator(text)
    if not parted.lines:
        read_header(path.name, io.BytesIO(sample.encode()), separator=separator)  # says what is wrong with it
    if stated.separator and max(len(line.cells) for line in parted.lines) < 2:
        right_sign = find_separator(text)[0]
        right = SEPARATORS[right_sign] if right_sign != separator else "another sign"
        raise refuse_stated("separator", separator, f"{right} or left out: '{separator}' parts no value of {path.name}")
    form = _name_columns(replace(form, separator=separator), parted, stated.header)
    rows = [line.cells for line in parted.lines if line.start > form.skip]
    return replace(form, decimal=stated.decimal or find_decimal(rows, separator))


def _name_columns(form: Form, parted: Parted, header: int | None) -> Form:
    """Return `form` with the names of the columns, from the line `header` where it is stated (0: from none)."""
    lines, first = parted.lines, parted.first
    if header:
        at = next((at for at, line in enumerate(lines) if line.start <= header <= line.end), None)
        if at is None:
            raise refuse_stated("header", header, f"at most {lines[-1].end:,}, and a line with text")
        wide = [len(line.cells) for line in lines[at + 1 :]] or [len(lines[at].cells)]
        parted = replace(parted, first=at, width=max(Counter(wide), key=Counter(wide).__getitem__))
        parted = replace(parted, rows_named=set(wide) == {len(lines[at].cells) + 1} and len(wide) > 1)
        first = at
    cells, below = lines[first].cells, [line.cells for line in lines[first + 1 :]]
    if header == 0 or (header is None and not parted.rows_named and not is_header(cells, below)):
        begin = 0 if header == 0 else first
        names = [f"column {place}" for place in range(1, max(parted.width, len(lines[begin].cells)) + 1)]
        return replace(
            form, names=tuple(names), header=0, skip=lines[begin].start - 1, titles=_count_titles(lines[:begin])
        )
    names = [name.strip() for name in cells]
    if parted.rows_named:
        trailing = all(not row[-1].strip() for row in below)  # each row ends with a separator
        names = [*names, ""] if trailing else ["", *names]
        parted = replace(parted, rows_named=not trailing)
    line = lines[first]
    titles = _count_titles(lines[:first])
    with_names = replace(form, names=tuple(names), header=line.start, skip=line.end, titles=titles)
    return replace(with_names, rows_named=parted.rows_named)


def _count_titles(lines: Sequence[Line]) -> int:
    return sum(any(map(str.strip, line.cells)) for line in lines)


def _find_names(path: Path, form: Form, sample: str, stated: Stated) -> Form:
    """Return the form of ARFF or JSON, which name their columns themselves."""
    what = "ARFF" if form.notation == "arff" else "JSON"
    _check_stated(path, stated, what, ("encoding",))
    if form.files > 1:
        raise fault(f"{path.name} holds several files of {what}; several files at once must be CSV or Parquet.")
    if form.notation == "arff":
        names = notations.read_attributes(path.name, sample)
    else:
        with open_rows(path, form) as stream:
            names = notations.read_keys(path.name, stream)
        with open_rows(path, replace(form, names=names)) as stream:
            stream.read(1)  # what is nested is said before anything else
    return replace(form, names=names)


def _find_sheet(path: Path, stated: Stated, limit_bytes: int | None) -> Form:
    """Return the form of a workbook: of the sheet that is stated, or else the first that holds a table.

    A table of one column is one where that sheet is stated, or no sheet has a wider one.
    """
    with _explain(path):
        sheets.check_sheets(path, limit_bytes)
        cells = sheets.read_sheets(path)
    listed = ", ".join(cells)
    if stated.sheet and stated.sheet not in cells:
        raise refuse_stated("sheet", stated.sheet, f"one that {path.name} has: {listed}")
    narrow = {name: _part_sheet(rows, min_columns=1) for name, rows in cells.items()}
    wide = {name: _part_sheet(rows, min_columns=2) for name, rows in cells.items()}
    widest = wide if any(wide.values()) else narrow
    parted = narrow if stated.sheet else widest
    tables = [name for name, part in parted.items() if part is not None]
    sheet_name = stated.sheet or next(iter(tables), "")
    if sheet_name not in tables:
        sheet = f"its sheet '{stated.sheet}' holds" if stated.sheet else f"none of its sheets ({listed}) holds"
        raise fault(f"{path.name} has no table: {sheet} a row of names with rows below; write both into one sheet.")
    table = parted[sheet_name]
    assert table is not None
    others = tuple(name for name, part in widest.items() if part and name != sheet_name)
    form = Form("workbook", decimal=stated.decimal or ".", sheet=sheet_name if len(cells) > 1 else "", others=others)
    return _name_columns(form, table, stated.header)


def _part_sheet(rows: Sequence[Sequence[str]], *, min_columns: int) -> Parted | None:
    """Return where a sheet's table of at least `min_columns` columns begins; None where it has none."""
    lines = [Line(at, at, list(row)) for at, row in enumerate(rows, 1) if any(map(str.strip, row))][:SAMPLE_ROWS]
    first = find_first(lines)
    if first >= len(lines) - 1 or sum(bool(cell.strip()) for cell in lines[first].cells) < min_columns:
        return None
    return Parted(lines, first, len(lines[first].cells))


def _write_sheet(path: Path, form: Form) -> bytes:
    """Return the rows of a workbook's sheet as CSV; those above the table are empty lines."""
    (rows,) = sheets.read_sheets(path, only=form.sheet, decimal=form.decimal).values()
    return notations.write_lines(row if at > form.skip and any(row) else () for at, row in enumerate(rows, 1))
