"""Rényi divergences of releases, and the filter behind a cap (Feldman and Zrnic, 2021; Lécuyer, 2021).

Closed forms where there are any; for sampled Gaussians the integral of P^a Q^(1 - a) over the pairs that bound them
(accountants.py), both ways round. A pair that dominates in hockey-stick divergences dominates in Rényi divergences.

Which run comes next may depend on what earlier ones released, so the cost of all of them is not that of a composition
fixed beforehand. At one Rényi order that was fixed beforehand costs may still be added up, and a run is let in while
the sum stays within what that order may spend. Here two orders are fixed by the cap alone, each with half of most of
delta; either is enough, by the union of two bad events. The rest of delta is for releases that are only approximate.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from scipy.special import logsumexp

from fairpriv_core import checks
from fairpriv_core.errors import Unsupported
from fairpriv_core.privacy.accountants import checked
from fairpriv_core.privacy.event import (
    Approximate,
    Event,
    Events,
    Gaussian,
    Laplace,
    Parallel,
    RandomizedResponse,
    Relation,
    SampledGaussian,
)
from fairpriv_core.privacy.gaussian import gaussian_epsilon
from fairpriv_core.privacy.ledger import LedgerEntry, Total, composable, compose

_STEPS = 32  # of the grid, a standard deviation: the integrand is smooth on that scale, so the error is far below 1e-9
_TAILS = 14.0  # standard deviations beyond the furthest peak
_MOST_CELLS = 2**20
_LEAST_NOISE = 1e-3
_SHARES = (0.7, 1.0)  # of the best order for Gaussians; the lower one is better for little noise on small samples
_APPROXIMATE = 0.1  # of delta, for releases that may leave without noise: their deltas add up, in any order
_GRID = np.geomspace(1.2, 20_000, 2_000)


def divergence(events: Events, orders: tuple[float, ...]) -> np.ndarray:
    """Return the Rényi divergence at each of `orders` (> 1) that bounds the composition; (m,), maybe infinite.

    Of parallel branches each order counts its worst; what is approximate counts as nothing, since its delta is apart.
    The caller has checked (`accountants.checked`) that they compose.
    Raises Unsupported for an event that is not known, BadInput for an order that is not above 1.
    """
    for order in orders:
        checks.positive(order_above_1=order - 1)
    total = np.zeros(len(orders))
    for event in events:
        if isinstance(event, Parallel):
            total += np.max([divergence(branch, orders) for branch in event.branches] or [0.0 * total], axis=0)
        else:
            total += _release(event, orders)
    return total


def _release(event: Event, orders: tuple[float, ...]) -> np.ndarray:
    alpha = np.array(orders)
    match event:
        case SampledGaussian(_, _, 0) | Gaussian(_, 0) | Laplace(_, 0) | Approximate():
            return np.zeros(len(orders))
        case SampledGaussian(noise) | Gaussian(noise) | Laplace(noise) if noise < _LEAST_NOISE:
            return np.full(len(orders), math.inf)
        case SampledGaussian(noise, rate, count, relation):
            return count * np.array(_sampled(noise, rate, relation, orders))
        case Gaussian(noise, count):
            return count * alpha / (2 * noise**2)
        case Laplace(scale, count):  # Mironov (2017), Table II
            right = np.log(alpha / (2 * alpha - 1)) + (alpha - 1) / scale
            left = np.log((alpha - 1) / (2 * alpha - 1)) - alpha / scale
            return np.asarray(count * np.logaddexp(right, left) / (alpha - 1))
        case RandomizedResponse(pure):  # binary; bounds every pure-epsilon release (Kairouz et al., 2015)
            yes, no = -np.logaddexp(0.0, -pure), -np.logaddexp(0.0, pure)
            ends = np.logaddexp(alpha * yes + (1 - alpha) * no, alpha * no + (1 - alpha) * yes)
            return np.asarray(ends / (alpha - 1))
    raise Unsupported(f"Rényi accounting does not know the event {type(event).__name__}.")


@lru_cache(maxsize=256)
def _sampled(noise: float, rate: float, relation: Relation, orders: tuple[float, ...]) -> tuple[float, ...]:
    """Return the divergence of one release, the larger of both directions; never above that without sampling."""
    sensitivity = 2.0 if relation == "replace" else 1.0
    whole = [order * sensitivity**2 / (2 * noise**2) for order in orders]
    reach = sensitivity * max(orders) + 1 + _TAILS * noise
    cells = 2 * math.ceil(reach / noise * _STEPS) + 1
    if rate == 1 or cells > _MOST_CELLS:
        return tuple(whole)
    x, width = np.linspace(-reach, reach, cells, retstep=True)

    def mixture(mean: float) -> np.ndarray:
        absent, present = -(x**2) / (2 * noise**2), -((x - mean) ** 2) / (2 * noise**2)
        density = np.logaddexp(math.log1p(-rate) + absent, math.log(rate) + present)
        return np.asarray(density - math.log(noise * math.sqrt(2 * math.pi)))

    one, other = mixture(1.0), mixture(-1.0 if relation == "replace" else 0.0)
    pairs = [(one, other)] if relation == "replace" else [(one, other), (other, one)]

    def integrate(order: float) -> float:
        logs = [float(logsumexp(order * p + (1 - order) * q)) for p, q in pairs]
        return max((max(logs) + math.log(width)) / (order - 1), 0.0)

    return tuple(min(integrate(order), limit) for order, limit in zip(orders, whole, strict=True))


@dataclass(frozen=True)
class Cap:
    """No run may be launched that would bring the data set's cost for one protected thing above this."""

    epsilon: float
    delta: float

    def __post_init__(self) -> None:
        checks.positive(epsilon=self.epsilon)
        checks.open_unit(delta=self.delta)

    @property
    def orders(self) -> tuple[float, ...]:
        """The Rényi orders at which costs are added up; a function of the cap alone."""
        best = float(_GRID[np.argmax((self.epsilon - _conversion(_GRID, self._share)) / _GRID)])
        return tuple(max(share * best, float(_GRID[0])) for share in _SHARES)

    @property
    def budgets(self) -> np.ndarray:
        """What each order may spend; not above 0 for one that is of no use."""
        return self.epsilon - _conversion(np.array(self.orders), self._share)

    @property
    def _share(self) -> float:
        return (1 - _APPROXIMATE) * self.delta / len(_SHARES)


