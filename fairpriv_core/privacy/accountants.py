"""From what was released to epsilon. Accountants read events and refuse what they do not know.

`epsilon` is proved: the privacy-loss distribution (PLD) of the whole composition, discretised pessimistically by
"connect the dots" (Doroshenko et al., 2022) with dp_accounting's formulas (pld.py). `rdp_epsilon` reproduces
published figures.

Which pair of distributions bounds each release (docs/privacy.md has the argument):

* `SampledGaussian`, "add_remove": 0 against +1 with chance q; "replace": -1 against +1, each with chance q;
* `Gaussian`, `Laplace`: 0 against the whole sensitivity of 1 under either relation, never doubled;
* `RandomizedResponse`: binary randomised response, which bounds every pure-epsilon release (Kairouz et al., 2015);
* `Approximate`: a loss of 0, and an infinite one with chance delta;
* `Parallel`: the worst branch, found in the whole composition. Under replacement only where the parts are fixed.
"""

from __future__ import annotations

import logging
import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache, reduce
from typing import TYPE_CHECKING

import numpy as np

from fairpriv_core import checks
from fairpriv_core.errors import Unsupported
from fairpriv_core.privacy.event import (
    Approximate,
    Event,
    Events,
    Gaussian,
    Laplace,
    Parallel,
    RandomizedResponse,
    SampledGaussian,
    merge,
)
from fairpriv_core.privacy.pld import (
    WIDEST,
    Sides,
    choose_cell,
    compose,
    distribution,
    find_epsilon,
    has_no_noise,
    repeat,
    resolved,
)

if TYPE_CHECKING:
    from dp_accounting import DpEvent

FINE = 1e-4  # cells of the number that is shown
COARSE = 8 * FINE  # unions of fine cells, so the bound is never below the fine one

_MOST_CASES = 64
_MOST_NOISE = 1e12  # more noise is counted as this: an upper bound, and in effect 0; squares of 1e154 overflow
# an order whose series does not converge is left out, which is safe; dp_accounting says so each time
logging.getLogger("absl").setLevel(logging.ERROR)
_ORDERS = np.concatenate([np.arange(1.01, 2, 0.01), np.arange(2, 12, 0.1), np.arange(12, 64), 2 ** np.arange(6, 15)])
_WHOLE = np.unique(np.round(_ORDERS[_ORDERS >= 2]))


@dataclass(frozen=True)
class Accountant:
    """One way to account: `function(events, delta)` gives epsilon (maybe infinite) or raises Unsupported."""

    name: str
    title: str
    citation: str
    function: Callable[[Events, float], float]


def accountants() -> dict[str, Accountant]:
    """Return the accountants by name; the first one gives the number that is shown."""
    known = (
        Accountant("pld", "Privacy loss distribution", "Doroshenko et al., PoPETs 2022", epsilon),
        Accountant("rdp", "Rényi differential privacy", "Mironov, Talwar and Zhang, 2019", rdp_epsilon),
    )
    return {accountant.name: accountant for accountant in known}


def epsilon(events: Events, delta: float, *, interval: float = FINE) -> float:
    """Return an epsilon >= 0 such that the composition of `events` is (epsilon, delta)-differentially private.

    At `interval` 1e-4 it is within about 0.0003 of the exact value (6,600 steps); a multiple of it is faster and only
    ever gives more. Cells are narrowed where single releases cost very little and widened past an epsilon of some 30.
    Infinite where a release has (next to) no noise and past an epsilon of some 100,000. Raises Unsupported for an event
    that is not known, for events of both relations, for replacement beside parallel branches that are not fixed, for
    more combinations of branches than can be tried, and for a delta below what the arithmetic resolves (2e-15 a
    release); BadInput for a delta outside (0, 1).
    """
    checks.open_unit(delta=delta)
    checks.positive(interval=interval)
    return max(_case_epsilon(case, delta, interval) for case in worst_cases(events))


def coarse_profile(events: Events, deltas: Sequence[float]) -> list[float]:
    """Return `coarse_epsilon` at each of `deltas`, for little more than one costs."""
    cases = worst_cases(events)
    return [max(_case_epsilon(case, delta, COARSE) for case in cases) for delta in deltas]


def coarse_epsilon(events: Events, delta: float) -> float:
    """Return `epsilon` on coarse cells: about 0.01 s, at most about 1 % above, never below. For curves and searches."""
    return epsilon(events, delta, interval=COARSE)


def rdp_epsilon(events: Events, delta: float) -> float:
    """Return epsilon by Rényi differential privacy with the conversion of PF-LD's Theorem 3: for published figures.

    min over orders of epsilon(order) + log(1 / delta) / (order - 1); add/remove only. Infinite without noise.
    Raises Unsupported for events of the relation "replace", randomised response and unknown events.
    """
    checks.open_unit(delta=delta)
    return max(_case_rdp_epsilon(case, delta) for case in worst_cases(events))


def checked(events: Events) -> Events:
    """Return the events merged; Unsupported for those that have no composition in common."""
    merged = merge(events)
    relations = {leaf.relation for leaf in _leaves(merged) if isinstance(leaf, SampledGaussian)}
    if len(relations) > 1:
        raise Unsupported("events under add/remove and under replacement bound different changes; they do not compose.")
    if "replace" in relations and any(_moving(merged)):
        raise Unsupported(
            "a replaced record may change its part, so parallel composition of parts that are not fixed holds under "
            "add/remove only."
        )
    return merged


