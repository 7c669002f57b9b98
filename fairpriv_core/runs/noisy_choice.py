"""Choosing one of several models by its gap with noise: report-noisy-max over gaps on one test split.

A gap over exact group sizes moves by as much as one over the smallest group, which is itself protected. So the sizes
are released first, with noise, and stay the denominators: a person then moves a gap by at most 1/d_a + 1/d_b (moved
from group a to b) or 1/d_a (absent), whatever the model decides of them. Of the gaps nothing leaves but which one is
the smallest (`Mechanism.noisy_max`).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

import numpy as np

from fairpriv_core.errors import BadInput
from fairpriv_core.notions.notion import Notion, say_undefined
from fairpriv_core.notions.rates import rates_of, sum_rate
from fairpriv_core.privacy.calibrate import calibrate
from fairpriv_core.privacy.event import Events, Gaussian, RandomizedResponse
from fairpriv_core.privacy.mechanism import Mechanism

LEAST_ROWS = 30
_CHOICE = 0.8  # of epsilon goes to the choice, the rest to the sizes: these hardly need any
_ROUNDING = 2.0**-40  # more than what float64 rounds off two gaps
_SHIFTS = {"attribute": math.sqrt(2.0), "record": 1.0}


def plan_choice(*, epsilon: float, delta: float) -> Events:
    """Return what a choice within (epsilon, delta) will release: the sizes, and the choice."""
    choice = RandomizedResponse(_CHOICE * epsilon)
    noise = calibrate(lambda level: (Gaussian(level), choice), epsilon=epsilon, delta=delta)
    return (Gaussian(noise), choice)


def read_counts(groups: Sequence[Mapping[str, Any]]) -> np.ndarray:
    """Return the counts (k, l, l) over group, label and decision that a record's `metrics["groups"]` came from."""
    cells = []
    for group in groups:
        if "confusion" in group:
            cells.append(group["confusion"])
            continue
        positives, negatives = group["positives"], group["size"] - group["positives"]
        right = round((group["true_positive_rate"] or 0.0) * positives)
        wrong = round((group["false_positive_rate"] or 0.0) * negatives)
        cells.append([[negatives - wrong, wrong], [positives - right, right]])
    return np.array(cells, dtype=np.int64)


def choose_noisily(
    candidates: Sequence[np.ndarray], notion: Notion, *, threat_model: str, planned: Events, mechanism: Mechanism
) -> int | None:
    """Return which of `candidates` (counts (k, l, l) on the same rows) has the smallest gap of `notion`, with noise.

    None where a group has fewer than 30 noisy rows to compare: the sizes have been released by then, and are counted
    by `mechanism`. `planned` is of `plan_choice`.
    """
    sizes, choice = planned
    if not isinstance(sizes, Gaussian) or not isinstance(choice, RandomizedResponse):
        raise BadInput("planned must come from plan_choice.")
    exact = candidates[0].sum(axis=2)
    if not notion.conditions_among(exact.shape[1]):
        raise BadInput(say_undefined(notion, exact.shape[1]), field="by")
    noisy = mechanism.gaussian(
        exact.ravel().astype(np.float64),
        shift=_SHIFTS[threat_model],
        noise_multiplier=sizes.noise_multiplier,
        purpose="sizes",
        index=0,
    ).reshape(exact.shape)
    denominators = divide_by(noisy, notion)
    if denominators.min() < LEAST_ROWS:
        return None
    scores = np.array([-measure_gap(counts, notion, denominators) for counts in candidates])
    shift = gap_shift(denominators, threat_model) + _ROUNDING
    return mechanism.noisy_max(scores, shift=shift, epsilon=choice.epsilon, purpose="choice", index=0)


def divide_by(sizes: np.ndarray, notion: Notion) -> np.ndarray:
    """Return the denominators (conditions, k) of a notion's rates where group and label have `sizes` (k, l)."""
    counts: Any = np.zeros((*sizes.shape, sizes.shape[1]))
    counts[:, :, 0] = sizes
    return np.stack([sum_rate(rate, counts)[1] for rate in rates_of(notion, sizes.shape[1])])


def measure_gap(counts: np.ndarray, notion: Notion, denominators: np.ndarray) -> float:
    """Return the largest difference between two groups' rates over the given denominators (conditions, k)."""
    compared = rates_of(notion, counts.shape[-1])
    shares = [sum_rate(rate, counts)[0] / below for rate, below in zip(compared, denominators, strict=True)]
    return float(np.max([np.ptp(share) for share in shares]))


def gap_shift(denominators: np.ndarray, threat_model: str) -> float:
    """Return how far one person moves a gap over fixed denominators (conditions, k)."""
    if threat_model == "record":
        return float((1.0 / denominators).max())
    pairs = [pair for below in denominators for pair in combinations(map(float, below), 2)]
    return max(1.0 / one + 1.0 / other for one, other in pairs)
