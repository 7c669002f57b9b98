"""What was released about private rows, as values. Accountants read events; events compute nothing.

A run's event is a tuple of these, composed in sequence. `noise_multiplier` is the noise's standard deviation over

* the clip, for `SampledGaussian` under "add_remove";
* *half* the sensitivity, for `SampledGaussian` under "replace" (the pair is +1 against -1);
* the whole sensitivity, for `Gaussian`.

`Laplace.scale` is over the whole sensitivity. `Approximate` is the chance that a release beside it tells all, which
its noise does not cover: delta, and no epsilon. `Parallel` holds one branch for each disjoint part of the data; the
worst branch counts. Numbers are finite and >= 0, rates in (0, 1], counts whole: BadInput otherwise. A noise of 0 is an
event like any other, and no accountant gives it a finite epsilon.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal, NotRequired, TypedDict, cast

from fairpriv_core import checks
from fairpriv_core.errors import BadInput

Relation = Literal["add_remove", "replace"]


class EventJson(TypedDict):
    """An event as records hold it: its `kind`, and the fields that one of that kind has."""

    kind: str
    noise_multiplier: NotRequired[float]
    sampling_rate: NotRequired[float]
    scale: NotRequired[float]
    epsilon: NotRequired[float]
    delta: NotRequired[float]
    count: NotRequired[int]
    relation: NotRequired[Relation]
    fixed: NotRequired[bool]
    branches: NotRequired[list[list[EventJson]]]


@dataclass(frozen=True)
class SampledGaussian:
    """Gaussian noise on a sum over a secret Poisson sample (Mironov, Talwar and Zhang, 2019)."""

    noise_multiplier: float
    sampling_rate: float
    count: int = 1
    relation: Relation = "add_remove"

    def __post_init__(self) -> None:
        checks.not_negative(noise_multiplier=self.noise_multiplier)
        checks.rate(sampling_rate=self.sampling_rate)
        checks.whole(count=self.count)
        checks.one_of(("add_remove", "replace"), relation=self.relation)


@dataclass(frozen=True)
class Gaussian:
    """Gaussian noise on a function of all rows; the multiplier is over the whole sensitivity."""

    noise_multiplier: float
    count: int = 1

    def __post_init__(self) -> None:
        checks.not_negative(noise_multiplier=self.noise_multiplier)
        checks.whole(count=self.count)


@dataclass(frozen=True)
class Laplace:
    """Laplace noise; `scale` is over the whole L1 sensitivity."""

    scale: float
    count: int = 1

    def __post_init__(self) -> None:
        checks.not_negative(scale=self.scale)
        checks.whole(count=self.count)


@dataclass(frozen=True)
class RandomizedResponse:
    """k-ary randomised response on a value of each row: pure epsilon."""

    epsilon: float

    def __post_init__(self) -> None:
        checks.not_negative(epsilon=self.epsilon)


@dataclass(frozen=True)
class Approximate:
    """What may leave without noise with a chance of `delta`, such as a value that one row alone has."""

    delta: float

    def __post_init__(self) -> None:
        checks.open_unit(delta=self.delta)


@dataclass(frozen=True)
class Parallel:
    """Releases on disjoint parts of the data; a person is in one part. Like branches may be listed once.

    `fixed` says that nothing protected decides who is in which part (a public split): then a replaced record stays
    in its part, and parallel composition holds under replacement too.
    """

    branches: tuple[tuple[Event, ...], ...]
    fixed: bool = False


Counted = SampledGaussian | Gaussian | Laplace
Event = Counted | RandomizedResponse | Approximate | Parallel
Events = tuple[Event, ...]

_KINDS: dict[str, type] = {
    "sampled_gaussian": SampledGaussian,
    "gaussian": Gaussian,
    "laplace": Laplace,
    "randomized_response": RandomizedResponse,
    "approximate": Approximate,
}
_NAMES = {kind: name for name, kind in _KINDS.items()}


def merge(events: Events) -> Events:
    """Return the same composition with like events counted together and zero counts dropped, in order of first use."""
    return _expand(_tally(events))


def subtract(events: Events, part: Events) -> Events:
    """Return what is left of `events` without `part`, merged; BadInput where `part` holds what `events` does not."""
    left = _tally(events)
    for once, count in _tally(part).items():
        left[once] = left.get(once, 0) - count
        if left[once] < 0:
            raise BadInput(f"{count} times {_build(once, 1)} is more than what was released.")
    return _expand(left)


def covers(events: Events, part: Events) -> bool:
    """Return whether `events` hold all releases of `part`, so that no accountant gives them a smaller epsilon.

    Each parallel release of `part` has to lie in one of `events`, and each of its branches in a branch of that.
    """
    counts, needed = (
        _tally(tuple(event for event in all_ if not isinstance(event, Parallel))) for all_ in (events, part)
    )
    outer, inner = ([event for event in all_ if isinstance(event, Parallel)] for all_ in (events, part))
    return all(counts.get(once, 0) >= count for once, count in needed.items()) and _fits(inner, outer)


def _fits(inner: Sequence[Parallel], outer: Sequence[Parallel]) -> bool:
    """Return whether each of `inner` lies in one of `outer`, no two in the same."""
    return not inner or any(
        _holds(candidate, inner[0]) and _fits(inner[1:], [*outer[:place], *outer[place + 1 :]])
        for place, candidate in enumerate(outer)
    )


def _holds(outer: Parallel, inner: Parallel) -> bool:
    covered = (any(covers(mine, branch) for mine in outer.branches) for branch in inner.branches)
    return outer.fixed == inner.fixed and all(covered)


def to_json(events: Events) -> list[EventJson]:
    """Return the JSON form of a run's event, as records hold it: a list, composed in sequence."""
    return [
        {"kind": "parallel", "fixed": event.fixed, "branches": [to_json(branch) for branch in event.branches]}
        if isinstance(event, Parallel)
        else cast(EventJson, {"kind": _NAMES[type(event)], **asdict(event)})
        for event in events
    ]


