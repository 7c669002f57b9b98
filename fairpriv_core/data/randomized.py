"""A column of randomised answers in a person's file, and the note beside the file by which every reader knows it.

`fairpriv randomize` writes both. The note is a schema; it says what follows from the file, or what its owner said, and
nothing of the true values.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from fairpriv_core.data.download import hash_file
from fairpriv_core.data.roles import Attribute
from fairpriv_core.data.table_schema import UNSAID, TableSchema, read_column, read_schema_file, write_column
from fairpriv_core.errors import BadInput
from fairpriv_core.files.column import Column
from fairpriv_core.paths import read_text
from fairpriv_core.plain import read_toml, write_toml
from fairpriv_core.text import count_text, short_epsilon_text

_HEAD = """\
# A schema: the column below was flipped for each {owner}, by k-ary randomised response, before {name} was written.
# `categories` are all that it may have, `randomized` the epsilon of each answer that was given, of which {name}
# has the last. `table` is the SHA-256 of {name}, `others` that of its other columns, in whatever order its rows are,
# `earlier` those of the files with earlier answers.
"""
_ASSUMED = (
    "The {name} of each {owner} was answered by randomised response with ε = {epsilon} before it was "
    "read: an answer is drawn once, by noise that nobody else knows. Other columns are as they were and taken as "
    "public: where one tells {name} (relationship = husband tells sex), nothing hides it."
)
_ENDING = ".toml"


@dataclass(frozen=True)
class Note:
    """What the schema beside a file says of its `column` of randomised answers; "" for what it does not seal.

    `table` is the digest of the file, `others` that of its other columns. Rows alike in the column `person` have one
    answer together; where it is "", each row has its own. `earlier` has the digests of the files with earlier answers.
    """

    column: Column
    table: str = ""
    others: str = ""
    person: str = ""
    earlier: tuple[str, ...] = ()

    def count_answers(self) -> Counter[tuple[str, float]]:
        """Return how often each answer was given, by the digest of the file that has it and its epsilon."""
        epsilons = self.column.randomized
        unnamed = len(epsilons) - 1 - len(self.earlier)  # as whoever wrote the note by hand leaves them
        digests = (*self.earlier, *(f"{at} before {self.table}" for at in range(unnamed)), self.table)
        return Counter(zip(digests, epsilons, strict=False))

    def to_toml(self, name: str) -> str:
        """Return the text of the note beside a file called `name`."""
        spec = {"role": "sensitive", "type": self.column.type, **write_column(self.column)}
        digests = {"table": self.table, "others": self.others, "earlier": list(self.earlier)}
        sealed = {name: spec for name, spec in {**digests, "person": self.person}.items() if spec}
        document = {"others": UNSAID.others, "sealed": sealed, "columns": {self.column.name: spec}}
        return _HEAD.format(name=name, owner="person" if self.person else "row") + write_toml(document)


def declare_answers(name: str, values: Sequence[str], epsilons: Sequence[float]) -> Column:
    """Return a column of randomised answers; BadInput where it cannot be one."""
    return read_column(name, {"type": "category", "categories": list(values), "randomized": list(epsilons)})


def find_place(path: Path) -> Path:
    """Return where the note on a file is."""
    return path.with_name(path.name + _ENDING)


def read_note(path: Path) -> Note | None:
    """Return the note on the file at `path`; None without one, BadInput where what stands in its place is no schema."""
    place = find_place(path)
    if not place.is_file():
        return None
    try:
        return _read(place)
    except BadInput as error:
        raise BadInput(
            f"{place.name} stands where a note on {path.name} would, and cannot be read: {error} Move it away.",
            field="schema",
        ) from error


def list_notes(folder: Path) -> list[Note]:
    """Return the notes in a folder."""
    notes = []
    for place in sorted(folder.glob(f"*{_ENDING}")):
        with suppress(BadInput):  # a file of settings, say
            notes.append(_read(place))
    return [note for note in notes if note is not None]


def _read(place: Path) -> Note | None:
    text = read_text(str(place), field="schema", what="the note")
    column, sealed = find_randomized(read_schema_file(text)), read_toml(text).get("sealed", {})
    return None if column is None else Note(column, **{**sealed, "earlier": tuple(sealed.get("earlier", ()))})


def seal_others(column: str, rows: Sequence[Sequence[str]]) -> str:
    """Return a SHA-256 of rows without `column`, in whatever order they are."""
    lines = sorted("\x1f".join(row) for row in rows)
    return hashlib.sha256("\x1e".join([column, *lines]).encode()).hexdigest()


def mark_answers(path: Path, schema: TableSchema | None) -> TableSchema | None:
    """Return what is said of the columns of the file at `path`, with what the note beside it says; None for nothing.

    BadInput where the note is about another file than this one.
    """
    answers = _find_answers(path)
    return schema if answers is None else state_answers(answers, schema)


def find_common_answers(paths: Sequence[Path]) -> Column | None:
    """Return the column of randomised answers that the notes beside files of one table state; None where none has one.

    BadInput where only some have a note, or two differ.
    """
    columns = [_find_answers(path) for path in paths]
    other = next((at for at, answers in enumerate(columns) if answers != columns[0]), None)
    if other is not None:
        raise BadInput(
            f"{paths[other].name} and {paths[0].name} cannot be one table: their notes on randomised answers differ.",
            field="file",
        )
    return columns[0] if columns else None


def _find_answers(path: Path) -> Column | None:
    note = read_note(path)
    if note is not None and note.table and hash_file(path) != note.table:
        name = find_place(path).name
        raise BadInput(
            f"{path.name} is not the table that {name} is about; where it was only saved anew, take `table` out of it.",
            field="file",
        )
    return None if note is None else note.column


def state_answers(answers: Column, schema: TableSchema | None) -> TableSchema:
    """Return a schema with a column of randomised answers, over what it says of the column."""
    spec, schema = replace(answers, role="feature"), schema or UNSAID
    columns = tuple(
        replace(spec, role=column.role) if column.name == spec.name else column for column in schema.columns
    )
    known = any(column.name == spec.name for column in schema.columns)
    return replace(schema, columns=columns if known else (*columns, spec))


def find_randomized(schema: TableSchema | None) -> Column | None:
    """Return the column of randomised answers that a schema states; BadInput for two of them."""
    columns = [] if schema is None else [column for column in schema.columns if column.randomized]
    if len(columns) > 1:
        raise BadInput(
            f"the schema states randomised answers in '{columns[0].name}' and '{columns[1].name}'; "
            "one column can be used.",
            field="schema",
        )
    return columns[0] if columns else None


def assume_answered(column: Column, owner: str) -> str:
    """Return what an epsilon on randomised answers takes as given, one for each `owner`, such as "row"."""
    return _ASSUMED.format(name=column.name, owner=owner, epsilon=format_spent(column))


def format_spent(column: Column) -> str:
    """Return the epsilon of the last answers, and of all together where there are earlier ones."""
    last, earlier = short_epsilon_text(column.randomized[-1]), len(column.randomized) - 1
    together = short_epsilon_text(sum(column.randomized))
    return last + (f" (with {count_text(earlier, 'earlier answer')}, ε = {together})" if earlier else "")


def check_people(column: Column, answer: np.ndarray, unit: np.ndarray, *, person: str) -> None:
    """Raise BadInput where a person gave several answers (n,), `unit` (n,) saying whose a row is, -1 for nobody's.

    Answers of one person are independent, so that together they tell more than their epsilon.
    """
    has_owner = unit >= 0
    owner, answer = unit[has_owner], answer[has_owner]
    _, first, place = np.unique(owner, return_index=True, return_inverse=True)
    if (answer[first][place] != answer).any():
        raise BadInput(
            f"rows of one {person} have different answers of '{column.name}', which tell more than ε says; flip it "
            f"anew with fairpriv randomize --person {person}, or leave person out.",
            field="person",
        )


def check_asked(schema: TableSchema | None, *, label: str, sensitive: Sequence[Attribute]) -> None:
    """Raise BadInput where a run would use randomised answers as anything but its whole sensitive attribute."""
    column = find_randomized(schema)
    if column is None or column.role == "left out":
        return
    if label == column.name or list(sensitive) != [Attribute(column.name)]:
        raise BadInput(
            f"column '{column.name}' holds randomised answers, so it can be the sensitive attribute alone, all of its "
            f"values; take sensitive = {column.name}, or leave the column out in the schema.",
            field="sensitive",
        )
