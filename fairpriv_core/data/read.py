"""CSV and Parquet files of any size, read in blocks into growing columns: memory stays near that of the result.

A column of numbers is kept as float32 (float64 where a caller needs it exact, or whole numbers are too long), a column
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

from fairpriv_core.data.dates import ORDERS, read_date
from fairpriv_core.data.faults import check_file, check_header, check_size, explain, no_rows
from fairpriv_core.data.forms import UNSTATED, Form, Stated, find_form, open_rows
from fairpriv_core.data.problem import Layout
from fairpriv_core.data.several import open_parts, read_batches
from fairpriv_core.data.table import MISSING, Codes, Column, Numbers, canonical, parse_number
from fairpriv_core.errors import BadInput

MOST_VALUES = 20_000
_MOST_DAYS = 150_000  # four centuries, beside texts that are none
_EXACT = 2**24  # whole numbers beyond it are not all float32
_UNLISTED = "\0"  # stands for the texts of a declared column that find no place
_SAMPLE = 100
_BLOCK = 8 << 20
_BATCH = 1 << 16
_LARGE_BATCH = 1 << 12  # of rows that may hold images
_CELL_BYTES = 4  # a value in memory, about
_THREADS_FROM = 64 << 20
_PLAIN = Layout()
_TEXT = pa.dictionary(pa.int32(), pa.string())
_NULLS = [*MISSING, *(f" {word}" for word in MISSING)]
_NOT_A_NUMBER = re.compile(r"In CSV column #(\d+): (?:Row #(\d+): )?CSV conversion error to \w+: invalid value '", re.S)


@dataclass(frozen=True)
class ReadAs:
    """What a column is said to hold: numbers (any other cell is missing), texts, among which `values`, days, or keys.

    All are told apart that can be a value: of texts those in `values`, or any where none are stated, of days what
    spells one in some order, of keys each as it is written. Of other texts only so many are.
    """

    kind: Literal["number", "text", "date", "key"]
    values: tuple[str, ...] = ()

    def allows(self, text: str) -> bool:
        """Return whether a text that is not among `values` can be a value: what finds room must not depend on others.

        A text of a list that is open is counted with noise, and one that lost its place to another row's would move it.
        """
        if self.kind == "date":
            return any(read_date(text, order) is not None for order in ORDERS)
        return not self.values


@dataclass(frozen=True)
class Reading:
    """What a file holds; `unused` says why a column is not in `table`, `odd` what else the owner should know.

    `retyped` says of columns in which row a text made texts of their numbers: for the owner alone. `form` is how
    the file is written. `samples` are some texts of columns that have too many.
    """

    table: dict[str, Column]
    unused: Mapping[str, str] = field(default_factory=dict)
    odd: tuple[str, ...] = ()
    retyped: Mapping[str, str] = field(default_factory=dict)
    form: Form = field(default_factory=Form)
    samples: Mapping[str, tuple[str, ...]] = field(default_factory=dict)

    @property
    def remarks(self) -> tuple[str, ...]:
        """One sentence for each thing that the file's owner should know."""
        return (*self.odd, *self.form.remarks, *self.retyped.values(), *self.unused.values())


class _Taking(Protocol):
    """A column while it is read, block by block."""

    def add(self, array: pa.Array, number: pa.DataType) -> None:
        """Take a block; its numbers are kept as `number`."""


_Taker = TypeVar("_Taker", bound=_Taking)


