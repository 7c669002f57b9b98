"""CSV and Parquet files of any size, read in blocks into growing columns: memory stays near that of the result.

A column of numbers is kept as float64, so that no file and no schema makes another number of a cell, a column
of texts as whole numbers into its values. A column with more than MOST_VALUES different texts (names, free text) is not
kept, unless a schema says what it holds: then each cell is read by itself, to the last bit, whatever the others hold.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Protocol, TypeVar

import numpy as np
import pyarrow as pa
from pyarrow import compute, csv

from fairpriv_core.data.dates import is_date
from fairpriv_core.data.faults import check_file, check_header, check_size, explain, no_rows
from fairpriv_core.data.forms import UNSTATED, Form, Stated, find_form, open_rows
from fairpriv_core.data.problem import Layout
from fairpriv_core.data.several import open_parts, read_batches
from fairpriv_core.data.spelling import (
    MISSING,
    Spellings,
    canonical,
    fold,
    group_spellings,
    parse_amount,
    parse_number,
    show_number,
    spell,
)
from fairpriv_core.data.table import Codes, Column, Numbers
from fairpriv_core.errors import BadInput
from fairpriv_core.text import count_text

MOST_VALUES = 20_000
_MOST_DAYS = 150_000  # four centuries, beside texts that are none
_UNLISTED = "\0"  # stands for the texts of a declared column that find no place
_SAMPLE = 100
_BLOCK = 8 << 20
_BATCH = 1 << 16
_LARGE_BATCH = 1 << 12  # of rows that may hold images
_CELL_BYTES = 8  # a value in memory, about
_THREADS_FROM = 64 << 20
_PLAIN = Layout()
_SHOWN, _FEW = 40, 4  # letters of a cell, and cells, that a sentence quotes
_MOST_JUNK = 3  # different words among numbers that leave the column one of numbers
_JUNK_SHARE = 0.1  # of its rows that these words may take
_LEAST_NUMBERS = 13  # different numbers, beside such words: fewer may be codes
_LACKING = frozenset(MISSING)
_DAY = re.compile(r"(\d{4}-\d{2}-\d{2})[T ]\d{2}:")
_WHAT = {"number": "number", "text": "known value", "date": "date", "key": "key", "any": "number"}
_TEXT = pa.dictionary(pa.int32(), pa.string())
_NULLS = [*MISSING, *(f" {word}" for word in MISSING)]
_NOT_A_NUMBER = re.compile(r"In CSV column #(\d+): (?:Row #(\d+): )?CSV conversion error to \w+: invalid value '", re.S)


@dataclass(frozen=True)
class ReadAs:
    """What a column is said to hold: numbers (any other cell is missing), texts, among which `values`, days, or keys.

    Of "any" nothing is said but how its cells are spelled: it is what it seems to be.

    All are told apart that can be a value: of texts those in `values`, or any where none are stated, of days what
    spells one in some order, of keys each as it is written. Of other texts only so many are. `spellings` are further
    texts of values (text, value), `missing` the words for no value, None for the usual ones; a value is never missing.
    `decimal` is the sign before decimals, "" for the file's own. `alone`: no cell is read otherwise because of others.
    """

    kind: Literal["number", "text", "date", "key", "any"]
    values: tuple[str, ...] = ()
    spellings: tuple[tuple[str, str], ...] = ()
    missing: tuple[str, ...] | None = None
    decimal: str = ""
    alone: bool = False

    def allows(self, text: str) -> bool:
        """Return whether a text that is not among `values` can be a value: what finds room must not depend on others.

        A text of a list that is open is counted with noise, and one that lost its place to another row's would move it.
        """
        if self.kind == "date":
            return is_date(text)
        return not self.values

    @property
    def lacking(self) -> frozenset[str]:
        """The words for no value."""
        words = {"", *map(spell, MISSING if self.missing is None else self.missing)}
        return frozenset(words.difference(self.values, (text for text, _ in self.spellings)) | {""})


_UNSAID = ReadAs("any")


@dataclass(frozen=True)
class Unread:
    """Cells that say nothing of what their column holds (`what`): in how many `rows`, and some of their `words`."""

    what: str
    rows: int
    words: tuple[str, ...]

    def __str__(self) -> str:
        """Return what they are, for the file's owner."""
        are, none = ("is", f"no {self.what}") if self.rows == 1 else ("are", f"no {self.what}s")
        missing = "" if self.what == "known value" else f" and {'counts' if self.rows == 1 else 'count'} as missing"
        return f"{count_text(self.rows, 'cell')} ({quote_some(self.words)}) {are} {none}{missing}."


