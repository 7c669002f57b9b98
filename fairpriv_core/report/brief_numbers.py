"""What a report measures: run table, groups and figures, from raw numbers or from those that ε covers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from fairpriv_core.report import live, wording
from fairpriv_core.report.brief import Part, Table
from fairpriv_core.report.brief_runs import Chosen, Told
from fairpriv_core.report.figure import Axis, FigureData, Panel, Series, Value
from fairpriv_core.report.figures import ACCURACY, EPSILON_AXIS, GroupRates, group_bars
from fairpriv_core.report.folding import fold_curves
from fairpriv_core.report.tables import Mean, mean_interval

RATES = {
    "positive_rate": "predicted positive",
    "true_positive_rate": "true positive rate",
    "false_positive_rate": "false positive rate",
    "accuracy": "accuracy",
}
_RATES_OF = {
    "equal_opportunity": ("true_positive_rate",),
    "equalized_odds": ("true_positive_rate", "false_positive_rate"),
    "accuracy_parity": ("accuracy",),
}
Point = tuple[Chosen, Mean, Mean]
_HEAD = ("run", "accuracy %", "± acc.", "gap pp", "± gap", "seeds")


def read_paid(told: Told, name: str) -> Value:
    """Return a number that may be published: noisy and paid for, or, of accuracy alone, public; None for neither."""
    record = told["record"]
    paid = record.get("metrics_private")
    if paid is not None:
        value: Value = paid.get(name)
        return value
    public = record.get("metrics") if not record.get("metrics_are_raw", True) else None
    return None if public is None else public.get(name)


def run_rows(chosen: Sequence[Chosen]) -> Table:
    """Return accuracy and gap of each run, raw, as mean ± 95 % over seeds."""
    rows = tuple((each.name, *_ends(each.row.accuracy), *_ends(each.row.gap), len(each.row.seeds)) for each in chosen)
    return Table(_HEAD, rows, f"Mean and half of its 95 % interval over seeds, on the test split. {wording.RAW}")


def paid_rows(chosen: Sequence[Chosen]) -> Table:
    """Return what may be published of each run: accuracy and gap that ε covers; of several seeds their mean."""
    rows = []
    for each in chosen:
        accuracy = _ends(mean_interval(read_paid(told, "accuracy") for told in each.runs))
        gap = _ends(mean_interval(read_paid(told, _gap(each)) for told in each.runs))
        rows.append((each.name, *_own(each, "accuracy", accuracy), *_own(each, _gap(each), gap), len(each.runs)))
    words = "Half of the 95 % interval: over seeds, or of one run over the noise and the sampling of its test rows."
    return Table(_HEAD, tuple(rows), f"{words} A dash: not covered by ε, or no interval.")


def group_rows(each: Chosen, *, paid: bool) -> Table | None:
    """Return the groups' rates of the first seed with 95 % intervals; None where there are none."""
    found = each.record.get("metrics_private" if paid else "metrics") or {}
    groups = found.get("groups") or ()
    if not groups:
        return None
    rows = tuple((group["name"], round(group["size"]), *(_rate(group, rate) for rate in RATES)) for group in groups)
    note = wording.PAID if paid else f"In per cent, with 95 % Wilson intervals, on the test split. {wording.RAW}"
    return Table(("group", "test rows", *(f"{title} %" for title in RATES.values())), rows, note)


def group_figures(chosen: Sequence[Chosen], *, paid: bool) -> list[Part]:
    """Return the groups' rates that the runs' notions compare, as bars."""
    source = "metrics_private" if paid else "metrics"
    with_groups = [each for each in chosen if (each.record.get(source) or {}).get("groups")]
    rates = dict.fromkeys(rate for each in with_groups for rate in _RATES_OF.get(each.row.notion, ("positive_rate",)))
    bars = [GroupRates(each.name, each.row.method, each.record[source]["groups"]) for each in with_groups]
    return [group_bars(bars, rate=rate, paid=paid) for rate in rates]


def curve_figures(chosen: Sequence[Chosen]) -> list[Part]:
    """Return accuracy and gaps while training, raw; [] where no run kept its curves."""
    histories = {each.letter: [live.collect(told["curves"]) for told in each.runs] for each in chosen}
    if not any(history for found in histories.values() for history in found):
        return []
    metrics = dict.fromkeys(["accuracy", *(_gap(each) for each in chosen)])
    return [
        live.overlay(
            [fold_curves(each.name, each.row.method, histories[each.letter], metric) for each in chosen], metric=metric
        )
        for metric in metrics
    ]