@dataclass
class _Growing:
    """A column while it is read into memory; `read_as` is what a schema says that it holds, None where none does."""

    numeric: bool
    read_as: ReadAs | None = None
    decimal: str = "."
    held: np.ndarray = field(default_factory=lambda: np.empty(0, dtype=np.float32))
    rows: int = 0
    values: dict[str, int] = field(default_factory=dict)
    sample: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if self.read_as is not None:
            self.numeric = self.read_as.kind == "number"
            for value in self.read_as.values:
                self.values.setdefault(canonical(value), len(self.values))

    @property
    def full(self) -> bool:
        """Whether it has more texts than are kept."""
        return bool(self.sample)

    def add(self, array: pa.Array, number: pa.DataType) -> None:
        if self.full:
            return
        if self.read_as is not None:  # no cell decides how finely another one is read
            number = pa.float64()
        if not self.numeric:
            self._add_texts(array)
        elif pa.types.is_dictionary(array.type):
            spelled = (str(text or "").replace(self.decimal, ".") for text in array.dictionary.to_pylist())
            numbers = np.array([*map(parse_number, spelled), math.nan])
            self._append(numbers[array.indices.fill_null(len(numbers) - 1).to_numpy(zero_copy_only=False)])
        else:
            plain = number if pa.types.is_float32(array.type) else pa.float64()
            part = array.cast(plain, safe=False).to_numpy(zero_copy_only=False)
            self._append(part if number == pa.float64() or _is_long(part) else part.astype(np.float32, copy=False))

    def _add_texts(self, array: pa.Array) -> None:
        coded = array if pa.types.is_dictionary(array.type) else array.cast(pa.string()).dictionary_encode()
        lookup = [self._find(text) for text in coded.dictionary.to_pylist()]
        if self.read_as is None and len(self.values) > MOST_VALUES:
            self.sample, self.held, self.values = tuple(self.values)[:_SAMPLE], np.empty(0), {}
            return
        indices = coded.indices.fill_null(len(lookup)).to_numpy(zero_copy_only=False)
        self._append(np.array([*lookup, -1], dtype=np.int16 if self.read_as is None else np.int32)[indices])

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

    def _find(self, text: str | None) -> int:
        stripped = "" if text is None else str(text).strip()
        if stripped in MISSING:
            return -1
        if self.read_as is None or self.read_as.kind == "key":
            return self.values.setdefault(stripped, len(self.values))
        key = re.split("[T ]", stripped, maxsplit=1)[0] if self.read_as.kind == "date" else canonical(stripped)
        most = _MOST_DAYS if self.read_as.kind == "date" else MOST_VALUES + len(self.read_as.values)
        has_room = key in self.values or len(self.values) < most or self.read_as.allows(key)
        return self.values.setdefault(key if has_room else _UNLISTED, len(self.values))

    def finish(self) -> Column:
        """Return the column as long as it is; what was held is given up, so that one column at most is held twice."""
        whole, self.held = self.held[: self.rows].copy(), np.empty(0)
        if self.numeric:
            return Numbers(whole)
        coded = Codes(whole, tuple(self.values))
        return coded if self.read_as is not None else _as_numbers(coded)


def _is_long(part: np.ndarray) -> bool:
    """Return whether numbers are whole and some too long for float32: numbers of rows or people, told apart so."""
    finite = part[np.isfinite(part)]
    return bool((np.abs(finite) > _EXACT).any() and (finite == np.floor(finite)).all())


class _Sealing:
    """A column's content while it is read: a digest of its cells, wherever blocks end.

    A column of texts that are all numbers is one of numbers, as `_as_numbers` has it. Texts are digested as their
    lengths and their bytes, two streams in which no block's end shows.
    """

    def __init__(self, *, numeric: bool) -> None:
        self._numeric, self._empty = numeric, True
        self._numbers: Any = hashlib.sha256()  # None from the first text on that is no number
        self._lengths, self._bytes = hashlib.sha256(), hashlib.sha256()

    def add(self, array: pa.Array, number: pa.DataType) -> None:
        if self._numeric:
            # a float32 as it is written, so that its CSV is the same
            plain = array.cast(pa.string()) if pa.types.is_float32(array.type) else array
            self._add_numbers(plain.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))
            return
        coded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
        values = [_plain_text(text) for text in coded.dictionary.to_pylist()]
        indices = coded.indices.fill_null(len(values))
        self._try_numbers(values, indices)
        self._add_texts(pa.array([*values, None], pa.large_string()).take(indices))

    def finish(self) -> str:
        """Return the digest of the whole column."""
        if self._numeric or (self._numbers is not None and not self._empty):
            return f"numbers {self._numbers.hexdigest()}"
        return f"texts {self._lengths.hexdigest()} {self._bytes.hexdigest()}"

    def _try_numbers(self, values: Sequence[str | None], indices: pa.Array) -> None:
        if self._numbers is None:
            return
        present = [parse_number(text) for text in values if text is not None]
        if not np.isfinite(present).all():
            self._numbers = None
            return
        self._empty &= not present
        numbers = np.array([*(math.nan if text is None else parse_number(text) for text in values), math.nan])
        self._add_numbers(numbers[indices.to_numpy(zero_copy_only=False)])

    def _add_numbers(self, numbers: np.ndarray) -> None:
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
    return _stream(opener, opener.wanted, lambda name, *, numeric: _Sealing(numeric=numeric), {})[0]


