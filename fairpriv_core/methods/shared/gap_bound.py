"""An estimated bound of a gap, by what was released: it counts the release's noise and the draw of the rows.

*After the release.* Rates of given decisions are told for every group. They deviate from those of people like these
rows for two reasons. The noise of the release moves them, as its redraws do (group_estimate.py); times INFLATION,
since decisions are set against this very noise and the form of p(a | x, y) is not quite true
(docs/methods/one_release.md says how it was found). And rows are drawn: a share p of n people deviates by
sqrt(p (1 - p) / n), n the estimated size of the group and p its own share or that among all groups, whichever gives
more, so that a group in which the noise shows none or all has an error too. The bound is what the gap of rates with
such deviations is below in 95 of 100 draws. Groups are not looked at one by one, so it is of the largest gap between
any two of them. It is an estimate: how often it fails was measured (docs/methods/one_release.md).

*Before the release* no size of a group is known. With k groups of one size and decisions 1 as frequent as label 1, no
smaller bound is to be expected than that of equal rates. Where one group is smaller, more is left.
"""

from __future__ import annotations

import math

import numpy as np

from fairpriv_core.methods.base import LeastGap
from fairpriv_core.methods.shared.group_estimate import REDRAWS, Estimate
from fairpriv_core.notions.notion import Notion
from fairpriv_core.notions.rates import divide, rates_of, sum_rate
from fairpriv_core.seeds import public_generator

INFLATION = 1.5
CONFIDENCE = 0.95
SMALLER = 0.25  # so many times another group's rows
_DRAWS = 400


def bound_gap(estimate: Estimate, notion: Notion, decided: np.ndarray) -> float:
    """Return the bound on the gap of decisions (n,) among people like these rows."""
    counts, again = estimate.count(decided)
    draw = public_generator(0, "gap bound")
    mixed = INFLATION * draw.normal(size=(_DRAWS, REDRAWS)) / math.sqrt(REDRAWS - 1)
    largest = np.zeros(_DRAWS)
    for rate in rates_of(notion):
        part, total = sum_rate(rate, counts)
        redrawn = np.stack([divide(*sum_rate(rate, table)) for table in again])
        shares = np.clip([divide(part, total), np.full(len(total), part.sum() / total.sum())], 0.0, 1.0)
        variances = (shares * (1.0 - shares)).max(axis=0)
        sampled = np.sqrt(variances / np.maximum(total, 1.0)) * draw.normal(size=(_DRAWS, len(total)))
        rates = divide(part, total) + mixed @ (redrawn - redrawn.mean(axis=0)) + sampled
        largest = np.maximum(largest, np.ptp(rates, axis=1))
    return float(np.quantile(largest, CONFIDENCE))


def least_bound(notion: Notion, *, labels: np.ndarray, n_train: int, groups: int, rows_of_noise: float) -> LeastGap:
    """Return the bounds that equal rates would have, among `n_train` rows with such `labels` (n,), which are public.

    `rows_of_noise` is the deviation of a group's number of decisions 1 with one label, were half of them 1.
    """
    share, draw, largest = float(labels.mean()), public_generator(0, "least bound"), np.zeros((2, _DRAWS))
    sizes = np.ones((2, groups))
    sizes[1, 0] = SMALLER
    sizes /= sizes.sum(axis=1, keepdims=True)
    for among in notion.populations:
        rows = np.maximum(sizes * float(np.isin(labels, among).mean()) * n_train, 1.0)
        noise = INFLATION * rows_of_noise * math.sqrt(len(among) * 4.0 * share * (1.0 - share)) / rows
        deviations = np.hypot(noise, np.sqrt(share * (1.0 - share) / rows))
        normals = draw.normal(size=(_DRAWS, groups))
        largest = np.maximum(largest, np.ptp(deviations[:, None] * normals, axis=2))
    even, uneven = np.quantile(largest, CONFIDENCE, axis=1).tolist()
    return LeastGap(even, uneven)
