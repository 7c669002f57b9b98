"""Accuracy and gap over ε, a panel each: a method's settings joined over ε, with bands over seeds."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

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
_FAINT = "Bold: of each method the setting that meets your gap most often, and of several the most accurate."


@dataclass(frozen=True)
class EpsilonCurve:
    """Rows of one method that are joined, by ε from low to high; `name` is what the figure calls them."""

    name: str
    rows: tuple[TableRow, ...]

    @property
    def first(self) -> TableRow:
        """The row that says method, threat model and variant for all."""
        return self.rows[0]


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
    lit = {curve.name for curve in curves} if settings is None else {curve.name for curve in choose_lit(curves, wanted)}
    faint = [curve for curve in curves if curve.name not in lit][:_MOST_FAINT]
    ordered = [*faint, *(curve for curve in curves if curve.name in lit)]
    span = _find_span(complete)
    series = [
        _draw(curve, panel, span, labelled=settings is not None, faint=curve.name not in lit)
        for curve in ordered
        for panel in range(2)
    ]
    parts = (_format_seeds(curves), _FAINT * bool(faint), _format_threats(complete))
    caption = " ".join(part.strip() for part in parts if part)
    return FigureData(
        name="trade_off",
        title=f"{dataset}, over ε",
        x=EPSILON_AXIS,
        panels=(Panel(ACCURACY, "Accuracy"), Panel(_GAP, name_gap(f"{notion} gap", complete))),
        series=tuple(series),
        caption=caption,
        own=caption,
        alt=_format_text(
            [one for one in series if not one.faint], f"Accuracy and {notion.lower()} gap over ε: {dataset}"
        ),
        references=() if epsilon is None else (Reference(epsilon, f"ε = {epsilon_text(epsilon)}"),),
        origin=find_origin_of_rows(rows),
        regions=() if wanted is None else _shade(wanted),
        shaded="" if wanted is None else wanted.said,
    )


def list_curves(rows: Sequence[TableRow], settings: Mapping[str, str] | None = None) -> list[EpsilonCurve]:
    """Return the curves of `trade_off`, by method in the catalogue's order, then by first appearance."""
    rows_by_name: dict[str, list[TableRow]] = {}
    for row in sorted(rows, key=lambda row: place_method(row.method)):
        published = ", as published" if row.variant == "published" else ""
        own = settings is not None and settings.get(row.keys[0])
        what = f" ({wording.protection_suffix(row.threat_model)})" if settings is None else f", {own}" if own else ""
        rows_by_name.setdefault(f"{method_style(row.method).title}{published}{what}", []).append(row)
    return [EpsilonCurve(name, tuple(sorted(own, key=_budget))) for name, own in rows_by_name.items()]


def choose_lit(curves: Sequence[EpsilonCurve], wanted: Wanted | None) -> list[EpsilonCurve]:
    """Return of each method and accounting the curve that stands out, as the figure's caption says."""
    by_method = group_by(curves, lambda curve: (curve.first.method, curve.first.variant, curve.first.threat_model))

    def rank(curve: EpsilonCurve) -> tuple[int, float]:
        n_kept = sum(wanted is not None and (row.gap.mean or 0.0) <= wanted.gap for row in curve.rows)
        return n_kept, max(row.accuracy.mean or 0.0 for row in curve.rows)

    return [max(own, key=rank) for own in by_method.values()]


def _budget(row: TableRow) -> float:
    return float("inf") if row.epsilon is None else row.epsilon


def _draw(curve: EpsilonCurve, panel: int, span: tuple[float, float], *, labelled: bool, faint: bool) -> Series:
    means = [row.accuracy if panel == 0 else row.gap for row in curve.rows]
    points = [(row.epsilon, mean, row) for row, mean in zip(curve.rows, means, strict=True) if row.epsilon is not None]
    if not points:
        points = [(end, means[0], curve.first) for end in span]
    low, high = ((), ()) if faint else percent_ends([mean for _, mean, _ in points])
    series = line(
        curve.name,
        [at for at, _, _ in points],
        [in_percent(mean.mean) for _, mean, _ in points],
        low=low,
        high=high,
        style=curve.first.method,
        panel=panel,
        variation=int(curve.first.variant == "published"),
        labelled=labelled and not faint,
    )
    rows = [row for _, _, row in points]
    return replace(
        series,
        faint=faint,
        keys=tuple(row.keys[0] for row in rows),
        hover=tuple(f"{curve.name}\n{format_point(row).partition(', ')[2]}" for row in rows),
    )


def _shade(wanted: Wanted) -> tuple[Region, ...]:
    return Region(0, y=(100 * wanted.accuracy, None)), Region(1, y=(None, 100 * wanted.gap))


def _find_span(rows: Sequence[TableRow]) -> tuple[float, float]:
    values = [row.epsilon for row in rows if row.epsilon is not None]
    return (min(values), max(values)) if values else (0.1, 10.0)


def _format_seeds(curves: Sequence[EpsilonCurve]) -> str:
    counts = {len(row.seeds) for curve in curves for row in curve.rows}
    if not counts:
        return "No finished run yet."
    answers = any(row.by_answers for curve in curves for row in curve.rows)
    if counts == {1}:
        return wording.format_one_seed(by_answers=answers)
    n = f"{min(counts)}" if len(counts) == 1 else f"{min(counts)} to {max(counts)}"
    return f"Bands: 95 % interval of the mean over {n} seeds.{f' {wording.BY_ANSWERS}' * answers}"


def _format_threats(rows: Sequence[TableRow]) -> str:
    kinds = {row.threat_model for row in rows if row.threat_model is not None}
    return "Values of ε of methods that protect different things cannot be compared. " if len(kinds) > 1 else ""


def _format_text(series: Sequence[Series], what: str) -> str:
    parts = [f"{part.name}, panel {part.panel + 1}: {list_values(part.x, part.y, '')}" for part in series]
    return f"{what}. " + ". ".join(parts) + "."
