"""The release counter: what a mechanism has released, in sequence and on disjoint parts of the data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Self

from fairpriv_core.privacy.event import Counted, Event, Events, Parallel, from_json, merge, to_json

_WHOLE = ""


class Counter:
    """Counts releases by their parameters; `released` is what was released before and is counted in."""

    def __init__(self, released: Events = ()) -> None:
        self._before = merge(released)
        self._counts: dict[str, dict[Event, int]] = {}
        self._latest: tuple[str, Event] | None = None
        self._again = 0  # releases like the latest that are not in _counts yet

    def add(self, event: Event, part: str = _WHOLE) -> None:
        """Count one release; one on a named part of the data is in parallel with those on the other parts."""
        if self._latest is not None and event is self._latest[1] and part == self._latest[0]:
            self._again += 1
            return
        self._settle()
        self._latest, self._again = (part, event), 1

    def _settle(self) -> None:
        if self._latest is not None and self._again:
            part, event = self._latest
            counts = self._counts.setdefault(part, {})
            counts[event] = counts.get(event, 0) + self._again
            self._again = 0

    @property
    def events(self) -> Events:
        """What was released so far: like releases together, those on parts as one `Parallel` of unlike branches."""
        self._settle()
        branches = tuple({_expand(counts): None for part, counts in sorted(self._counts.items()) if part != _WHOLE})
        parallel = (Parallel(branches),) if branches else ()
        return merge((*self._before, *_expand(self._counts.get(_WHOLE, {})), *parallel))

    def to_json(self) -> dict[str, list[dict[str, Any]]]:
        """Return the JSON form: what was counted for each part, and what came before."""
        self._settle()
        parts = {f"part/{part}": to_json(_expand(counts)) for part, counts in self._counts.items()}
        return {"before": to_json(self._before), **parts}

    @classmethod
    def from_json(cls, plain: Mapping[str, list[dict[str, Any]]]) -> Self:
        """Return the counter that `to_json` described."""
        counter = cls(from_json(plain["before"]))
        for name, items in plain.items():
            if name.startswith("part/"):
                counter._counts[name.removeprefix("part/")] = _collect(from_json(items))
        return counter


def _expand(counts: Mapping[Event, int]) -> Events:
    return tuple(
        one
        for event, count in counts.items()
        for one in ((replace(event, count=count),) if isinstance(event, Counted) else (event,) * count)
    )


def _collect(events: Events) -> dict[Event, int]:
    counts: dict[Event, int] = {}
    for event in events:
        once, count = (replace(event, count=1), event.count) if isinstance(event, Counted) else (event, 1)
        counts[once] = counts.get(once, 0) + count
    return counts
