"""The paper's certificates: how far apart groups' chances of a positive prediction can be (FairDP, 2024, section IV).

The noise of the last step makes the scoring layer's weights Gaussian around the released mean, with standard deviation
`spread`, so the score of a record with embedding z is Gaussian too and its chance of a positive prediction has a closed
form (eq. 7). The certificates bound differences between groups of the mean of that chance: they are about the
randomised classifier whose weights are drawn anew. The model that leaves a run is not that one: what is certified of it
is in notions/certified.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy import special

from fairpriv_core.notions.notion import Notion

OF_PAPER = "paper"  # what these certificates are marked with in a record's notes


@dataclass(frozen=True)
class CellSums:
    """For each (group, label) (k, 2): exact `sums` of chances and `counts` of records."""

    sums: np.ndarray
    counts: np.ndarray


def spread(*, learning_rate: float, noise: float, divisors: Sequence[float]) -> float:
    """Return the standard deviation s of a scoring weight after the last step (eq. 7), for one model of the ensemble.

    `noise` is sigma C; `divisors` (K,) is what each group's sum is divided by: s = (eta sigma C / K) sqrt(sum 1 / m^2).
    """
    return learning_rate * noise / len(divisors) * math.sqrt(sum(1.0 / size**2 for size in divisors))


def positive_probabilities(scores: np.ndarray, embedding_norms: np.ndarray, deviation: float) -> np.ndarray:
    """Return P(prediction = 1) of each record (n,) by eq. 7; `scores` (n,) at the mean weights, norms of z (n,)."""
    probabilities: np.ndarray = special.ndtr(scores / np.maximum(deviation * embedding_norms, 1e-300))
    return probabilities


def monte_carlo_error(samples: int) -> float:
    """Return the ensemble's error for a difference of two probabilities: 1 / sqrt(samples)."""
    return 1.0 / math.sqrt(samples)


def worst_case_bound(norm: float, deviation: float) -> float:
    """Return Theorem 2 without the Monte Carlo error: erf(norm / (sqrt(2) s)); 1 says nothing.

    It bounds the difference between any two records' chances where `norm` is at least that of the mean weights around
    which s = `deviation` spreads them. The paper has M + eta C there; the released mean has the last noise in it and
    can be much longer.
    """
    return math.erf(norm / (math.sqrt(2.0) * deviation)) if deviation else 1.0


def empirical_bound(cells: CellSums, notion: Notion, *, failure: float, samples: int) -> float | None:
    """Return Proposition 3 for a `notion` about positive decisions, in [0, 1]; None where a group has no records.

    For each group Hoeffding's half-width on the mean holds but for a chance of `failure`, were the records independent
    of the model; k groups together but for k times that. The Monte Carlo error of `samples` models is added.
    """
    share = failure / len(notion.populations)
    bounds = [_event_bound(cells, labels, share) for labels in notion.populations]
    if any(bound is None for bound in bounds):
        return None
    worst = max(bound for bound in bounds if bound is not None)
    return min(worst + monte_carlo_error(samples), 1.0)


def _event_bound(cells: CellSums, labels: tuple[int, ...], failure: float) -> float | None:
    sums, counts = (values[:, labels].sum(axis=1) for values in (cells.sums, cells.counts))
    if (counts < 1.0).any():
        return None
    half = np.sqrt(math.log(2.0 / failure) / (2.0 * counts))
    high, low = np.minimum(sums / counts + half, 1.0), np.maximum(sums / counts - half, 0.0)
    gaps = high[:, None] - low[None, :]
    np.fill_diagonal(gaps, 0.0)
    return float(gaps.max())
