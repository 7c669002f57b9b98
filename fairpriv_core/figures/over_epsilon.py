"""Accuracy and gap over ε, a panel each: a method's settings joined over ε, with bands over seeds."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

from fairpriv_core.facts import wording
from fairpriv_core.facts.tables import TableRow, name_gap
from fairpriv_core.figures.figure import Axis, FigureData, Panel, Reference, Region, Series, line
from fairpriv_core.figures.figures import ACCURACY, EPSILON_AXIS, list_values, percent_ends
from fairpriv_core.figures.frontier import Wanted, format_point
from fairpriv_core.figures.origin import find_origin_of_rows
from fairpriv_core.figures.styles import method_style
from fairpriv_core.grouping import group_by
from fairpriv_core.methods.catalog import place_method
from fairpriv_core.text import epsilon_text, in_percent

_MOST_FAINT = 60
_GAP = Axis("Gap", "percentage points", with_zero=True)
_THREATS = "Values of ε of methods that protect different things cannot be compared."
_FAINT = "Bold: of each method the setting that meets your gap most often, and of several the most accurate."


Curves = Mapping[str, Sequence[TableRow]]  # by name, rows of one method that are joined, by ε from low to high


def trade_off(
    rows: Iterable[TableRow],
    *,
    dataset: str,
    notion: str,
    epsilon: float | None = None,
    settings: Mapping[str, str] | None = None,
    wanted: Wanted | None = None,
) -> FigureData:
    """Accuracy and gap over ε with 95 % bands over seeds; methods without ε are level lines.

    `rows` are of one data set, its groups and one notion; `dataset` and `notion` are titles. Rows of one method are
    joined whatever their settings, or with `settings` (by a row's first key, in words) those whose settings agree: then
    names stand at the ends of lines, and where a method has several settings one stands out. `epsilon` marks where a
    slider stands, `wanted` shades what is asked for.
    """
    complete = [row for row in rows if row.accuracy.mean is not None]
    curves = list_curves(complete, settings)
    lit = [*curves] if settings is None else choose_lit(curves, wanted)
    faint = [name for name in curves if name not in lit][:_MOST_FAINT]
    span = _find_span(complete)
    series = [
        _draw(name, curves[name], panel, span, labelled=settings is not None, faint=name not in lit)
        for name in (*faint, *(name for name in curves if name in lit))
        for panel in range(2)
    ]
    threats = {row.threat_model for row in complete if row.threat_model is not None}
    parts = (_format_seeds(complete), _FAINT * bool(faint), _THREATS * (len(threats) > 1))
    caption = " ".join(part for part in parts if part)
    return FigureData(
        name="trade_off",
        title=f"{dataset}, over ε",
        x=EPSILON_AXIS,
        panels=(Panel(ACCURACY, "Accuracy"), Panel(_GAP, name_gap(f"{notion} gap", complete))),
        series=tuple(series),
        caption=caption,
        own=caption,
        alt=_format_text(
            [curve for curve in series if not curve.faint], f"Accuracy and {notion.lower()} gap over ε: {dataset}"
        ),
        references=() if epsilon is None else (Reference(epsilon, f"ε = {epsilon_text(epsilon)}"),),
        origin=find_origin_of_rows(rows),
        regions=() if wanted is None else _shade(wanted),
        shaded="" if wanted is None else wanted.said,
    )


def list_curves(rows: Sequence[TableRow], settings: Mapping[str, str] | None = None) -> Curves:
    """Return the curves of `trade_off`, by method in the catalogue's order, then by first appearance."""
    rows_by_name: dict[str, list[TableRow]] = {}
    for row in sorted(rows, key=lambda row: place_method(row.method)):
        published = ", as published" if row.variant == "published" else ""
        own = settings is not None and settings.get(row.keys[0])
        what = f" ({wording.protection_suffix(row.threat_model)})" if settings is None else f", {own}" if own else ""
        rows_by_name.setdefault(f"{method_style(row.method).title}{published}{what}", []).append(row)
    return {name: sorted(own, key=lambda row: row.epsilon or math.inf) for name, own in rows_by_name.items()}


def choose_lit(curves: Curves, wanted: Wanted | None) -> list[str]:
    """Return of each method and accounting the name of the curve that stands out, as the figure's caption says."""

    def rank(name: str) -> tuple[int, float]:
        n_kept = sum(wanted is not None and (row.gap.mean or 0.0) <= wanted.gap for row in curves[name])
        return n_kept, max(row.accuracy.mean or 0.0 for row in curves[name])

    firsts = {name: rows[0] for name, rows in curves.items()}
    by_method = group_by(curves, lambda name: (firsts[name].method, firsts[name].variant, firsts[name].threat_model))
    return [max(names, key=rank) for names in by_method.values()]


def _draw(
    name: str, rows: Sequence[TableRow], panel: int, span: tuple[float, float], *, labelled: bool, faint: bool
) -> Series:
    first, means = rows[0], [row.accuracy if panel == 0 else row.gap for row in rows]
    points = [(row.epsilon, mean, row) for row, mean in zip(rows, means, strict=True) if row.epsilon is not None]
    if not points:
        points = [(end, means[0], first) for end in span]
    low, high = ((), ()) if faint else percent_ends([mean for _, mean, _ in points])
    series = line(
        name,
        [at for at, _, _ in points],
        [in_percent(mean.mean) for _, mean, _ in points],
        low=low,
        high=high,
        style=first.method,
        panel=panel,
        variation=int(first.variant == "published"),
        labelled=labelled and not faint,
    )
    return replace(
        series,
        faint=faint,
        keys=tuple(row.keys[0] for _, _, row in points),
        hover=tuple(f"{name}\n{format_point(row).partition(', ')[2]}" for _, _, row in points),
    )


def _shade(wanted: Wanted) -> tuple[Region, ...]:
    return Region(0, y=(100 * wanted.accuracy, None)), Region(1, y=(None, 100 * wanted.gap))


def _find_span(rows: Sequence[TableRow]) -> tuple[float, float]:
    values = [row.epsilon for row in rows if row.epsilon is not None]
    return (min(values), max(values)) if values else (0.1, 10.0)


def _format_seeds(rows: Sequence[TableRow]) -> str:
    counts = {len(row.seeds) for row in rows}
    if not counts:
        return "No finished run yet."
    answers = any(row.by_answers for row in rows)
    if counts == {1}:
        return wording.format_one_seed(by_answers=answers)
    n = f"{min(counts)}" if len(counts) == 1 else f"{min(counts)} to {max(counts)}"
    return f"Bands: 95 % interval of the mean over {n} seeds.{f' {wording.BY_ANSWERS}' * answers}"


def _format_text(series: Sequence[Series], what: str) -> str:
    parts = [f"{part.name}, panel {part.panel + 1}: {list_values(part.x, part.y, '')}" for part in series]
    return f"{what}. " + ". ".join(parts) + "."
