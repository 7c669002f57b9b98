"""How declared columns become features, and what is known of a table's columns; benchmarks and own files share it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from itertools import pairwise

import numpy as np

from fairpriv_core.data.images import Pixels
from fairpriv_core.data.problem import Grouping, Label, Problem, Schema
from fairpriv_core.errors import BadInput
from fairpriv_core.files.column import Column, by_value
from fairpriv_core.files.dates import DatePart, take_part
from fairpriv_core.files.spelling import show_number
from fairpriv_core.files.table import Cells, Table, find_missing, match_values, name_bins, to_numbers
from fairpriv_core.plain import freeze

_FORMAT = 1
_VALUES = "So are the declared categories and the number of rows."
_CHOSEN = "{} of the features are this project's choice and taken as public. " + _VALUES
_CATEGORIES = "Categories of the features are the code book's and taken as public, and so is the number of rows."
_PIXELS = "Pixels are divided by 255, a public constant; the number of images is public."


def name_features(column: Column) -> tuple[str, ...]:
    """Return the names of a column's features: `age`, `age < 25`, …, `sex = Female`, …, `sex missing`."""
    name = column.name if column.date is None else f"{column.name} ({column.date.part})"
    missing = (f"{name} missing",) if column.missing else ()
    if not column.is_quantity:
        return (*(f"{name} = {category}" for category in column.categories), *missing)
    special = (f"{name} = {show_number(value)}" for value in column.special)
    bins = name_bins(name, column.edges) if column.edges else ()
    return (name, *special, *bins, *missing)


def to_raw(column: Column, values: Cells) -> np.ndarray:
    """Return a column (n,) float64: its numbers, or the positions of its categories; -1 for one that is not listed."""
    values = values if column.date is None else take_part(values, column.date)
    if column.is_quantity:
        return to_numbers(values)
    codes = match_values(values, column.categories, dict(column.recode)).astype(np.float64)
    codes[find_missing(values)] = len(column.categories) if column.missing else -1
    return codes


def encode_numbers(block: np.ndarray, column: Column) -> np.ndarray:
    """Return the features (n, m) float32 of a quantity (n, 1); see `Column`."""
    raw = block[:, 0]
    special = [raw == value for value in column.special]
    absent = ~np.isfinite(raw)
    blank = np.logical_or.reduce([absent, *special])
    inside = np.clip(np.where(blank, column.low, raw), column.low, column.high)
    value = np.where(blank, 0.0, (shape_numbers(inside, log=bool(column.log)) - column.center) / column.scale)
    bounds = (-np.inf, *column.edges, np.inf) if column.edges else ()
    bins = [(raw >= low) & (raw < high) & ~blank for low, high in pairwise(bounds)]
    flags = [absent] if column.missing else []
    return np.column_stack([value, *special, *bins, *flags]).astype(np.float32)


def shape_numbers(values: np.ndarray, *, log: bool) -> np.ndarray:
    """Return the values, or sign(x) * log(1 + |x|)."""
    return np.sign(values) * np.log1p(np.abs(values)) if log else values


def write_schema(schema: Schema) -> str:
    """Return as JSON how columns are encoded, and nothing else of them; `read_schema` gives what encodes alike."""
    columns = [_state(column) for column in schema]
    return json.dumps({"format": _FORMAT, "columns": columns}, ensure_ascii=False, sort_keys=True)


def _state(column: Column) -> dict[str, object]:
    common = {"name": column.name, "missing": bool(column.missing)}
    if column.is_quantity:
        numbers = {name: getattr(column, name) for name in ("low", "high", "center", "scale", "edges", "special")}
        document = {"kind": "numeric", **common, **numbers, "log": bool(column.log)}
        document |= {"decimal": column.decimal} if column.decimal else {}
    else:
        document = {"kind": "categorical", **common, "categories": column.categories, "recode": column.recode}
    document |= {} if column.date is None else {"date": asdict(column.date)}
    return document if column.missing_words is None else {**document, "missing_words": column.missing_words}


