"""Theorem 6 of FairDP with certificates (eq. 15): how far a loss lies above the least, beside the bound.

The formula is lost in the text that we have; its proof names all of it. By Theorem 2 of Shamir and Zhang (2013), of
steps c / sqrt(t) along unbiased estimates of the gradient of a convex F, projected onto a set of diameter D,

    E[F(w_T) - F(w*)] <= (D^2 / c + c G^2) (2 + log T) / sqrt(T),    E|estimate|^2 <= G^2.

Here F is the mean over groups of their mean logistic loss on training rows, whose gradient a step of FairDP is in
expectation where no gradient is clipped. The set is the ball of radius M about 0: a logistic regression is its scoring
layer, which is scaled into it before each step. So D = 2 M, and w is the exported model, scaled once more. That is
iterate T + 1, whose bound is below the one at T. G^2 is eq. 16's, see `second_moment`. Assumed is that the last step's
micro-batches are of one size: dealing may leave one record between them. For the analyst: raw.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import special

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.errors import BadInput

_NEEDED = {"variant": "published", "hidden_layers": 0, "optimizer": "sgd", "schedule": "inverse_sqrt"}
_TOLERANCE = 1e-5  # of the least loss, in nats
_MOST = 20_000  # steps of the search for it


def find_excess_risk(method: Any, parameters: np.ndarray, train: Dataset) -> dict[str, float]:
    """Return in nats "found", F(w) less a lower bound of F(w*), and "bound", the right-hand side of eq. 15.

    "untrained" is what a model of zeros, from which training starts, has in place of "found".
    `method` is calibrated, `parameters` (d,) of a logistic regression end in its bias. "found" is at most _TOLERANCE
    above the excess risk. Raises BadInput for settings that are not the theorem's, such as a C that clips a gradient.
    """
    rows = np.column_stack([train.X.astype(np.float64), np.ones(train.n)])
    _check(method, float(np.linalg.norm(rows, axis=1).max()))
    sizes = np.bincount(train.group, minlength=train.groups)
    loss = GroupLoss(rows, train.y, 1.0 / (len(sizes) * sizes[train.group]))
    own, _ = loss.at(project(parameters.astype(np.float64), method.weight_bound))
    least = loss.bound_least(method.weight_bound)
    start, _ = loss.at(np.zeros_like(rows[0]))
    moment = second_moment(method, sizes.tolist(), n=train.n, d=rows.shape[1])
    steps, diameter = method.steps(train.n), 2.0 * method.weight_bound
    bound = bound_excess(diameter, method.learning_rate, moment, steps)
    return {"found": own - least, "bound": bound, "untrained": start - least}


def bound_excess(diameter: float, rate: float, moment: float, steps: int) -> float:
    """Return (D^2 / c + c G^2) (2 + log T) / sqrt(T)."""
    return (diameter**2 / rate + rate * moment) * (2.0 + math.log(steps)) / math.sqrt(steps)


def second_moment(method: Any, sizes: Sequence[int], *, n: int, d: int) -> float:
    """Return G^2 = C^2 + (sigma C / K)^2 d sum_k E[1 / m_k^2], m_k the rows of group k in a step's sample.

    A mean of clipped gradients is at most C long, and the noise is independent of it. The last step has noise in each
    micro-batch, for which the expectation is of their mean; G^2 is that of the noisier kind of step.
    """
    rate, noise = method.rate(n), method.noise() * method.clip_primal / len(sizes)
    kinds = (sum(_mean_inverse_square(size, rate, parts) for size in sizes) for parts in (1, method.ensemble))
    return float(method.clip_primal**2 + noise**2 * d * max(kinds))


def _mean_inverse_square(size: int, rate: float, parts: int) -> float:
    """Return E of the mean over `parts` of 1 / rows^2, over parts again; rows are dealt in turn, none counts as 1."""
    counts = np.arange(size + 1)
    quotient, remainder = np.divmod(counts, parts)
    inverse = remainder / (quotient + 1.0) ** 2 + (parts - remainder) / np.maximum(quotient, 1) ** 2
    ways = special.gammaln(size + 1.0) - special.gammaln(counts + 1.0) - special.gammaln(size - counts + 1.0)
    chances = np.exp(ways + special.xlogy(counts, rate) + special.xlog1py(size - counts, -rate))  # binomial
    return float(chances @ inverse) / parts**2


def project(parameters: np.ndarray, radius: float) -> np.ndarray:
    """Return the nearest point (d,) of the ball of `radius` about 0."""
    return parameters * min(1.0, radius / max(float(np.linalg.norm(parameters)), 1e-300))


class GroupLoss:
    """F, the `weights` (n,) sum of the logistic losses of `rows` (n, d) with labels (n,) 0 or 1."""

    def __init__(self, rows: np.ndarray, labels: np.ndarray, weights: np.ndarray) -> None:
        self._rows, self._signs, self._weights = rows, 1.0 - 2.0 * labels, weights

    def at(self, parameters: np.ndarray) -> tuple[float, np.ndarray]:
        """Return F and its gradient (d,) at `parameters` (d,)."""
        margins = self._signs * (self._rows @ parameters)
        slopes = self._weights * self._signs * special.expit(margins)
        return float(self._weights @ np.logaddexp(0.0, margins)), slopes @ self._rows

    def bound_least(self, radius: float) -> float:
        """Return a lower bound of F on the ball of `radius`, at most _TOLERANCE below its least; RuntimeError without.

        By convexity F(v) >= F(w) + <g, v - w> for every v of the ball, so at least F(w) - <g, w> - radius |g|. The w
        are of the ball, by accelerated projected gradient descent (Beck and Teboulle, 2009).
        """
        curvature = np.linalg.eigvalsh((self._rows * (self._weights / 4.0)[:, None]).T @ self._rows)[-1]
        before = ahead = np.zeros(self._rows.shape[1])
        for step in range(_MOST):
            loss, gradient = self.at(ahead)
            gap = float(gradient @ ahead) + radius * float(np.linalg.norm(gradient))
            if gap <= _TOLERANCE:
                return loss - gap
            now = project(ahead - gradient / curvature, radius)
            before, ahead = now, project(now + step / (step + 3.0) * (now - before), radius)
        raise RuntimeError(f"the least loss was not found in {_MOST} steps")


def _check(method: Any, longest: float) -> None:
    if method.info.name != "fairdp_certified":
        raise BadInput(f"Theorem 6 is about fairdp_certified, got a run of {method.info.name}.", field="method")
    for name, needed in _NEEDED.items():
        if getattr(method, name) != needed:
            raise BadInput(f"{name} must be {needed} for Theorem 6, got {getattr(method, name)}.", field=name)
    if method.clip_primal < longest:
        raise BadInput(
            f"clip_primal must be at least {longest:.4g}, the longest row, for Theorem 6, got {method.clip_primal}: it "
            "is about gradients that are not clipped.",
            field="clip_primal",
        )
