"""What the columns of a person's file seem to be: numbers, codes or texts; their ranges, bins and categories."""

from __future__ import annotations

import math
from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from fairpriv_core.data.features import shape_numbers
from fairpriv_core.data.problem import Categorical, Numeric
from fairpriv_core.data.sensitive import MOST_GROUPS
from fairpriv_core.data.table import Codes, Column, Numbers, Table, find_missing, parse_number, to_codes, to_numbers
from fairpriv_core.errors import BadInput

#: a column of texts keeps this many of its values apart; the others are encoded as all zeros
MOST_CATEGORIES = 50
#: whole numbers with at most this many different values are taken as codes
MOST_CODES = 12
#: fewer rows than this carry no bins
_ROWS_FOR_BINS = 1_000
_MOST_LINES = 2


@dataclass(frozen=True)
class Guess:
    """What a column seems to be; `column` is None where it cannot be a feature, and `remark` says why.

    `remark` is for the file's owner. `caveat` says the same to everybody: without a cell of the file, or a count.
    """

    column: Numeric | Categorical | None
    distinct: int
    remark: str = ""
    told: str = ""

    @property
    def caveat(self) -> str:
        """The remark as every reader of a result may have it."""
        return self.told or self.remark


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
    odd, told = _find_odd_texts(name, coded.values)
    if distinct > 0.9 * present and present > 100:
        return Guess(None, distinct, f"column '{name}' has nearly as many texts as rows (a name?) and is not used.")
    if distinct > MOST_CATEGORIES:
        most = f"the {MOST_CATEGORIES} most frequent are told apart."
        odd = odd or f"column '{name}' has {distinct:,} texts; {most}"
        told = told or f"column '{name}' has more than {MOST_CATEGORIES} texts; {most}"
    return Guess(_categorize(name, coded), distinct, odd, told)


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
