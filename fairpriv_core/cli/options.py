"""Options that several commands have."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable, Mapping
from functools import reduce
from typing import Any

import click

from fairpriv_core.data.table_schema import read_column
from fairpriv_core.errors import BadInput
from fairpriv_core.files.column import Column
from fairpriv_core.files.forms import Stated, read_stated
from fairpriv_core.files.spelling import MISSING

FILE = (
    "Your own table in place of a data set: CSV, Excel, OpenDocument, Parquet, JSON lines or ARFF; text also as .gz or "
    ".zip, Parquet also as a folder of files. Default: none."
)
FILES = f"{FILE} Repeatable: CSV files with the same columns are one table."
SENSITIVE = (
    "The sensitive attribute: a column, column:edge,edge to cut numbers, column=value,value to make all others one "
    "group, a+b to cross two. fairpriv datasets --json lists those of a data set."
)
_MOST_SEEDS = 1000
STATED = ("file_encoding", "separator", "decimal", "sheet", "header")
_STATED = (
    click.option("--file-encoding", metavar="NAME", help="Of the file's text, such as cp1252. Default: found."),
    click.option(
        "--separator", metavar="SIGN", help='Between values: one sign, tab or blanks, such as ";". Default: found.'
    ),
    click.option("--decimal", metavar="SIGN", help='Before decimals, "." or ",". Default: found.'),
    click.option("--sheet", metavar="NAME", help="Of a workbook, such as Data. Default: the first with a table."),
    click.option(
        "--header", metavar="LINE", help="The number of the line that names the columns, or none. Default: found."
    ),
)
CELLS = ("spellings", "missing_words")
_CELLS = (
    click.option(
        "--map",
        "spellings",
        metavar="COLUMN:TEXT,TEXT=VALUE",
        multiple=True,
        help='Texts that are one value, such as "sex:F,w=female"; repeatable. Case and blanks never tell values apart. '
        "Default: none.",
    ),
    click.option(
        "--missing",
        "missing_words",
        metavar="COLUMN:WORD,WORD",
        multiple=True,
        help='Words for no value beside the usual ones, such as "region:unknown"; "region:" takes those away; '
        "repeatable. Default: NA, ?, null and the like.",
    ),
)
DATASET = "A data set of the catalogue, which fairpriv datasets lists."
METHOD = "The method; fairpriv methods lists them."
without_epsilon = click.option(
    "--without-epsilon",
    is_flag=True,
    help="Go on where raw numbers chose what leaves; it has no epsilon from then on. Default: refused.",
)
json = click.option("--json", "as_json", is_flag=True, help="Print one JSON document.")
out = click.option("--out", metavar="FILE", help="Write the record here too. Default: nowhere.")
variant = click.option(
    "--variant", metavar="[proved|published]", help="How the method is accounted, where it has both. Default: proved."
)
set = click.option(
    "--set",
    "assignments",
    metavar="KEY=VALUE",
    multiple=True,
    help="A hyper-parameter; repeatable. fairpriv methods NAME lists them. Default: the method's.",
)
epsilon = click.option(
    "--epsilon", metavar="NUMBER", help="The privacy budget, > 0; a private method needs it. Default: none."
)
delta = click.option("--delta", metavar="NUMBER", help="In (0, 1). Default: 1e-5.")
seeds = click.option("--seeds", metavar="A..B", help="Seeds A to B, such as 200..204. Default: the version's.")
ledger_delta = click.option("--delta", type=float, metavar="NUMBER", help="In (0, 1). Default: 1e-5.")


def stated(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that state how a person's file is written."""
    return reduce(lambda given, option: option(given), reversed(_STATED), command)


def take_stated(arguments: dict[str, Any]) -> Stated:
    """Return what these options state, which are taken out of `arguments`; BadInput where one makes no sense."""
    values: Mapping[str, Any] = {name: arguments.pop(name, None) for name in STATED}
    values = {name.removeprefix("file_"): value for name, value in values.items() if value is not None}
    header = values.get("header")
    if header is not None:
        if not re.fullmatch(r"none|[0-9]{1,9}", header):
            raise BadInput(f"header must be the number of a line or none, got '{header}'.", field="file")
        values = {**values, "header": 0 if header.isalpha() else int(header)}
    return read_stated(values)


def cells(command: Callable[..., Any]) -> Callable[..., Any]:
    """Give a command the options that state what cells of a person's file say."""
    return reduce(lambda given, option: option(given), reversed(_CELLS), command)


def take_cells(arguments: dict[str, Any]) -> tuple[Column, ...]:
    """Return the columns that these options state, taken out of `arguments`; BadInput where one makes no sense."""
    columns: dict[str, dict[str, Any]] = {}
    for text in arguments.pop("spellings", None) or ():
        name, colon, mapping = text.partition(":")
        texts, equals, value = mapping.rpartition("=")
        if not (colon and equals and name.strip() and value.strip()):
            raise BadInput(f"--map takes column:text,text=value, such as sex:F,w=female, got '{text}'.", field="schema")
        spellings = columns.setdefault(name.strip(), {}).setdefault("spellings", {})
        spellings[value.strip()] = [*spellings.get(value.strip(), ()), *_split(texts)]
    for text in arguments.pop("missing_words", None) or ():
        name, colon, words = text.partition(":")
        further = _split(words)
        if not (colon and name.strip()):
            raise BadInput(f"--missing takes column:word,word, such as region:unknown, got '{text}'.", field="schema")
        spellings = columns.setdefault(name.strip(), {})
        spellings["missing_words"] = (
            [*spellings.get("missing_words", filter(None, MISSING)), *further] if further else []
        )
    return tuple(read_column(name, settings) for name, settings in columns.items())


def _split(texts: str) -> list[str]:
    """Return texts with commas between; one in quotes may hold some."""
    return [text.strip() for text in next(csv.reader([texts], skipinitialspace=True), [])]


def read_seeds(text: str) -> list[int]:
    """Return the seeds of "A..B", both included, or of one number; BadInput for anything else."""
    first, dots, last = text.partition("..")
    try:
        low, high = int(first), int(last if dots else first)
    except ValueError:
        low, high = 0, -1
    if not 0 <= low <= high < low + _MOST_SEEDS:
        raise BadInput(
            f"seeds must be A..B with 0 <= A <= B, at most {_MOST_SEEDS} of them, got '{text}'.", field="seeds"
        )
    return list(range(low, high + 1))
