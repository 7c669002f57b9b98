"""Which settings are worth having: those that no other beats in accuracy, gap and ε at once."""

from __future__ import annotations

import math
from bisect import bisect_left, bisect_right, insort
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from fairpriv_core.report.tables import REPLAYED, TableRow

Triple = tuple[float, float, float]


@dataclass(frozen=True)
class Claim:
    """What an ε says: what is protected, how it was accounted, at which δ. Only ε of one claim can be compared."""

    threat_model: str | None
    variant: str | None
    delta: float | None

    @property
    def title(self) -> str:
        """The claim in words, for a list."""
        what = {"attribute": "Protects the attribute", "record": "Protects the whole record", None: "Not private"}
        return self._describe(what[self.threat_model])

    @property
    def short(self) -> str:
        """The claim as a panel's title, which fits a phone."""
        return self._describe({"attribute": "Attribute", "record": "Record", None: "Not private"}[self.threat_model])

    def _describe(self, what: str) -> str:
        if self.threat_model is None:
            return what
        how = "published, not proved" if self.variant == "published" else "proved"
        return f"{what} · {how}" + ("" if self.delta is None else f" · δ = {self.delta:g}")


def group_by_claim(rows: Iterable[TableRow]) -> dict[Claim, list[TableRow]]:
    """Return the rows of each claim, by first appearance; those that are not private, which claim nothing, last.

    Left out are rows without accuracy or gap, those that state no ε though they are private, and those whose noise can
    be repeated, which protect nothing.
    """
    found: dict[Claim, list[TableRow]] = {}
    for row in rows:
        known = row.accuracy.mean is not None and row.gap.mean is not None
        if known and row.variant != REPLAYED and (row.epsilon is None) == (row.threat_model is None):
            private = row.threat_model is not None
            claim = Claim(row.threat_model, row.variant, row.delta) if private else Claim(None, None, None)
            found.setdefault(claim, []).append(row)
    return dict(sorted(found.items(), key=lambda item: item[0].threat_model is None))


def find_best(rows: Sequence[TableRow]) -> list[TableRow]:
    """Return the rows that no other dominates; `rows` are of one claim, data set, groups and notion.

    A row dominates another where its ε is not higher, its accuracy not lower, its gap not higher, and one of them is
    better. Rows that agree in all three stay together. A row without ε counts as one with infinite ε.
    """
    triples = [_triple(row) for row in rows]
    best = _best_triples(set(triples))
    return [row for row, triple in zip(rows, triples, strict=True) if triple in best]


def _triple(row: TableRow) -> Triple:
    """Return ε, gap and negative accuracy: of each less is better."""
    if row.accuracy.mean is None or row.gap.mean is None:
        raise ValueError("a row without accuracy or gap cannot be compared")
    return (math.inf if row.epsilon is None else row.epsilon, row.gap.mean, -row.accuracy.mean)


def _best_triples(triples: set[Triple]) -> set[Triple]:
    """Return the triples that none other dominates (Kung, Luccio and Preparata, 1975: sort by one, keep a staircase).

    In sorted order all that may dominate a triple comes before it. The staircase has the pairs of the other two that
    none of those seen beats: the second falls as the first rises.
    """
    best: set[Triple] = set()
    stairs: list[tuple[float, float]] = []
    for triple in sorted(triples):
        _, gap, error = triple
        at = bisect_right(stairs, (gap, math.inf))
        if at and stairs[at - 1][1] <= error:
            continue
        best.add(triple)
        first = bisect_left(stairs, (gap, error))
        while first < len(stairs) and stairs[first][1] >= error:
            del stairs[first]
        insort(stairs, (gap, error))
    return best
