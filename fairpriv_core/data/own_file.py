"""A person's own file: types, ranges and categories are read from its rows, which is said wherever an epsilon is."""

from __future__ import annotations

import csv
import errno
import hashlib
import io
import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path, PurePath
from typing import Any

import numpy as np
import pyarrow as pa
from pyarrow import parquet

from fairpriv_core.data.download import hash_file
from fairpriv_core.data.faults import check_file, explain
from fairpriv_core.data.forms import Form, find_form, open_rows, read_names
from fairpriv_core.data.images import Pixels, Target, decode_images, read_image_file
from fairpriv_core.data.problem import Categorical, DataSpec, Numeric
from fairpriv_core.data.read import read_table
from fairpriv_core.data.roles import MOST_GROUPS, parse_label, parse_sensitive
from fairpriv_core.data.schema import Declared, RawTable, shape_numbers
from fairpriv_core.data.table import (
    Codes,
    Column,
    Numbers,
    Table,
    count_rows,
    find_missing,
    parse_number,
    take_rows,
    to_codes,
    to_numbers,
)
from fairpriv_core.errors import BadInput
from fairpriv_core.paths import read_path

#: a column of texts keeps this many of its values apart; the others are encoded as all zeros
MOST_CATEGORIES = 50
#: whole numbers with at most this many different values are taken as codes
MOST_CODES = 12
#: fewer rows than this carry no bins
_ROWS_FOR_BINS = 1_000
_MOST_LINES = 2
_LEARNED_OF_IMAGES = (
    "Which values the label and the sensitive attribute have, the images' size and whether they are grey were read "
    "from the files and are taken as public, and so is the number of images. Pixels are divided by 255, a public "
    "constant."
)
_ENDINGS = (".png", ".jpg", ".jpeg", ".bmp", ".gif", ".tif", ".tiff", ".webp", ".pgm", ".ppm")
_LEARNED = (
    "Column types, ranges, bins and category lists of the features were read from the file and are taken as public, "
    "and so are the values of the label, the number of rows, and the file's encoding, separator and decimal sign."
)
_WRITTEN = "The file is read {form}: so its rows look, which is taken as public."


@dataclass(frozen=True)
class Guess:
    """What a column seems to be; `column` is None where it cannot be a feature, and `remark` says why.

    `remark` is for the file's owner. `caveat` says the same to everybody: without a cell of the file, or a count.
    """

    column: Numeric | Categorical | None
    distinct: int
    remark: str = ""
    reason: str = ""

    @property
    def caveat(self) -> str:
        """The remark as every reader of a result may have it."""
        return self.reason or self.remark


def check_columns(name: str, table: Table) -> None:
    """Raise BadInput naming the columns that have no value at all."""
    empty = [column for column, values in table.items() if find_missing(values).all()]
    if empty:
        listed = ", ".join(f"'{column}'" for column in empty[:5])
        raise BadInput(f"{name}: every value of {listed} is missing; delete the column or fill it.", field="file")


def guess_column(name: str, column: Column) -> Guess:
    """Return what a column of a file seems to be, as a feature."""
    guess = _guess_numbers(name, column) if isinstance(column, Numbers) else _guess_texts(name, column)
    if guess.distinct < 2:
        return Guess(None, guess.distinct, f"column '{name}' has one value throughout and is not used.")
    return guess


def _guess_numbers(name: str, column: Numbers) -> Guess:
    values = column.values[np.isfinite(column.values)]
    distinct = np.unique(values)
    whole = bool((distinct == np.floor(distinct)).all())
    if whole and len(distinct) == len(values) > 100 and np.ptp(distinct) == len(values) - 1:
        return Guess(None, len(distinct), f"column '{name}' numbers the rows and is not used.")
    coded = to_codes(column, limit=MOST_CODES) if whole else None
    return Guess(measure_column(name, column) if coded is None else _categorize(name, coded), len(distinct))


