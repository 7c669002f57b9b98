"""Accuracy against gap at each ε, with a panel for each claim."""

from __future__ import annotations

import json
import math
from bisect import bisect_left, bisect_right, insort
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from fairpriv_core.facts import wording
from fairpriv_core.facts.tables import REPLAYED, TableRow, name_gap
from fairpriv_core.figures.figure import Axis, FigureData, Panel, Region, Series, Value
from fairpriv_core.figures.figures import ACCURACY, percent_ends
from fairpriv_core.figures.heatmap import find_varying
from fairpriv_core.figures.mixing import CAPTION, draw_mixing_line, find_plain
from fairpriv_core.figures.origin import find_origin_of_rows
from fairpriv_core.figures.styles import method_style
from fairpriv_core.grouping import group_by
from fairpriv_core.methods.catalog import place_method
from fairpriv_core.stats import spread
from fairpriv_core.text import count_text, delta_text, half_text, in_percent, percent_text, points_text

Triple = tuple[float, float, float]
MOST_DOMINATED = 600
_MOST_WHISKERS = 24
_MOST_LABELS = 60
_MOST_JOINED = 120
#: what stands at the ends of the mixing line
END_NAMES = ("one answer for all", "no privacy, no fairness")


@dataclass(frozen=True)
class EpsilonClaim:
    """What an ε says: what is protected, how it was accounted, at which δ. Only ε of one claim can be compared."""

    threat_model: str | None
    variant: str | None
    delta: float | None

    @property
    def title(self) -> str:
        """The claim in words, for a list."""
        what = {"attribute": "Protects the attribute", "record": "Protects the whole record", None: "Not private"}
        return self._format_text(what[self.threat_model])

    @property
    def short(self) -> str:
        """The claim as a panel's title, which fits a phone and a paper's column."""
        what = {"attribute": "Attribute", "record": "Record", None: "Not private"}
        return self._format_text(what[self.threat_model], published="not proved")

    def _format_text(self, what: str, *, published: str = "published, not proved") -> str:
        if self.threat_model is None:
            return what
        how = published if self.variant == "published" else "proved"
        return f"{what} · {how}" + ("" if self.delta is None else f" · δ = {delta_text(self.delta)}")


def group_by_claim(rows: Iterable[TableRow]) -> dict[EpsilonClaim, list[TableRow]]:
    """Return the rows of each claim, by first appearance; those that are not private, which claim nothing, last.

    Left out are rows without accuracy or gap, those that state no ε though they are private, and those whose noise can
    be repeated, which protect nothing.
    """
    rows_by_claim: dict[EpsilonClaim, list[TableRow]] = {}
    for row in rows:
        is_complete = row.accuracy.mean is not None and row.gap.mean is not None
        if is_complete and row.variant != REPLAYED and (row.epsilon is None) == (row.threat_model is None):
            private = row.threat_model is not None
            claim = (
                EpsilonClaim(row.threat_model, row.variant, row.delta) if private else EpsilonClaim(None, None, None)
            )
            rows_by_claim.setdefault(claim, []).append(row)
    return dict(sorted(rows_by_claim.items(), key=lambda item: item[0].threat_model is None))


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


Claims = Mapping[EpsilonClaim, Sequence[TableRow]]


@dataclass(frozen=True)
class Wanted:
    """What a person asks of a model: an accuracy of at least, and a gap of at most, both in [0, 1]."""

    accuracy: float
    gap: float

    @property
    def said(self) -> str:
        """The sentence of a caption on what is shaded."""
        accuracy, gap = f"{100 * self.accuracy:g} %", f"{100 * self.gap:g} percentage points"
        return f"Shaded: accuracy of at least {accuracy} and a gap of at most {gap}."

    def shade(self, panel: int = 0) -> Region:
        """Return the corner of a chart of accuracy (%) over gap (percentage points) that has both."""
        return Region(panel, x=(None, 100 * self.gap), y=(100 * self.accuracy, None))


