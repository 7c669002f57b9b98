"""Each value of one column of a table flipped once, before anybody collects it: randomised response on a device.

What is written follows from the answers, from the other columns and from what the owner said; the order of the rows is
drawn anew, as a sorted file would tell its values. How the file is read depends on the line that names its columns
alone, and no sentence repeats a cell.
"""

from __future__ import annotations

import csv
import hashlib
import io
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from fairpriv_core import checks
from fairpriv_core.data.randomized import Note, declare_answers, find_place, list_notes, read_note, seal_others
from fairpriv_core.data.roles import MOST_GROUPS
from fairpriv_core.errors import BadInput
from fairpriv_core.files.column import EPSILON_OF_ANSWER
from fairpriv_core.files.notations import write_lines
from fairpriv_core.files.several import BLANKS, SEPARATORS
from fairpriv_core.files.spelling import MISSING, Spellings, canonical, spell
from fairpriv_core.privacy.mechanism import Mechanism
from fairpriv_core.privacy.randomness import Randomness

#: the declared value that a cell without one is
NO_VALUE = "missing"
_PURPOSE = "column"


@dataclass(frozen=True)
class Flip:
    """Which column of the table at `path` is to be flipped, its values, and the epsilon of each answer.

    Rows alike in the column `person` have one answer together; where it is "", each row has its own.
    """

    path: Path
    column: str
    values: tuple[str, ...]
    epsilon: float
    person: str = ""

    def __post_init__(self) -> None:
        low, high = EPSILON_OF_ANSWER
        if not low <= self.epsilon <= high:
            raise BadInput(f"epsilon must be from {low:g} to {high:g}, got {self.epsilon:g}.", field="epsilon")
        if len(self.values) < 2 or len({canonical(value) for value in self.values}) < len(self.values):
            raise BadInput(
                "values must be two values or more that the column may have, all different, such as female,male; they "
                "are not read from the rows, since such a list would tell of them.",
                field="values",
            )
        checks.whole(low=2, high=MOST_GROUPS, values=len(self.values))


@dataclass(frozen=True)
class _Table:
    header: list[str]
    rows: list[list[str]]
    place: int
    owner: np.ndarray


def randomize(flip: Flip, out: Path, *, again: bool, randomness: Randomness) -> Note:
    """Write the table to `out` with the column that `flip` names flipped, and its note beside it; return the note.

    Where `out` is in another folder, a copy of the note is left beside the table that was read. The note stands before
    the new table does: a value that may have left is never flipped once more unnoticed.

    Raises:
        BadInput: the table cannot be read or written, a cell is none of the values, the table holds answers already,
            or its column was flipped before and that is not to be done `again`.
    """
    _check_places(flip, out)
    table = _read(flip)
    truth = _match(flip, table)
    other_cells = [[*row[: table.place], *row[table.place + 1 :]] for row in table.rows]
    sealed = seal_others(flip.column, other_cells)
    alone = len(table.header) == 1
    earlier, epsilons = _find_spent(flip, out, sealed, alone=alone)
    if epsilons and not again:
        raise BadInput(
            f"column '{flip.column}' of these people was flipped already, with ε = {sum(epsilons):g}; use that file. "
            "Another answer tells more: --again gives one, and states the sum.",
            field="file",
        )
    k, mechanism = len(flip.values), Mechanism(randomness)
    first = _find_first(flip, table.owner, truth)
    owner_answers = mechanism.randomized_response(truth[first], k=k, epsilon=flip.epsilon, purpose=_PURPOSE, index=0)
    answers = owner_answers[table.owner]
    order = randomness.stream("order of rows").permutation(len(answers))
    content = _write(table, [flip.values[answer] for answer in answers], order)
    column = declare_answers(flip.column, flip.values, (*epsilons, flip.epsilon))
    note = Note(column, table=hashlib.sha256(content).hexdigest(), others=sealed, person=flip.person, earlier=earlier)
    far = not alone and out.resolve().parent != flip.path.resolve().parent
    copy = flip.path.with_name(f"{flip.path.name}.{sealed[:12]}.toml")  # the next call finds it whatever its `out`
    _write_files(out, content, note, copy=copy if far else None)
    return note


def _write_files(out: Path, content: bytes, note: Note, *, copy: Path | None) -> None:
    try:
        for place in (find_place(out), *([] if copy is None else [copy])):
            place.write_text(note.to_toml(out.name), encoding="utf-8")
        out.write_bytes(content)
    except OSError as error:
        raise BadInput(f"{error.filename} cannot be written ({error.strerror}).", field="out") from error


def _check_places(flip: Flip, out: Path) -> None:
    path, note = flip.path, read_note(flip.path)
    if note is not None and note.column.name == flip.column:
        raise BadInput(f"{path.name} holds answers already: to flip them again hides no more; use it.", field="file")
    if note is not None:
        raise BadInput(
            f"{path.name} holds answers of '{note.column.name}' already; a table can hold those of one column.",
            field="column",
        )
    if out.resolve() == path.resolve():
        raise BadInput(f"out must be another file than {path.name}, which has the true values.", field="out")
    taken = out.exists() or find_place(out).exists()
    if taken and read_note(out) is None:
        raise BadInput(f"out must be a new file: {out.name} or {find_place(out).name} is there already.", field="out")


