"""The Gaussian mechanism in closed form, and a whole composition as if it were one (for starting points only).

mu is the sensitivity over the noise's standard deviation: 1 / noise multiplier where that is over all of it.
"""

from __future__ import annotations

import math

from scipy.special import log_ndtr

from fairpriv_core import checks
from fairpriv_core.privacy.event import Events, Gaussian, Laplace, Parallel, RandomizedResponse, SampledGaussian

_LEAST = 1e-100


def gaussian_delta(mu: float, epsilon: float) -> float:
    """Return the smallest delta of the Gaussian mechanism at `epsilon` (Balle and Wang, 2018, Theorem 5)."""
    if mu == 0:
        return 0.0
    inside = log_ndtr(mu / 2 - epsilon / mu)
    if inside == -math.inf:  # nothing is left, and of an epsilon beyond 1e200 the rest is no number
        return 0.0
    outside = epsilon + log_ndtr(-mu / 2 - epsilon / mu)
    return float(-math.exp(inside) * math.expm1(min(outside - inside, 0.0)))


def gaussian_epsilon(mu: float, delta: float) -> float:
    """Return the smallest epsilon >= 0 of the Gaussian mechanism at `delta`."""
    from scipy.optimize import brentq

    checks.not_negative(mu=mu)
    checks.open_unit(delta=delta)
    if gaussian_delta(mu, 0.0) <= delta:
        return 0.0
    high = mu * mu / 2 + mu * math.sqrt(2 * math.log(1 / delta))  # the classic tail bound: never too small
    return float(brentq(lambda epsilon: gaussian_delta(mu, epsilon) - delta, 0.0, high, rtol=1e-12))


def gaussian_mu(epsilon: float, delta: float) -> float:
    """Return the mu of the Gaussian mechanism that satisfies exactly (epsilon, delta): the budget as one number.

    Gaussian releases compose by the sum of mu squared, so shares of mu**2 are shares of the budget.
    """
    from scipy.optimize import brentq

    checks.positive(epsilon=epsilon)
    checks.open_unit(delta=delta)
    high = 1.0
    while gaussian_delta(high, epsilon) < delta:
        high *= 2
    return float(brentq(lambda mu: gaussian_delta(mu, epsilon) - delta, 0.0, high, rtol=1e-12))


def approximate_mu(events: Events) -> float:
    """Return the mu of the Gaussian that the composition comes near for many releases (Bu et al., 2020).

    A starting point for searches and grids; neither bound nor estimate to show. Infinite for a release without noise.
    """
    return math.sqrt(sum(_mu_squared(event) for event in events))


def _mu_squared(event: object) -> float:
    match event:
        case SampledGaussian(noise, rate, count, relation):
            # chi-square divergence of one release from none, and never more than the chance to be in times the whole
            power = _inverse_square(noise)
            capped = min(power, 700.0)
            sampled = 4 * math.sinh(capped) if relation == "replace" else math.expm1(capped)
            return count * min(rate**2 * sampled, rate * (4 if relation == "replace" else 1) * power) if count else 0.0
        case Gaussian(noise, count):
            return count * _inverse_square(noise) if count else 0.0
        case Laplace(scale, count):
            return count * min(_inverse_square(scale), 2 * math.sqrt(_inverse_square(scale))) if count else 0.0
        case RandomizedResponse(epsilon):
            return epsilon**2
        case Parallel(branches):
            return max([approximate_mu(branch) ** 2 for branch in branches], default=0.0)
    return 0.0


def _inverse_square(noise: float) -> float:
    return float(noise) ** -2 if noise > _LEAST else math.inf
