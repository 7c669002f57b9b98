"""What the columns of a person's table seem to be, each with its reason; and what the rows say of their values."""

from __future__ import annotations

import math
import re
from collections.abc import Collection
from dataclasses import replace

import numpy as np

from fairpriv_core.data.roles import MOST_GROUPS
from fairpriv_core.data.schema import shape_numbers
from fairpriv_core.errors import BadInput
from fairpriv_core.files.column import Column, by_value, category
from fairpriv_core.files.dates import MONTHS, WEEKDAYS, DatePart, guess_order, take_part
from fairpriv_core.files.spelling import canonical, parse_number, show_number
from fairpriv_core.files.table import Cells, Codes, Numbers, find_missing, require_exact, to_codes, to_numbers

#: a column of texts keeps this many of its values apart; the others are encoded as all zeros
MOST_CATEGORIES = 50
#: whole numbers with at most this many different values are taken as codes
MOST_CODES = 12
_MOST_NAMED_CODES = 1_000  # of a column whose name says that its numbers are codes
_ROWS_FOR_BINS = 1_000
_ROWS_FOR_KEYS = 100
_MOST_LINES = 2
_LONG = 40  # letters, of free text on average
_MIXED_CODE = re.compile(r"[A-Za-z]{1,3}[-.]?\d[\d.\-]*")
_KEY_WORDS = frozenset(("id", "ids", "nbr", "nr", "no", "num", "number", "key", "uuid", "guid", "index", "ssn"))
_CODE_WORDS = frozenset(("id", "code", "type", "kind", "category", "class", "zip", "postcode", "postal", "plz"))
_PERSON_WORDS = frozenset(
    (
        "patient",
        "person",
        "customer",
        "client",
        "member",
        "employee",
        "student",
        "pupil",
        "subject",
        "applicant",
        "user",
    )
)


def split_words(name: str) -> set[str]:
    """Return the words in a column's name, in small letters.

    >>> sorted(split_words("PatientNbr_2"))
    ['nbr', 'patient']
    """
    return set(re.findall(r"[a-z]+", re.sub(r"(?<=[a-z])(?=[A-Z])", " ", name).lower()))


def count_values(column: Cells) -> int:
    """Return how many different values a column has."""
    if isinstance(column, Codes):
        return int(np.count_nonzero(np.bincount(column.codes[column.codes >= 0])))
    return len(np.unique(column.values[np.isfinite(column.values)]))


def guess_column(name: str, column: Cells) -> Column:
    """Return what a column of a file seems to be: a feature, whose a row is, or left out; of which type, and why."""
    distinct = count_values(column)
    if distinct < 2:
        content = "one value throughout" if distinct else "no value at all"
        return _leave_out(name, "category", f"column '{name}' has {content} and is not used.")
    present = len(column) - int(find_missing(column).sum())
    if isinstance(column, Numbers):
        return _guess_numbers(name, column, present, distinct)
    return _guess_texts(name, column, present, distinct)


def _leave_out(name: str, kind: str, reason: str) -> Column:
    return Column(name, "left out", kind, reason=reason, public=reason)


def _guess_keys(name: str, present: int, distinct: int) -> Column | None:
    """Return what a column of keys is, of rows or people, by its name and how many values differ; None for others."""
    words = split_words(name)
    if present <= _ROWS_FOR_KEYS or distinct <= present / 20:
        return None
    if distinct < present and words & _PERSON_WORDS and words <= _PERSON_WORDS | _KEY_WORDS:
        sentence = (
            f"column '{name}' seems to say whose a row is and is no feature; as the person column it protects people."
        )
        return Column(name, "person", "code", reason=sentence, public=sentence)
    if words & _KEY_WORDS and distinct > present / 2:
        return _leave_out(name, "code", f"column '{name}' seems to name rows or people and is not used.")
    return None


