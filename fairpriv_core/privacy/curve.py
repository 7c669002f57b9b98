"""Epsilon while a run goes on: close enough to plot, cheap enough for every commit, never below the proved value.

At many points of one plan each kind of release is transformed once, and a point is a product of powers. The
distributions are the pessimistic ones of `accountants.epsilon` on wider cells, so that the numbers are never below its.
What a transform of finite length may lose above its range is bounded by Chernoff and taken off delta.
"""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from scipy import fft
from scipy.special import logsumexp

from fairpriv_core import checks
from fairpriv_core.privacy.accountants import COARSE, coarse_epsilon, worst_cases
from fairpriv_core.privacy.event import Counted, Event, Events, Parallel, merge
from fairpriv_core.privacy.gaussian import approximate_mu
from fairpriv_core.privacy.pld import WIDEST, LossDistribution, choose_cell, distribution, has_no_noise, resolved

_WIDE = 4 * COARSE
_TAIL = 1e-4  # of delta: what may lie above the range
# for a smaller delta, more cells or a loss whose exponential overflows, the accountant answers
_LEAST_DELTA, _MOST_CELLS, _LARGEST_LOSS = 1e-9, 2**17, 600.0
_POINTS = 32  # of a plan, that a run under way is compared with
_ORDERS = np.geomspace(0.5, 20.0, 16)  # of Chernoff's bound, times 1 / mu


def epsilon_curve(points: Sequence[Events], delta: float) -> list[float]:
    """Return an upper bound on epsilon of each of `points`, mostly within 0.5 %; errors as `accountants.epsilon`."""
    checks.open_unit(delta=delta)
    cases = [worst_cases(events) for events in points]
    known = _compose([case for alternatives in cases for case in alternatives], delta)
    return [max(_epsilon(case, known, delta) for case in alternatives) for alternatives in cases]


def _epsilon(case: Events, known: _Composition | None, delta: float) -> float:
    return coarse_epsilon(case, delta) if known is None or not case else known.epsilon(case)


@dataclass(frozen=True)
class _Direction:
    """Privacy losses as a record leaves, or as it comes: by kind of release, transform and finite mass, as logs."""

    transforms: dict[Event, np.ndarray]
    finite: dict[Event, float]


@dataclass(frozen=True)
class _Composition:
    """Compositions of known kinds of release: losses are multiples of `width`, `top` times it at most."""

    directions: tuple[_Direction, ...]
    width: float
    size: int
    top: int
    delta: float

    def epsilon(self, events: Events) -> float:
        counts = _count_events(events)
        delta = resolved(events, self.delta) - _TAIL * self.delta
        return max(self._solve(direction, counts, delta) for direction in self.directions)

    def _solve(self, direction: _Direction, counts: dict[Event, int], delta: float) -> float:
        """Return the least epsilon >= 0 at which the hockey-stick divergence is `delta` or less.

        It is infinite + sum of (1 - exp(epsilon - l)) p(l) over losses l > epsilon.
        """
        infinite = -math.expm1(sum(count * direction.finite[event] for event, count in counts.items()))
        if infinite >= delta:
            return math.inf
        power = sum(count * direction.transforms[event] for event, count in counts.items())
        masses = fft.irfft(np.exp(power), self.size)[: self.top + 1]
        losses = self.width * np.arange(self.top + 1)
        above = infinite + np.cumsum(masses[:0:-1])[::-1]  # [i]: of the losses above losses[i]
        scaled = np.cumsum((masses * np.exp(-losses))[:0:-1])[::-1]
        small = above - np.exp(losses[:-1]) * scaled <= delta
        first = int(np.argmax(small)) if small.any() else self.top
        return math.log((above[first - 1] - delta) / scaled[first - 1]) if first else 0.0


def _compose(cases: Sequence[Events], delta: float) -> _Composition | None:
    """Return what answers for each of `cases`; None where the accountant must."""
    most: dict[Event, int] = {}
    for once, count in (item for case in cases for item in _count_events(case).items()):
        most[once] = max(most.get(once, 0), count)
    plan = tuple(replace(once, count=count) if isinstance(once, Counted) else once for once, count in most.items())
    if delta < _LEAST_DELTA or not plan or any(map(has_no_noise, plan)):
        return None
    width = choose_cell(plan, _WIDE)
    if width > WIDEST:
        return None
    orders = width * _ORDERS / approximate_mu(plan)
    sides = _list_sides(most, width)
    top, bottom = (max(_reach(side, most, sign * orders, _TAIL * delta) for side in sides) for sign in (1.0, -1.0))
    size = fft.next_fast_len(top + bottom + 1, real=True)
    if size > _MOST_CELLS or top * width > _LARGEST_LOSS:
        return None
    return _Composition(tuple(_transform(side, size) for side in sides), width, size, top, delta)


