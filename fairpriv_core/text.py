"""Texts that somebody else wrote, made harmless for where they go: cells of a table, and sentences that leave."""

from __future__ import annotations

import csv
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TextIO

_FORMULA = re.compile(r"[=+\-@\t\r\n＝＋－＠]")
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?")
_FOLDERS = re.compile(r"(?<![\w.:/])/(?:[^\s/'\":;,()]+/)+")


def write_lines(stream: TextIO, head: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Write a table as CSV: the one way in which a table leaves, so that no text in it is taken for a formula."""
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerows([defuse(cell) for cell in row] for row in (head, *rows))


def defuse(cell: object) -> object:
    """Return a cell with an apostrophe before a text that a spreadsheet would run as a formula (OWASP's list).

    >>> defuse("=1+1"), defuse("-1.5"), defuse(-1.5), defuse("a=b"), defuse("-x")
    ("'=1+1", '-1.5', -1.5, 'a=b', "'-x")
    """
    is_formula = isinstance(cell, str) and _FORMULA.match(cell) and not _NUMBER.fullmatch(cell)
    return f"'{cell}" if is_formula else cell


def drop_folders(text: str, file: str | None = None) -> str:
    r"""Return `text` with every absolute path in it as its last name alone; `file` is one that may have blanks.

    >>> drop_folders("there is no file /srv/ana/a.csv; 1/n and https://b.org/c/d stay.")
    'there is no file a.csv; 1/n and https://b.org/c/d stay.'
    >>> drop_folders("/my files/a.csv is gone", "/my files/a.csv")
    'a.csv is gone'
    """
    known = text if file is None else text.replace(f"{Path(file).parent}/", "")
    return _FOLDERS.sub("", known)
