"""One column of a table: what is said of it, how its cells are read, and, once that is decided, how it is encoded."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

from fairpriv_core.files.dates import ORDERS, DatePart, is_date
from fairpriv_core.files.spelling import MISSING, fold, spell

ROLES = ("feature", "label", "sensitive", "person", "left out")
TYPES = ("number", "whole number", "category", "code", "date", "text")
#: of a column of which nothing else is said than its spellings, missing words or decimal sign: what it seems to be
SEEMING = ""
OF_CELLS = ("spellings", "missing_words", "decimal")
NUMBERS = ("number", "whole number")
LISTS = ("category", "code")
#: the least and the most that a randomised answer's epsilon may be
EPSILON_OF_ANSWER = (0.001, 100.0)


@dataclass(frozen=True)
class Column:
    """One column; None and () where nothing is said.

    `role` is one of ROLES, `type` one of TYPES, or SEEMING. `range` are the lowest and highest number, or year or age
    of a date. `spellings` are further texts of values, by value; `missing_words` those that stand for no value, None
    for the usual ones; `decimal` is the sign before decimals, "" for the file's. `cut` are a label's or sensitive
    column's edges, `groups` the values of a sensitive column that are groups, where all others are one. `reason` is
    why it is guessed so, for the file's owner, `public` the same for everybody: without a cell of the file, or a
    count. `randomized` has the epsilon of each answer that people gave in place of a sensitive column's values, by
    randomised response, before anything was read; the cells hold the last.

    A quantity x is encoded as (f(clip(x, *range)) - center) / scale, where f is the identity, or with `log`
    sign(x) * log(1 + |x|); `center` and `scale` are in the unit of f. `edges` add one 0/1 feature for each interval
    between them; each value of `special` (a code, not a quantity) gets a 0/1 feature and is encoded as the center, and
    so is a missing value, with a 0/1 feature of its own if `missing`. Any other column has one 0/1 feature for each of
    its `categories`; a value that is not listed is all zeros, and so is a missing one, but for `missing`.
    """

    name: str
    role: str = "feature"
    type: str = "number"
    range: tuple[float, float] | None = None
    edges: tuple[float, ...] = ()
    log: bool | None = None
    categories: tuple[str, ...] = ()
    spellings: tuple[tuple[str, tuple[str, ...]], ...] = ()
    missing_words: tuple[str, ...] | None = None
    decimal: str = ""
    missing: bool | None = None
    part: str = ""
    order: str = ""
    at: str = ""
    cut: tuple[float, ...] = ()
    groups: tuple[str, ...] = ()
    positive: str = ""
    randomized: tuple[float, ...] = ()
    reason: str = ""
    public: str = ""
    center: float = 0.0
    scale: float = 1.0
    special: tuple[float, ...] = ()

    @property
    def date(self) -> DatePart | None:
        """The part of a date that is used; None for a column of another type."""
        return DatePart(self.part or "year", self.order or ORDERS[0], self.at) if self.type == "date" else None

    @property
    def is_quantity(self) -> bool:
        """Whether it becomes a number that is scaled; else 0/1 features for its categories."""
        return self.type in NUMBERS or (self.type == "date" and self.part in ("", "year", "age"))

    @property
    def low(self) -> float:
        """The lowest number, -inf where none is said."""
        return -math.inf if self.range is None else self.range[0]

    @property
    def high(self) -> float:
        """The highest number, inf where none is said."""
        return math.inf if self.range is None else self.range[1]

    @property
    def says_cells(self) -> bool:
        """Whether anything is stated of how its cells are spelled."""
        return bool(self.spellings or self.decimal) or self.missing_words is not None

    def spelled_as(self, source: Column) -> Column:
        """Return the column with what is said of how the cells of `source` are spelled."""
        return replace(self, **{name: getattr(source, name) for name in OF_CELLS})

    @property
    def recode(self) -> tuple[tuple[str, str], ...]:
        """The further texts of values, each with its value."""
        return tuple((text, value) for value, texts in self.spellings for text in texts)

    @property
    def kind(self) -> Literal["number", "text", "date", "key", "any"]:
        """What its cells are read as: keys are each as it is written, and of any it is what they seem to be."""
        if self.role == "person":
            return "key"
        if self.type == SEEMING:
            return "any"
        return "number" if self.type in NUMBERS else "date" if self.type == "date" else "text"

    @property
    def values(self) -> tuple[str, ...]:
        """The texts that its cells may have, where it is read as text and they are said."""
        return self.categories if self.kind == "text" else ()

    @property
    def lacking(self) -> frozenset[str]:
        """The words for no value; a value, or a further text of one, is never among them."""
        words = {"", *map(spell, MISSING if self.missing_words is None else self.missing_words)}
        return frozenset(words.difference(self._known) | {""})

    @property
    def lacking_folded(self) -> frozenset[str]:
        """What spellings of a stated word for no value have in common, beside the usual ones; never a value's."""
        words = {fold(word) for word in self.missing_words or () if word not in MISSING}
        return frozenset(words.difference(map(fold, self._known)))

    @property
    def _known(self) -> tuple[str, ...]:
        return (*self.values, *(text for text, _ in self.recode))

    def allows(self, text: str) -> bool:
        """Return whether a text that is not among `values` can be a value: what finds room must not depend on others.

        A text of a list that is open is counted with noise, and one that lost its place to another row's would move it.
        """
        return is_date(text) if self.kind == "date" else not self.values


def number(
    name: str,
    low: float,
    high: float,
    center: float,
    scale: float,
    *,
    log: bool = False,
    edges: Sequence[float] = (),
    special: Sequence[float] = (),
    missing: bool = False,
) -> Column:
    """Return a column of numbers in [low, high] as a code book declares it; see `Column`."""
    return Column(
        name,
        range=(low, high),
        center=center,
        scale=scale,
        log=log,
        edges=tuple(edges),
        special=tuple(special),
        missing=missing,
    )


def category(
    name: str, categories: Sequence[str], recode: Sequence[tuple[str, str]] = (), *, missing: bool = False
) -> Column:
    """Return a column of these categories; `recode` has further texts of the file, each with its category."""
    return Column(name, type="category", categories=tuple(categories), spellings=by_value(recode), missing=missing)


def by_value(recode: Sequence[tuple[str, str]]) -> tuple[tuple[str, tuple[str, ...]], ...]:
    """Return further texts of values, (text, value), by value."""
    texts_by_value: dict[str, list[str]] = {}
    for text, value in recode:
        texts_by_value.setdefault(value, []).append(text)
    return tuple((value, tuple(texts)) for value, texts in texts_by_value.items())