def read_schema(text: str) -> Schema:
    """Return the schema that `write_schema` wrote; raises BadInput for any other text."""
    try:
        document = json.loads(text)
        if document["format"] != _FORMAT:
            raise BadInput(f"the encoder has format {document['format']}; this version reads format {_FORMAT}.")
        return tuple(_read_column(column) for column in document["columns"])
    except (KeyError, TypeError, ValueError) as error:
        raise BadInput(f"the stored encoder cannot be read ({type(error).__name__}: {error}).") from error


def _read_column(document: dict[str, object]) -> Column:
    values = {name: freeze(value) for name, value in document.items()}
    kind, date = values.pop("kind"), values.pop("date", None)
    values |= {"type": "date", **vars(DatePart(**date))} if date else {}
    if kind == "numeric":
        bounds = values.pop("low"), values.pop("high")
        return Column(range=bounds, **values)
    spellings = by_value(values.pop("recode"))
    return Column(**{"type": "category", **values}, spellings=spellings)


@dataclass(frozen=True)
class Declared:
    """The columns of a data set: from a code book, or (`learned`) read from a person's file.

    `columns` are all that may be named; `schema` those that are features unless they are label or sensitive.
    `assumed` are the sentences that an epsilon under the threat model `record` takes as given, `assumed_by_all` those
    under either. `image` is (channels, height, width) where the features are pixels, whatever the columns;
    `classes_are_groups` as in `Problem`.
    """

    columns: Mapping[str, Column]
    schema: Schema
    labels: tuple[Label, ...] = ()
    groupings: tuple[Grouping, ...] = ()
    same: tuple[tuple[str, ...], ...] = ()
    assumed: tuple[str, ...] = ()
    assumed_by_all: tuple[str, ...] = ()
    learned: bool = False
    image: tuple[int, int, int] | None = None
    classes_are_groups: bool = False

    @property
    def answers(self) -> Column | None:
        """The column of randomised answers, which is then the sensitive attribute; None without one."""
        return next((column for column in self.columns.values() if column.randomized), None)


@dataclass(frozen=True)
class RawTable:
    """The rows of a data set and what is declared of them. `digest` seals the bytes that they were read from.

    `official_test` (n,) bool marks the published test part, None where there is none. `unit` (n,) int64 says whose each
    row is, -1 for nobody's, None where everyone has one; `unit_name` is what they are called. `one_split` as in
    `Problem`. `pixels` are the images of the rows, None where the features are columns of `table`. `left_out` has the
    columns of a person's file that are not used, each with its reason, and `remarks` how the cells of others are read,
    both for the file's owner.
    """

    name: str
    table: Table
    declared: Declared
    digest: str
    caveats: tuple[str, ...] = ()
    official_test: np.ndarray | None = None
    unit: np.ndarray | None = None
    unit_name: str = ""
    one_split: bool = False
    pixels: Pixels | None = None
    left_out: Mapping[str, str] = field(default_factory=dict)
    remarks: tuple[str, ...] = ()


def declare_problem(problem: Problem) -> Declared:
    """Return what is declared of a benchmark's columns: by its code book, or chosen by this project."""
    assumed = (_assume_columns(problem) if problem.pictures is None else _PIXELS, *problem.assumed)
    schema = problem.schema if problem.pictures is None else ()
    return Declared(
        problem.columns,
        schema,
        problem.labels,
        problem.groupings,
        problem.same,
        assumed,
        image=problem.image,
        classes_are_groups=problem.classes_are_groups,
    )


def _assume_columns(problem: Problem) -> str:
    """Return what an epsilon takes as given of the columns; bins of codes are the code book's."""
    numbers = [column for column in problem.schema if column.is_quantity]
    has_bins = any(column.edges for column in numbers if column.name not in problem.coded)
    return _CHOSEN.format("Ranges and bins" if has_bins else "Ranges") if numbers else _CATEGORIES
