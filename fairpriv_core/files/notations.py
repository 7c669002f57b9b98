"""Texts that are tables and no CSV, as one: ARFF (Weka, OpenML), JSON, and values with blanks between them (UCI)."""

from __future__ import annotations

import codecs
import csv
import io
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Any, BinaryIO, Literal

from fairpriv_core.files.faults import MOST_COLUMNS, fault

#: what a text can be; "" is lines of values
Notation = Literal["", "arff", "json"]
_BLOCK = 1 << 20
_LONGEST = 8 << 20  # characters of a line or of one object
_ROWS_AT_ONCE = 1_000
_SPACE = re.compile(r"[\s,\ufeff]*")
_OBJECTS = re.compile(r"\ufeff?\s*(\[\s*)?\{\s*[\"}]")
_SET_UP = re.compile(r"(?:\s*(?:%.*)?\n)*\s*@(?:relation|attribute)\s", re.IGNORECASE)
_QUOTED = r"'(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\""
_ATTRIBUTE = re.compile(rf"@attribute\s+({_QUOTED}|[^\s'\"]\S*)\s+(.+)", re.IGNORECASE)
_CELL = re.compile(rf"\s*({_QUOTED})\s*(?:,|$)|([^,]*)(?:,|$)")
_COMMENT = re.compile(rb"^[ \t]*%.*\n?", re.MULTILINE)
_SPARSE = re.compile(rb"^[ \t]*\{", re.MULTILINE)
_ENDS = re.compile(rb"^[ \t]+|[ \t]+(?=\r?$)", re.MULTILINE)
_GAP = re.compile(rb'("[^"\n]*")|[ \t]+')
_DATA = "@data"
_DECODER = json.JSONDecoder(parse_float=str, parse_int=str, parse_constant=str)
_PARSE = _DECODER.raw_decode
_PLAIN = {str, type(None)}


def find_notation(sample: str) -> Notation:
    """Return what the start of a text shows that it is."""
    if _OBJECTS.match(sample):
        return "json"
    return "arff" if _SET_UP.match(sample) else ""


def read_attributes(name: str, sample: str) -> tuple[str, ...]:
    """Return the names of an ARFF file's columns, from its start; BadInput for one that cannot be read."""
    names: list[str] = []
    for number, line in enumerate(sample.splitlines(), 1):
        text = line.strip()
        if text.lower().startswith(_DATA):
            return tuple(names)
        if not text.lower().startswith("@attribute"):
            continue
        attribute = _ATTRIBUTE.match(text)
        if attribute is None or attribute[2].strip().lower() == "relational":
            raise fault(f"line {number} of {name} declares no column of ARFF that can be read: '{text[:60]}'.")
        names.append(_unquote(attribute[1]).strip())
    raise fault(f"{name} is ARFF without a line @data; its rows stand after such a line.")


def write_arff(name: str, stream: BinaryIO) -> Iterator[bytes]:
    """Yield the rows of an ARFF file in UTF-8 as CSV, without a header; BadInput for sparse ones."""
    lines = iter(lambda: stream.readline(_LONGEST), b"")
    if not any(line.strip().lower().startswith(_DATA.encode()) for line in lines):
        raise fault(f"{name} is ARFF without a line @data; its rows stand after such a line.")
    for block in _cut_at_lines(stream):
        plain = _COMMENT.sub(b"", block) if b"%" in block else block
        if b"{" in plain and _SPARSE.search(plain):
            raise fault(f"{name} is sparse ARFF, whose rows name only some columns; save it as dense ARFF or CSV.")
        if any(mark in plain for mark in (b"'", b'"', b"\\")):
            yield write_lines(
                _part_lines([line for line in plain.decode(errors="replace").splitlines() if line.strip()])
            )
        else:
            yield plain


def read_keys(name: str, stream: BinaryIO) -> tuple[str, ...]:
    """Return all names that the objects of a JSON text have, in the order in which they first occur."""
    keys: dict[str, None] = {}
    for some in _read_objects(name, stream):
        if not keys.keys() >= set().union(*some):
            keys |= dict.fromkeys(chain.from_iterable(some))
            if len(keys) > MOST_COLUMNS:
                break
    return tuple(keys)


def write_json(name: str, stream: BinaryIO, names: Sequence[str]) -> Iterator[bytes]:
    """Yield the objects of a JSON text as CSV, without a header: numbers as they stand there, null as nothing."""
    rows = enumerate(chain.from_iterable(_read_objects(name, stream)), 1)
    while some := list(islice(rows, _ROWS_AT_ONCE)):
        cells = [[item.get(key) for key in names] for _, item in some]
        if _PLAIN.issuperset(map(type, chain.from_iterable(cells))):
            yield write_lines(cells)  # of which nothing is written as nothing
        else:
            yield write_lines([_spell(name, row, key, item.get(key)) for key in names] for row, item in some)


def write_parted(stream: BinaryIO) -> Iterator[bytes]:
    """Yield a text whose values have blanks or tabs between them with one tab between them."""
    return map(part_blanks, _cut_at_lines(stream))


def part_blanks(text: bytes) -> bytes:
    """Return whole lines with one tab for each run of blanks and tabs that is not in double quotes.

    >>> part_blanks(b' 1  2.5 "a b"')
    b'1\\t2.5\\t"a b"'
    """
    return _GAP.sub(lambda found: found[1] or b"\t", _ENDS.sub(b"", text))