@dataclass(frozen=True)
class Gauge:
    """A cap's state. `spent` and `remaining` are epsilons at the cap's delta, of the Gaussian that would cost as much.

    `spent` is infinite where no bound holds. `remaining` is how much one further run may cost; before the first run
    that is the whole cap.
    """

    cap: Cap
    spent: float
    remaining: float


def read_gauge(cap: Cap, entries: Sequence[LedgerEntry], column: str | None) -> Gauge:
    """Return how much of `cap` the entries (those that wait or run with what they will release) have used up."""
    total = compose(entries, column)
    if total.unbounded:
        return Gauge(cap, math.inf, 0.0)
    if not total.events:
        return Gauge(cap, 0.0, cap.epsilon)
    spent, orders = _divergence(total.events, cap), np.array(cap.orders)
    left = float(np.max(2 * (cap.budgets - spent) / orders))
    used = float(np.min(2 * spent / orders))
    return Gauge(cap, _as_epsilon(used, cap), min(_as_epsilon(max(left, 0.0), cap), cap.epsilon))


def admits(cap: Cap, entries: Sequence[LedgerEntry], candidate: LedgerEntry, column: str | None) -> bool:
    """Return whether `candidate` may still be launched after `entries`.

    What costs nothing always may. Where nothing was spent yet the candidate may cost, by the exact accountant, the
    whole cap: no choice has depended on a release yet, and what comes later is refused wherever the filter is full.
    """
    if not _pays(candidate, column):
        return True
    before, after = compose(entries, column), compose([*entries, candidate], column)
    if after.unbounded:
        return False
    if not before.events and after.epsilon(cap.delta) <= cap.epsilon:
        return True
    return bool((_divergence(after.events, cap) <= cap.budgets).any())


def count_against(cap: Cap, entry: LedgerEntry, asked: LedgerEntry | None, column: str | None) -> LedgerEntry:
    """Return what counts of a run that `asked` for more than the `entry` it came to (None: for just that).

    What was let in by the exact accountant alone keeps counting in full, even if it failed early: were the rest of it
    given back, the exact bound would hold on one branch and the filter's on the other, and their deltas would add up.
    """
    total = Total(()) if asked is None else compose([asked], column)
    if asked is None or total.unbounded or not total.events:
        return entry
    return asked if bool((_divergence(total.events, cap) > cap.budgets).all()) else entry


def _pays(candidate: LedgerEntry, column: str | None) -> bool:
    alone = compose([candidate], column)
    return bool(alone.events or alone.unbounded)


def _divergence(events: Events, cap: Cap) -> np.ndarray:
    if _sum_deltas(events) > _APPROXIMATE * cap.delta:
        return np.full(len(cap.orders), math.inf)
    return divergence(composable(events, checked), cap.orders)


def _sum_deltas(events: Events) -> float:
    """Return the deltas of all approximate releases together, every branch counted."""
    inside = (branch for event in events if isinstance(event, Parallel) for branch in event.branches)
    total = sum(event.delta for event in events if isinstance(event, Approximate))
    return total + sum(map(_sum_deltas, inside))


def _conversion(order: np.ndarray, delta: float) -> np.ndarray:
    """Return what a Rényi bound gains on its way to (epsilon, delta) (Canonne, Kamath and Steinke, 2020, Prop. 12)."""
    return np.asarray(np.log1p(-1 / order) - (math.log(delta) + np.log(order)) / (order - 1))


def _as_epsilon(mu_squared: float, cap: Cap) -> float:
    return gaussian_epsilon(math.sqrt(mu_squared), cap.delta) if math.isfinite(mu_squared) else math.inf
