"""Epsilon while a run goes on: close enough to plot, cheap enough for every commit, never below the proved value."""

from __future__ import annotations

import bisect
import math
from collections.abc import Sequence
from dataclasses import replace

from fairpriv_core.privacy.accountants import coarse_epsilon
from fairpriv_core.privacy.composition import epsilon_curve
from fairpriv_core.privacy.event import Counted, Event, Events, Parallel, merge

_POINTS = 32


def epsilon_over(events: Events, shares: Sequence[float], delta: float) -> list[float]:
    """Return epsilon when each of `shares` (in [0, 1]) of the planned `events` is released; errors as `epsilon`."""
    planned = merge(events)
    return epsilon_curve([_part(planned, share) for share in shares], delta)


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
            self._counts[_once(event)] = [sum(_count(other) for other in found) for found in like]

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
