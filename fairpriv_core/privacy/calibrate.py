"""From a wanted epsilon to noise: the smallest noise multiplier whose releases stay within it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import lru_cache, partial

from fairpriv_core import checks
from fairpriv_core.errors import BadInput
from fairpriv_core.privacy.accountants import accountants, coarse_epsilon
from fairpriv_core.privacy.event import Events
from fairpriv_core.privacy.gaussian import approximate_mu
from fairpriv_core.privacy.gaussian import gaussian_mu as gaussian_mu
from fairpriv_core.text import epsilon_text

_LOW, _HIGH = 1e-2, 1e6  # noise multipliers that are tried
_PROBES = (0.7, 1.9, 5.3)
_TOLERANCE = 1e-3
_NARROW = 1e-5
_SMALLEST = 1e-3
_FLATTEST = 0.05


def calibrate(
    events_for: Callable[[float], Events],
    *,
    epsilon: float,
    delta: float,
    accountant: str = "pld",
    start: float | None = None,
) -> float:
    """Return the smallest noise multiplier m whose events_for(m) cost at most `epsilon`, and at least 99.9 % of it.

    `events_for` is pure; more noise must never cost more. `accountant` names the one of the catalogue that must agree:
    the proved one, or "rdp" for published figures. `start` is a multiplier near the answer, for an `events_for` that is
    slow; without it one is found by some thirty calls. Compositions that agree are searched once. Raises BadInput if no
    noise suffices, since the releases that `events_for` holds fixed cost more alone, or if a number is out of range.
    """
    checks.positive(epsilon=epsilon)
    checks.open_unit(delta=delta)
    checks.one_of(accountants(), accountant=accountant)
    family = _Family(tuple(events_for(probe) for probe in _PROBES), accountant, events_for)
    multiplier, events = _search_cached(family, float(epsilon), float(delta), start)
    if events_for(multiplier) != events:  # another composition that agrees at the probes
        multiplier, events = _search(family, float(epsilon), float(delta), start)
    return multiplier


@dataclass(frozen=True)
class _Family:
    """A composition as a function of its noise, recognised by its events at a few multipliers."""

    probes: tuple[Events, ...]
    accountant: str
    events_for: Callable[[float], Events] = field(compare=False)


def _search(family: _Family, target: float, delta: float, start: float | None) -> tuple[float, Events]:
    """Return the multiplier and its events: from the Gaussian approximation, by coarse cells, to the accountant.

    A `start` that is given stands in place of the first two.
    """

    def cost(account: Callable[[Events, float], float], multiplier: float) -> float:
        return account(family.events_for(multiplier), delta)

    if start is None:
        start = _guess(family.events_for, gaussian_mu(target, delta))
        if family.accountant == "pld":
            start = _solve(partial(cost, coarse_epsilon), target, start, 20 * _TOLERANCE)
    start = _solve(partial(cost, accountants()[family.accountant].function), target, start, _TOLERANCE)
    return start, family.events_for(start)


_search_cached = lru_cache(maxsize=64)(_search)


def _guess(events_for: Callable[[float], Events], mu: float) -> float:
    low, high = math.log(_LOW), math.log(_HIGH)
    for _ in range(30):
        middle = (low + high) / 2
        low, high = (middle, high) if approximate_mu(events_for(math.exp(middle))) > mu else (low, middle)
    return math.exp(high)


def _solve(cost: Callable[[float], float], target: float, start: float, tolerance: float) -> float:
    """Return x with target * (1 - tolerance) <= cost(x) <= target for a falling cost; BadInput if there is none.

    Secant steps in logarithms, kept inside the bracket that is known so far. Where cost jumps, the smallest safe x.
    """
    low, high = math.log(_LOW), math.log(_HIGH)
    point, slope = min(max(math.log(start), low), high), -1.2
    known: tuple[float, float] | None = None
    while True:
        value = cost(math.exp(point))
        if target * (1 - tolerance) <= value <= target or (value <= target and high - low < _NARROW):
            return math.exp(point)
        if value <= target and point <= math.log(_LOW):
            return _LOW
        if value > target and point >= math.log(_HIGH):
            raise BadInput(_unreachable(target, value), field="epsilon")
        low, high = (point, high) if value > target else (low, point)
        above = math.log(min(max(value / target, _SMALLEST), 1 / _SMALLEST)) + 0.4 * tolerance
        if known and point != known[0] and (above - known[1]) / (point - known[0]) < -_FLATTEST:
            slope = (above - known[1]) / (point - known[0])
        known = (point, above)
        point = _inside(point - above / slope, low, high)


def _inside(point: float, low: float, high: float) -> float:
    """Return `point` if it lies within the bracket, an end that was never tried if it lies beyond, else the middle."""
    if low < point < high:
        return point
    if point <= low == math.log(_LOW) or point >= high == math.log(_HIGH):
        return min(max(point, low), high)
    return (low + high) / 2


def _unreachable(target: float, floor: float) -> str:
    return (
        f"epsilon must be > {epsilon_text(floor)} for this run, got {target:g}: what it releases apart from "
        "the calibrated noise already costs that much."
    )
