"""`fairpriv randomize FILE`: one column flipped where it is known, so that whoever collects the file never has it."""

from __future__ import annotations

import csv
import math
from pathlib import Path
from typing import Any

import click

from fairpriv_core.cli import options
from fairpriv_core.cli.output import Answer, check_folder, print_answer
from fairpriv_core.data.randomized import Note, find_place
from fairpriv_core.files.column import EPSILON_OF_ANSWER
from fairpriv_core.methods.shared.responses import find_misreport
from fairpriv_core.paths import read_path
from fairpriv_core.privacy.randomness import Randomness
from fairpriv_core.records.randomize import Flip, randomize
from fairpriv_core.text import percent_text, short_epsilon_text

_VALUES = (
    "All that the column may hold, such as female,male or female,male,missing. They are not read from the rows. "
    "Default: none, they are needed."
)
_EPSILON = f"Of each answer, from {EPSILON_OF_ANSWER[0]:g} to {EPSILON_OF_ANSWER[1]:g}."
_PERSON = "The column that says whose a row is: all rows of one person have one answer. Default: each row has its own."


@click.command("randomize")
@click.argument("file", metavar="FILE")
@click.option("--column", metavar="NAME", required=True, help="The column to flip, the sensitive attribute.")
@click.option("--epsilon", metavar="NUMBER", type=float, required=True, help=_EPSILON)
@click.option("--values", metavar="VALUE,VALUE", default="", show_default=False, help=_VALUES)
@click.option("--person", metavar="NAME", default="", show_default=False, help=_PERSON)
@click.option("--again", is_flag=True, help="Flip once more what was flipped already; the note states the sum.")
@click.option("--out", metavar="FILE", help="Where to write the table. Default: FILE with .randomized before its end.")
@options.json
def randomize_command(file: str, out: str | None, again: bool, as_json: bool, **given: Any) -> None:
    """Flip each row's value of one column, or each person's; the true values are in nothing that is written.

    FILE is a CSV of one row or many. Whoever has the new table and its note trains on it with one_release_local.
    """
    check_folder(out)
    path = read_path(file)
    target = path.with_name(f"{path.stem}.randomized.csv") if out is None else read_path(out, field="out")
    values = tuple(value.strip() for value in next(csv.reader([given["values"]], skipinitialspace=True), []))
    flip = Flip(path, given["column"].strip(), values, given["epsilon"], given["person"].strip())
    note = randomize(flip, target, again=again, randomness=Randomness.fresh())
    print_answer(_answer(note, path, target), as_json)


def _answer(note: Note, path: Path, target: Path) -> Answer:
    column, epsilons = note.column, note.column.randomized
    k, epsilon, together = len(column.categories), epsilons[-1], sum(epsilons)
    truthful = 1.0 - (k - 1) * find_misreport(k, epsilon)
    more = f"; with earlier answers ε = {short_epsilon_text(together)}" if len(epsilons) > 1 else ""
    document = {
        "out": str(target),
        "note": str(find_place(target)),
        "column": column.name,
        "person": note.person or None,
        "values": list(column.categories),
        "epsilon": epsilon,
        "epsilon_together": together,
        "truthful": truthful,
    }
    sure = percent_text(math.floor(1e4 * truthful) / 1e4)  # 100 % would be said of what may be false
    text = (
        f"{column.name} of each {note.person or 'row'} is flipped once with ε = {short_epsilon_text(epsilon)}{more}: "
        f"an answer is true with a chance of {sure}.\nWritten: {target}, its rows in another order, "
        f"and {find_place(target)}, which readers need.\nOther columns are as they were: where one tells "
        f"{column.name}, nothing hides it. {path.name} still has the true values."
    )
    return Answer(document, text)
