"""From columns to the matrix a classifier is given: scikit-learn's ColumnTransformer over a declared schema."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from fairpriv_core.data.mapped import ROWS_AT_ONCE, stack_blocks
from fairpriv_core.data.problem import Schema
from fairpriv_core.data.schema import encode_numbers, name_features, read_schema, to_raw, write_schema
from fairpriv_core.errors import BadInput
from fairpriv_core.files.column import Column
from fairpriv_core.files.faults import name_columns
from fairpriv_core.files.table import Table, count_rows, take_rows

if TYPE_CHECKING:
    from sklearn.base import BaseEstimator
    from sklearn.compose import ColumnTransformer

#: features of all rows: 8 GB
MOST_VALUES = 2_000_000_000


class Encoder:
    """Encodes tables by a schema. It learns nothing: two encoders with equal schemas give equal bits.

    `feature_names` (d) and `sources` (d): for each feature the column that it comes from.
    """

    def __init__(self, schema: Schema) -> None:
        self.schema = schema
        pairs = [(column.name, name) for column in schema for name in name_features(column)]
        self.sources = tuple(source for source, _ in pairs)
        self.feature_names = tuple(name for _, name in pairs)

    def transform(self, table: Table) -> np.ndarray:
        """Return the features, (n, d) float32; a value that the schema does not list gives zeros.

        Raises BadInput naming the columns that `table` lacks, or for more than MOST_VALUES; RunFailed where many rows
        find no room on disk.
        """
        missing = [column.name for column in self.schema if column.name not in table]
        if missing:
            raise BadInput(f"the file lacks {name_columns(missing)}; it has {name_columns([*table])}.", field="file")
        n, d = count_rows(table), len(self.feature_names)
        if n * d > MOST_VALUES:
            raise BadInput(
                f"{n:,} rows with {d:,} features are {n * d:,} values, and at most {MOST_VALUES:,} are taken; leave "
                "out columns or rows.",
                field="file",
            )
        parts = (take_rows(table, slice(start, start + ROWS_AT_ONCE)) for start in range(0, n, ROWS_AT_ONCE))
        return stack_blocks(map(self._encode, parts), rows=n, columns=d)

    def _encode(self, part: Table) -> np.ndarray:
        raw = np.column_stack([to_raw(column, part[column.name]) for column in self.schema])
        encoded: np.ndarray = self._transformer.transform(raw)
        return encoded

    @cached_property
    def _transformer(self) -> ColumnTransformer:
        return _build_transformer(self.schema)

    def to_json(self) -> str:
        """Return the schema as JSON; `from_json` gives an encoder with the same bits."""
        return write_schema(self.schema)

    @classmethod
    def from_json(cls, text: str) -> Encoder:
        """Return the encoder that `to_json` wrote; raises BadInput for any other text."""
        return cls(read_schema(text))


def _build_transformer(schema: Schema) -> ColumnTransformer:
    """Return a transformer that learned nothing; scikit-learn, which takes a second to load, is loaded here."""
    from sklearn.compose import ColumnTransformer
    from sklearn.preprocessing import FunctionTransformer, OneHotEncoder

    def build_part(column: Column) -> BaseEstimator:
        if column.is_quantity:
            return FunctionTransformer(encode_numbers, kw_args={"column": column})
        codes = np.arange(len(name_features(column)), dtype=np.float64)
        return OneHotEncoder(categories=[codes], handle_unknown="ignore", sparse_output=False, dtype=np.float32)

    parts = [(str(index), build_part(column), [index]) for index, column in enumerate(schema)]
    return ColumnTransformer(parts, sparse_threshold=0.0).fit(np.zeros((1, len(schema))))
