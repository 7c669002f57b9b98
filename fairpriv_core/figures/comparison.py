"""Two to six settings beside each other, seeds folded: accuracy against gap, groups, inequality indices."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

from fairpriv_core.facts import wording
from fairpriv_core.facts.classes import read_classes, read_groups
from fairpriv_core.facts.run_facts import RunFacts
from fairpriv_core.facts.tables import TableRow
from fairpriv_core.figures.figure import Axis, FigureData, Panel, Series, Value
from fairpriv_core.figures.figures import ACCURACY, GroupRates, group_bars
from fairpriv_core.figures.mixing import CAPTION, draw_mixing_line
from fairpriv_core.figures.origin import Origin, find_origin
from fairpriv_core.records.release import Kind
from fairpriv_core.stats import Mean, mean_interval
from fairpriv_core.text import number_text, percent_text, points_text

LEVEL = 0.05
MOST_EXACT = 13  # 2^13 sign patterns are enumerated; beyond, the normal approximation is close
_DIGITS = 12  # differences of shares that agree to here are equal: what is left is rounding
#: each index over the groups' accuracies: formula (v: a group's accuracy, m: their mean, k groups) and source
INDICES = {
    "atkinson": ("1 − ∏ (v/m)^(1/k)", "Atkinson 1970, aversion 1"),
    "gini": ("Σ |v − w| / (2 k² m) over pairs", "Gini 1912"),
    "mean_log_deviation": ("1/k Σ log(m/v)", "Theil 1967"),
    "theil": ("1/k Σ (v/m) log(v/m)", "Theil 1967"),
}
_OVER_SEEDS = "Bars: mean over seeds; whiskers: 95 % interval of that mean, of one seed the 95 % Wilson interval."


@dataclass(frozen=True)
class Paired:
    """Run minus reference over the seeds that both ran; shares.

    Attributes:
        difference: the mean with its 95 % t interval.
        t_test: two-sided p-value of the paired t test (Student 1908); None with fewer than two seeds, or where every
            difference is the same.
        wilcoxon: two-sided p-value of the signed-rank test (Wilcoxon 1945), zeros left out, exact up to MOST_EXACT
            seeds with ties too; None where no seed differs.
        least: the smallest p-value that `wilcoxon` can have with as many seeds that differ: 2 / 2^n.
        seeds: that both ran.
    """

    difference: Mean
    t_test: float | None
    wilcoxon: float | None
    least: float | None
    seeds: tuple[int, ...]


def compare_paired(runs: Iterable[RunFacts[Kind]], reference: Iterable[RunFacts[Kind]], metric: str) -> Paired:
    """Compare `metric` (an exact number by its name) between two settings, seed by seed."""
    from scipy.stats import ttest_1samp

    ours, theirs = _by_seed(runs, metric), _by_seed(reference, metric)
    seeds = tuple(sorted(ours.keys() & theirs.keys()))
    differences = [round(ours[seed] - theirs[seed], _DIGITS) for seed in seeds]
    differing = [value for value in differences if value]
    spread = len(set(differences)) > 1
    return Paired(
        difference=mean_interval(differences),
        t_test=float(ttest_1samp(differences, 0.0).pvalue) if spread else None,
        wilcoxon=_signed_rank(differing) if differing else None,
        least=2.0 / 2.0 ** len(differing) if differing else None,
        seeds=seeds,
    )


def say_paired(found: Paired, *, run: str, reference: str, metric: str) -> str:
    """Return the comparison of `run` with `reference` in plain sentences; `metric` is a title ("Accuracy").

    >>> one = Paired(Mean(0.01, None, None, 1), None, 1.0, 1.0, (0,))
    >>> say_paired(one, run="B", reference="A", metric="Accuracy")
    'Accuracy: B is 1.00 percentage points above A on the one seed that both ran: one seed allows no test.'
    """
    mean, seeds = found.difference.mean, len(found.seeds)
    if mean is None:
        return f"{metric}: {run} and {reference} have no seed in common, so nothing can be paired."
    if found.wilcoxon is None:
        return f"{metric}: {run} and {reference} are the same on {_count(seeds)}."
    side = "above" if mean > 0 else "below"
    start = f"{metric}: {run} is {number_text(100 * abs(mean))} percentage points {side} {reference}"
    if seeds == 1:
        return f"{start} on the one seed that both ran: one seed allows no test."
    low, high = found.difference.low or 0.0, found.difference.high or 0.0
    interval = f"95 % interval of the difference {number_text(100 * low)} to {number_text(100 * high)}".replace(
        "-", "−"
    )
    return f"{start} on average over {_count(seeds)} ({interval}). {_say_tests(found)}"


def show_p(value: float) -> str:
    """Return a p-value with two decimals; a smaller one says so.

    >>> show_p(0.0312), show_p(0.004)
    ('p = 0.03', 'p < 0.01')
    """
    return "p < 0.01" if value < 0.01 else f"p = {number_text(value)}"


def _say_tests(found: Paired) -> str:
    t_test = "no paired t test, since every difference is the same" if found.t_test is None else "paired t test "
    t_test += "" if found.t_test is None else show_p(found.t_test)
    said = f"{t_test[0].upper()}{t_test[1:]}; Wilcoxon signed-rank test {show_p(found.wilcoxon or 1.0)}"
    if found.least is not None and found.least >= LEVEL:
        differing = _count(round(math.log2(2 / found.least))).replace(" ", " differing ")
        return f"{said}, and with {differing} it cannot be below {number_text(found.least)}."
    return f"{said}."


def _count(seeds: int) -> str:
    return "1 seed" if seeds == 1 else f"{seeds} seeds"


def _signed_rank(differing: list[float]) -> float:
    from scipy.stats import PermutationMethod, wilcoxon

    if len(differing) == 1:
        return 1.0
    exact = PermutationMethod(n_resamples=2**MOST_EXACT)
    method = exact if len(differing) <= MOST_EXACT else "approx"
    return float(wilcoxon(differing, method=method).pvalue)


def _by_seed(runs: Iterable[RunFacts[Kind]], metric: str) -> dict[int, float]:
    found: dict[int, float] = {}
    for run in runs:
        fact = None if run.exact is None else run.exact.read(metric)
        if fact is not None:
            found.setdefault(run.seed, fact.value)
    return found


@dataclass(frozen=True)
class Compared:
    """One of the compared settings: its label ("A: PF-LD, ε = 1"), its row, and its seeds."""

    label: str
    row: TableRow
    runs: Sequence[RunFacts[Kind]]


def compare_points(compared: Sequence[Compared], plain: TableRow | None = None) -> FigureData:
    """Mean accuracy against the mean gap of the settings' own notion, with 95 % whiskers over seeds both ways.

    `plain` is the row of plain training on the same data, for the mixing line.
    """
    notion = wording.metric_title(f"{compared[0].row.notion}_gap")
    series = tuple(_point(one, _count_same(compared, index)) for index, one in enumerate(compared))
    line = draw_mixing_line(plain)
    single = all(len(one.row.seeds) == 1 for one in compared)
    words = wording.ONE_SEED if single else "Whiskers: 95 % interval of the mean over seeds, for accuracy and for gap."
    return FigureData(
        name="compared_points",
        title="Accuracy against fairness gap",
        x=Axis(notion, "percentage points", with_zero=True),
        panels=(Panel(ACCURACY),),
        series=(*series, *line),
        caption=f"{words} Up and to the left is better.{f' {CAPTION}' * bool(line)}",
        alt=f"Accuracy against {notion.lower()}. " + " ".join(_describe(one) for one in compared),
        origin=_find_origin(compared),
    )


def compare_groups(compared: Sequence[Compared], *, rate: str, of: Literal["group", "class"] = "group") -> FigureData:
    """One bar for each group (or class) and setting: the mean of `rate` over seeds with its 95 % interval."""
    bars = [GroupRates(one.label, one.row.method, fold_groups(one.runs, rate, of=of)) for one in compared]
    figure = group_bars(bars, rate=rate, of=of, origin=_find_origin(compared))
    if all(len(one.runs) == 1 for one in compared):
        return figure
    return replace(figure, caption=_OVER_SEEDS)


def _find_origin(compared: Sequence[Compared]) -> Origin:
    return find_origin(one.row.asked for one in compared)


def fold_groups(runs: Sequence[RunFacts[Kind]], rate: str, *, of: str = "group") -> list[dict[str, Any]]:
    """Return each group's name, size (its mean over seeds), mean `rate` and its 95 % t interval, as of one run.

    `of`: "class" for the classes in place of the groups.
    The interval is within [0, 1]; of one seed it is the run's own Wilson interval. Undefined rates are left out.
    """
    found: dict[str, list[Mapping[str, Any]]] = {}
    for run in runs:
        known = {} if run.exact is None else run.exact.found
        for group in read_classes(run.exact) if of == "class" else read_groups(known, rate):
            found.setdefault(str(group["name"]), []).append(group)
    return [_fold_group(name, groups, rate) for name, groups in found.items()]


def index_means(compared: Sequence[Compared]) -> dict[str, list[Mean]]:
    """Return each inequality index over the groups' accuracies: the mean over seeds of each setting, in order."""
    return {name: [_mean_metric(one.runs, name) for one in compared] for name in INDICES}


