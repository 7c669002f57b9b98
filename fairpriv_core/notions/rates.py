"""Rates over groups: each is written once, for a row; gaps, ratios and intervals derive from it.

A rate is a plain function `(decision, label) -> (numerator, denominator)` of arrays of whole numbers in 0..l-1, per
row. A data set is summed up by its counts (k, l, l) over group, label and decision, and a rate over a group is a
weighted sum over those l * l kinds of row. Undefined is NaN, never 0.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray

from fairpriv_core.notions.notion import Notion

Floats = NDArray[np.float64]
Counts = NDArray[np.int64]
Rate = Callable[[Floats, Floats], tuple[Floats, Floats]]

TWO = 2  # labels: 1 is then the positive one


def positive(decision: Floats, label: Floats) -> tuple[Floats, Floats]:
    """P(decision = 1)."""
    return decision, np.ones_like(label)


def correct(decision: Floats, label: Floats) -> tuple[Floats, Floats]:
    """P(decision = label)."""
    return (decision == label).astype(np.float64), np.ones_like(label)


def decided(label: int) -> Rate:
    """Return P(decision = `label`)."""

    def chosen(decision: Floats, true: Floats) -> tuple[Floats, Floats]:
        return (decision == label).astype(np.float64), np.ones_like(true)

    return chosen


def labelled_positive(decision: Floats, label: Floats) -> tuple[Floats, Floats]:
    """P(label = 1), the base rate."""
    return label, np.ones_like(decision)


def true_positive(decision: Floats, label: Floats) -> tuple[Floats, Floats]:
    """P(decision = 1 | label = 1)."""
    return among(positive, 1)(decision, label)


def false_positive(decision: Floats, label: Floats) -> tuple[Floats, Floats]:
    """P(decision = 1 | label = 0)."""
    return among(positive, 0)(decision, label)


def among(rate: Rate, condition: int | None) -> Rate:
    """Return `rate` over the rows whose label is `condition`; None keeps every row."""
    return rate if condition is None else _where(lambda _, label: label == condition, rate)


def among_decided(rate: Rate, decision: int) -> Rate:
    """Return `rate` over the rows that are decided for `decision`."""
    return _where(lambda decided, _: decided == decision, rate)


def _where(is_kept: Callable[[Floats, Floats], NDArray[np.bool_]], rate: Rate) -> Rate:
    def conditioned(decision: Floats, label: Floats) -> tuple[Floats, Floats]:
        numerator, denominator = rate(decision, label)
        mask = is_kept(decision, label).astype(np.float64)
        return numerator * mask, denominator * mask

    return conditioned


def true_among_positive(decision: Floats, label: Floats) -> tuple[Floats, Floats]:
    """P(label = 1 | decision = 1), the positive predictive value."""
    return among_decided(labelled_positive, 1)(decision, label)


def rates_of(notion: Notion, labels: int = TWO) -> tuple[Rate, ...]:
    """Return the rates that `notion` wants equal over groups: for each condition one, of many labels one a class.

    Of two labels the favourable one is compared: the other's share differs by as much. () where it is undefined, and
    of a notion that compares no rates.
    """
    conditions = notion.conditions_among(labels)
    if notion.compares == "labels":
        return tuple(among_decided(labelled_positive, decision) for decision in conditions if decision is not None)
    if notion.compares == "errors":
        return tuple(among(correct, condition) for condition in conditions)
    if notion.compares == "decisions":
        kinds = (positive,) if labels == TWO else tuple(decided(label) for label in range(labels))
        return tuple(among(rate, condition) for condition in conditions for rate in kinds)
    return ()


def as_finite(score: Floats) -> Floats:
    """Return scores with 0 in place of what is not finite."""
    return np.where(np.isfinite(score), score, 0.0)


def decide(score: Floats, threshold: float | Floats = 0.5) -> Counts:
    """Return the decisions (n,) that follow from scores.

    Of two labels 1 where the chance of label 1, (n,) or the second column of (n, 2), is above `threshold` (one, or one
    a row), else 0. Of more the label with the largest score (n, l). The lowest label wins a tie. A score that is not
    finite counts as 0: whether some row has one decides nothing for others.
    """
    score = as_finite(score)
    if score.ndim == 2 and score.shape[1] > TWO:
        largest: Counts = score.argmax(axis=1)
        return largest
    return ((score[:, 1] if score.ndim == 2 else score) > threshold).astype(np.int64)


def count_cells(decision: Counts, label: Counts, group: Counts, k: int, labels: int = TWO) -> Counts:
    """Return the counts (k, l, l) over group, label and decision."""
    cells = labels * labels
    return np.bincount(group * cells + label * labels + decision, minlength=cells * k).reshape(k, labels, labels)


def sum_rate(rate: Rate, counts: Counts) -> tuple[Counts, Counts]:
    """Return `rate`'s numerator and denominator in each group, two whole-number arrays (k,), of counts (k, l, l)."""
    labels = counts.shape[-1]
    label, decision = np.divmod(np.arange(labels * labels), labels)
    numerator, denominator = rate(decision.astype(np.float64), label.astype(np.float64))
    flat = counts.reshape(-1, labels * labels)
    return (flat @ numerator.astype(np.int64)), (flat @ denominator.astype(np.int64))


def divide(numerator: Counts | Floats, denominator: Counts) -> Floats:
    """Return numerator / denominator, NaN where the denominator is 0."""
    safe = np.where(denominator > 0, denominator, 1)
    return np.where(denominator > 0, numerator / safe, np.nan)