@dataclass(frozen=True)
class Amounts:
    """Numbers that are not plain ones: `decimal` is the sign before decimals, with an example and what it is."""

    decimal: str
    example: str
    number: float

    def __str__(self) -> str:
        """Return how they are read, for the file's owner."""
        return f"'{self.example[:_SHOWN]}' is read as the number {show_number(self.number)}."


def quote_some(words: Sequence[str]) -> str:
    """Return the first few of some cells' texts, quoted."""
    return ", ".join(f"'{word[:_SHOWN]}'" for word in words[:_FEW]) + (", …" if len(words) > _FEW else "")


@dataclass(frozen=True)
class Merged:
    """A value, its spellings (the value first), and how many rows have one of them."""

    spellings: tuple[str, ...]
    rows: int

    def __str__(self) -> str:
        """Return what became of them, for the file's owner."""
        return f"{quote_some(self.spellings)} are one value, '{self.spellings[0][:_SHOWN]}', in {self.rows:,} rows."


@dataclass(frozen=True)
class Reading:
    """What a file holds; `unused` says why a column is not in `table`, `odd` what else the owner should know.

    `retyped` says of columns in which row a text made texts of their numbers: for the owner alone. `form` is how
    the file is written. `samples` are some texts of columns that have too many.
    `unread` has the cells of columns that say nothing of what the column holds, and `merged` of columns that nothing is
    said of, the values that have several spellings, these and how many rows. `amounts` has the columns of numbers that
    are not plain ones, `lacked` the words that stand for no value in columns of texts. All are for the owner alone.
    """

    table: dict[str, Column]
    unused: Mapping[str, str] = field(default_factory=dict)
    odd: tuple[str, ...] = ()
    retyped: Mapping[str, str] = field(default_factory=dict)
    form: Form = field(default_factory=Form)
    samples: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    unread: Mapping[str, Unread] = field(default_factory=dict)
    merged: Mapping[str, tuple[Merged, ...]] = field(default_factory=dict)
    amounts: Mapping[str, Amounts] = field(default_factory=dict)
    lacked: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def remarks(self) -> tuple[str, ...]:
        """One sentence for each thing that the file's owner should know."""
        told = self.tell([*self.table])
        return (*self.odd, *self.form.remarks, *self.retyped.values(), *told, *self.unused.values())

    def tell(self, names: Collection[str], *, lacking: Collection[str] = ()) -> tuple[str, ...]:
        """Return how the cells of these columns are read, a sentence each; of those `lacking` also which are none."""
        said: list[tuple[str, object]] = []
        for name in names:
            found = (self.unread.get(name), self.amounts.get(name), *self.merged.get(name, ()))
            said += [(name, each) for each in found if each is not None]
            if name in lacking and name in self.lacked:
                said.append((name, f"{quote_some(self.lacked[name])} stands for no value."))
        return tuple(f"column '{name}': {each}" for name, each in said)


class _Taking(Protocol):
    """A column while it is read, block by block."""

    def add(self, array: pa.Array) -> None:
        """Take a block."""


_Taker = TypeVar("_Taker", bound=_Taking)


