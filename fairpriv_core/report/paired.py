"""Two settings compared seed by seed: the mean difference, a paired t test and a Wilcoxon signed-rank test."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass

from scipy import stats

from fairpriv_core.report.tables import Record
from fairpriv_core.report.wording import number
from fairpriv_core.stats import Mean, mean_interval

LEVEL = 0.05
MOST_EXACT = 13  # 2^13 sign patterns are enumerated; beyond, the normal approximation is close
_DIGITS = 12  # differences of shares that agree to here are equal: what is left is rounding


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


def compare_paired(records: Iterable[Record], reference: Iterable[Record], metric: str) -> Paired:
    """Compare `metric` (a name of a record's `metrics`) between two settings, seed by seed."""
    ours, theirs = _by_seed(records, metric), _by_seed(reference, metric)
    seeds = tuple(sorted(ours.keys() & theirs.keys()))
    differences = [round(ours[seed] - theirs[seed], _DIGITS) for seed in seeds]
    differing = [value for value in differences if value]
    spread = len(set(differences)) > 1
    return Paired(
        difference=mean_interval(differences),
        t_test=float(stats.ttest_1samp(differences, 0.0).pvalue) if spread else None,
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
    start = f"{metric}: {run} is {number(100 * abs(mean))} percentage points {side} {reference}"
    if seeds == 1:
        return f"{start} on the one seed that both ran: one seed allows no test."
    low, high = found.difference.low or 0.0, found.difference.high or 0.0
    interval = f"95 % interval of the difference {number(100 * low)} to {number(100 * high)}".replace("-", "−")
    return f"{start} on average over {_count(seeds)} ({interval}). {_say_tests(found)}"


def show_p(value: float) -> str:
    """Return a p-value with two decimals; a smaller one says so.

    >>> show_p(0.0312), show_p(0.004)
    ('p = 0.03', 'p < 0.01')
    """
    return "p < 0.01" if value < 0.01 else f"p = {number(value)}"


def _say_tests(found: Paired) -> str:
    t_test = "no paired t test, since every difference is the same" if found.t_test is None else "paired t test "
    t_test += "" if found.t_test is None else show_p(found.t_test)
    said = f"{t_test[0].upper()}{t_test[1:]}; Wilcoxon signed-rank test {show_p(found.wilcoxon or 1.0)}"
    if found.least is not None and found.least >= LEVEL:
        differing = _count(round(math.log2(2 / found.least))).replace(" ", " differing ")
        return f"{said}, and with {differing} it cannot be below {number(found.least)}."
    return f"{said}."


def _count(seeds: int) -> str:
    return "1 seed" if seeds == 1 else f"{seeds} seeds"


def _signed_rank(differing: list[float]) -> float:
    if len(differing) == 1:
        return 1.0
    exact = stats.PermutationMethod(n_resamples=2**MOST_EXACT)
    method = exact if len(differing) <= MOST_EXACT else "approx"
    return float(stats.wilcoxon(differing, method=method).pvalue)


def _by_seed(records: Iterable[Record], metric: str) -> dict[int, float]:
    found: dict[int, float] = {}
    for record in records:
        value = (record.get("metrics") or {}).get(metric)
        if value is not None:
            found.setdefault(record["config"]["seed"], float(value))
    return found
