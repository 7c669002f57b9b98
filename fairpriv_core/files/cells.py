"""What the owner of a file should know of a column's cells once they are read."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fairpriv_core.files.spelling import show_number
from fairpriv_core.text import count_text

_SHOWN, _FEW = 40, 4  # letters of a cell, and cells, that a sentence quotes


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
