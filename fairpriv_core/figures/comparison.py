"""Two to six settings beside each other, seeds folded: accuracy against gap, groups, inequality indices."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Literal

from fairpriv_core.facts import wording
from fairpriv_core.facts.compare import Compared, fold_groups
from fairpriv_core.facts.tables import TableRow, name_gap
from fairpriv_core.figures.figure import Axis, FigureData, Panel, Series
from fairpriv_core.figures.figures import ACCURACY, GroupRates, group_bars, percent_ends
from fairpriv_core.figures.mixing import CAPTION, draw_mixing_line
from fairpriv_core.figures.origin import find_origin_of_rows
from fairpriv_core.figures.styles import count_earlier
from fairpriv_core.text import in_percent, percent_text, points_text

_OVER_SEEDS = "Bars: mean over seeds; whiskers: 95 % interval of that mean, of one seed the 95 % Wilson interval."

_BY_ANSWERS = (
    "Bars of runs on randomised answers are estimates, averaged over seeds. Their whiskers: 95 % interval, over the "
    "flips and the sampling of test rows."
)


def compare_points(settings: Sequence[Compared], plain: TableRow | None = None) -> FigureData:
    """Mean accuracy against the mean gap of the settings' own notion, with 95 % whiskers over seeds both ways.

    `plain` is the row of plain training on the same data, for the mixing line.
    """
    rows = [setting.row for setting in settings]
    notion, answers = name_gap(wording.metric_title(f"{rows[0].notion}_gap"), rows), any(row.by_answers for row in rows)
    series = tuple(map(_point, settings, count_earlier([setting.row.method for setting in settings])))
    line = draw_mixing_line(plain)
    words = "Whiskers: 95 % interval of the mean over seeds, for accuracy and for gap."
    words = f"{words} {wording.BY_ANSWERS}" if answers else words
    if all(len(row.seeds) == 1 for row in rows):
        words = wording.format_one_seed(by_answers=answers)
    return FigureData(
        name="compared_points",
        title="Accuracy against fairness gap",
        x=Axis(notion, "percentage points", with_zero=True),
        panels=(Panel(ACCURACY),),
        series=(*series, *line),
        caption=f"{words} Up and to the left is better.{f' {CAPTION}' * bool(line)}",
        alt=f"Accuracy against {notion.lower()}. " + " ".join(_format_one(setting) for setting in settings),
        origin=find_origin_of_rows(rows),
    )


def compare_groups(settings: Sequence[Compared], *, rate: str, of: Literal["group", "class"] = "group") -> FigureData:
    """One bar for each group (or class) and setting: the mean of `rate` over seeds with its 95 % interval."""
    bars = [
        GroupRates(setting.label, setting.row.method, fold_groups(setting.runs, rate, of=of)) for setting in settings
    ]
    exact = [setting for setting in settings if not setting.row.by_answers]
    figure = group_bars(bars, rate=rate, of=of)  # not as released: that means noisy counts
    words = figure.caption if all(len(setting.runs) == 1 for setting in exact) else _OVER_SEEDS
    parts = [*([words] if exact else []), *([_BY_ANSWERS] if len(exact) < len(settings) else [])]
    return replace(figure, caption=" ".join(parts), origin=find_origin_of_rows(setting.row for setting in settings))


def _point(setting: Compared, variation: int) -> Series:
    accuracy, gap = setting.row.accuracy, setting.row.gap
    has_gap = gap.mean is not None
    low, high = percent_ends([accuracy])
    left, right = percent_ends([gap])
    return Series(
        setting.label,
        "points",
        (100 * gap.mean,) if gap.mean is not None else (),
        (in_percent(accuracy.mean),) if has_gap else (),
        low=low if has_gap else (),
        high=high if has_gap else (),
        x_low=left,
        x_high=right,
        style=setting.row.method,
        variation=variation,
        text=(setting.letter,) if has_gap else (),
    )


def _format_one(setting: Compared) -> str:
    accuracy, gap = percent_text(setting.row.accuracy.mean), points_text(setting.row.gap.mean)
    return f"{setting.label}: accuracy {accuracy}, gap {gap}."
