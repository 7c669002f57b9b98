"""Whose numbers a figure or a table shows: what must be said of that is made from this, and stored nowhere as text."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from fairpriv_core.data.catalog import problems
from fairpriv_core.data.problem import DataJson
from fairpriv_core.facts.measures import find_worst
from fairpriv_core.facts.tables import TableRow
from fairpriv_core.records.record import RAW
from fairpriv_core.records.release import Kind
from fairpriv_core.records.source import find_answers, is_published

#: beside numbers of public rows
OF_OWN = " On your own data no ε covers such numbers."


@dataclass(frozen=True)
class Origin:
    """The worst kind of what is shown, and of what chose, sorted, lit or joined it.

    `published` are the data sets, by title, that it is of and that everybody has; `told` where that is to be said
    beside it. `mark` is what every form of something raw says.
    """

    kind: Kind
    published: tuple[str, ...] = ()
    mark: str = RAW
    told: bool = True

    @property
    def text(self) -> str:
        """What must be said beside it; "" for nothing."""
        if self.kind == "raw":
            return self.mark
        titles = self.published if self.told else ()
        return f"{' and '.join(titles)} {'is' if len(titles) == 1 else 'are'} public." if titles else ""

    @property
    def aside(self) -> str:
        """What follows where numbers are said to be public: those of a person's own rows would not be."""
        return OF_OWN if self.told and self.published else ""

    @property
    def brief(self) -> str:
        """What follows a sentence with its numbers; "" where all are public."""
        return " Raw, for the analyst." if self.kind == "raw" else ""


PUBLIC, ALL_RAW = Origin("public"), Origin("raw")


def find_origin_of_rows(rows: Iterable[TableRow]) -> Origin:
    """Return of which kind the numbers of rows of the run table are, and of which public data."""
    all_rows = list(rows)
    kind = find_worst([row.kind for row in all_rows])
    return (
        ALL_RAW if kind == "raw" else Origin(kind, list_titles(filter(is_published, (row.asked for row in all_rows))))
    )


def find_origin(data: Iterable[DataJson], *, tell: bool = True) -> Origin:
    """Return of which kind exact numbers of runs on `data` (configs') are: beside randomised answers none is raw.

    `tell`: whether the figure or table has to say that its data are public, since nothing around it does.
    """
    items = list(data)
    published = [item for item in items if is_published(item)]
    if any(item not in published and find_answers(item) is None for item in items):
        return ALL_RAW
    return Origin("public", list_titles(published), told=tell)


def format_origin(data: Iterable[DataJson]) -> str:
    """Return what must be said with accuracies and gaps of runs on `data`: that they are raw, or that all is public."""
    origin = find_origin(data)
    return f"{origin.text}{origin.aside}"


def list_titles(data: Iterable[DataJson]) -> tuple[str, ...]:
    """Return the titles of published `data`, each once."""
    return tuple(dict.fromkeys(problems()[item["dataset"] or ""].title for item in data))
