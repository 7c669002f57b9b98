"""How a declared column becomes features: their names, their numbers, and the schema as JSON."""

from __future__ import annotations

import json
from dataclasses import asdict
from itertools import pairwise
from typing import Any

import numpy as np

from fairpriv_core.data.problem import Categorical, Numeric, Schema
from fairpriv_core.data.table import Column, find_missing, match_values, name_bins, show_number, to_numbers
from fairpriv_core.errors import BadInput

_FORMAT = 1
_KINDS: dict[str, type[Numeric] | type[Categorical]] = {"numeric": Numeric, "categorical": Categorical}


def name_features(column: Numeric | Categorical) -> tuple[str, ...]:
    """Return the names of a column's features: `age`, `age < 25`, …, `sex = Female`, …, `sex missing`."""
    missing = (f"{column.name} missing",) if column.missing else ()
    if isinstance(column, Categorical):
        return (*(f"{column.name} = {category}" for category in column.categories), *missing)
    special = (f"{column.name} = {show_number(value)}" for value in column.special)
    bins = name_bins(column.name, column.edges) if column.edges else ()
    return (column.name, *special, *bins, *missing)


def to_raw(column: Numeric | Categorical, values: Column) -> np.ndarray:
    """Return a column (n,) float64: its numbers, or the positions of its categories; -1 for one that is not listed."""
    if isinstance(column, Numeric):
        return to_numbers(values)
    codes = match_values(values, column.categories, dict(column.recode)).astype(np.float64)
    codes[find_missing(values)] = len(column.categories) if column.missing else -1
    return codes


def encode_numbers(block: np.ndarray, column: Numeric) -> np.ndarray:
    """Return the features (n, m) float32 of a numeric column (n, 1); see `Numeric`."""
    raw = block[:, 0]
    special = [raw == value for value in column.special]
    absent = ~np.isfinite(raw)
    blank = np.logical_or.reduce([absent, *special])
    inside = np.clip(np.where(blank, column.low, raw), column.low, column.high)
    value = np.where(blank, 0.0, (shape_numbers(inside, log=column.log) - column.center) / column.scale)
    bounds = (-np.inf, *column.edges, np.inf) if column.edges else ()
    bins = [(raw >= low) & (raw < high) & ~blank for low, high in pairwise(bounds)]
    flags = [absent] if column.missing else []
    return np.column_stack([value, *special, *bins, *flags]).astype(np.float32)


def shape_numbers(values: np.ndarray, *, log: bool) -> np.ndarray:
    """Return the values, or sign(x) * log(1 + |x|)."""
    return np.sign(values) * np.log1p(np.abs(values)) if log else values


def write_schema(schema: Schema) -> str:
    """Return a schema as JSON; `read_schema` gives an equal one."""
    columns = [{"kind": type(column).__name__.lower(), **asdict(column)} for column in schema]
    return json.dumps({"format": _FORMAT, "columns": columns}, ensure_ascii=False, sort_keys=True)


def read_schema(text: str) -> Schema:
    """Return the schema that `write_schema` wrote; raises BadInput for any other text."""
    try:
        stored = json.loads(text)
        if stored["format"] != _FORMAT:
            raise BadInput(f"the encoder has format {stored['format']}; this version reads format {_FORMAT}.")
        return tuple(_read_column(column) for column in stored["columns"])
    except (KeyError, TypeError, ValueError) as error:
        raise BadInput(f"the stored encoder cannot be read ({type(error).__name__}: {error}).") from error


def _read_column(stored: dict[str, Any]) -> Numeric | Categorical:
    return _KINDS[stored["kind"]](**{name: _freeze(value) for name, value in stored.items() if name != "kind"})


def _freeze(value: Any) -> Any:
    return tuple(_freeze(item) for item in value) if isinstance(value, list) else value
