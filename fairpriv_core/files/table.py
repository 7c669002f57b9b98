"""Columns in memory: numbers, or codes with the list of values that they stand for."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from fairpriv_core.errors import BadInput
from fairpriv_core.files.spelling import Spellings, parse_number, show_number


@dataclass(frozen=True)
class Numbers:
    """A numeric column: `values` (n,) float32 or float64, NaN where missing."""

    values: np.ndarray

    def __len__(self) -> int:
        return len(self.values)


@dataclass(frozen=True)
class Codes:
    """A column of texts: `codes` (n,) whole numbers into `values`, -1 where missing."""

    codes: np.ndarray
    values: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.codes)


Cells = Numbers | Codes
Table = Mapping[str, Cells]


def count_rows(table: Table) -> int:
    """Return the number of rows; 0 for a table without columns."""
    return len(next(iter(table.values()), ()))


def take_rows(table: Table, index: np.ndarray | slice) -> dict[str, Cells]:
    """Return the rows that `index` (positions, a mask or a slice) selects."""
    return {name: _take(column, index) for name, column in table.items()}


def join_tables(tables: Sequence[Table]) -> dict[str, Cells]:
    """Return the rows of tables with equal columns, one after the other; codes must stand for the same values."""
    return {name: _join([table[name] for table in tables]) for name in tables[0]}


def name_bins(name: str, edges: Sequence[float]) -> tuple[str, ...]:
    """Return how intervals are written: `age < 25`, `25 ≤ age < 60`, `age ≥ 60`."""
    ends = [show_number(edge) for edge in edges]
    middle = (f"{low} ≤ {name} < {high}" for low, high in pairwise(ends))
    return (f"{name} < {ends[0]}", *middle, f"{name} ≥ {ends[-1]}")


def find_missing(column: Cells) -> np.ndarray:
    """Return a mask (n,) of the missing values; an infinite number counts as missing."""
    return column.codes < 0 if isinstance(column, Codes) else ~np.isfinite(column.values)


def to_codes(column: Cells, *, limit: int | None = None) -> Codes | None:
    """Return a column as codes over its sorted values; None where it has more than `limit` of them."""
    if isinstance(column, Codes):
        return column if limit is None or len(column.values) <= limit else None
    present = ~find_missing(column)
    values, inverse = np.unique(column.values[present], return_inverse=True)
    if limit is not None and len(values) > limit:
        return None
    codes = np.full(len(column), -1, dtype=np.int32)
    codes[present] = inverse
    return Codes(codes, tuple(show_number(value) for value in values))


def require_exact(column: Cells, what: str) -> None:
    """Raise BadInput where numbers that are to be kept apart are so large that neighbours share one float."""
    if not isinstance(column, Numbers):
        return
    exact = 2 ** (int(np.finfo(column.values.dtype).nmant) + 1)
    if (np.abs(column.values[~find_missing(column)]) >= exact).any():
        raise BadInput(
            f"{what} holds numbers from {exact:,} on, whose last digits are lost: say in a schema that its type is "
            "category, and they are read as text.",
            field="file",
        )


def match_values(column: Cells, categories: Sequence[str], recode: Mapping[str, str]) -> np.ndarray:
    """Return the position (n,) int32 of each row's value among `categories`; -1 for a missing or unlisted value."""
    require_exact(column, "a column of categories")
    coded = to_codes(column)
    assert coded is not None
    spellings = Spellings(categories, recode)
    lookup = np.array([*map(spellings.find, coded.values), -1], dtype=np.int32)
    places: np.ndarray = lookup[coded.codes]
    return places


def to_numbers(column: Cells) -> np.ndarray:
    """Return a column as float64 (n,); texts that are no number become NaN."""
    if isinstance(column, Numbers):
        return column.values.astype(np.float64, copy=False)
    lookup = np.array([*(parse_number(value) for value in column.values), math.nan], dtype=np.float64)
    numbers: np.ndarray = lookup[column.codes]
    return numbers


def _take(column: Cells, index: np.ndarray | slice) -> Cells:
    if isinstance(column, Numbers):
        return Numbers(column.values[index])
    return Codes(column.codes[index], column.values)


def _join(columns: list[Cells]) -> Cells:
    first = columns[0]
    if isinstance(first, Codes):
        return Codes(np.concatenate([part.codes for part in columns if isinstance(part, Codes)]), first.values)
    return Numbers(np.concatenate([part.values for part in columns if isinstance(part, Numbers)]))