def _guess_texts(name: str, coded: Codes) -> Guess:
    present = int((coded.codes >= 0).sum())
    distinct = int(np.count_nonzero(np.bincount(coded.codes[coded.codes >= 0])))
    odd, reason = _find_odd_texts(name, coded.values)
    if distinct > 0.9 * present and present > 100:
        return Guess(None, distinct, f"column '{name}' has nearly as many texts as rows (a name?) and is not used.")
    if distinct > MOST_CATEGORIES:
        most = f"the {MOST_CATEGORIES} most frequent are told apart."
        odd = odd or f"column '{name}' has {distinct:,} texts; {most}"
        reason = reason or f"column '{name}' has more than {MOST_CATEGORIES} texts; {most}"
    return Guess(_categorize(name, coded), distinct, odd, reason)


def _find_odd_texts(name: str, values: Collection[str]) -> tuple[str, str]:
    """Return a sentence where texts look like a slip: numbers with something among them, or a quote left open.

    It quotes the text, for the file's owner; the second one does not.
    """
    numbers = sum(_is_number(value) for value in values)
    if values and all(_is_number(value.replace(",", ".")) for value in values):
        return (commas := f"column '{name}' seems to hold numbers with decimal commas; write them with points."), commas
    if numbers > 0.8 * len(values):
        text = next(value for value in values if not _is_number(value))
        said = f"column '{name}' is read as texts because of '{text[:40]}'; correct it to have a column of numbers."
        return said, f"column '{name}' is read as texts because of one of its values."
    long = next((value for value in values if value.count("\n") > _MOST_LINES), None)
    if long is not None:
        said = f"column '{name}' has a text of many lines, '{long[:40]}…': is a quotation mark never closed?"
        return said, f"column '{name}' has a text of many lines."
    return "", ""


def _categorize(name: str, coded: Codes) -> Categorical:
    """Return the most frequent values of a feature as its categories, in sorted order."""
    counts = np.bincount(coded.codes[coded.codes >= 0], minlength=len(coded.values))
    often = np.argsort(-counts, kind="stable")[:MOST_CATEGORIES]
    values = tuple(coded.values[index] for index in often if counts[index])
    return Categorical(name, sort_values(values), missing=bool((coded.codes < 0).any()))


def list_values(name: str, column: Column, *, cut: bool = False) -> Numeric | Categorical:
    """Return every value of a label or sensitive column; a numeric one with too many to be groups stays numeric.

    One that is to be `cut` is numeric if it holds any number.
    """
    if cut and np.isfinite(to_numbers(column)).any():
        return measure_column(name, column)
    coded = to_codes(column, limit=MOST_GROUPS if isinstance(column, Numbers) else None)
    return measure_column(name, column) if coded is None else Categorical(name, sort_values(coded.values))


def sort_values(values: Collection[str]) -> tuple[str, ...]:
    """Return values in rising order, numbers as numbers before texts."""
    return tuple(
        sorted(values, key=lambda value: (not _is_number(value), float(value) if _is_number(value) else value))
    )


def _is_number(text: str) -> bool:
    return not math.isnan(parse_number(text))


def measure_column(name: str, column: Column) -> Numeric:
    """Return range, center, scale and bins of a numeric column, from its finite values; it must have one."""
    values = to_numbers(column)
    absent = ~np.isfinite(values)
    values = values[~absent]
    size = np.abs(values)
    log = bool(size.max() > 20 * (1 + np.median(size)))
    shaped = shape_numbers(values, log=log)
    edges: tuple[float, ...] = ()
    if len(values) >= _ROWS_FOR_BINS:
        tenths = np.quantile(values, np.arange(0.1, 0.95, 0.1), method="lower")
        edges = tuple(float(f"{edge:.3g}") for edge in np.unique(tenths) if edge > values.min())
    return Numeric(
        name,
        low=float(values.min()),
        high=float(values.max()),
        center=float(f"{shaped.mean():.4g}"),
        scale=float(f"{shaped.std():.4g}") or 1.0,
        log=log,
        edges=tuple(sorted(set(edges))),
        missing=bool(absent.any()),
    )