def _guess_numbers(name: str, column: Numbers, present: int, distinct: int) -> Column:
    values = np.unique(column.values[np.isfinite(column.values)].astype(np.float64))
    if not (values == np.floor(values)).all():
        return Column(name)
    if distinct == present > _ROWS_FOR_KEYS and np.ptp(values) == present - 1:
        return _leave_out(name, "code", f"column '{name}' numbers the rows and is not used.")
    if (keys := _guess_keys(name, present, distinct)) is not None:
        return keys
    if distinct > MOST_CODES and guess_order([show_number(float(value)) for value in values]) is not None:
        return _build_dates(name, column, "ymd")
    if distinct == present > _ROWS_FOR_BINS:
        return _leave_out(name, "code", f"column '{name}' has another whole number in each row and is not used.")
    is_code = bool(split_words(name) & _CODE_WORDS)
    if is_code and distinct > _MOST_NAMED_CODES:
        sentence = f"column '{name}' holds codes, more than {_MOST_NAMED_CODES:,} different ones, and is not used."
        return _leave_out(name, "code", sentence)
    return Column(name, type="code" if distinct <= MOST_CODES or is_code else "whole number")


def _guess_texts(name: str, coded: Codes, present: int, distinct: int) -> Column:
    if (order := guess_order(coded.values)) is not None:
        return _build_dates(name, coded, order)
    if (keys := _guess_keys(name, present, distinct)) is not None:
        return keys
    if distinct > 0.9 * present and present > _ROWS_FOR_KEYS:
        sentence = f"column '{name}' is left out: nearly every row is different (names?)."
        return _leave_out(name, "text", sentence)
    if distinct > present / 2 and sum(map(len, coded.values)) > _LONG * len(coded.values):
        return _leave_out(name, "text", f"column '{name}' seems to hold free text and is not used.")
    reason, public = _find_odd_texts(name, coded.values)
    if distinct > MOST_CATEGORIES:
        most = f"the {MOST_CATEGORIES} most frequent are kept apart."
        reason = reason or f"column '{name}' has {distinct:,} values; {most}"
        public = public or f"column '{name}' has more than {MOST_CATEGORIES} values; {most}"
    mixed = any(_is_number(value) for value in coded.values) and not all(map(_is_number, coded.values))
    return Column(name, type="code" if mixed else "category", reason=reason, public=public)


def _build_dates(name: str, column: Cells, order: str) -> Column:
    years = take_part(column, DatePart("year", order))
    part = "year" if count_values(years) > 1 else "month"
    sentence = f"column '{name}' holds dates; their {part} is used."
    return Column(name, type="date", part=part, order=order, reason=sentence, public=sentence)


def _find_odd_texts(name: str, values: Collection[str]) -> tuple[str, str]:
    """Return a sentence where texts look like a slip: numbers with something among them, or a quote left open.

    It quotes the text, for the file's owner; the second one does not.
    """
    texts = [value for value in values if not _is_number(value)]
    if values and all(_is_number(value.replace(",", ".")) for value in values):
        return (commas := f"column '{name}' seems to hold numbers with decimal commas; write them with points."), commas
    if len(texts) < 0.2 * len(values) and not (len(texts) > 2 and all(map(_MIXED_CODE.fullmatch, texts))):
        sentence = f"column '{name}' holds categories because of '{texts[0][:40]}'; correct it to have numbers."
        return sentence, f"column '{name}' holds categories, not numbers, because of one of its values."
    long = next((value for value in values if value.count("\n") > _MOST_LINES), None)
    if long is not None:
        sentence = f"column '{name}' has a text of many lines, '{long[:40]}…': is a quotation mark never closed?"
        return sentence, f"column '{name}' has a text of many lines."
    return "", ""


def list_values(name: str, column: Cells, *, cut: bool = False) -> Column:
    """Return every value of a label or sensitive column; a numeric one with too many to be groups stays numeric.

    One that is to be `cut` is numeric if it holds any number.
    """
    if cut and np.isfinite(to_numbers(column)).any():
        return measure_column(Column(name), column)
    coded = to_codes(column, limit=MOST_GROUPS if isinstance(column, Numbers) else None)
    if coded is None:
        return measure_column(Column(name), column)
    require_exact(column, f"column '{name}'")
    return category(name, sort_values(coded.values))


def sort_values(values: Collection[str]) -> tuple[str, ...]:
    """Return values in rising order, numbers as numbers before texts."""
    return tuple(
        sorted(values, key=lambda value: (not _is_number(value), float(value) if _is_number(value) else value))
    )


