"""Two comparisons for the analyst: does a model tell anybody apart, and does it beat drawing lots. Raw.

Whoever answers by lot, now as plain training does and now with the one label that is right most often, reaches every
point between the two on a line of accuracy against gap: the mixing line. A fair model is worth its work above it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairpriv_core.facts.measures import Measures
from fairpriv_core.facts.run_facts import RunFacts
from fairpriv_core.notions.notion import Notion
from fairpriv_core.notions.rates import divide, rates_of, sum_rate
from fairpriv_core.records.release import Kind
from fairpriv_core.seeds import public_generator

#: a model that gives one label to so large a share of the test rows tells nobody apart
ONE_ANSWER = 0.99
_DRAWS = 1_000
_LEVEL = 0.95


@dataclass(frozen=True)
class Margin:
    """How far an accuracy lies above the mixing line, below it where negative, with its 95 % interval; shares."""

    value: float
    low: float
    high: float


def find_largest_answer(measures: Measures[Kind]) -> float:
    """Return the share of test rows that are given the label which is given most often."""
    counts = measures.table[0].sum(axis=(0, 1))
    return float(counts.max() / counts.sum())


def measure_margin(measures: Measures[Kind], plain: Measures[Kind], notion: Notion) -> Margin | None:
    """Return how far a run lies above the line from the constant answer to plain training, all on the same test rows.

    None where the line is undefined: the notion is not about means of decisions or errors, for which alone a lottery
    is a line; plain training is no better than the constant answer or has no gap, the run's gap is beyond it, or a rate
    is undefined.

    The interval is by a bootstrap of both runs' counts over group, label and decision, drawn apart although both runs
    decide about the same rows: what these have in common would make it narrower. A small gap is measured too large on
    few rows and larger still on rows drawn anew, so the interval is from the lower end of the draws' quantiles and of
    their reflection about the value to the upper end of both (Efron and Tibshirani, 1993): 97 % or more in trials.
    """
    if not notion.is_of_means:
        return None
    own, reference = measures.table[0], plain.table[0]
    value = float(_measure(own[None], reference[None], notion)[0])
    if not np.isfinite(value):
        return None
    draw = public_generator(0, "mixing line")
    margins = _measure(_redraw(own, draw), _redraw(reference, draw), notion, within=False)
    low, high = map(float, np.nanquantile(margins, ((1 - _LEVEL) / 2, (1 + _LEVEL) / 2)))
    return Margin(value, min(low, 2 * value - high, value), max(high, 2 * value - low, value))


def format_one_answer(run: RunFacts[Kind]) -> str | None:
    """Return the sentence on a run that gives nearly all test rows one label; None for others."""
    share = 0.0 if run.exact is None or not run.exact.groups else find_largest_answer(run.exact)
    if share < ONE_ANSWER:
        return None
    return f"The model gives {100 * share:.4g} % of the test rows the same answer: it hardly distinguishes anybody."


def format_margin(run: RunFacts[Kind], plain: RunFacts[Kind]) -> str | None:
    """Return where a run lies beside the mixing line; None of plain training itself, and of one that was stopped.

    `plain` is a run without privacy and fairness on the same test rows.
    """
    if run.exact is None or plain.exact is None or run.key == plain.key or not run.exact.groups:
        return None
    margin = measure_margin(run.exact, plain.exact, run.notion)
    if margin is None and not run.notion.is_of_means:
        return f"No mixing line is drawn for {run.notion.title.lower()}: mixing does not move its gap along a line."
    if margin is None:
        return "The mixing line says nothing here: plain training gains no accuracy, or has a smaller gap."
    away = f"{100 * abs(margin.value):.2f} points {'more' if margin.value >= 0 else 'less'} accurate"
    unsure = "" if margin.low > 0 or margin.high < 0 else ", which may be none"
    interval = f"95 % interval {100 * margin.low:+.2f} to {100 * margin.high:+.2f}"
    return f"The model is {away} than mixing at the same gap ({interval}{unsure})."


def _measure(own: np.ndarray, plain: np.ndarray, notion: Notion, *, within: bool = True) -> np.ndarray:
    """Return the margins (R,) of counts (R, k, l, l); NaN where there is no line, or (`within`) none at that gap."""
    constant = plain.sum(axis=(1, 3)).max(axis=1) / plain.sum(axis=(1, 2, 3))
    gap, end = _gaps(own, notion), _gaps(plain, notion)
    accuracy, best = _accuracies(own), _accuracies(plain)
    with np.errstate(divide="ignore", invalid="ignore"):
        margin = accuracy - constant - (best - constant) * gap / end
    defined = (best > constant) & (end > 0) & ((gap <= end) | (not within))
    return np.where(defined, margin, np.nan)


def _accuracies(counts: np.ndarray) -> np.ndarray:
    right: np.ndarray = np.trace(counts, axis1=2, axis2=3).sum(axis=1) / counts.sum(axis=(1, 2, 3))
    return right


def _gaps(counts: np.ndarray, notion: Notion) -> np.ndarray:
    """Return the largest difference (R,) between two groups under any condition; NaN where a rate is undefined."""
    shares = [divide(*sum_rate(rate, counts)).reshape(counts.shape[:2]) for rate in rates_of(notion, counts.shape[-1])]
    gaps: np.ndarray = np.max([np.ptp(share, axis=1) for share in shares], axis=0)
    return gaps


def _redraw(counts: np.ndarray, draw: np.random.Generator) -> np.ndarray:
    """Return the counts of as many rows drawn anew, (R, k, l, l)."""
    total = int(counts.sum())
    return draw.multinomial(total, counts.ravel() / total, size=_DRAWS).reshape(_DRAWS, *counts.shape)