@dataclass
class _Growing:
    """A column while it is read into memory; `read_as` is what a schema says that it holds, None where none does."""

    numeric: bool
    read_as: ReadAs | None = None
    decimal: str = "."
    is_stated: bool = False
    held: np.ndarray = field(default_factory=lambda: np.empty(0))
    rows: int = 0
    values: dict[str, int] = field(default_factory=dict)
    sample: tuple[str, ...] = ()
    junk: dict[str, int] = field(default_factory=dict)
    merged: tuple[Merged, ...] = ()
    amounts: Amounts | None = None
    lacked: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        said = self.read_as or _UNSAID
        values = said.values or tuple(dict.fromkeys(value for _, value in said.spellings))
        self._lacking, self._spellings = said.lacking, Spellings(values, said.spellings)
        self._listed = tuple(map(canonical, values))
        self.decimal, self.is_stated = said.decimal or self.decimal, bool(said.decimal) or self.is_stated
        self._seems = said.kind == "any"
        if not self._seems:
            self.numeric = said.kind == "number"
            self.values |= {value: place for place, value in enumerate(dict.fromkeys(map(canonical, said.values)))}

    @property
    def full(self) -> bool:
        """Whether it has more texts than are kept."""
        return bool(self.sample)

    @property
    def unread(self) -> Unread | None:
        """What cells say nothing of what the column holds."""
        if not self.junk:
            return None
        what = "number" if self.numeric or self._seems else _WHAT[(self.read_as or _UNSAID).kind]
        words = tuple(word for word in self.junk if word != _UNLISTED)
        return Unread(what, sum(self.junk.values()), words)

    def add(self, array: pa.Array) -> None:
        if self.full:
            return
        if not self.numeric:
            self._add_texts(array)
        elif pa.types.is_dictionary(array.type) or pa.types.is_string(array.type):
            coded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
            texts = [spell(text) for text in coded.dictionary.to_pylist()]
            numbers = np.array([*(parse_amount(text, self.decimal) for text in texts), math.nan])
            indices = coded.indices.fill_null(len(texts)).to_numpy(zero_copy_only=False)
            self._note_junk(texts, np.isnan(numbers[:-1]), indices)
            self._note_amounts(texts, numbers, self.decimal)
            self._append(numbers[indices])
        else:
            self._append(_widen(array))

    def _add_texts(self, array: pa.Array) -> None:
        coded = array if pa.types.is_dictionary(array.type) else array.cast(pa.string()).dictionary_encode()
        texts = [spell(text) if text is not None else "" for text in coded.dictionary.to_pylist()]
        lookup = [*map(self._find, texts)]
        if self._seems and len(self.values) > MOST_VALUES:
            self.sample, self.held, self.values = tuple(self.values)[:_SAMPLE], np.empty(0), {}
            return
        indices = coded.indices.fill_null(len(lookup)).to_numpy(zero_copy_only=False)
        if not self._seems:
            lost = [not self._knows(text) for text in texts]
            self._note_junk(texts, np.array(lost, dtype=bool), indices)
        self._append(np.array([*lookup, -1], dtype=np.int16 if self._seems else np.int32)[indices])

    def _note_junk(self, texts: Sequence[str], lost: np.ndarray, indices: np.ndarray) -> None:
        """Count the rows of texts that are no value, and no word for none either."""
        if not lost.any():
            return
        rows = np.bincount(indices, minlength=len(texts) + 1)
        for place in np.flatnonzero(lost).tolist():
            text = texts[place]
            if rows[place] and text not in self._lacking:
                known = text in self.junk or len(self.junk) < _SAMPLE
                key = text if known else _UNLISTED
                self.junk[key] = self.junk.get(key, 0) + int(rows[place])

    def _note_amounts(self, texts: Sequence[str], numbers: np.ndarray, sign: str) -> None:
        """Keep the first text that is read as a number and is no plain one."""
        values = numbers[: len(texts)].tolist()
        dotted = [text.replace(",", ".") if sign == "," == self.decimal else text for text in texts]
        odd = (
            place
            for place, text in enumerate(dotted)
            if math.isnan(parse_number(text)) and not math.isnan(values[place])
        )
        first = next(odd, None)
        if self.amounts is None and first is not None:
            self.amounts = Amounts(sign, texts[first], values[first])

    def _append(self, part: np.ndarray) -> None:
        """Add `part` to one array that doubles when it is full: what is not written to yet takes no memory."""
        rows, kind = (
            self.rows + len(part),
            part.dtype if self.rows == 0 else np.promote_types(self.held.dtype, part.dtype),
        )
        if rows > len(self.held) or kind != self.held.dtype:
            grown = np.empty(max(rows, 2 * self.rows), dtype=kind)
            grown[: self.rows] = self.held[: self.rows]
            self.held = grown
        self.held[self.rows : rows] = part
        self.rows = rows

    def _knows(self, text: str) -> bool:
        """Return whether a text is a value of the column that is said to hold some."""
        said = self.read_as or _UNSAID
        return self._spellings.find(text) >= 0 if said.values else said.kind != "date" or is_date(text)

    def _find(self, text: str) -> int:
        """Return the code of a spelled text: what it becomes depends on no other cell, but for codes that run out."""
        if text in self._lacking:
            self.lacked.add(text)
            return -1
        said = self.read_as or _UNSAID
        if said.kind == "key":
            return self.values.setdefault(text, len(self.values))
        if said.kind == "date":
            key = re.split("[T ](?=[0-9]{1,2}:)", text, maxsplit=1)[0]
        else:
            place = self._spellings.find(text) if self._listed else -1
            other = text if self._seems else fold(text) if said.alone else canonical(text)
            key = self._listed[place] if place >= 0 else other
        most = _MOST_DAYS if said.kind == "date" else MOST_VALUES + len(said.values)
        has_room = self._seems or key in self.values or len(self.values) < most or said.allows(key)
        return self.values.setdefault(key if has_room else _UNLISTED, len(self.values))

    def finish(self) -> Column:
        """Return the column as long as it is; what was held is given up, so that one column at most is held twice."""
        whole, self.held = self.held[: self.rows].copy(), np.empty(0)
        if self.numeric:
            return Numbers(whole)
        coded = Codes(whole, tuple(self.values))
        said = self.read_as or _UNSAID
        if self._seems:
            return self._settle(coded)
        return coded if said.alone or said.values or said.kind != "text" else self._merge(coded)

    def _settle(self, column: Codes) -> Column:
        """Return a column of texts of which nothing is said: as numbers where it holds these, else each value once."""
        counts = np.bincount(column.codes[column.codes >= 0], minlength=len(column.values))
        for sign in (self.decimal,) if self.is_stated else (self.decimal, *{",", "."}.difference(self.decimal)):
            numbers = np.array([*(parse_amount(text, sign) for text in column.values), math.nan])
            lost = np.isnan(numbers[:-1])
            if not _are_numbers(lost, counts):
                continue
            self.junk = {column.values[place]: int(counts[place]) for place in np.flatnonzero(lost)}
            odd = next(
                (place for place in np.flatnonzero(~lost) if math.isnan(parse_number(column.values[place]))), None
            )
            if odd is not None:
                self.amounts = Amounts(sign, column.values[odd], float(numbers[odd]))
            return Numbers(numbers[column.codes])
        return self._merge(column)

    def _merge(self, column: Codes) -> Codes:
        """Return a column in which spellings of one value, which case or blanks tell apart, are one."""
        counts = np.bincount(column.codes[column.codes >= 0], minlength=len(column.values))
        grouped = group_spellings(dict(zip(column.values, counts.tolist(), strict=True)))
        places = {text: place for place, texts in enumerate(grouped.values()) for text in texts}
        codes = np.array([*(places[text] for text in column.values), -1], dtype=column.codes.dtype)[column.codes]
        rows = np.bincount(codes[codes >= 0], minlength=len(grouped)).tolist()
        self.merged = tuple(
            Merged(texts, count) for texts, count in zip(grouped.values(), rows, strict=True) if len(texts) > 1
        )
        return Codes(codes, tuple(grouped))


