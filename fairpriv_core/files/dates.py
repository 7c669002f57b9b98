"""Dates in a column: how they are written, and the year, month, weekday or age that is made of them."""

from __future__ import annotations

import calendar
import re
from collections.abc import Collection
from dataclasses import dataclass
from datetime import date

import numpy as np

from fairpriv_core.files.spelling import show_number
from fairpriv_core.files.table import Cells, Codes, Numbers

#: the orders of year, month and day; one that fits all values and stands earlier here is guessed
ORDERS = ("ymd", "mdy", "dmy")
PARTS = ("year", "month", "weekday", "age")
MONTHS = tuple(str(month) for month in range(1, 13))
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_DAYS_A_YEAR = 365.2425
_DATE = re.compile(r"(\d{1,4})([-./])(\d{1,2})\2(\d{1,4})(?:[T ].*)?", re.S)
_PLAIN = re.compile(r"(\d{4})(\d{2})(\d{2})")
_ORDINAL = "(?:st|nd|rd|th)?"
_NAMED = re.compile(  # 31 Dec 1999, Dec. 31, 99
    rf"(?:(\d{{1,2}})(?:{_ORDINAL}|\.)[ -]([a-z]{{3,9}})\.?,?|([a-z]{{3,9}})\.? (\d{{1,2}}){_ORDINAL},?)"
    r"[ -](\d{4}|\d{2})(?: .*)?",
    re.S,
)
_NAMES = tuple(name.lower() for name in calendar.month_name[1:])
_CENTURY = 69  # of two digits: from here on they are of the last century, as in POSIX
_FIRST_YEAR, _LAST_YEAR = 1800, 2200


@dataclass(frozen=True)
class DatePart:
    """What is made of a column of dates: `part` is "year", "month", "weekday" or "age", in whole years on the day `at`.

    `order` says how dates are written: "ymd", "mdy" or "dmy"; `at` is YYYY-MM-DD, "" unless the part is an age.
    """

    part: str
    order: str
    at: str = ""


def read_date(text: str, order: str) -> date | None:
    """Return the day that a text spells, with or without a time behind it; None where it is none.

    >>> read_date("31.12.1999", "dmy"), read_date("31 Dec 99", "ymd"), read_date("1999-02-31", "ymd")
    (datetime.date(1999, 12, 31), datetime.date(1999, 12, 31), None)
    """
    parts = _split(text.strip(), order)
    if parts is None:
        return None
    year, month, day = parts
    try:
        return date(year, month, day) if _FIRST_YEAR <= year <= _LAST_YEAR else None
    except ValueError:
        return None


def _split(text: str, order: str) -> tuple[int, int, int] | None:
    """Return year, month and day as numbers; a year of two digits is of the last century from 69 on."""
    if worded := _NAMED.fullmatch(text.casefold()):
        word = worded[2] or worded[3]
        number = next((place for place, name in enumerate(_NAMES, 1) if name.startswith(word)), 0)
        return _read_year(worded[5]), number, int(worded[1] or worded[4])
    match = _DATE.fullmatch(text)
    texts = match.group(1, 3, 4) if match else ()
    if not texts and order == "ymd" and (plain := _PLAIN.fullmatch(text)):
        texts = plain.groups()
    if not texts or len(texts[order.index("y")]) not in (2, 4):
        return None
    year, month, day = (texts[order.index(part)] for part in "ymd")
    if len(year) == 2 and (order == "ymd" or max(len(month), len(day)) > 2):
        return None
    return _read_year(year), int(month), int(day)


def _read_year(text: str) -> int:
    return int(text) if len(text) == 4 else int(text) + (1900 if int(text) >= _CENTURY else 2000)


def is_date(text: str) -> bool:
    """Return whether a text spells a day in some order."""
    return any(read_date(text, order) is not None for order in ORDERS)


def guess_order(values: Collection[str]) -> str | None:
    """Return the order in which all of some texts are dates; None where they are none, or there are none.

    Where month and day could change places the month is first between slashes, the day between points and hyphens.
    """
    marks = {match[2] for value in values if (match := _DATE.fullmatch(value.strip()))}
    orders = ORDERS if marks <= {"/"} else ("ymd", "dmy", "mdy")
    fitting = (order for order in orders if all(read_date(value, order) is not None for value in values))
    return next(fitting, None) if values else None


def take_part(column: Cells, part: DatePart) -> Numbers | Codes:
    """Return the part of a column of dates: years and ages are numbers, months and weekdays codes; else missing."""
    texts, index = _list_texts(column)
    days = [read_date(text, part.order) for text in texts]
    if part.part in ("month", "weekday"):
        values = MONTHS if part.part == "month" else WEEKDAYS
        codes = [-1 if day is None else (day.month - 1 if part.part == "month" else day.weekday()) for day in days]
        return Codes(np.array([*codes, -1], dtype=np.int32)[index], values)
    if part.part == "age":
        reference = date.fromisoformat(part.at)
        numbers = [np.nan if day is None else (reference - day).days // _DAYS_A_YEAR for day in days]
    else:
        numbers = [np.nan if day is None else float(day.year) for day in days]
    return Numbers(np.array([*numbers, np.nan])[index])


def _list_texts(column: Cells) -> tuple[list[str], np.ndarray]:
    """Return the different texts of a column and each row's place among them, the last one (-1) for a missing one."""
    if isinstance(column, Codes):
        return list(column.values), column.codes
    present = np.isfinite(column.values)
    values, inverse = np.unique(column.values[present], return_inverse=True)
    index = np.full(len(column), -1)
    index[present] = inverse
    return [show_number(float(value)) for value in values], index