def _is_number(text: str) -> bool:
    return not math.isnan(parse_number(text))


def measure(spec: Column, column: Cells) -> Column:
    """Return a feature as a schema states it; what it does not state is read from the rows.

    Raises BadInput where no row has a value of the type that is said.
    """
    values = column if spec.date is None else take_part(column, spec.date)
    if spec.is_quantity and not np.isfinite(to_numbers(values)).any():
        content = "dates" if spec.date else "numbers"
        raise BadInput(f"column '{spec.name}' is said to hold {content}, and no row has one.", field="schema")
    column_of_rows = measure_column(spec, values) if spec.is_quantity else _list_categories(spec, values)
    return column_of_rows if spec.missing is None else replace(column_of_rows, missing=spec.missing)


def _list_categories(spec: Column, values: Cells) -> Column:
    coded = to_codes(values)
    assert coded is not None
    listed = coded.values if spec.date else spec.categories or _list_most_frequent(coded)
    spellings = by_value(_keep_recode(spec, listed))
    return replace(spec, categories=listed, spellings=spellings, missing=bool((coded.codes < 0).any()))


def _keep_recode(spec: Column, listed: Collection[str]) -> tuple[tuple[str, str], ...]:
    """Return the further texts of those values that are listed."""
    known = {canonical(value): value for value in listed}
    return tuple((text, known[canonical(value)]) for text, value in spec.recode if canonical(value) in known)


def declare(spec: Column) -> Column:
    """Return a feature as a declared schema states it: centred in its range, which is four scales wide.

    `range` and `categories` must be stated: see `check_declared`.
    """
    if not spec.is_quantity:
        dated = MONTHS if spec.part == "month" else WEEKDAYS
        return replace(spec, categories=dated) if spec.date else spec
    assert spec.range is not None
    low, high = shape_numbers(np.array(spec.range), log=bool(spec.log))
    return replace(spec, center=float((low + high) / 2), scale=float((high - low) / 4))


def state(spec: Column, column: Column) -> Column:
    """Return what is said of a feature with what was measured of it, `column`, so that a schema states all."""
    spec = replace(spec, missing=column.missing or None)
    if not column.is_quantity:
        return replace(spec, categories=() if spec.date else column.categories)
    low, high = (float(str(np.float32(edge))) for edge in (column.low, column.high))  # as it is written in the file
    return replace(spec, range=(low, high) if low < high else None, edges=column.edges, log=column.log or None)


def _list_most_frequent(coded: Codes) -> tuple[str, ...]:
    """Return the most frequent values of a feature as its categories, in sorted order."""
    counts = np.bincount(coded.codes[coded.codes >= 0], minlength=len(coded.values))
    often = np.argsort(-counts, kind="stable")[:MOST_CATEGORIES]
    return sort_values(tuple(coded.values[index] for index in often if counts[index]))


def measure_column(spec: Column, column: Cells) -> Column:
    """Return range, center, scale and bins of a numeric column, from its finite values; it must have one.

    What `spec` states of range, bins and logarithm is not measured.
    """
    values = to_numbers(column)
    absent = ~np.isfinite(values)
    values = values[~absent] if spec.range is None else np.clip(values[~absent], *spec.range)
    size = np.abs(values)
    log = bool(size.max() > 20 * (1 + np.median(size))) if spec.log is None else spec.log
    shaped = shape_numbers(values, log=log)
    edges: tuple[float, ...] = ()
    if len(values) >= _ROWS_FOR_BINS:
        tenths = np.quantile(values, np.arange(0.1, 0.95, 0.1), method="lower")
        digits = 3 if spec.date is None else 4
        edges = tuple(float(f"{edge:.{digits}g}") for edge in np.unique(tenths) if edge > values.min())
    low, high = spec.range or (float(values.min()), float(values.max()))
    return replace(
        spec,
        range=(low, high),
        center=float(f"{shaped.mean():.4g}"),
        scale=float(f"{shaped.std():.4g}") or 1.0,
        log=log,
        edges=spec.edges or tuple(sorted(set(edges))),
        missing=bool(absent.any()),
    )