def read_cells(path: Path, column: str) -> list[Any]:
    """Return one column of a file that can be read: texts, bytes, or None where nothing is written.

    Raises BadInput for a file without that column.
    """
    check_file(path)
    form = find_form(path)
    if form.packing != "parquet":
        header, rows = _read_text(path, form)
        place = _find(column, header)
        return [row[place].strip() or None if place < len(row) else None for row in rows if row]
    try:
        _find(column, parquet.read_schema(path).names)
        return [_plain(cell) for cell in parquet.read_table(path, columns=[column]).column(column).to_pylist()]
    except (pa.ArrowException, OSError) as error:
        raise explain(error, path, (), row=None) from error


def read_first_row(path: Path) -> dict[str, Any]:
    """Return the first row of a file that can be read, by column; without columns that have no name."""
    form = find_form(path)
    if form.packing != "parquet":
        header, rows = _read_text(path, form)
        return {name: cell for name, cell in zip(header, next(rows, []), strict=False) if name}
    batch = next(parquet.ParquetFile(path).iter_batches(batch_size=1), None)
    found = {} if batch is None else batch.to_pylist()[0]
    return {name: _plain(cell) for name, cell in found.items()}


def _read_text(path: Path, form: Form) -> tuple[list[str], Iterator[list[str]]]:
    """Return the header of a file of text and its rows, empty lines among them."""
    blank, header = read_names(path, form)

    def read() -> Iterator[list[str]]:
        with open_rows(path, form) as stream:
            rows = csv.reader(io.TextIOWrapper(stream, "utf-8-sig", newline=""), delimiter=form.separator)
            for _ in range(blank + 1):
                next(rows)
            yield from rows

    return header, read()


def _find(column: str, known: Sequence[str]) -> int:
    if column not in known:
        raise BadInput(f"unknown column '{column}' in image; choose from {', '.join(known)}.", field="image")
    return list(known).index(column)


def _plain(cell: Any) -> Any:
    """Return a cell; of one that has bytes beside a name, as Hugging Face writes images, the bytes."""
    return cell["bytes"] if isinstance(cell, dict) and "bytes" in cell else cell


@dataclass(frozen=True)
class _Cells:
    """The cells of the image column: bytes, or names of files relative to `folder`."""

    cells: Sequence[Any]
    folder: Path
    source: str

    def name(self, place: int) -> str:
        """Return what an image is called in a sentence."""
        cell = self.cells[place]
        return cell if isinstance(cell, str) else f"row {place + 1}"

    def find(self, place: int) -> bytes:
        """Return an image's bytes; OSError where there is no such file, BadInput for one outside the folder."""
        cell = self.cells[place]
        if isinstance(cell, bytes):
            return cell
        if not isinstance(cell, str):
            raise FileNotFoundError(f"{self.name(place)} names no image")
        try:
            path = read_path(str(self.folder / cell))
        except BadInput as error:
            raise OSError(errno.EINVAL, str(error)) from error
        if PurePath(cell).is_absolute() or not path.resolve().is_relative_to(self.folder.resolve()):
            raise BadInput(
                f"'{cell}' lies outside the folder of {self.source}; name images relative to that folder.", field="file"
            )
        return read_image_file(path)


def attach_images(rows: RawTable, path: Path, column: str, *, skip: bool) -> RawTable:
    """Return `rows`, read from the file at `path`, with the images that their `column` holds or names.

    Rows whose image cannot be read are left out if they are to be skipped; BadInput otherwise, and for images of
    different sizes or outside the file's folder.
    """
    cells = _Cells(read_cells(path, column), path.parent, path.name)
    if len(cells.cells) != count_rows(rows.table):
        raise BadInput(
            f"{path.name}: column '{column}' has other rows than the rest; save the file anew.", field="file"
        )
    names = [cells.name(place) for place in range(len(cells.cells))]
    pixels, kept, lost = decode_images(names, cells.find, Target(), skip=skip)
    declared = replace(rows.declared, schema=(), assumed=(_LEARNED_OF_IMAGES,), image=pixels.shape)
    return replace(
        rows,
        table=take_rows(rows.table, kept),
        declared=declared,
        digest=hashlib.sha256(f"{rows.digest} {pixels.seal()}".encode()).hexdigest(),
        caveats=(*rows.caveats, *((lost,) if lost else ())),
        unit=pixels.number_twins(),
        unit_name="picture",
        pixels=pixels,
    )


