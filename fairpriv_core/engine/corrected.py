"""A score whose decisions are moved by what is known of the groups: a kind of model, and how it predicts.

*Corrected.* eta(x) is a score of the label, p(a | x, y) an estimate of the group, and t(a, y) a price of deciding 1 for
a member of group a with label y. The decision is 1 where 2 eta(x) - 1 exceeds what it is expected to cost,

    sum_y P(y | x) sum_a t(a, y) p(a | x, y),    P(1 | x) = eta(x) = 1 - P(0 | x),

which is the form of the best classifier under a fairness constraint that does not see a (docs/methods/one_release.md).
The model's score is eta less half of the cost, within [0, 1]: above one half where the decision is 1.

*The estimate* is a multinomial logistic regression for each label, on phi(x): the encoded features, an intercept and
the bin of the score that x falls in, scaled down to norm `bound` and divided by it.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from fairpriv_core import checks
from fairpriv_core.engine.clipping import MARGIN
from fairpriv_core.engine.predict import Composed, Network, as_both, require_finite

SCORE_WEIGHT = 2.0  # of intercept and bins, beside features of about 1: what is counted there is what gaps rest on


def stack_features(rows: np.ndarray, bins: np.ndarray, count: int) -> np.ndarray:
    """Return (n, D) float64 of rows (n, d) and their bins (n,) in 0..count-1: of one bin none is written.

    What is not finite makes its row 0.
    """
    one_hot = np.eye(count)[bins] if count > 1 else np.empty((len(rows), 0))
    columns = np.concatenate([np.ones((len(rows), 1)), one_hot], axis=1)
    stacked: np.ndarray = np.concatenate([rows.astype(np.float64), SCORE_WEIGHT * columns], axis=1)
    stacked[~np.isfinite(stacked).all(axis=1)] = 0.0
    return stacked


def shorten(stacked: np.ndarray, bound: float) -> np.ndarray:
    """Return the rows (n, D) in place, clipped to norm `bound` and divided by it."""
    norms = np.linalg.norm(stacked, axis=1)
    stacked *= ((1.0 - MARGIN) / np.maximum(norms, bound))[:, None]
    return stacked


def estimate_shares(weights: np.ndarray, features: np.ndarray) -> np.ndarray:
    """Return p(a | x, y) as (2, n, k) of weights (2, k, D) and features (n, D)."""
    scores = features @ weights.transpose(0, 2, 1)
    chances: np.ndarray = np.exp(scores - logsumexp(scores, axis=2, keepdims=True))
    return chances


def correct(score: np.ndarray, chances: np.ndarray, prices: np.ndarray) -> np.ndarray:
    """Return the corrected scores (n,) of scores (n,), p(a | x, y) (2, n, k) and prices (k, 2)."""
    cost = (1.0 - score) * (chances[0] @ prices[:, 0]) + score * (chances[1] @ prices[:, 1])
    moved: np.ndarray = np.clip(score - 0.5 * cost, 0.0, 1.0)
    return moved


@dataclass(frozen=True)
class Corrected(Composed):
    """The network `score`, corrected: `bins` of its score, `groups` k, D `features` of norm `bound`, `prices` (k, 2).

    Its parameters are those of the score, the inner edges (bins - 1,) of the bins and the weights (2, k, D).
    """

    kind, holds = "corrected", "score"
    score: Network
    bins: int
    features: int
    groups: int
    bound: float
    prices: tuple[tuple[float, float], ...]

    def __post_init__(self) -> None:
        checks.whole(low=1, bins=self.bins, groups=self.groups)
        checks.positive(bound=self.bound)
        require_finite((self.groups, 2), prices=self.prices)
        expected = self.score.inputs + 1 + (self.bins if self.bins > 1 else 0)
        checks.whole(low=expected, high=expected, features=self.features)

    @property
    def size(self) -> int:
        return self.score.size + self.bins - 1 + 2 * self.groups * self.features

    def split(self, parameters: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the score's parameters, edges (bins - 1,) and weights (2, k, D), the latter two float64."""
        own, edges, weights = np.split(parameters, [self.score.size, self.score.size + self.bins - 1])
        shaped = weights.astype(np.float64).reshape(2, self.groups, self.features)
        return own, edges.astype(np.float64), shaped

    def scores(self, parameters: np.ndarray, rows: np.ndarray, group: np.ndarray | None) -> np.ndarray:
        own, edges, weights = self.split(parameters)
        score = self.score.scores(own, rows, group)[:, 1]
        features = shorten(stack_features(rows, np.searchsorted(edges, score), self.bins), self.bound)
        return as_both(correct(score, estimate_shares(weights, features), np.array(self.prices)))