def _fold_group(name: str, groups: Sequence[Mapping[str, Any]], rate: str) -> dict[str, Any]:
    mean = mean_interval(group.get(rate) for group in groups)
    size = round(sum(group["size"] for group in groups) / len(groups))
    ends: Sequence[Value] = groups[0].get(f"{rate}_interval") or (None, None)
    if mean.low is not None and mean.high is not None:
        ends = (max(0.0, mean.low), min(1.0, mean.high))
    return {"name": name, "size": size, rate: mean.mean, f"{rate}_interval": ends}


def _point(one: Compared, variation: int) -> Series:
    accuracy, gap = one.row.accuracy, one.row.gap
    known = gap.mean is not None
    low, high = _ends(accuracy)
    left, right = _ends(gap)
    return Series(
        one.label,
        "points",
        (100 * gap.mean,) if gap.mean is not None else (),
        (_percent(accuracy.mean),) if known else (),
        low=low if known else (),
        high=high if known else (),
        x_low=left,
        x_high=right,
        style=one.row.method,
        variation=variation,
        text=(one.label.partition(":")[0],) if known else (),
    )


def _ends(mean: Mean) -> tuple[tuple[Value, ...], tuple[Value, ...]]:
    if mean.low is None or mean.high is None:
        return (), ()
    return (100 * max(0.0, mean.low),), (100 * min(1.0, mean.high),)


def _count_same(compared: Sequence[Compared], index: int) -> int:
    return sum(earlier.row.method == compared[index].row.method for earlier in compared[:index])


def _describe(one: Compared) -> str:
    accuracy, gap = percent_text(one.row.accuracy.mean), points_text(one.row.gap.mean)
    return f"{one.label}: accuracy {accuracy}, gap {gap}."


def _mean_metric(runs: Sequence[RunFacts[Kind]], name: str) -> Mean:
    facts = [None if run.exact is None else run.exact.read(name) for run in runs]
    return mean_interval(None if fact is None else fact.value for fact in facts)


def _percent(share: Value) -> Value:
    return None if share is None else 100 * share
