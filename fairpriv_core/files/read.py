"""CSV and Parquet files of any size, read in blocks into growing columns: memory stays near that of the result.

A column of numbers is kept as float64, so that no file and no schema makes another number of a cell, a column
of texts as whole numbers into its values. A column with more than MOST_VALUES different texts (names, free text) is not
kept, unless a schema says what it holds: then each cell is read by itself, to the last bit, whatever the others hold.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TypeVar

import pyarrow as pa
from pyarrow import csv

from fairpriv_core.errors import BadInput
from fairpriv_core.files.cells import Amounts, Merged, Unread, quote_some
from fairpriv_core.files.column import Column
from fairpriv_core.files.faults import check_file, check_header, check_size, explain, no_rows
from fairpriv_core.files.forms import UNSTATED, Form, Stated, find_form, open_rows
from fairpriv_core.files.growing import MOST_VALUES, Growing, Sealing, Taking
from fairpriv_core.files.several import open_parts, read_batches
from fairpriv_core.files.spelling import MISSING
from fairpriv_core.files.table import Cells, Codes

_BLOCK = 8 << 20
_BATCH = 1 << 16
_LARGE_BATCH = 1 << 12  # of rows that may hold images
_CELL_BYTES = 8  # a value in memory, about
_THREADS_FROM = 64 << 20
_TEXT = pa.dictionary(pa.int32(), pa.string())
_NULLS = [*MISSING, *(f" {word}" for word in MISSING)]
_NOT_A_NUMBER = re.compile(r"In CSV column #(\d+): (?:Row #(\d+): )?CSV conversion error to \w+: invalid value '", re.S)


@dataclass(frozen=True)
class Reading:
    """What a file holds; `unused` says why a column is not in `table`, `odd` what else the owner should know.

    `retyped` has a sentence for each column of numbers that is read as text, with the row whose text is the reason.
    `form` is how the file is written. `samples` are some texts of columns that have too many different ones.
    `unread` has the cells that say nothing of what their column holds. `merged` has, of columns that nothing is said
    of, the values with several spellings, and their rows. `amounts` has the columns of numbers that are not plain
    ones, `lacked` the words that stand for no value in columns of texts. All but `form` are for the owner alone.
    """

    table: dict[str, Cells]
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
        remarks = self.list_remarks([*self.table])
        return (*self.odd, *self.form.remarks, *self.retyped.values(), *remarks, *self.unused.values())

    def list_remarks(self, names: Collection[str], *, lacking: Collection[str] = ()) -> tuple[str, ...]:
        """Return how the cells of these columns are read, a sentence each; of those `lacking` also which are none."""
        remarks: list[tuple[str, object]] = []
        for name in names:
            about = (self.unread.get(name), self.amounts.get(name), *self.merged.get(name, ()))
            remarks += [(name, item) for item in about if item is not None]
            if name in lacking and name in self.lacked:
                words = self.lacked[name]
                remarks.append((name, f"{quote_some(words)} {'stands' if len(words) == 1 else 'stand'} for no value."))
        return tuple(f"column '{name}': {item}" for name, item in remarks)


_Taker = TypeVar("_Taker", bound=Taking)


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


def _seal(path: Path, form: Form) -> Mapping[str, Sealing]:
    if form.packing == "parquet":
        return _seal_parquet(path)
    check_header(path, form.names)
    opener = _open_named(path, form)
    return _stream(opener, lambda name, *, numeric: Sealing(numeric=numeric), {})[0]


def read_table(
    path: Path,
    *,
    read_as: Mapping[str, Column] | None = None,
    alone: bool = False,
    limit_bytes: int | None = None,
    stated: Stated = UNSTATED,
) -> Reading:
    """Return a person's table; its columns in `read_as` as that says, and `alone`: no cell otherwise because of others.

    What is `stated` of how it is written wins over what it seems to be.

    Raises BadInput for everything that can be wrong with a file, naming the column or row.
    """
    check_file(path, limit_bytes=limit_bytes)
    form = find_form(path, stated=stated, limit_bytes=limit_bytes)
    if form.packing == "parquet":
        reading = _read_parquet(path, read_as or {}, limit_bytes, alone=alone)
    else:
        check_header(path, form.names)
        reading = read_csv(path, form, read_as=read_as, alone=alone, stated=stated)
    return replace(
        reading,
        odd=(
            *(sentence for sentence in form.sentences if sentence not in form.remarks),
            *_find_nameless(form),
            *reading.odd,
        ),
        form=form,
    )


def format_form(path: Path, stated: Stated = UNSTATED) -> tuple[str, ...]:
    """Return what the owner of the file at `path` should know of how it is read; errors as `read_table`."""
    check_file(path)
    form = find_form(path, stated=stated)
    return (*form.sentences, *_find_nameless(form))


def _find_nameless(form: Form) -> tuple[str, ...]:
    nameless = [str(position) for position, name in enumerate(form.names, 1) if not name and not form.rows_named]
    return (f"column {', '.join(nameless)} has no name and is not used.",) if nameless else ()


def read_csv(
    path: Path,
    form: Form,
    *,
    columns: Collection[str] | None = None,
    read_as: Mapping[str, Column] | None = None,
    alone: bool = False,
    stated: Stated = UNSTATED,
) -> Reading:
    """Return the named `columns` (None: all) of a CSV file that is written as `form` says.

    Numbers of a column of which nothing is said may have either sign before decimals, unless it is `stated`.

    Types come from the first block, unless a column is in `read_as`; a column of numbers in which a text turns up later
    is read again as text, and a remark says where.
    """
    opener = _open_named(path, form, columns)
    kinds = read_as or {}

    def start(name: str, *, numeric: bool) -> Growing:
        return Growing(numeric, kinds.get(name), alone, opener.form.decimal, is_stated=bool(stated.decimal))

    growing, retyped = _stream(opener, start, kinds)
    reading = _finish(path, growing, {})
    texts = {name: remark for name, remark in retyped.items() if isinstance(reading.table.get(name), Codes)}
    return replace(reading, retyped=texts)


def _open_named(path: Path, form: Form, columns: Collection[str] | None = None) -> _Opener:
    """Return what opens a CSV file for those of its columns that have a name and are among `columns` (None: all)."""
    names = [name or f"\0{position}" for position, name in enumerate(form.names)]
    used = [name for name in names if name[:1] != "\0" and (columns is None or name in columns)]
    return _Opener(path, names, used, form)


def _stream(
    opener: _Opener, start: Callable[..., _Taker], read_as: Mapping[str, Column]
) -> tuple[dict[str, _Taker], dict[str, str]]:
    """Give each block of a CSV file to what `start(name, numeric=…)` makes of a column; return these, and `retyped`."""
    types = {name: _choose_type(inferred, read_as.get(name)) for name, inferred in opener.infer().items()}
    retyped: dict[str, str] = {}
    while True:
        taking = {name: start(name, numeric=types[name] != _TEXT) for name in opener.wanted}
        try:
            _grow(taking, opener.batches(types))
            return taking, retyped
        except pa.ArrowInvalid as error:
            junk = _NOT_A_NUMBER.match(str(error))
            if junk is None:
                raise explain(error, opener.path, opener.form.names, row=opener.ragged) from error
            name = opener.names[int(junk[1])]
            types[name] = _TEXT
            where = f"row {junk[2]}" if junk[2] else "one of its rows"
            retyped[name] = f"column '{name}' is read as text because {where} holds no number there."


@dataclass
class _Opener:
    """Opens one CSV file with given column types; remembers the first row with too few or too many fields."""

    path: Path
    names: list[str]
    wanted: list[str]
    form: Form
    ragged: tuple[int | None, int, str] | None = None

    def infer(self) -> dict[str, pa.DataType]:
        try:
            with self._open({}) as reader:
                return {column.name: column.type for column in reader.schema}
        except pa.ArrowInvalid as error:
            raise explain(error, self.path, self.names, row=self.ragged) from error

    def batches(self, types: dict[str, pa.DataType]) -> Iterator[pa.RecordBatch]:
        with self._open(types) as reader:
            yield from reader

    @contextmanager
    def _open(self, types: dict[str, pa.DataType]) -> Iterator[csv.CSVStreamingReader]:
        reading = csv.ReadOptions(
            column_names=self.names,
            skip_rows=self.form.skip,
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
            with csv.open_csv(source, read_options=reading, parse_options=parse, convert_options=convert) as reader:
                yield reader

    def _note_row(self, row: csv.InvalidRow) -> str:
        self.ragged = self.ragged or (row.number, row.actual_columns, row.text)
        return "error"


def _choose_type(inferred: pa.DataType, read_as: Column | None) -> pa.DataType:
    if read_as is not None and (read_as.kind != "any" or read_as.says_cells):
        plain = read_as.kind == "number" and not read_as.decimal and not read_as.missing_words
        return pa.float64() if plain else _TEXT
    return pa.float64() if pa.types.is_integer(inferred) or pa.types.is_floating(inferred) else _TEXT


def _grow(taking: Mapping[str, Taking], batches: Iterable[pa.RecordBatch]) -> None:
    for batch in batches:
        for name, column in taking.items():
            column.add(batch.column(name))


def _finish(path: Path, growing: dict[str, Growing], unused: dict[str, str]) -> Reading:
    full = {
        name: f"column '{name}' has more than {MOST_VALUES:,} different texts and is not used."
        for name, column in growing.items()
        if column.full
    }
    if not full and not any(column.rows for column in growing.values()):
        raise no_rows(path)
    pa.default_memory_pool().release_unused()  # Arrow would keep the blocks for a next file
    table = {name: column.finish() for name, column in growing.items() if not column.full}
    columns = {name: column for name, column in growing.items() if not column.full}
    return Reading(
        table,
        {**unused, **full},
        samples={name: growing[name].sample for name in full},
        unread={name: column.unread for name, column in columns.items() if column.unread is not None},
        merged={name: column.merged for name, column in columns.items() if column.merged},
        amounts={name: column.amounts for name, column in columns.items() if column.amounts is not None},
        lacked={name: tuple(sorted(column.lacked - {""})) for name, column in columns.items() if column.lacked - {""}},
    )


def _read_parquet(path: Path, read_as: Mapping[str, Column], limit_bytes: int | None, *, alone: bool) -> Reading:
    try:
        with open_parts(path, limit_bytes) as parts:
            schema = parts.schema
            check_header(path, schema.names)
            size = _CELL_BYTES * parts.count_rows() * len(schema)
            check_size(path.name, size, limit_bytes=limit_bytes, unpacked=True)
            unused = _find_unused(schema)
            usable = {item.name: bool(_is_number(item.type)) for item in schema if item.name not in unused}
            growing = {name: Growing(numeric, read_as.get(name), alone) for name, numeric in usable.items()}
            texts = {name for name, column in growing.items() if not column.numeric}
            batches = (_plain(_date(batch), texts) for batch in read_batches(parts, _BATCH, [*usable]))
            _grow(growing, batches)
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        raise explain(error, path, (), row=None) from error
    return _finish(path, growing, unused)


def _seal_parquet(path: Path) -> dict[str, Sealing]:
    try:
        with open_parts(path) as parts:
            schema = parts.schema
            check_header(path, schema.names)
            index = _list_index(schema)
            kinds = {name: _is_number(schema.field(name).type) for name in schema.names if name not in index}
            sealing = {name: Sealing(numeric=kind is True) for name, kind in kinds.items()}
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
    columns = (schema.pandas_metadata or {}).get("index_columns", [])
    return [name for name in columns if isinstance(name, str)]


def _find_unused(schema: pa.Schema) -> dict[str, str]:
    """Return why a column is not read: it is the row index that pandas stored, or neither numbers nor text."""
    index = {name: f"column '{name}' is the row index and is not used." for name in _list_index(schema)}
    kinds = {column.name: _is_number(column.type) for column in schema}
    unreadable = [column.name for column in schema if kinds[column.name] is None and not _is_day(column.type)]
    return {**index, **{name: f"column '{name}' is neither numbers nor text and is not used." for name in unreadable}}


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


def _is_day(kind: pa.DataType) -> bool:
    return bool(pa.types.is_date(kind) or pa.types.is_timestamp(kind))


def _plain(batch: pa.RecordBatch, texts: Collection[str] = ()) -> pa.RecordBatch:
    """Return a batch whose truth values, large or coded texts, and the columns `texts`, are plain texts."""
    columns = [
        column if _is_number(column.type) and name not in texts else column.cast(pa.string()).dictionary_encode()
        for name, column in zip(batch.schema.names, batch.columns, strict=True)
    ]
    return pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _is_number(kind: pa.DataType) -> bool | None:
    """Return True for numbers, False for what reads as text, None for what is neither (times, lists, bytes)."""
    inner = kind.value_type if pa.types.is_dictionary(kind) else kind
    if pa.types.is_boolean(inner) or pa.types.is_string(inner) or pa.types.is_large_string(inner):
        return False
    if pa.types.is_integer(inner) or pa.types.is_floating(inner) or pa.types.is_decimal(inner):
        return True
    return None
