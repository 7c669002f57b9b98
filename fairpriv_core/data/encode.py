"""From columns to the matrix a classifier is given: scikit-learn's ColumnTransformer over a declared schema."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import asdict
from functools import partial
from itertools import pairwise

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

from fairpriv_core.data.problem import Categorical, Numeric, Schema
from fairpriv_core.data.table import (
    Column,
    Table,
    count_rows,
    match_values,
    name_bins,
    show_number,
    take_rows,
    to_numbers,
)
from fairpriv_core.errors import BadInput

_FORMAT = 1
_ROWS_AT_ONCE = 1 << 16


class Encoder:
    """Encodes tables by a schema. It learns nothing: two encoders with equal schemas give equal bits.

    `feature_names` (d) and `sources` (d): for each feature the column that it comes from.
    """

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        named = [(column.name, name) for column in schema for name in _name_features(column)]
        self.sources = tuple(source for source, _ in named)
        self.feature_names = tuple(name for _, name in named)
        self._transformer = _build_transformer(schema)

    def transform(self, table: Table) -> np.ndarray:
        """Return the features, (n, d) float32; a value that the schema does not list gives zeros.

        Raises BadInput naming the columns that `table` lacks.
        """
        missing = [column.name for column in self.schema if column.name not in table]
        if missing:
            raise BadInput(f"columns missing: {missing}; the file has {list(table)}.", field="file")
        n = count_rows(table)
        encoded = np.empty((n, len(self.feature_names)), dtype=np.float32)
        for start in range(0, n, _ROWS_AT_ONCE):
            rows = slice(start, start + _ROWS_AT_ONCE)
            part = take_rows(table, rows)
            raw = np.column_stack([_to_raw(column, part[column.name]) for column in self.schema])
            encoded[rows] = self._transformer.transform(raw)
        return encoded

    def to_json(self) -> str:
        """Return the schema as JSON; `from_json` gives an encoder with the same bits."""
        columns = [{"kind": type(column).__name__.lower(), **asdict(column)} for column in self.schema]
        return json.dumps({"format": _FORMAT, "columns": columns}, ensure_ascii=False, sort_keys=True)

    @classmethod
    def from_json(cls, text: str) -> Encoder:
        """Return the encoder that `to_json` wrote; raises BadInput for any other text."""
        try:
            stored = json.loads(text)
            if stored["format"] != _FORMAT:
                raise BadInput(f"the encoder has format {stored['format']}; this version reads format {_FORMAT}.")
            return cls(tuple(_read_column(column) for column in stored["columns"]))
        except (KeyError, TypeError, ValueError) as error:
            raise BadInput(f"the stored encoder cannot be read ({error}).") from error


def encode_numbers(block: np.ndarray, *, column: Numeric) -> np.ndarray:
    """Return the features (n, m) float32 of a numeric column (n, 1); see `Numeric`."""
    raw = block[:, 0]
    special = [raw == value for value in column.special]
    absent = ~np.isfinite(raw)
    blank = np.logical_or.reduce([absent, *special])
    inside = np.clip(np.where(blank, column.low, raw), column.low, column.high)
    shaped = np.sign(inside) * np.log1p(np.abs(inside)) if column.log else inside
    value = np.where(blank, 0.0, (shaped - column.center) / column.scale)
    bounds = (-np.inf, *column.edges, np.inf) if column.edges else ()
    bins = [(raw >= low) & (raw < high) & ~blank for low, high in pairwise(bounds)]
    flags = [absent] if column.missing else []
    return np.column_stack([value, *special, *bins, *flags]).astype(np.float32)


def _name_features(column: Numeric | Categorical) -> list[str]:
    if isinstance(column, Categorical):
        return [f"{column.name} = {category}" for category in column.categories]
    special = [f"{column.name} = {show_number(value)}" for value in column.special]
    bins = name_bins(column.name, column.edges) if column.edges else ()
    return [column.name, *special, *bins, *([f"{column.name} missing"] if column.missing else [])]


def _to_raw(column: Numeric | Categorical, values: Column) -> np.ndarray:
    if isinstance(column, Categorical):
        return match_values(values, column.categories, dict(column.recode)).astype(np.float64)
    return to_numbers(values)


def _build_transformer(schema: Schema) -> ColumnTransformer:
    parts = [(str(index), _build_part(column), [index]) for index, column in enumerate(schema)]
    transformer = ColumnTransformer(parts, sparse_threshold=0.0)
    return transformer.fit(np.zeros((1, len(schema))))


def _build_part(column: Numeric | Categorical) -> FunctionTransformer | OneHotEncoder:
    if isinstance(column, Numeric):
        encode: Callable[[np.ndarray], np.ndarray] = partial(encode_numbers, column=column)
        return FunctionTransformer(encode)
    codes = np.arange(len(column.categories), dtype=np.float64)
    return OneHotEncoder(categories=[codes], handle_unknown="ignore", sparse_output=False, dtype=np.float32)


def _read_column(stored: dict[str, object]) -> Numeric | Categorical:
    values = {name: _freeze(value) for name, value in stored.items() if name != "kind"}
    kinds: dict[object, type[Numeric] | type[Categorical]] = {"numeric": Numeric, "categorical": Categorical}
    return kinds[stored["kind"]](**values)  # type: ignore[arg-type]


def _freeze(value: object) -> object:
    return tuple(_freeze(item) for item in value) if isinstance(value, list) else value
