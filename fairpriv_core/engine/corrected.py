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

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import logsumexp

from fairpriv_core.engine.clipping import MARGIN

CORRECTED_KIND = "corrected"
SCORE_WEIGHT = 2.0  # of intercept and bins, beside features of about 1: what is counted there is what gaps rest on


def stack_features(rows: np.ndarray, bins: np.ndarray, count: int) -> np.ndarray:
    """Return (n, D) float64 of rows (n, d) and their bins (n,) in 0..count-1: of one bin none is written.

    What is not finite makes its row 0.
    """
    one_hot = np.eye(count)[bins] if count > 1 else np.empty((len(rows), 0))
    counted = np.concatenate([np.ones((len(rows), 1)), one_hot], axis=1)
    stacked: np.ndarray = np.concatenate([rows.astype(np.float64), SCORE_WEIGHT * counted], axis=1)
    stacked[~np.isfinite(stacked).all(axis=1)] = 0.0
    return stacked


def shorten(stacked: np.ndarray, bound: float) -> np.ndarray:
    """Return the rows (n, D) in place, clipped to norm `bound` and divided by it."""
    norms = np.linalg.norm(stacked, axis=1)
    stacked *= ((1.0 - MARGIN) / np.maximum(norms, bound))[:, None]
    return stacked


def tell_groups(weights: np.ndarray, features: np.ndarray) -> np.ndarray:
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
class Correction:
    """What corrects a score: inner `edges` (bins - 1,) of its bins, `bound`, `weights` (2, k, D), `prices` (k, 2)."""

    edges: np.ndarray
    bound: float
    weights: np.ndarray
    prices: np.ndarray

    def describe(self, score: Mapping[str, Any]) -> dict[str, Any]:
        """Return the description of the model that corrects the network `score`."""
        groups, features = self.weights.shape[1:]
        sizes = {"bins": len(self.edges) + 1, "features": features, "groups": groups}
        return {
            "kind": CORRECTED_KIND,
            "score": dict(score),
            **sizes,
            "bound": self.bound,
            "prices": self.prices.tolist(),
        }

    def flat(self) -> np.ndarray:
        """Return its numbers but the bound and the prices, (P,) float32, as they follow those of the score."""
        return np.concatenate([self.edges, self.weights.ravel()]).astype(np.float32)

    def apply(self, score: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Return the corrected scores (n,) of rows (n, d) whose scores are (n,)."""
        bins = np.searchsorted(self.edges, score)
        features = shorten(stack_features(rows, bins, len(self.edges) + 1), self.bound)
        return correct(score, tell_groups(self.weights, features), self.prices)


def read_correction(network: Mapping[str, Any], parameters: np.ndarray) -> Correction:
    """Return the correction that `describe` and `flat` described."""
    edges, weights = np.split(parameters.astype(np.float64), [network["bins"] - 1])
    shaped = weights.reshape(2, network["groups"], network["features"])
    return Correction(edges, float(network["bound"]), shaped, np.asarray(network["prices"], dtype=np.float64))


def count_correction(network: Mapping[str, Any]) -> int:
    """Return how many parameters a correction has, the score's apart."""
    return int(network["bins"] - 1 + 2 * network["groups"] * network["features"])