def frontier(
    claims: Claims,
    *,
    dataset: str,
    notion: str,
    details: Mapping[str, str],
    numbers: Mapping[str, Mapping[str, float]],
    dominated: bool = True,
    wanted: Wanted | None = None,
) -> FigureData:
    """Accuracy against gap: the settings of a method at one ε are a curve, and dominated ones are open and faint.

    `claims` are rows of one data set, its groups and one notion, as `group_by_claim`; each is a panel, and what is not
    private stands in all of them for reference, with the mixing line where the reference method is among it. By a
    row's first key `details` says what else a pointer on it is told, and `numbers` has its numeric settings: a curve
    follows the one that varies along it. `dataset` and `notion` are titles. `dominated`: with the dominated settings.
    `wanted` is the corner that is shaded.
    """
    private = [claim for claim in claims if claim.threat_model is not None]
    plain = [row for claim, rows in claims.items() if claim.threat_model is None for row in rows]
    panel_claims = private or list(claims)
    series: list[Series] = []
    for panel, claim in enumerate(panel_claims):
        curves = _Curves(panel, details, numbers, dominated)
        series += curves.draw(claims[claim], with_names=len(claims[claim]) <= _MOST_LABELS)
        series += curves.draw(plain, with_names=False) if private and plain else []
        series += draw_ends(find_plain(plain), panel)
    best, total = _count(claims)
    all_rows = [row for rows in claims.values() for row in rows]
    mixed = any(curve.style == "muted" for curve in series)
    caption = (
        f"{_format_best(best, total, dominated=dominated)} Up and to the left is better; a line joins a method's "
        f"settings at one ε.{f' {CAPTION}' * mixed}"
    )
    return FigureData(
        name="frontier",
        title=dataset,
        x=Axis(name_gap(f"{notion} gap", all_rows), "percentage points", with_zero=True),
        panels=tuple(Panel(ACCURACY, claim.short) for claim in panel_claims),
        series=tuple(series),
        caption=f"{caption} {_format_seeds(claims, series)}",
        own=caption,
        alt=_format_text(claims, f"Accuracy against {notion.lower()} gap on {dataset}"),
        origin=find_origin_of_rows(all_rows),
        regions=() if wanted is None else tuple(wanted.shade(panel) for panel in range(len(panel_claims))),
        shaded="" if wanted is None else wanted.said,
    )


def format_point(row: TableRow, detail: str = "") -> str:
    """Return the text that a pointer on a row shows, one fact a line."""
    budget = "not private" if row.epsilon is None else f"ε = {row.epsilon:g}"
    lines = [
        f"{method_style(row.method).title}, {budget}",
        f"accuracy {percent_text(row.accuracy.mean)}{half_text(row.accuracy.half)}",
        format_gap(row),
        count_text(len(row.seeds), "seed"),
    ]
    return "\n".join([*lines, detail] if detail else lines)


def format_gap(row: TableRow) -> str:
    """Return a row's gap with its interval."""
    if row.by_answers:
        return f"gap by answers {spread(row.gap)} pp"
    return f"gap {points_text(row.gap.mean)}{half_text(row.gap.half)}"


@dataclass(frozen=True)
class _Curves:
    """The curves of one panel; the fields are `frontier`'s."""

    panel: int
    details: Mapping[str, str]
    numbers: Mapping[str, Mapping[str, float]]
    dominated: bool

    def draw(self, rows: Sequence[TableRow], *, with_names: bool) -> list[Series]:
        """Return a curve for each method and ε, `with_names` at the ends with the smaller gap."""
        best = find_best(rows)
        keys = {row.keys[0] for row in best}
        beaten = _thin([row for row in rows if row.keys[0] not in keys]) if self.dominated else []
        line_rows = [*best, *beaten] if len(best) + len(beaten) <= _MOST_JOINED else best
        series = []
        for name, own in _by_method(line_rows).items():
            curves = _by_budget(own)
            for (budget, evaluated), at in curves.items():
                is_split = evaluated and (budget, False) in curves
                label = f"ε = {budget:g}{', evaluated' if is_split else ''}" if budget and with_names else ""
                series.append(self._draw_curve(name, self._order(at), keys, label=label, whiskers=len(best)))
        clouds = [row for row in beaten if len(line_rows) == len(best)]
        return series + [
            replace(_draw(name, own, self.panel, self.details), kind="cloud", variation=1, faint=True)
            for name, own in _by_method(clouds).items()
        ]

    def _draw_curve(
        self, method: str, rows: Sequence[TableRow], best: Collection[str], *, label: str, whiskers: int
    ) -> Series:
        line = _draw(method, rows, self.panel, self.details)
        line = _with_whiskers(line, rows) if whiskers <= _MOST_WHISKERS else line
        fairest = min(range(len(rows)), key=lambda index: rows[index].gap.mean or 0.0)
        texts = tuple(label if index == fairest else "" for index in range(len(rows)))
        hollow = tuple(row.keys[0] not in best for row in rows)
        return replace(line, text=texts if label and not all(hollow) else (), hollow=hollow, faint=all(hollow))

    def _order(self, rows: Sequence[TableRow]) -> list[TableRow]:
        """Return rows along the one setting that varies; by their gaps where several do."""
        varying = find_varying(self.numbers.get(row.keys[0], {}) for row in rows)
        if len(varying) == 1:
            return sorted(rows, key=lambda row: self.numbers.get(row.keys[0], {}).get(varying[0], math.inf))
        return list(rows)


