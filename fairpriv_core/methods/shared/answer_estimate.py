"""What follows from everybody's own answer: p(a | x, y) of every row, counts by group, and how far flips move gaps.

All of it is post-processing of the answers (responses.py) and of public values.

*The estimate*: for each label, a multinomial logistic regression of the group on public features, of which the answer z
is a flipped view: W maximises sum_i log sum_a P(z_i | a) p(a | x_i) - ridge.

*Counts* by group need no model: a row counts (1[z = a] - m) / (1 - k m) in group a, m the chance of each false answer,
which on average over the flips is 1 in its own group and 0 in others. So gaps of decisions are told whatever W misses.

*Standard errors*: how answers are drawn is public. Each row's group is drawn once from p(a | x, y, z), answers to it
again and again: gaps of given decisions deviate from draw to draw as those under the real answers do from the truth.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import logsumexp

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.training import Training
from fairpriv_core.methods.cell_counts import require_rows
from fairpriv_core.methods.shared.group_estimate import (
    REDRAWS,
    Estimate,
    Reading,
    Redraws,
    fit_weights,
    require_memory,
)
from fairpriv_core.methods.shared.group_statistic import Describes, PublicFeatures, build_features
from fairpriv_core.methods.shared.responses import Responses, release_responses
from fairpriv_core.notions.cells import LABELS
from fairpriv_core.privacy.event import Events
from fairpriv_core.seeds import public_generator


class AnswerEstimate(Estimate):
    """An estimate from one answer for each person; a record stores no answers. Rows count as the module says."""

    def kept(self) -> dict[str, np.ndarray]:
        """Return the answers."""
        return {"responses": self.statistic}

    def notes(self, events: Events) -> dict[str, object]:
        """Return nothing: no later run trains on these answers."""
        return {}


def read_answers(
    method: Describes, train: Dataset, training: Training, *, score: np.ndarray, epsilon: float
) -> Reading:
    """Return the reading of everybody's answer, given now or before; RunFailed for too small a cell.

    `score` (n,) is public. BadInput, before anybody answers, for more than fits into memory.
    """
    features = build_features(method, train, score)
    require_memory(train.groups, features.rows.shape[1])
    responses = release_responses(train, training, epsilon)
    require_rows(responses.estimate(1.0 - train.y, train.y), training.notion, train.group_names)
    fits = [_fit_label(features, np.flatnonzero(train.y == label), responses) for label in range(LABELS)]
    estimate = AnswerEstimate(responses.answers, responses.count(), train.y, lambda: _redraw(fits, responses))
    return Reading(estimate, features, np.stack([fit.weights for fit in fits]))


@dataclass(frozen=True)
class _Fit:
    """A label's regression: its weights (k, D), its rows' places `members` (m,), and p(a | x, y, z) of them (m, k)."""

    weights: np.ndarray
    members: np.ndarray
    chances: np.ndarray


def _fit_label(features: PublicFeatures, members: np.ndarray, responses: Responses) -> _Fit:
    rows, own = features.rows[members], responses.take(members)
    likely = own.matrix[:, own.answers].T
    shares = np.maximum(own.estimate(np.ones(len(members)))[:, 0], 1.0)
    shares /= shares.sum()
    spread = float((shares * (1.0 - shares)).mean())
    # a flip adds so many times the variance of a group, so the ridge is as many times that of a regression on the truth
    flips = own.misreport * (1.0 - own.misreport) / (1.0 - own.groups * own.misreport) ** 2
    ridge = np.full(rows.shape[1], (1.0 + flips / spread) / features.bound**2)

    def tell(scores: np.ndarray, partition: np.ndarray) -> tuple[float, np.ndarray]:
        chances = np.exp(scores - partition)
        joint = chances * likely
        likelihood = joint.sum(axis=1, keepdims=True)
        return -float(np.log(likelihood).sum()), chances - joint / likelihood

    nothing = np.zeros((own.groups, rows.shape[1]))
    weights = fit_weights(rows, spread * rows.T @ rows, ridge, linear=nothing, tell=tell)
    scores = rows @ weights.T
    joint = np.exp(scores - logsumexp(scores, axis=1, keepdims=True)) * likely
    return _Fit(weights, members, joint / joint.sum(axis=1, keepdims=True))


def _redraw(fits: Sequence[_Fit], responses: Responses) -> Redraws:
    """Return how rows count in groups under REDRAWS further draws of the answers."""
    parts = []
    for label, fit in enumerate(fits):
        draw, n = public_generator(0, "redraws", label), len(fit.members)
        truth = (fit.chances.cumsum(axis=1) < draw.random((n, 1))).sum(axis=1).clip(max=responses.groups - 1)
        flipped = draw.random((REDRAWS, n)) < responses.groups * responses.misreport
        answers = np.where(flipped, draw.integers(responses.groups, size=flipped.shape), truth)
        again = [Responses(own, responses.groups, responses.misreport).count() for own in answers]
        parts.append(np.stack(again).transpose(0, 2, 1).astype(np.float32))
    return Redraws(np.concatenate([fit.members for fit in fits]), np.concatenate(parts, axis=2))
