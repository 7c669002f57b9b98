"""A person's own file: types, ranges and categories are read from its rows, which is said wherever an epsilon is."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fairpriv_core.data.download import hash_file
from fairpriv_core.data.features import shape_numbers
from fairpriv_core.data.material import Declared, Material
from fairpriv_core.data.problem import Categorical, DataSpec, Numeric
from fairpriv_core.data.sensitive import MOST_GROUPS, parse_sensitive
from fairpriv_core.data.stream import read_table
from fairpriv_core.data.table import Codes, Column, Numbers, Table, find_missing, parse_number, to_codes, to_numbers
from fairpriv_core.errors import BadInput

#: a column of texts keeps this many of its values apart; the others are encoded as all zeros
MOST_CATEGORIES = 50
#: whole numbers with at most this many different values are taken as codes
MOST_CODES = 12
#: fewer rows than this carry no bins
_ROWS_FOR_BINS = 1_000
_LEARNED = (
    "Column types, ranges, bins and category lists of the features were read from the file and are taken as public, "
    "and so is the number of rows."
)


@dataclass(frozen=True)
class Guess:
    """What a column seems to be; `column` is None where it cannot be a feature, and `remark` says why."""

    column: Numeric | Categorical | None
    distinct: int
    remark: str = ""


def read_own_file(path: Path, spec: DataSpec) -> Material:
    """Return a person's CSV or Parquet file with a schema read from its rows.

    Raises BadInput for a file or column that cannot be used, naming it.
    """
    reading = read_table(path, exact=f"{spec.sensitive} {spec.label}")
    for name in {spec.label or "", *_named_columns(spec.sensitive)} & set(reading.unused):
        raise BadInput(reading.unused[name], field="label" if name == spec.label else "sensitive")
    table = reading.table
    check_columns(path.name, table)
    attributes = parse_sensitive(spec.sensitive, table)
    uncut = {attribute.column for attribute in attributes if not attribute.edges}
    guesses = {name: guess_column(name, column) for name, column in table.items()}
    columns = {name: guess.column for name, guess in guesses.items() if guess.column is not None}
    named = {name: _list_values(name, table[name]) for name in {*uncut, spec.label or ""} if name in table}
    cut = {name.column: _measure(name.column, table[name.column]) for name in attributes if name.edges}
    remarks = (guess.remark for name, guess in guesses.items() if guess.remark and name not in {*named, *cut})
    declared = Declared({**columns, **cut, **named}, tuple(columns.values()), assumed=(_LEARNED,), learned=True)
    return Material(path.name, table, declared, hash_file(path), (*reading.remarks, *remarks))


def _named_columns(sensitive: str) -> set[str]:
    """Return every column that the text could mean, before it is known which columns there are."""
    parts = [part.strip() for part in sensitive.split("+")]
    return {sensitive.strip(), *parts, *(part.rpartition(":")[0].strip() for part in parts)}


def check_columns(name: str, table: Table) -> None:
    """Raise BadInput naming the columns that have no value at all."""
    empty = [column for column, values in table.items() if find_missing(values).all()]
    if empty:
        listed = ", ".join(f"'{column}'" for column in empty[:5])
        raise BadInput(f"{name}: every value of {listed} is missing; delete the column or fill it.", field="file")


def guess_column(name: str, column: Column) -> Guess:
    """Return what a column of a file seems to be, as a feature."""
    present = len(column) - int(find_missing(column).sum())
    coded = to_codes(column)
    assert coded is not None
    distinct = int(np.unique(coded.codes[coded.codes >= 0]).size)
    if distinct < 2:
        return Guess(None, distinct, f"column '{name}' has one value throughout and is not used.")
    if isinstance(column, Numbers):
        values = column.values[np.isfinite(column.values)]
        whole = bool((values == np.floor(values)).all())
        if whole and distinct == present > 100 and np.ptp(values) == present - 1:
            return Guess(None, distinct, f"column '{name}' numbers the rows and is not used.")
        if whole and distinct <= MOST_CODES:
            return Guess(_categorize(name, coded), distinct)
        return Guess(_measure(name, column), distinct)
    if distinct > 0.9 * present and present > 100:
        return Guess(None, distinct, f"column '{name}' has nearly as many texts as rows (a name?) and is not used.")
    if distinct > MOST_CATEGORIES:
        told = f"column '{name}' has {distinct:,} texts; the {MOST_CATEGORIES} most frequent are told apart."
        return Guess(_categorize(name, coded), distinct, told)
    return Guess(_categorize(name, coded), distinct)


def _categorize(name: str, coded: Codes) -> Categorical:
    """Return the most frequent values of a feature as its categories, in sorted order."""
    counts = np.bincount(coded.codes[coded.codes >= 0], minlength=len(coded.values))
    often = np.argsort(-counts, kind="stable")[:MOST_CATEGORIES]
    values = tuple(coded.values[index] for index in often if counts[index])
    return Categorical(name, _sort(values), missing=bool((coded.codes < 0).any()))


def _list_values(name: str, column: Column) -> Numeric | Categorical:
    """Return every value of a label or sensitive column; a numeric one with too many to be groups stays numeric."""
    coded = to_codes(column, limit=MOST_GROUPS if isinstance(column, Numbers) else None)
    return _measure(name, column) if coded is None else Categorical(name, _sort(coded.values))


def _sort(values: Collection[str]) -> tuple[str, ...]:
    """Return values in rising order, numbers as numbers before texts."""
    return tuple(
        sorted(values, key=lambda value: (not _is_number(value), float(value) if _is_number(value) else value))
    )


def _is_number(text: str) -> bool:
    return not math.isnan(parse_number(text))


def _measure(name: str, column: Column) -> Numeric:
    """Return range, center, scale and bins of a numeric column, from its finite values."""
    values = to_numbers(column)
    absent = ~np.isfinite(values)
    values = values[~absent]
    if not values.size:
        raise BadInput(f"'{name}' holds texts, so it cannot be cut at numbers.", field="sensitive")
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