def worst_cases(events: Events) -> list[Events]:
    """Return the compositions, free of `Parallel`, that a person may be subject to; Unsupported as `epsilon` says."""
    return _worst_cases(checked(events))


def _moving(events: Events) -> Iterator[Parallel]:
    """Yield the parallel releases whose parts a replaced record may change, however deep."""
    for event in events:
        if isinstance(event, Parallel) and not event.fixed:
            yield event
        elif isinstance(event, Parallel):
            for branch in event.branches:
                yield from _moving(branch)


def _leaves(events: Events) -> list[Event]:
    leaves: list[Event] = []
    for event in events:
        if isinstance(event, Parallel):
            leaves += [leaf for branch in event.branches for leaf in _leaves(branch)]
        elif isinstance(event, SampledGaussian | Gaussian | Laplace | RandomizedResponse | Approximate):
            leaves.append(event)
        else:
            raise Unsupported(f"no accountant knows the event {type(event).__name__}.")
    return leaves


def _worst_cases(events: Events) -> list[Events]:
    """Return the compositions of one branch of each `Parallel`."""
    cases: list[Events] = [()]
    for event in events:
        choices: list[Events] = [(_with_finite_squares(event),)]
        if isinstance(event, Parallel):
            choices = [case for branch in event.branches for case in _worst_cases(branch)] or [()]
        tried = (merge(case + choice) for case in cases for choice in choices)
        cases = list({frozenset(Counter(case).items()): case for case in tried}.values())
        if len(cases) > _MOST_CASES:
            raise Unsupported(f"more than {_MOST_CASES} combinations of parallel branches.")
    return cases


def _with_finite_squares(event: Event) -> Event:
    match event:
        case SampledGaussian(noise) | Gaussian(noise) if noise > _MOST_NOISE:
            return replace(event, noise_multiplier=_MOST_NOISE)
        case Laplace(scale) if scale > _MOST_NOISE:
            return replace(event, scale=_MOST_NOISE)
    return event


@lru_cache(maxsize=256)  # runs of a sweep often release the same
def _case_epsilon(events: Events, delta: float, interval: float) -> float:
    if any(has_no_noise(event) for event in events):
        return math.inf
    if not events:
        return 0.0
    left, width = resolved(events, delta), choose_cell(events, interval)
    return math.inf if width > WIDEST else find_epsilon(_case_distribution(events, width), left)


@lru_cache(maxsize=4)  # for one composition at several deltas
def _case_distribution(events: Events, width: float) -> Sides:
    return reduce(compose, [_composed(event, width) for event in _one_gaussian(events)])


def _one_gaussian(events: Events) -> Events:
    """Return the composition with its Gaussians over the whole sensitivity as the one that they equal."""
    gaussians = [event for event in events if isinstance(event, Gaussian)]
    rest = tuple(event for event in events if not isinstance(event, Gaussian))
    if not gaussians:
        return rest
    return (*rest, Gaussian(sum(event.count * event.noise_multiplier**-2 for event in gaussians) ** -0.5))


def _composed(event: Event, interval: float) -> Sides:
    if isinstance(event, SampledGaussian | Gaussian | Laplace) and event.count > 1:
        return repeat(distribution(replace(event, count=1), interval), event.count)
    return distribution(event, interval)


@lru_cache(maxsize=256)
def _case_rdp_epsilon(events: Events, delta: float) -> float:
    if any(has_no_noise(event) for event in events):
        return math.inf
    if not events:
        return 0.0
    low, high = 0, len(_WHOLE) - 1
    while low < high:
        middle = (low + high) // 2
        left, right = _renyi(events, delta, _WHOLE[middle : middle + 2])
        low, high = (low, middle) if left <= right else (middle + 1, high)
    best, reach = _WHOLE[low], 1
    while True:
        near = np.abs(_ORDERS - best) < reach
        bound = float(np.min(_renyi(events, delta, _ORDERS[near])))
        beyond = _renyi(events, delta, np.array([order for order in (best - reach, best + reach) if order > 1]))
        if near.all() or bound <= np.min(beyond):
            return max(bound, 0.0)
        reach *= 2


def _renyi(events: Events, delta: float, orders: np.ndarray) -> np.ndarray:
    """Return what each of `orders` says of epsilon.

    It is ((order - 1) * divergence + log(1 / delta)) / (order - 1), a convex function of the order over a linear one:
    it falls, then rises. At whole orders the series is exact, so halving finds the best of them, and what lies beyond
    two of them around it is worse than one of the two; elsewhere the series is a bound from above, or infinite.
    """
    from dp_accounting import NeighboringRelation  # loaded where it is asked: it takes a second
    from dp_accounting.rdp import RdpAccountant

    accountant = RdpAccountant(orders, NeighboringRelation.ADD_OR_REMOVE_ONE)
    for event in events:
        accountant.compose(_dp_event(event))
    # its get_epsilon has a newer conversion than the paper's
    return np.asarray(accountant.rdp + math.log(1 / delta) / (orders - 1))


def _dp_event(event: Event) -> DpEvent:
    import dp_accounting

    match event:
        case SampledGaussian(noise, rate, count, "add_remove"):
            once = dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(noise))
        case Gaussian(noise, count):
            once = dp_accounting.GaussianDpEvent(noise)
        case Laplace(scale, count):
            once = dp_accounting.LaplaceDpEvent(scale)
        case SampledGaussian():
            raise Unsupported("Rényi accounting of a sampled Gaussian is known under add/remove only.")
        case _:
            raise Unsupported(f"Rényi accounting does not know the event {type(event).__name__}.")
    return dp_accounting.SelfComposedDpEvent(once, count)