def from_json(items: Sequence[EventJson]) -> Events:
    """Return the events that `to_json` wrote; KeyError for a kind that is not known."""
    events: list[Event] = []
    for item in items:
        if item["kind"] == "parallel":
            branches = tuple(from_json(branch) for branch in item["branches"])
            events.append(Parallel(branches, fixed=item.get("fixed", False)))
        else:
            fields = {name: value for name, value in item.items() if name != "kind"}
            events.append(_KINDS[item["kind"]](**fields))
    return tuple(events)


_Once = tuple[Any, ...]  # a release without its count, of which `_build` makes an event: an event is slower to make


def _tally(events: Events) -> dict[_Once, int]:
    """Return how often each release was made, in order of first use."""
    counts: dict[_Once, int] = {}
    for event in events:
        once, count = _take_count(event)
        if count:
            counts[once] = counts.get(once, 0) + count
    return counts


def _take_count(event: Event) -> tuple[_Once, int]:
    match event:
        case SampledGaussian():
            return (SampledGaussian, event.noise_multiplier, event.sampling_rate, event.relation), event.count
        case Gaussian():
            return (Gaussian, event.noise_multiplier), event.count
        case Laplace():
            return (Laplace, event.scale), event.count
        case _:
            return (None, event), 1


def _build(once: _Once, count: int) -> Event:
    kind, *values = once
    if kind is SampledGaussian:
        return SampledGaussian(values[0], values[1], count, values[2])
    if kind is Gaussian:
        return Gaussian(values[0], count)
    event: Event = Laplace(values[0], count) if kind is Laplace else values[0]
    return event


def _expand(counts: dict[_Once, int]) -> Events:
    merged: list[Event] = []
    for once, count in counts.items():
        if count:
            merged += [_build(once, count)] if once[0] is not None else [once[1]] * count
    return tuple(merged)
