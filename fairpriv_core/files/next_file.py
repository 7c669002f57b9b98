"""A further file for a model: each column is read as the model knows it, and what it cannot use is counted and said."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TypeVar

import numpy as np

from fairpriv_core.files.cells import Unread, quote_some
from fairpriv_core.files.column import Column
from fairpriv_core.files.dates import DatePart, take_part
from fairpriv_core.files.faults import fault
from fairpriv_core.files.forms import UNSTATED, Form, Stated
from fairpriv_core.files.read import Reading, read_table
from fairpriv_core.files.spelling import show_number
from fairpriv_core.files.table import (
    Cells,
    Numbers,
    Table,
    find_missing,
    match_values,
    take_rows,
    to_codes,
    to_numbers,
)
from fairpriv_core.text import count_text

_Any = TypeVar("_Any")
_MUCH = 0.1  # of a column's cells: in other units most numbers are unlike the known ones, next month a few are


@dataclass(frozen=True)
class NextRows:
    """The rows of a further file for a model of these `columns`; `remarks` say what of them could not be used.

    `form` is how they are written, None of images.
    """

    columns: Sequence[Column]
    table: Table
    remarks: tuple[str, ...]
    form: Form | None = None

    def show(self, limit: int) -> dict[str, list[str]]:
        """Return the first `limit` rows by column, as they are used: a value's one spelling, "" where none is."""
        columns = {column.name: column for column in self.columns}
        first = take_rows({name: self.table[name] for name in columns}, slice(limit))
        return {name: _show(columns[name], values) for name, values in first.items()}


def read_next(
    path: Path,
    columns: Sequence[Column],
    stated: Stated = UNSTATED,
    *,
    limit_bytes: int | None = None,
) -> NextRows:
    """Return the rows of the file at `path`, and a sentence for each thing that of `columns` could not be used.

    Raises BadInput for a file that cannot be read, and where no cell of a column says what the model knows of it.
    """
    read_as = {column.name: column for column in columns}
    reading = read_table(path, read_as=read_as, alone=True, limit_bytes=limit_bytes, stated=stated)
    other_signs = {} if stated.decimal else _find_other_sign(reading, read_as)
    if other_signs:
        again = read_table(path, read_as=read_as | other_signs, alone=True, limit_bytes=limit_bytes, stated=stated)
        reading = _take_better(reading, again, other_signs)
    remarks = [_check(path.name, column, reading) for column in columns if column.name in reading.table]
    return NextRows(columns, reading.table, (*reading.odd, *reading.form.remarks, *filter(None, remarks)), reading.form)


def _find_other_sign(reading: Reading, read_as: Mapping[str, Column]) -> dict[str, Column]:
    """Return how to read columns of which half the cells or more are no numbers: with the other decimal sign."""
    return {
        name: replace(column, decimal="." if (column.decimal or reading.form.decimal) == "," else ",")
        for name, column in read_as.items()
        if column.kind == "number" and name in reading.unread
        if reading.unread[name].rows >= (~find_missing(reading.table[name])).sum()
    }


def _take_better(reading: Reading, again: Reading, tried: Collection[str]) -> Reading:
    """Return a reading with those columns `tried` again of which more cells are numbers then."""
    unread_again = {name: again.unread[name].rows if name in again.unread else 0 for name in tried}
    better = {name for name in tried if unread_again[name] < reading.unread[name].rows}

    def take(first: Mapping[str, _Any], then: Mapping[str, _Any]) -> dict[str, _Any]:
        values = {name: value for name, value in first.items() if name not in better}
        return values | {name: value for name, value in then.items() if name in better}

    unread, amounts = take(reading.unread, again.unread), take(reading.amounts, again.amounts)
    return replace(reading, table=take(reading.table, again.table), unread=unread, amounts=amounts)


def _show(column: Column, values: Cells) -> list[str]:
    """Return what is used of a column's cells; of dates the days."""
    if column.date is not None:
        is_missing = find_missing(take_part(values, column.date))
        return ["" if missing else text for missing, text in zip(is_missing, _spell(values), strict=True)]
    if column.is_quantity:
        return [show_number(number) if math.isfinite(number) else "" for number in to_numbers(values).tolist()]
    places = match_values(values, column.categories, dict(column.recode))
    return [column.categories[place] if place >= 0 else "" for place in places]


def _spell(values: Cells) -> list[str]:
    coded = to_codes(values)
    assert coded is not None
    return [coded.values[code] if code >= 0 else "" for code in coded.codes]


def _check(name: str, column: Column, reading: Reading) -> str:
    """Return what cells of a column could not be used, "" for none; BadInput where that is all of them."""
    values = reading.table[column.name]
    unread = reading.unread.get(column.name) if column.date is None else _find_no_dates(values, column.date)
    n_unread, rows = 0 if unread is None else unread.rows, len(values)
    empty = int(find_missing(values).sum()) - (n_unread if isinstance(values, Numbers) else 0)
    if unread is not None and n_unread + empty == rows:
        raise fault(
            f"column '{column.name}' of {name} has no {unread.what}: its cells say {quote_some(unread.words)}. "
            "Write them as in the file that the model was trained on."
        )
    if empty == rows and not column.missing:
        raise fault(f"column '{column.name}' of {name} is empty; the model needs its values.")
    remarks = [] if unread is None else [str(unread).rstrip(".")]
    if empty and not column.missing:
        remarks.append(f"{count_text(empty, 'cell')} {'is' if empty == 1 else 'are'} empty")
    beyond = _count_beyond(column, values)
    if beyond > _MUCH * rows:
        lie = "lies" if beyond == 1 else "lie"
        remarks.append(f"{count_text(beyond, 'cell')} {lie} beyond the numbers that the model was trained on")
    if column.name in reading.amounts:
        remarks.append(str(reading.amounts[column.name]).rstrip("."))
    return f"column '{column.name}': {'; '.join(remarks)}." if remarks else ""


def _count_beyond(column: Column, values: Cells) -> int:
    """Return how many cells are numbers below or above the range that the model knows of a column; 0 of other ones."""
    if not column.is_quantity or column.date is not None:
        return 0
    numbers = to_numbers(values)
    beyond = (numbers < column.low) | (numbers > column.high)
    return int((beyond & ~np.isin(numbers, column.special)).sum())


def _find_no_dates(values: Cells, part: DatePart) -> Unread | None:
    """Return the cells of a column that are no date in the order in which its dates are written."""
    no_date = find_missing(take_part(values, part)) & ~find_missing(values)
    coded = to_codes(values)
    assert coded is not None
    words = [coded.values[code] for code in np.unique(coded.codes[no_date])]
    return Unread("date", int(no_date.sum()), tuple(words)) if words else None