def _are_numbers(lost: np.ndarray, counts: np.ndarray) -> bool:
    """Return whether texts are a column of numbers: all are, or all but a few words in a few rows are, and many."""
    if not len(lost) or lost.all():
        return False
    few = lost.sum() <= _MOST_JUNK and counts[lost].sum() <= _JUNK_SHARE * counts.sum()
    return not lost.any() or bool(few and (~lost).sum() >= _LEAST_NUMBERS)


def _widen(array: pa.Array) -> np.ndarray:
    """Return numbers as float64 (n,); a float32 as it is written, so that its CSV is the same."""
    plain = array.cast(pa.string()) if pa.types.is_float32(array.type) else array
    found: np.ndarray = plain.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return found


def _drop_time(text: str) -> str:
    """Return a day without its time, as one file has it and another has not; any other text as it is."""
    found = _DAY.match(text)
    return found[1] if found else text


class _Sealing:
    """A column's content while it is read: a digest of its cells, wherever blocks end.

    A column of texts that are all numbers is one of numbers, as `_as_numbers` has it. Texts are digested as their
    lengths and their bytes, two streams in which no block's end shows.
    """

    def __init__(self, *, numeric: bool) -> None:
        self._numeric, self._empty = numeric, True
        self._numbers: Any = hashlib.sha256()  # None from the first text on that is no number
        self._lengths, self._bytes = hashlib.sha256(), hashlib.sha256()

    def add(self, array: pa.Array) -> None:
        if self._numeric:
            self._add_numbers(_widen(array))
            return
        coded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
        spelled = [spell("" if text is None else text) for text in coded.dictionary.to_pylist()]
        values = [None if text in _LACKING else _drop_time(text) for text in spelled]
        indices = coded.indices.fill_null(len(values))
        self._empty &= all(text is None for text in values)
        self._try_numbers(values, indices)
        self._add_texts(pa.array([*values, None], pa.large_string()).take(indices))

    def finish(self) -> str:
        """Return the digest of the whole column."""
        if self._empty:
            return "empty"  # of which no file tells whether it would hold numbers
        if self._numeric or self._numbers is not None:
            return f"numbers {self._numbers.hexdigest()}"
        return f"texts {self._lengths.hexdigest()} {self._bytes.hexdigest()}"

    def _try_numbers(self, values: Sequence[str | None], indices: pa.Array) -> None:
        if self._numbers is None:
            return
        present = [parse_number(text) for text in values if text is not None]
        if not np.isfinite(present).all():
            self._numbers = None
            return
        numbers = np.array([*(math.nan if text is None else parse_number(text) for text in values), math.nan])
        self._add_numbers(numbers[indices.to_numpy(zero_copy_only=False)])

    def _add_numbers(self, numbers: np.ndarray) -> None:
        self._empty &= bool(np.isnan(numbers).all())
        plain = numbers + 0.0  # -0.0 is 0.0
        plain[np.isnan(plain)] = np.nan  # one pattern of bits
        self._numbers.update(plain.astype("<f8", copy=False).tobytes())

    def _add_texts(self, texts: pa.Array) -> None:
        cells = texts.cast(pa.large_binary())
        self._lengths.update(compute.binary_length(cells).fill_null(-1).to_numpy(zero_copy_only=False).tobytes())
        _, offsets, held = cells.buffers()
        ends = np.frombuffer(offsets, dtype=np.int64)[[cells.offset, cells.offset + len(cells)]]
        self._bytes.update(memoryview(held)[ends[0] : ends[1]] if held is not None else b"")