def chosen_trade_off(chosen: Sequence[Chosen], *, paid: bool) -> FigureData | None:
    """Return accuracy against gap, one point a run with its 95 % interval; None where no run has both.

    `paid`: from what ε covers alone. Without a gap that was paid for, accuracy stands over ε instead.
    """
    titles = dict.fromkeys(each.first["notion"]["title"] for each in chosen)
    points = [(each, _point(each, "accuracy", paid), _point(each, _gap(each), paid)) for each in chosen]
    known = [point for point in points if point[1].mean is not None]
    both = [point for point in known if point[2].mean is not None]
    if both:
        axis = Axis("Gap" if len(titles) > 1 else f"{next(iter(titles))} gap", "percentage points")
        return _scatter(both, axis, paid=paid)
    budgets = ((each, accuracy, each.row.epsilon) for each, accuracy, _ in known)
    over = [(each, accuracy, Mean(at / 100, None, None, 1)) for each, accuracy, at in budgets if at is not None]
    return _scatter(over, EPSILON_AXIS, paid=paid) if over else None


def _scatter(points: Sequence[Point], x: Axis, *, paid: bool) -> FigureData:
    """Return accuracy over `x`, in hundredths of whose unit the second mean is."""
    series = []
    for index, (each, accuracy, at) in enumerate(points):
        same = sum(earlier.row.method == each.row.method for earlier, _, _ in points[:index])
        ends = [tuple(_in_percent(end) for end in (mean.mean, mean.low, mean.high)) for mean in (at, accuracy)]
        (place, left, right), (y, low, high) = ends
        point = Series(each.name, "points", (place or 0.0,), (y,), look=each.row.method, variation=same)
        point = point if low is None or high is None else replace(point, low=(low,), high=(min(high, 100.0),))
        point = point if left is None else replace(point, x_low=(left,), x_high=(right,))
        series.append(replace(point, text=(each.letter,)))
    said = "; ".join(
        f"{s.name}: accuracy {wording.number(s.y[0])} % at {wording.number(float(s.x[0]))}" for s in series
    )
    better = "" if x.log else "Up and to the left is better. "
    return FigureData(
        name="chosen_trade_off",
        title="What the chosen runs trade" if not x.log else "Accuracy over the privacy budget",
        x=x,
        panels=(Panel(ACCURACY),),
        series=tuple(series),
        caption=f"{better}{_say_whiskers(points, paid=paid)}",
        alt=f"Accuracy over {x.label}. {said}.",
        raw=not paid,
    )


def _say_whiskers(points: Sequence[Point], *, paid: bool) -> str:
    several = any(len(each.runs) > 1 for each, _, _ in points)
    if paid:
        words = "95 % over the noise and the sampling of the test rows" + ("; of several seeds, over these" * several)
        return f"Whiskers: {words}. From numbers that ε covers or that are public, and from no others."
    return f"{'Whiskers: 95 % interval of the mean over seeds.' if several else wording.ONE_SEED} {wording.RAW}"


def _point(each: Chosen, name: str, paid: bool) -> Mean:
    """Return a metric's mean over seeds; of one paid run, the interval of its own noise."""
    if not paid:
        return each.row.accuracy if name == "accuracy" else each.row.gap
    mean = mean_interval(read_paid(told, name) for told in each.runs)
    ends = _interval(each, name)
    return mean if mean.n != 1 or ends is None else Mean(mean.mean, *ends, 1)


def _own(each: Chosen, name: str, found: tuple[Value, Value]) -> tuple[Value, Value]:
    """Return mean and half; of one paid run, half of its own interval."""
    ends = _interval(each, name)
    return found if len(each.runs) > 1 or ends is None else (found[0], 50 * (ends[1] - ends[0]))


def _interval(each: Chosen, name: str) -> tuple[float, float] | None:
    ends: tuple[float, float] | None = (each.record.get("metrics_private") or {}).get(f"{name}_interval")
    return ends


def _gap(each: Chosen) -> str:
    return f"{each.row.notion}_gap"


def _ends(mean: Mean) -> tuple[Value, Value]:
    half = mean.half
    return None if mean.mean is None else 100 * mean.mean, None if half is None else 100 * half


def _in_percent(share: Value) -> Value:
    return None if share is None else 100 * max(share, 0.0)


def _rate(group: Mapping[str, Any], rate: str) -> str:
    ends = group.get(f"{rate}_interval")
    if group.get(rate) is None:
        return "–"
    spread = "" if ends is None else f" ({wording.number(100 * ends[0])} to {wording.number(100 * ends[1])})"
    return f"{wording.number(100 * group[rate])}{spread}"