def read_table(
    path: Path,
    *,
    exact: str = "",
    read_as: Mapping[str, ReadAs] | None = None,
    limit_bytes: int | None = None,
    stated: Stated = UNSTATED,
) -> Reading:
    """Return a person's table; columns named in the text `exact` keep float64, those in `read_as` as it says.

    What is `stated` of how it is written wins over what it seems to be.

    Raises BadInput for everything that can be wrong with a file, naming the column or row.
    """
    check_file(path, limit_bytes=limit_bytes)
    form = find_form(path, stated=stated, limit_bytes=limit_bytes)
    if form.packing == "parquet":
        reading = _read_parquet(path, exact, read_as or {}, limit_bytes)
    else:
        check_header(path, form.names)
        known = [name for name in form.names if name and name in exact]
        layout = Layout(columns=form.names, skip=form.skip)
        reading = read_csv(path, header=form.names, layout=layout, exact=known, read_as=read_as, form=form)
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
    exact: Collection[str] = (),
    read_as: Mapping[str, ReadAs] | None = None,
    form: Form | None = None,
) -> Reading:
    """Return the named `columns` (None: all) of a CSV file whose names are `header`; `form` is that of a person's.

    Types come from the first block, unless a column is in `read_as`; a column of numbers in which a text turns up later
    is read again as text, and a remark says where.
    """
    opener = _open_named(path, header, layout, form or Form(separator=layout.separator), columns)
    kinds = read_as or {}

    def start(name: str, *, numeric: bool) -> _Growing:
        return _Growing(numeric, kinds.get(name), opener.form.decimal)

    growing, retyped = _stream(opener, exact, start, kinds)
    return replace(_finish(path, growing, {}), retyped=retyped)


def _open_named(
    path: Path, header: Sequence[str], layout: Layout, form: Form, columns: Collection[str] | None = None
) -> _Opener:
    """Return what opens a CSV file for those of its columns that have a name and are among `columns` (None: all)."""
    names = [name or f"\0{position}" for position, name in enumerate(header)]
    wanted = [name for name in names if name[:1] != "\0" and (columns is None or name in columns)]
    return _Opener(path, header, names, wanted, layout, form)


def _stream(
    opener: _Opener, exact: Collection[str], start: Callable[..., _Taker], read_as: Mapping[str, ReadAs]
) -> tuple[dict[str, _Taker], dict[str, str]]:
    """Give each block of a CSV file to what `start(name, numeric=…)` makes of a column; return these, and `retyped`."""
    types = {name: _choose_type(found, name in exact, read_as.get(name)) for name, found in opener.infer().items()}
    retyped: dict[str, str] = {}
    while True:
        taking = {name: start(name, numeric=types[name] != _TEXT) for name in opener.wanted}
        try:
            _grow(taking, opener.batches(types), exact)
            return taking, retyped
        except pa.ArrowInvalid as error:
            junk = _NOT_A_NUMBER.match(str(error))
            if junk is None:
                raise explain(error, opener.path, opener.header, row=opener.ragged) from error
            name = opener.names[int(junk[1])]
            types[name] = _TEXT
            where = f"row {junk[2]}" if junk[2] else "one of its rows"
            held = "is read as text" if name not in read_as else "has missing values"
            retyped[name] = f"column '{name}' {held} because {where} holds no number there."


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
            strings_can_be_null=True,
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


def _choose_type(found: pa.DataType, exact: bool, read_as: ReadAs | None) -> pa.DataType:
    if read_as is not None:
        return pa.float64() if read_as.kind == "number" else _TEXT
    if pa.types.is_integer(found):
        return pa.float64()  # longer whole numbers than float32 has
    if pa.types.is_floating(found):
        return pa.float64() if exact else pa.float32()
    return _TEXT


def _grow(taking: Mapping[str, _Taking], batches: Iterable[pa.RecordBatch], exact: Collection[str]) -> None:
    for batch in batches:
        for name, column in taking.items():
            array = batch.column(name)
            column.add(array, pa.float64() if name in exact else pa.float32())


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
    return Reading(table, {**unused, **full}, samples={name: growing[name].sample for name in full})


def _plain_text(text: Any) -> str | None:
    """Return a cell's text as it is compared: truth values as Parquet has them, None where it is missing."""
    stripped = "" if text is None else str(text).strip()
    if stripped in MISSING:
        return None
    return stripped.lower() if stripped.lower() in ("true", "false") else stripped


def _as_numbers(column: Codes) -> Column:
    """Return a column of texts that are all numbers as numbers (a column that was missing in the first block)."""
    numbers = np.array([*(parse_number(text) for text in column.values), np.nan])
    return Numbers(numbers[column.codes]) if np.isfinite(numbers[:-1]).all() and column.values else column


def _read_parquet(path: Path, exact: str, read_as: Mapping[str, ReadAs], limit_bytes: int | None) -> Reading:
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
            _grow(growing, batches, [name for name in usable if name in exact])
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
            batches = (_spell(batch) for batch in read_batches(parts, rows, [*sealing]))
            _grow(sealing, batches, sealing)
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
    """Return a batch whose days and points in time are days, as texts."""
    columns = [
        column.cast(pa.date32(), safe=False).cast(pa.string()) if _is_day(column.type) else column
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
    if inner is found and (pa.types.is_integer(found) or pa.types.is_floating(found) or pa.types.is_decimal(found)):
        return True
    return None