def digest_content(path: Path, stated: Stated = UNSTATED) -> str:
    """Return a SHA-256 of the rows of a person's table as they are parsed: every cell by its column.

    They are parsed as the file seems to be written, whatever is `stated`, so that it is one file under all readings;
    only one that cannot be read so is parsed as stated.

    Line ends, quotes, blanks around values, the order of columns and the kind of file make no difference; the order of
    rows does. It is as secret as the rows: whoever has it can confirm a guess of them. Errors as `read_table`.
    """
    check_file(path)
    try:
        sealing = _seal(path, find_form(path))
    except BadInput:
        if not stated:
            raise
        sealing = _seal(path, find_form(path, stated=stated))
    pa.default_memory_pool().release_unused()
    seals = sorted((name, column.finish()) for name, column in sealing.items())
    return hashlib.sha256(json.dumps(seals).encode()).hexdigest()


def _seal(path: Path, form: Form) -> Mapping[str, _Sealing]:
    if form.packing == "parquet":
        return _seal_parquet(path)
    check_header(path, form.names)
    opener = _open_named(path, form.names, Layout(columns=form.names, skip=form.skip), form)
    return _stream(opener, lambda name, *, numeric: _Sealing(numeric=numeric), {})[0]


def read_table(
    path: Path,
    *,
    read_as: Mapping[str, ReadAs] | None = None,
    limit_bytes: int | None = None,
    stated: Stated = UNSTATED,
) -> Reading:
    """Return a person's table; its columns in `read_as` as that says.

    What is `stated` of how it is written wins over what it seems to be.

    Raises BadInput for everything that can be wrong with a file, naming the column or row.
    """
    check_file(path, limit_bytes=limit_bytes)
    form = find_form(path, stated=stated, limit_bytes=limit_bytes)
    if form.packing == "parquet":
        reading = _read_parquet(path, read_as or {}, limit_bytes)
    else:
        check_header(path, form.names)
        layout = Layout(columns=form.names, skip=form.skip)
        reading = read_csv(path, header=form.names, layout=layout, read_as=read_as, form=form, stated=stated)
    return replace(
        reading,
        odd=(*(each for each in form.sentences if each not in form.remarks), *_find_nameless(form), *reading.odd),
        form=form,
    )