def _read(flip: Flip) -> _Table:
    """Return the cells of a text table in UTF-8, parted by what parts the names of its columns."""
    name = flip.path.name
    try:
        text = flip.path.read_bytes().decode("utf-8-sig")
    except OSError as error:
        raise BadInput(f"{name} cannot be read ({error.strerror}).", field="file") from error
    except UnicodeDecodeError as error:
        raise BadInput(f"{name} is no text in UTF-8; save it as CSV in UTF-8.", field="file") from error
    signs = [sign for sign in SEPARATORS if sign != BLANKS]
    first = text.partition("\n")[0]
    separator = max(signs, key=first.count)
    try:
        lines = list(csv.reader(io.StringIO(text, newline=""), delimiter=separator))
        header, *rows = [row for row in lines if row]
    except (csv.Error, ValueError) as error:
        raise BadInput(f"{name} is no CSV with a line that names its columns.", field="file") from error
    if len(header) == 1:  # an empty line is a row whose one cell is empty
        rows = [row or [""] for row in lines[lines.index(header) + 1 :]]
    header = [column.strip() for column in header]
    for field, column in (("column", flip.column), *([("person", flip.person)] if flip.person else [])):
        if header.count(column) != 1:
            raise BadInput(f"the first line of {name} must name a column '{column}', once.", field=field)
    if not rows or any(len(row) != len(header) for row in rows):
        raise BadInput(f"{name} needs rows that have as many cells as it has columns, {len(header)}.", field="file")
    return _Table(header, rows, header.index(flip.column), _number_owners(flip, header, rows))


def _number_owners(flip: Flip, header: list[str], rows: list[list[str]]) -> np.ndarray:
    """Return whose answer each row has, (n,): a number for each person, or each row where `person` is not asked for."""
    if not flip.person:
        return np.arange(len(rows))
    if flip.person == flip.column:
        raise BadInput(f"person must be another column than '{flip.column}', which is flipped.", field="person")
    owners = [spell(row[header.index(flip.person)]) for row in rows]
    if set(owners).intersection(MISSING):
        raise BadInput(f"each row needs a value of '{flip.person}': it says whose the row is.", field="person")
    owner: np.ndarray = np.unique(owners, return_inverse=True)[1]
    return owner


def _find_first(flip: Flip, owner: np.ndarray, truth: np.ndarray) -> np.ndarray:
    """Return a row of each owner; BadInput where rows of one have different values."""
    _, first = np.unique(owner, return_index=True)
    if (truth[first][owner] != truth).any():
        raise BadInput(
            f"rows of one {flip.person} have different values of '{flip.column}'; give each {flip.person} one.",
            field="person",
        )
    return first


def _match(flip: Flip, table: _Table) -> np.ndarray:
    """Return the place (n,) of each row's value among those declared; BadInput, which tells no cell, for any other."""
    spellings = Spellings(flip.values)
    absent = spellings.find(NO_VALUE)
    cells = [spell(row[table.place]) for row in table.rows]
    indices = [spellings.find(cell) for cell in cells]
    places = np.array([absent if at < 0 and cell in MISSING else at for at, cell in zip(indices, cells, strict=True)])
    if (places < 0).any():
        raise BadInput(
            f"column '{flip.column}' has a value that is none of {', '.join(flip.values)}; name all that it may have "
            f"with --values, and {NO_VALUE} where some people gave none.",
            field="values",
        )
    return places


def _find_spent(flip: Flip, out: Path, sealed: str, *, alone: bool) -> tuple[tuple[str, ...], tuple[float, ...]]:
    """Return the files and epsilons of all answers that were given before of the column of these people.

    Notes beside the table and beside `out` are looked at; those on files that are the same count once. Where the column
    is `alone` in its table nothing else tells whose the rows are, so that only the note of `out` counts.
    BadInput where `out` has the answers of another table, which would be lost.
    """
    own = read_note(out)
    folders = {flip.path.resolve().parent, out.resolve().parent}
    notes = [] if alone else [note for folder in folders for note in list_notes(folder)]
    about = (flip.column, sealed)
    if own is not None and (own.column.name, own.others) != about:
        raise BadInput(f"out must be a new file: {out.name} has answers of another table or column.", field="out")
    counts: Counter[tuple[str, float]] = Counter()
    for note in (*notes, *([] if own is None else [own])):
        if (note.column.name, note.others) == about:
            counts |= note.count_answers()
    answers = list(counts.elements())
    return tuple(table for table, _ in answers), tuple(epsilon for _, epsilon in answers)


def _write(table: _Table, answers: Sequence[str], order: np.ndarray) -> bytes:
    place = table.place
    rows = ([*table.rows[at][:place], answers[at], *table.rows[at][place + 1 :]] for at in order.tolist())
    return write_lines([table.header, *rows])
