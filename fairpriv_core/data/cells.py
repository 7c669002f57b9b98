"""What is said of a column's cells before they are read, and what of them its owner should know once they are."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from fairpriv_core.data.dates import is_date
from fairpriv_core.data.spelling import MISSING, show_number, spell
from fairpriv_core.text import count_text

_SHOWN, _FEW = 40, 4  # letters of a cell, and cells, that a sentence quotes


@dataclass(frozen=True)
class ReadAs:
    """What a column is said to hold: numbers (any other cell is missing), texts, among which `values`, days, or keys.

    Of "any" nothing is said but how its cells are spelled: it is what it seems to be.

    All are told apart that can be a value: of texts those in `values`, or any where none are stated, of days what
    spells one in some order, of keys each as it is written. Of other texts only so many are. `spellings` are further
    texts of values (text, value), `missing` the words for no value, None for the usual ones; a value is never missing.
    `decimal` is the sign before decimals, "" for the file's own. `alone`: no cell is read otherwise because of others.
    """

    kind: Literal["number", "text", "date", "key", "any"]
    values: tuple[str, ...] = ()
    spellings: tuple[tuple[str, str], ...] = ()
    missing: tuple[str, ...] | None = None
    decimal: str = ""
    alone: bool = False

    def allows(self, text: str) -> bool:
        """Return whether a text that is not among `values` can be a value: what finds room must not depend on others.

        A text of a list that is open is counted with noise, and one that lost its place to another row's would move it.
        """
        if self.kind == "date":
            return is_date(text)
        return not self.values

    @property
    def lacking(self) -> frozenset[str]:
        """The words for no value."""
        words = {"", *map(spell, MISSING if self.missing is None else self.missing)}
        return frozenset(words.difference(self.values, (text for text, _ in self.spellings)) | {""})


@dataclass(frozen=True)
class Unread:
    """Cells that say nothing of what their column holds (`what`): in how many `rows`, and some of their `words`."""

    what: str
    rows: int
    words: tuple[str, ...]

    def __str__(self) -> str:
        """Return what they are, for the file's owner."""
        are, none = ("is", f"no {self.what}") if self.rows == 1 else ("are", f"no {self.what}s")
        missing = "" if self.what == "known value" else f" and {'counts' if self.rows == 1 else 'count'} as missing"
        return f"{count_text(self.rows, 'cell')} ({quote_some(self.words)}) {are} {none}{missing}."


@dataclass(frozen=True)
class Amounts:
    """Numbers that are not plain ones: `decimal` is the sign before decimals, with an example and what it is."""

    decimal: str
    example: str
    number: float

    def __str__(self) -> str:
        """Return how they are read, for the file's owner."""
        return f"'{self.example[:_SHOWN]}' is read as the number {show_number(self.number)}."


def quote_some(words: Sequence[str]) -> str:
    """Return the first few of some cells' texts, quoted."""
    return ", ".join(f"'{word[:_SHOWN]}'" for word in words[:_FEW]) + (", …" if len(words) > _FEW else "")


@dataclass(frozen=True)
class Merged:
    """A value, its spellings (the value first), and how many rows have one of them."""

    spellings: tuple[str, ...]
    rows: int

    def __str__(self) -> str:
        """Return what became of them, for the file's owner."""
        return f"{quote_some(self.spellings)} are one value, '{self.spellings[0][:_SHOWN]}', in {self.rows:,} rows."