def describe_form(path: Path, stated: Stated = UNSTATED) -> tuple[str, ...]:
    """Return what the owner of the file at `path` should know of how it is read; errors as `read_table`."""
    check_file(path)
    form = find_form(path, stated=stated)
    return (*form.sentences, *_find_nameless(form))


def _find_nameless(form: Form) -> tuple[str, ...]:
    nameless = [str(position) for position, name in enumerate(form.names, 1) if not name and not form.rows_named]
    return (f"column {', '.join(nameless)} has no name and is not used.",) if nameless else ()


def read_csv(
    path: Path,
    *,
    header: Sequence[str],
    layout: Layout = _PLAIN,
    columns: Collection[str] | None = None,
    read_as: Mapping[str, ReadAs] | None = None,
    form: Form | None = None,
    stated: Stated = UNSTATED,
) -> Reading:
    """Return the named `columns` (None: all) of a CSV file whose names are `header`; `form` is that of a person's.

    Numbers of a column of which nothing is said may have either sign before decimals, unless it is `stated`.

    Types come from the first block, unless a column is in `read_as`; a column of numbers in which a text turns up later
    is read again as text, and a remark says where.
    """
    opener = _open_named(path, header, layout, form or Form(separator=layout.separator), columns)
    kinds = read_as or {}

    def start(name: str, *, numeric: bool) -> _Growing:
        return _Growing(numeric, kinds.get(name), opener.form.decimal, is_stated=bool(stated.decimal))

    growing, retyped = _stream(opener, start, kinds)
    found = _finish(path, growing, {})
    texts = {name: said for name, said in retyped.items() if isinstance(found.table.get(name), Codes)}
    return replace(found, retyped=texts)


def _open_named(
    path: Path, header: Sequence[str], layout: Layout, form: Form, columns: Collection[str] | None = None
) -> _Opener:
    """Return what opens a CSV file for those of its columns that have a name and are among `columns` (None: all)."""
    names = [name or f"\0{position}" for position, name in enumerate(header)]
    wanted = [name for name in names if name[:1] != "\0" and (columns is None or name in columns)]
    return _Opener(path, header, names, wanted, layout, form)


