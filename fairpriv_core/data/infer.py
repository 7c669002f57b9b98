"""A person's own file: types, ranges and categories are read from its rows, which is said wherever an epsilon is."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from fairpriv_core.data.download import hash_file
from fairpriv_core.data.guess import check_columns, guess_column, list_values
from fairpriv_core.data.material import Declared, Material
from fairpriv_core.data.own_images import attach_images
from fairpriv_core.data.problem import DataSpec
from fairpriv_core.data.sensitive import parse_label, parse_sensitive
from fairpriv_core.data.stream import read_table
from fairpriv_core.errors import BadInput

_LEARNED = (
    "Column types, ranges, bins and category lists of the features were read from the file and are taken as public, "
    "and so are the values of the label and the number of rows."
)


def read_own_file(path: Path, spec: DataSpec) -> Material:
    """Return a person's CSV or Parquet file with a schema read from its rows, or with the images that they name.

    Raises BadInput for a file or column that cannot be used, naming it.
    """
    reading = read_table(path, exact=f"{spec.sensitive} {spec.label}")
    table = {name: column for name, column in reading.table.items() if name != spec.image}
    for field, text in (("label", spec.label or ""), ("sensitive", spec.sensitive)):
        for name in _named_columns(text, table) & set(reading.unused):
            raise BadInput(reading.unused[name], field=field)
    check_columns(path.name, table)
    asked = (*parse_sensitive(spec.sensitive, table), parse_label(spec.label or "", table))
    guesses = {name: guess_column(name, column) for name, column in table.items()}
    columns = {name: guess.column for name, guess in guesses.items() if guess.column is not None}
    named = {one.column: list_values(one.column, table[one.column], cut=bool(one.edges)) for one in asked}
    retyped = {name: f"column '{name}' is read as text because of one of its values." for name in reading.retyped}
    guessed = {name: guess.caveat for name, guess in guesses.items() if guess.caveat}
    said = [caveat for name, caveat in (*retyped.items(), *guessed.items()) if name not in named]
    declared = Declared({**columns, **named}, tuple(columns.values()), assumed=(_LEARNED,), learned=True)
    rows = Material(path.name, table, declared, hash_file(path), (*reading.odd, *said, *reading.unused.values()))
    if spec.image is None:
        return rows
    seen = replace(rows, caveats=reading.odd)
    return attach_images(seen, path, spec.image, skip=spec.unreadable is not None)


def _named_columns(text: str, table: Collection[str]) -> set[str]:
    """Return every column that the text of a label or sensitive attribute could mean; `table` are those in use."""
    if text.strip() in table:
        return set()
    parts = [part.strip() for part in text.split("+")]
    return {text.strip(), *parts, *(part.rpartition(":")[0].strip() for part in parts)}