def draw_ends(plain: TableRow | None, panel: int) -> list[Series]:
    """Return the mixing line with names at its ends; [] where there is none."""
    return [
        part
        for line in draw_mixing_line(plain, panel)
        for part in (line, *(draw_end(*end, panel) for end in zip(END_NAMES, line.x, line.y, strict=True)))
    ]


def draw_end(name: str, gap: float | str, accuracy: Value, panel: int) -> Series:
    """Return one end of the mixing line, with its name beside it and not in the legend."""
    return Series(name, "points", (gap,), (accuracy,), style="muted", panel=panel, text=(name,), labelled=True)


def _draw(method: str, rows: Sequence[TableRow], panel: int, details: Mapping[str, str]) -> Series:
    return Series(
        method_style(method).title,
        "points",
        tuple(100 * (row.gap.mean or 0.0) for row in rows),
        tuple(in_percent(row.accuracy.mean) for row in rows),
        style=method,
        panel=panel,
        hover=tuple(format_point(row, details.get(row.keys[0], "")) for row in rows),
        keys=tuple(row.keys[0] for row in rows),
    )


def _with_whiskers(series: Series, rows: Sequence[TableRow]) -> Series:
    """Return the points with their intervals, kept within what accuracy and gap can be."""
    low, high = percent_ends([row.accuracy for row in rows])
    left, right = percent_ends([row.gap for row in rows])
    return replace(series, low=low, high=high, x_low=left, x_high=right)


def _by_method(rows: Sequence[TableRow]) -> dict[str, list[TableRow]]:
    return group_by(sorted(rows, key=lambda row: place_method(row.method)), lambda row: row.method)


def _by_budget(rows: Sequence[TableRow]) -> dict[tuple[float, bool], list[TableRow]]:
    """Return rows in the order of their gaps by ε (0 for none) and whether ε pays for an evaluation too.

    Private evaluation changes nothing in training: a run with it and one without are not two settings to choose from.
    """
    rows_by_budget: dict[tuple[float, bool], list[TableRow]] = {}
    for row in sorted(rows, key=lambda row: row.gap.mean or 0.0):
        evaluated = bool(json.loads(row.setting or "{}").get("private_evaluation"))
        rows_by_budget.setdefault((row.epsilon or 0.0, evaluated), []).append(row)
    return dict(sorted(rows_by_budget.items()))


def _thin(rows: Sequence[TableRow]) -> Sequence[TableRow]:
    """Return at most MOST_DOMINATED rows, evenly chosen in the order of their gaps."""
    if len(rows) <= MOST_DOMINATED:
        return rows
    ordered = sorted(rows, key=lambda row: row.gap.mean or 0.0)
    return [ordered[index * len(rows) // MOST_DOMINATED] for index in range(MOST_DOMINATED)]


def _count(claims: Claims) -> tuple[int, int]:
    return sum(len(find_best(rows)) for rows in claims.values()), sum(len(rows) for rows in claims.values())


def _format_best(best: int, total: int, *, dominated: bool) -> str:
    beaten = total - best
    if not beaten:
        return f"{count_text(total, 'setting')}, none dominated by another."
    look = "faded" if dominated else "hidden"
    some = f" ({MOST_DOMINATED} of them)" if dominated and beaten > MOST_DOMINATED else ""
    are = "is" if beaten == 1 else "are"
    return f"{beaten} of {total} settings {are} {look}{some}: another is better or equal in ε, accuracy and gap."


def _format_seeds(claims: Claims, series: Sequence[Series]) -> str:
    sizes = [len(row.seeds) for rows in claims.values() for row in rows]
    counts, answers = set(sizes), any(row.by_answers for rows in claims.values() for row in rows)
    if counts in ({1}, set()):
        return wording.format_one_seed(by_answers=answers) if counts else ""
    n = f"{min(counts)}" if len(counts) == 1 else f"{min(counts)} to {max(counts)}"
    marks = "Whiskers: 95 % interval" if any(curve.low for curve in series) else "Each point is the mean"
    small = (
        f" {sizes.count(1)} of the settings have 1 seed and no interval over seeds; point at one to see its seeds."
        if 1 in counts
        else ""
    )
    of = " of the mean" if marks.startswith("Whiskers") else ""
    return f"{marks}{of} over {n} seeds.{small}{f' {wording.BY_ANSWERS}' * answers}"


def _format_text(claims: Claims, what: str) -> str:
    parts = []
    for claim, rows in claims.items():
        best = sorted(find_best(rows), key=lambda row: (row.epsilon or 0.0, row.gap.mean or 0.0))
        settings = [
            format_point(row).replace("\n", ", ") for row in (best if len(best) <= 8 else [*best[:5], *best[-3:]])
        ]
        parts.append(f"{claim.title}: {len(best)} settings not dominated: {'; '.join(settings)}")
    return f"{what}. " + ". ".join(parts) + "."