def _stream(
    opener: _Opener, start: Callable[..., _Taker], read_as: Mapping[str, ReadAs]
) -> tuple[dict[str, _Taker], dict[str, str]]:
    """Give each block of a CSV file to what `start(name, numeric=…)` makes of a column; return these, and `retyped`."""
    types = {name: _choose_type(found, read_as.get(name)) for name, found in opener.infer().items()}
    retyped: dict[str, str] = {}
    while True:
        taking = {name: start(name, numeric=types[name] != _TEXT) for name in opener.wanted}
        try:
            _grow(taking, opener.batches(types))
            return taking, retyped
        except pa.ArrowInvalid as error:
            junk = _NOT_A_NUMBER.match(str(error))
            if junk is None:
                raise explain(error, opener.path, opener.header, row=opener.ragged) from error
            name = opener.names[int(junk[1])]
            types[name] = _TEXT
            where = f"row {junk[2]}" if junk[2] else "one of its rows"
            retyped[name] = f"column '{name}' is read as text because {where} holds no number there."


@dataclass
class _Opener:
    """Opens one CSV file with given column types; remembers the first row with too few or too many fields."""

    path: Path
    header: Sequence[str]
    names: list[str]
    wanted: list[str]
    layout: Layout
    form: Form
    ragged: tuple[int | None, int, str] | None = None

    def infer(self) -> dict[str, pa.DataType]:
        try:
            with self._open({}) as reader:
                return {found.name: found.type for found in reader.schema}
        except pa.ArrowInvalid as error:
            raise explain(error, self.path, self.names, row=self.ragged) from error

    def batches(self, types: dict[str, pa.DataType]) -> Iterator[pa.RecordBatch]:
        with self._open(types) as reader:
            yield from reader

    @contextmanager
    def _open(self, types: dict[str, pa.DataType]) -> Iterator[csv.CSVStreamingReader]:
        headed = 0 if self.layout.columns else 1
        read = csv.ReadOptions(
            column_names=self.names,
            skip_rows=self.layout.skip,
            skip_rows_after_names=headed,
            block_size=_BLOCK,
            use_threads=self.path.stat().st_size > _THREADS_FROM,
        )
        parse = csv.ParseOptions(
            delimiter=self.form.delimiter, newlines_in_values=True, invalid_row_handler=self._note_row
        )
        convert = csv.ConvertOptions(
            column_types=types,
            include_columns=self.wanted,
            null_values=_NULLS,
            strings_can_be_null=False,  # of texts each column says itself which words are no value
            timestamp_parsers=[],
            decimal_point=self.form.decimal,
        )
        with open_rows(self.path, self.form) as stream:
            source = self.path if self.form.is_plain else stream
            with csv.open_csv(source, read_options=read, parse_options=parse, convert_options=convert) as reader:
                yield reader

    def _note_row(self, row: csv.InvalidRow) -> str:
        self.ragged = self.ragged or (row.number, row.actual_columns, row.text)
        return "error"


def _choose_type(found: pa.DataType, read_as: ReadAs | None) -> pa.DataType:
    if read_as is not None and (read_as.kind != "any" or read_as != _UNSAID):
        return pa.float64() if read_as.kind == "number" and not read_as.decimal and not read_as.missing else _TEXT
    return pa.float64() if pa.types.is_integer(found) or pa.types.is_floating(found) else _TEXT


def _grow(taking: Mapping[str, _Taking], batches: Iterable[pa.RecordBatch]) -> None:
    for batch in batches:
        for name, column in taking.items():
            column.add(batch.column(name))


def _finish(path: Path, growing: dict[str, _Growing], unused: dict[str, str]) -> Reading:
    full = {
        name: f"column '{name}' has more than {MOST_VALUES:,} different texts and is not used."
        for name, column in growing.items()
        if column.full
    }
    if not full and not any(column.rows for column in growing.values()):
        raise no_rows(path)
    pa.default_memory_pool().release_unused()  # Arrow would keep the blocks for a next file
    table = {name: column.finish() for name, column in growing.items() if not column.full}
    seen = {name: column for name, column in growing.items() if not column.full}
    return Reading(
        table,
        {**unused, **full},
        samples={name: growing[name].sample for name in full},
        unread={name: column.unread for name, column in seen.items() if column.unread is not None},
        merged={name: column.merged for name, column in seen.items() if column.merged},
        amounts={name: column.amounts for name, column in seen.items() if column.amounts is not None},
        lacked={name: tuple(sorted(column.lacked - {""})) for name, column in seen.items() if column.lacked - {""}},
    )


