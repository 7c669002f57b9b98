"""A person's own file: types, ranges and categories are read from its rows, which is said wherever an epsilon is."""

from __future__ import annotations

from pathlib import Path

from fairpriv_core.data.download import hash_file
from fairpriv_core.data.guess import check_columns, guess_column, list_values, measure_column
from fairpriv_core.data.material import Declared, Material
from fairpriv_core.data.problem import DataSpec
from fairpriv_core.data.sensitive import parse_sensitive
from fairpriv_core.data.stream import read_table
from fairpriv_core.errors import BadInput

_LEARNED = (
    "Column types, ranges, bins and category lists of the features were read from the file and are taken as public, "
    "and so is the number of rows."
)


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
    named = {name: list_values(name, table[name]) for name in {*uncut, spec.label or ""} if name in table}
    cut = {name.column: measure_column(name.column, table[name.column]) for name in attributes if name.edges}
    remarks = (guess.remark for name, guess in guesses.items() if guess.remark and name not in {*named, *cut})
    declared = Declared({**columns, **cut, **named}, tuple(columns.values()), assumed=(_LEARNED,), learned=True)
    return Material(path.name, table, declared, hash_file(path), (*reading.remarks, *remarks))


def _named_columns(sensitive: str) -> set[str]:
    """Return every column that the text could mean, before it is known which columns there are."""
    parts = [part.strip() for part in sensitive.split("+")]
    return {sensitive.strip(), *parts, *(part.rpartition(":")[0].strip() for part in parts)}