def _list_sides(kinds: dict[Event, int], width: float) -> list[dict[Event, LossDistribution]]:
    """Return the losses by kind of release as a record leaves, and as one comes where that differs."""
    losses = {once: distribution(once, width) for once in kinds}
    count = max(map(len, losses.values()))
    return [{once: sides[side % len(sides)] for once, sides in losses.items()} for side in range(count)]


def _reach(side: dict[Event, LossDistribution], most: dict[Event, int], orders: np.ndarray, tail: float) -> int:
    """Return how many cells above 0 (below it for orders < 0) hold all but `tail` of any composition up to `most`."""
    total = np.zeros(len(orders))
    for once, losses in side.items():
        total += most[once] * np.maximum(logsumexp(np.outer(orders, losses.places), b=losses.masses, axis=1), 0.0)
    return max(math.ceil(float(np.min((total - math.log(tail)) / np.abs(orders)))), 1)


def _transform(side: dict[Event, LossDistribution], size: int) -> _Direction:
    """Return the transforms on `size` cells that are wrapped: losses below 0 are the last ones."""
    transforms, finite = {}, {}
    for once, losses in side.items():
        wrapped = np.zeros(size)
        np.add.at(wrapped, losses.places % size, losses.masses)
        transformed = fft.rfft(wrapped)
        transforms[once] = np.log(np.where(transformed == 0, np.finfo(float).tiny, transformed))
        finite[once] = math.log1p(-losses.infinite)
    return _Direction(transforms, finite)


def _count_events(events: Events) -> dict[Event, int]:
    return {
        replace(event, count=1) if isinstance(event, Counted) else event: getattr(event, "count", 1) for event in events
    }


def epsilon_over(events: Events, shares: Sequence[float], delta: float) -> list[float]:
    """Return epsilon when each of `shares` (in [0, 1]) of the planned `events` is released; errors as `epsilon`."""
    events_in_all = merge(events)
    return epsilon_curve([_part(events_in_all, share) for share in shares], delta)


class LiveEpsilon:
    """Epsilon of a run under way: built once from what the run plans to release, then answers in microseconds.

    Answers come from a grid of points of the plan, the first one that covers all that was released: rising in steps,
    and never below the value of `epsilon` at 1e-4. What the plan does not cover is accounted in full (some 0.02 s).
    """

    def __init__(self, planned: Events, delta: float) -> None:
        self._delta = delta
        points = [_part(merge(planned), ((index + 1) / _POINTS) ** 2) for index in range(_POINTS)]
        self._values = epsilon_curve(points, delta)
        self._counts: dict[Event, list[int]] = {}
        for event in points[-1]:
            like = [[other for other in point if _once(other) == _once(event)] for point in points]
            self._counts[_once(event)] = [sum(_count(other) for other in events) for events in like]

    def epsilon_at(self, events: Events) -> float:
        """Return an upper bound on epsilon of `events`, what was released so far; 0 if nothing was."""
        if not events:
            return 0.0
        reached = 0
        for event in events:
            counts = self._counts.get(_once(event), [])
            reached = max(reached, bisect.bisect_left(counts, _count(event)) if counts else _POINTS)
        if reached >= _POINTS:
            return coarse_epsilon(events, self._delta)
        return self._values[reached]


def _part(planned: Events, share: float) -> Events:
    """Return what is released at `share` of the plan: counts rounded up, single releases taken as made."""
    return merge(tuple(_at(event, share) for event in planned))


def _at(event: Event, share: float) -> Event:
    if isinstance(event, Counted):
        return replace(event, count=math.ceil(share * event.count))
    if isinstance(event, Parallel):
        return replace(event, branches=tuple(_part(branch, share) for branch in event.branches))
    return event


def _once(event: Event) -> Event:
    """Return the kind of an event; of branches that are not in step, the event itself, which no plan has."""
    if isinstance(event, Counted):
        return replace(event, count=1)
    if isinstance(event, Parallel) and len(_counts(event)) == 1:
        return replace(event, branches=tuple(tuple(_once(part) for part in branch) for branch in event.branches))
    return event


def _count(event: Event) -> int:
    if isinstance(event, Counted):
        return event.count
    return max(_counts(event)) if isinstance(event, Parallel) else 1


def _counts(event: Parallel) -> set[int]:
    return {_count(part) for branch in event.branches for part in branch} or {0}