def read_images(path: Path, shape: tuple[int, int, int]) -> Pixels:
    """Return the images that a file holds or names, for a model of images of `shape`.

    Raises BadInput where no column or more than one has images, one cannot be read, or their size is another.
    """
    columns = find_image_columns(path)
    if len(columns) != 1:
        found = " and ".join(columns) if columns else "none"
        raise BadInput(f"the model needs one column of images, and {path.name} has {found}.", field="file")
    cells = _Cells(read_cells(path, columns[0]), path.parent, path.name)
    names = [cells.name(place) for place in range(len(cells.cells))]
    pixels, _, _ = decode_images(names, cells.find, Target(colour=shape[0] > 1), skip=False)
    if pixels.shape != shape:
        wanted, got = (f"{width} × {height} pixels" for _, height, width in (shape, pixels.shape))
        raise BadInput(f"the model was trained on images of {wanted}, {path.name} has {got}.", field="file")
    return pixels


def find_image_columns(path: Path) -> tuple[str, ...]:
    """Return the columns of a readable file whose first row holds an image or names one."""
    first = read_first_row(path)
    return tuple(name for name, cell in first.items() if isinstance(cell, bytes) or _names_image(cell))


def _names_image(cell: object) -> bool:
    return isinstance(cell, str) and cell.strip().lower().endswith(_ENDINGS)


def read_own_file(path: Path, spec: DataSpec) -> RawTable:
    """Return a person's table with a schema read from its rows, or with the images that they name.

    Raises BadInput for a file or column that cannot be used, naming it.
    """
    reading = read_table(path, exact=f"{spec.sensitive} {spec.label}")
    table = {name: column for name, column in reading.table.items() if name != spec.image}
    for field, text in (("label", spec.label or ""), ("sensitive", spec.sensitive)):
        for name in _named_columns(text, table) & set(reading.unused):
            raise BadInput(reading.unused[name], field=field)
    check_columns(path.name, table)
    asked = (*parse_sensitive(spec.sensitive, table), parse_label(spec.label or "", table))
    guesses = {name: guess_column(name, column) for name, column in table.items()}
    columns = {name: guess.column for name, guess in guesses.items() if guess.column is not None}
    named = {one.column: list_values(one.column, table[one.column], cut=bool(one.edges)) for one in asked}
    retyped = {name: f"column '{name}' is read as text because of one of its values." for name in reading.retyped}
    guessed = {name: guess.caveat for name, guess in guesses.items() if guess.caveat}
    said = [caveat for name, caveat in (*retyped.items(), *guessed.items()) if name not in named]
    written = (_WRITTEN.format(form=reading.form),) if reading.form else ()
    declared = Declared(
        {**columns, **named}, tuple(columns.values()), assumed=(_LEARNED,), assumed_by_all=written, learned=True
    )
    rows = RawTable(path.name, table, declared, hash_file(path), (*reading.odd, *said, *reading.unused.values()))
    if spec.image is None:
        return rows
    seen = replace(rows, caveats=reading.odd)
    return attach_images(seen, path, spec.image, skip=spec.unreadable is not None)


def _named_columns(text: str, table: Collection[str]) -> set[str]:
    """Return every column that the text of a label or sensitive attribute could mean; `table` are those in use."""
    if text.strip() in table:
        return set()
    parts = [part.strip() for part in text.split("+")]
    return {text.strip(), *parts, *(part.rpartition(":")[0].strip() for part in parts)}