def _read_parquet(path: Path, read_as: Mapping[str, ReadAs], limit_bytes: int | None) -> Reading:
    try:
        with open_parts(path, limit_bytes) as parts:
            schema = parts.schema
            check_header(path, schema.names)
            size = _CELL_BYTES * parts.count_rows() * len(schema)
            check_size(path.name, size, limit_bytes=limit_bytes, unpacked=True)
            unused = _find_unused(schema)
            usable = {found.name: bool(_is_number(found.type)) for found in schema if found.name not in unused}
            growing = {name: _Growing(numeric, read_as.get(name)) for name, numeric in usable.items()}
            texts = {name for name, column in growing.items() if not column.numeric}
            batches = (_plain(_date(batch), texts) for batch in read_batches(parts, _BATCH, [*usable]))
            _grow(growing, batches)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise explain(error, path, (), row=None) from error
    return _finish(path, growing, unused)


def _seal_parquet(path: Path) -> dict[str, _Sealing]:
    try:
        with open_parts(path) as parts:
            schema = parts.schema
            check_header(path, schema.names)
            index = _list_index(schema)
            kinds = {name: _is_number(schema.field(name).type) for name in schema.names if name not in index}
            sealing = {name: _Sealing(numeric=kind is True) for name, kind in kinds.items()}
            rows = _LARGE_BATCH if None in kinds.values() else _BATCH
            batches = (_spell(_date(batch)) for batch in read_batches(parts, rows, [*sealing]))
            _grow(sealing, batches)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise explain(error, path, (), row=None) from error
    return sealing


def _spell(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch of numbers and texts, as `_plain` does, whatever its columns hold."""
    columns = [
        pa.array([repr(cell) for cell in column.to_pylist()]) if _is_number(column.type) is None else column
        for column in batch.columns
    ]
    return _plain(pa.RecordBatch.from_arrays(columns, names=batch.schema.names))


def _list_index(schema: pa.Schema) -> list[str]:
    """Return the columns that hold the row index that pandas stored."""
    stored = (schema.pandas_metadata or {}).get("index_columns", [])
    return [name for name in stored if isinstance(name, str)]


def _find_unused(schema: pa.Schema) -> dict[str, str]:
    """Return why a column is not read: it is the row index that pandas stored, or neither numbers nor text."""
    index = {name: f"column '{name}' is the row index and is not used." for name in _list_index(schema)}
    kinds = {found.name: _is_number(found.type) for found in schema}
    other = [found.name for found in schema if kinds[found.name] is None and not _is_day(found.type)]
    return {**index, **{name: f"column '{name}' is neither numbers nor text and is not used." for name in other}}


def _date(batch: pa.RecordBatch) -> pa.RecordBatch:
    """Return a batch whose days and points in time are days, as texts, and whose coded numbers are numbers."""
    columns = [
        column.cast(pa.date32(), safe=False).cast(pa.string())
        if _is_day(column.type)
        else column.dictionary_decode()
        if _is_number(column.type) and pa.types.is_dictionary(column.type)
        else column
        for column in batch.columns
    ]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _is_day(found: pa.DataType) -> bool:
    return bool(pa.types.is_date(found) or pa.types.is_timestamp(found))


def _plain(batch: pa.RecordBatch, texts: Collection[str] = ()) -> pa.RecordBatch:
    """Return a batch whose truth values, large or coded texts, and the columns `texts`, are plain texts."""
    columns = [
        column if _is_number(column.type) and name not in texts else column.cast(pa.string()).dictionary_encode()
        for name, column in zip(batch.schema.names, batch.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _is_number(found: pa.DataType) -> bool | None:
    """Return True for numbers, False for what reads as text, None for what is neither (times, lists, bytes)."""
    inner = found.value_type if pa.types.is_dictionary(found) else found
    if pa.types.is_boolean(inner) or pa.types.is_string(inner) or pa.types.is_large_string(inner):
        return False
    if pa.types.is_integer(inner) or pa.types.is_floating(inner) or pa.types.is_decimal(inner):
        return True
    return None