def write_lines(rows: Iterable[Sequence[str | None]]) -> bytes:
    """Return rows as CSV in UTF-8; a row of nothing is an empty line."""
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator="\n")
    writer.writerows(rows)
    return text.getvalue().encode(errors="replace")


def _cut_at_lines(stream: BinaryIO) -> Iterator[bytes]:
    """Yield a stream in blocks that end where a line does, unless it is very long."""
    for block in iter(lambda: stream.read(_BLOCK), b""):
        yield block + stream.readline(_LONGEST) if block[-1:] != b"\n" else block


def _part_lines(lines: list[str]) -> list[list[str]]:
    """Return the values of lines of ARFF, whose quotes are of one kind as a rule."""
    quotes = {quote for quote in "'\"" if any(quote in line for line in lines)}
    if len(quotes) == 1:
        try:
            return list(csv.reader(lines, quotechar=quotes.pop(), escapechar="\\", skipinitialspace=True, strict=True))
        except csv.Error:
            pass
    return [_part(line) for line in lines]


def _part(line: str) -> list[str]:
    """Return the values of a line of ARFF, of which some are in single or double quotes."""
    line, cells = line.strip(), []
    for match in _CELL.finditer(line):
        cells.append(_unquote(match[1]) if match[1] is not None else match[2].strip())
        if match.end() == len(line) and not match[0].endswith(","):
            break
    return cells


def _unquote(text: str) -> str:
    return re.sub(r"\\(.)", r"\1", text[1:-1]) if text[:1] in ("'", '"') else text


def _read_objects(name: str, stream: BinaryIO) -> Iterator[list[Mapping[str, Any]]]:
    """Yield the objects of a JSON text in UTF-8, lines or one list of them, some of one block at a time."""
    objects = _Objects(name)
    decoder = codecs.getincrementaldecoder("utf-8-sig")("replace")
    for block in chain(iter(lambda: stream.read(_BLOCK), b""), [b""]):
        objects.text += decoder.decode(block, final=not block)
        yield from objects.take(more=bool(block))
    if objects.is_list and not objects.is_closed:
        raise fault(f"{name} ends within its list of rows; save it anew.")


@dataclass
class _Objects:
    """The objects at the start of a JSON text that grows block by block."""

    name: str
    text: str = ""
    row: int = 0
    is_list: bool = False
    is_closed: bool = False

    def take(self, *, more: bool) -> Iterator[list[Mapping[str, Any]]]:
        """Yield those that are whole, and forget them; `more` says whether text can follow."""
        place = _skip_blanks(self.text, 0)
        objects, place = self._parse_many(place)
        yield objects
        while place < len(self.text):
            item, place = self._parse(place, more=more)
            if item is not None:
                yield [item]
            elif place < 0:
                return
            place = _skip_blanks(self.text, place)
        self.text = ""

    def _parse_many(self, place: int) -> tuple[list[Mapping[str, object]], int]:
        """Return the objects from `place` to about the end of the text, and where they end, at once: none in any doubt.

        Within a text of JSON no line ends.
        """
        opens = self.text[place : place + 1] == "[" and not (self.row or self.is_list)
        start = _skip_blanks(self.text, place + opens)
        end = max(self.text.rfind(sign) for sign in ("}\n", "}\r\n", "},")) + 1
        if self.is_closed or end <= start or self.text[start] != "{":
            return [], place
        body = self.text[start:end].replace("}\r\n{", "},{").replace("}\n{", "},{")
        try:
            objects = _DECODER.decode(f"[{body}]")
        except (json.JSONDecodeError, RecursionError):
            return [], place
        if not {dict}.issuperset(map(type, objects)):
            return [], place
        self.is_list, self.row = self.is_list or opens, self.row + len(objects)
        return objects, _skip_blanks(self.text, end)

    def _parse(self, place: int, *, more: bool) -> tuple[Mapping[str, object] | None, int]:
        """Return the object at `place`, None for a bracket, and its end: -1 where it may go on in what follows."""
        if self.is_closed:
            raise fault(f"{self.name} goes on after its list of rows; write one list, or one object a line.")
        opens, closes = self.text[place] == "[" and not (self.row or self.is_list), self.text[place] == "]"
        if opens or (closes and self.is_list):
            self.is_list, self.is_closed = True, closes
            return None, place + 1
        try:
            item, end = _PARSE(self.text, place)
        except (json.JSONDecodeError, RecursionError) as error:
            if more and len(self.text) - place < _LONGEST and not isinstance(error, RecursionError):
                self.text = self.text[place:]
                return None, -1
            raise fault(f"{self.name}: row {self.row + 1} is no JSON; write an object like {{...}} a row.") from error
        self.row += 1
        if not isinstance(item, dict):
            raise fault(f"{self.name}: row {self.row} is no object; write each row as its columns' names and values.")
        return item, end


def _skip_blanks(text: str, place: int) -> int:
    match = _SPACE.match(text, place)
    return place if match is None else match.end()


def _spell(name: str, row: int, key: str, value: Any) -> str:
    """Return a value of JSON as a CSV has it."""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | dict):
        raise fault(
            f"{name}: row {row} holds a {'list' if isinstance(value, list) else 'table'} in column '{key[:60]}'; "
            "write one object a row, each value in a column of its own (pandas: orient='records', lines=True)."
        )
    return "" if value is None else str(value)
