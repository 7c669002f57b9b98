"""How a number of ours stands against what a paper says, by its whole interval, and how many seeds would settle it.

A number agrees where its whole 95 % interval lies within what is expected, differs where all of it lies outside, and is
open where it reaches across. What models say that are less accurate than always giving the same answer is no test of a
paper: they have not learned what the paper's had.
"""

from __future__ import annotations

import math
from typing import Literal

from scipy.special import betaincinv, stdtrit

from fairpriv_core.papers.preset import ACCURACY, Value
from fairpriv_core.papers.values import Runs, by_config, depends_on_learning
from fairpriv_core.stats import Mean, mean_interval

Status = Literal["agrees", "differs", "open", "not_tested"]
#: each in words, in the order in which they are told
LOST_RULE = "Where a paper's text lacks settings, our runs can agree with it but never differ."
TITLES: dict[Status, str] = {"agrees": "agrees", "differs": "differs", "open": "open", "not_tested": "not tested"}
MOST_SEEDS = 1000  # more are not run for a claim


def stand(number: Mean, low: float, high: float, *, bare: bool = False) -> Status:
    """Return where an interval lies; `bare`: a number that has none by its nature stands for itself."""
    ends = (number.mean, number.mean) if bare else (number.low, number.high)
    if ends[0] is None or ends[1] is None:
        return "open"
    if low <= ends[0] and ends[1] <= high:
        return "agrees"
    return "differs" if ends[1] < low or ends[0] > high else "open"


def count_seeds_needed(number: Mean, low: float, high: float) -> int | None:
    """Return with how many seeds the interval would lie within [low, high] or outside, if mean and spread stay.

    None where one seed alone was run, or where more than MOST_SEEDS would be needed.
    """
    if number.mean is None or number.half is None or number.n < 2:
        return None
    spread = number.half * math.sqrt(number.n) / float(stdtrit(number.n - 1, 0.975))
    for seeds in range(number.n, MOST_SEEDS + 1):
        half = float(stdtrit(seeds - 1, 0.975)) * spread / math.sqrt(seeds)
        if stand(Mean(number.mean, number.mean - half, number.mean + half, seeds), low, high) != "open":
            return seeds
    return None


def stand_by_count(failures: int, runs: int, limit: float) -> tuple[Status, float, float]:
    """Return how failures in so many runs stand to the share that is allowed, and the share's 95 % interval.

    The interval is by Clopper and Pearson. Where none is allowed one failure settles it, and no failure agrees.
    """
    low = float(betaincinv(failures, runs - failures + 1, 0.025)) if failures else 0.0
    high = float(betaincinv(failures + 1, runs - failures, 0.975)) if failures < runs else 1.0
    if not limit:
        return ("differs" if failures else "agrees"), low, high
    return ("agrees" if high <= limit else "differs" if low > limit else "open"), low, high


def count_times_needed(failures: int, runs: int, limit: float) -> int | None:
    """Return with how many times as many runs it would be settled, if the share that fails stays; None for too many."""
    times = range(1, MOST_SEEDS // max(runs, 1) + 2)
    return next((n for n in times if stand_by_count(n * failures, n * runs, limit)[0] != "open"), None)


def format_seeds_needed(seeds: int, needed: int | None) -> str:
    """Return what would settle an open number of so many seeds, in words."""
    if seeds < 2:
        return "needs more than one seed"
    return (
        f"more than {MOST_SEEDS:,} seeds would settle it" if needed is None else f"about {needed} seeds would settle it"
    )


def find_unlearned(runs: Runs, value: Value) -> str:
    """Return what is said of runs that have settings less accurate, over seeds, than always the same answer; else "".

    Nothing is said of a value that does not depend on what was learned.
    """
    if not depends_on_learning(value):
        return ""
    pairs = [pair for own in by_config(runs) if (pair := _means(own)) is not None]
    below = [pair for pair in pairs if pair[0] < pair[1]]
    if not below:
        return ""
    accuracy, constant = min(below, key=lambda pair: pair[0] - pair[1])
    which = "" if len(pairs) == 1 else f"{len(below)} of {len(pairs)} settings, down to "
    return f"less accurate than always the same answer ({which}{accuracy:.1f} against {constant:.1f} %)"


def _means(runs: Runs) -> tuple[float, float] | None:
    """Return the mean accuracy of a setting and that of always the same answer, in percent."""
    accuracy, constant = (
        mean_interval(run.read(path) for run in runs).mean for path in (ACCURACY.path, "metrics/constant_accuracy")
    )
    return None if accuracy is None or constant is None else (100.0 * accuracy, 100.0 * constant)
