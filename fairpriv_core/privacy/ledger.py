"""What several runs on one data set cost together, for each thing that is protected. docs/ledger.md has the arguments.

Two kinds of thing are protected: whole records (`column` None), and the values of one sensitive column. A run is an
`LedgerEntry`; `compose` puts entries together and says why no bound holds where none does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import lru_cache
from itertools import combinations_with_replacement
from typing import Any, Literal, TypeVar

from fairpriv_core.errors import BadInput, Unsupported
from fairpriv_core.privacy import event as events_of
from fairpriv_core.privacy.accountants import epsilon as proved_epsilon
from fairpriv_core.privacy.accountants import worst_cases
from fairpriv_core.privacy.event import (
    Approximate,
    Event,
    EventJson,
    Events,
    Gaussian,
    Laplace,
    Parallel,
    RandomizedResponse,
    SampledGaussian,
    merge,
    subtract,
)

Shared = TypeVar("Shared")
_ALMOST_ONE = 1.0 - 2.0**-53


@dataclass(frozen=True)
class LedgerEntry:
    """One run, or another paid release, as the ledger sees it.

    Attributes:
        key: its name.
        threat_model: what its events protect; None for a method that is not private.
        events: what it has released, or will.
        sensitive: the columns that its groups are made of.
        clear: the columns that an `attribute` or non-private run uses in clear (features and label); None: not known,
            so every column may be.
        split: which division into training and test rows it used; two entries with equal names used the same one.
        unbounded: why no finite epsilon holds for it, one sentence; None where its events tell all.
        reads_sensitive: False for a method that never looks at the sensitive columns.
        shared: by release id, those of its training events that other entries use as well.
        whole: by release id, what was released of all rows before they were split, beside `events`; other entries may
            use it as well.
        stream: the secret samples' stream id, where other entries use the same samples.
    """

    key: str
    threat_model: Literal["attribute", "record"] | None
    events: Events
    sensitive: tuple[str, ...]
    clear: tuple[str, ...] | None
    split: str
    unbounded: str | None = None
    reads_sensitive: bool = True
    shared: Mapping[str, Events] = field(default_factory=dict)
    stream: str | None = None
    whole: Mapping[str, Events] = field(default_factory=dict)

    @property
    def all_events(self) -> Events:
        """What was released of all rows, and beside it."""
        return (*(event for events in self.whole.values() for event in events), *self.events)

    def to_json(self) -> dict[str, Any]:
        """Return the JSON form."""
        plain = {**asdict(replace(self, events=(), shared={}, whole={})), "events": events_of.to_json(self.events)}
        clear = None if self.clear is None else list(self.clear)
        events = {name: _to_json(getattr(self, name)) for name in ("shared", "whole")}
        return {**plain, "sensitive": list(self.sensitive), "clear": clear, **events}

    @staticmethod
    def from_json(plain: Mapping[str, Any]) -> LedgerEntry:
        """Return the entry that `to_json` wrote."""
        values = {**plain, "events": share(events_of.from_json(plain["events"])), "split": share(plain["split"])}
        values["sensitive"] = share(tuple(plain["sensitive"]))
        values["clear"] = None if plain["clear"] is None else share(tuple(plain["clear"]))
        values |= {name: _from_json(plain.get(name, {})) for name in ("shared", "whole")}  # earlier ones have no whole
        return LedgerEntry(**values)


@lru_cache(maxsize=4096)
def share(value: Shared) -> Shared:
    """Return the first value that is equal: thousands of entries have few, and hold one in place of thousands."""
    return value


def _to_json(events_by_name: Mapping[str, Events]) -> dict[str, list[EventJson]]:
    return {name: events_of.to_json(events) for name, events in events_by_name.items()}


def _from_json(events_by_name: Mapping[str, list[EventJson]]) -> dict[str, Events]:
    return {name: events_of.from_json(events) for name, events in events_by_name.items()}


@dataclass(frozen=True)
class Total:
    """What entries release together; `unbounded` says why no bound holds, one sentence an entry that has none."""

    events: Events
    unbounded: tuple[str, ...] = ()

    def epsilon(self, delta: float, account: Callable[[Events, float], float] = proved_epsilon) -> float:
        """Return an epsilon that holds at `delta`; infinite where there is none."""
        return math.inf if self.unbounded else account(composable(self.events), delta)


def compose(entries: Iterable[LedgerEntry], column: str | None) -> Total:
    """Return what `entries` cost together for whole records (None) or for the values of one column.

    Entries on the same split cost the larger of training and evaluation, on different splits both; what was released of
    all rows counts beside. Releases with one id count once; samples with one stream id count as one Gaussian a step.
    """
    reasons: list[str] = []
    paying: dict[str, list[LedgerEntry]] = {}  # by split
    whole: dict[tuple[str, Events], None] = {}
    for entry in [entry for entry in entries if costs(entry, column)]:
        reason = _refuse(entry, column)
        if reason is not None:
            reasons.append(f"run {entry.key}: {reason}")
            continue
        payment = _for_column(entry, column)
        paying.setdefault(entry.split, []).append(payment)
        whole |= dict.fromkeys(payment.whole.items())
    total: list[Event] = [event for _, events in whole for event in events]
    for payments in paying.values():
        training = _compose_training(payments)
        evaluation = merge(tuple(event for entry in payments for event in _divide(entry.events)[1]))
        total += [Parallel((training, evaluation), fixed=True)] if evaluation else training
    return Total(merge(tuple(total)), tuple(reasons))


def composable(events: Events, check: Callable[[Events], object] = worst_cases) -> Events:
    """Return events that pass `check` of accountants: as they are, or where they do not, every branch in sequence."""
    try:
        check(events)
    except Unsupported:
        events = _in_sequence(events)
        check(events)
    return events


@lru_cache(maxsize=4096)
def as_replacement(events: Events) -> Events:
    """Return what bounds releases that protect a record's removal when, instead, a value in the record is replaced.

    Contributions within radius C of an absent record are then a pair within +-C, and a sampled Gaussian's multiplier
    is over that C under either relation; the sensitivity at most doubles, and so does a pure epsilon. Where parts
    depend on what is replaced, a record may leave one part and enter another: any two branches count in sequence.
    """
    return merge(tuple(_replaced(event) for event in events))


def _replaced(event: Event) -> Event:
    match event:
        case SampledGaussian():
            return replace(event, relation="replace")
        case Gaussian(noise):
            return replace(event, noise_multiplier=noise / 2)
        case Laplace(scale):
            return replace(event, scale=scale / 2)
        case RandomizedResponse(pure):
            return RandomizedResponse(2 * pure)
        case Approximate(delta):  # as the old value leaves, and as the new one comes
            return Approximate(min(2 * delta, _ALMOST_ONE))
        case Parallel(branches, fixed):
            parts = [as_replacement(branch) for branch in branches]
            if not fixed:  # like branches may be listed once, so a branch pairs with itself too
                parts = [merge(one + other) for one, other in combinations_with_replacement(parts, 2)]
            return Parallel(tuple(dict.fromkeys(parts)), fixed=True)


def _refuse(entry: LedgerEntry, column: str | None) -> str | None:
    """Return why `entry`, which costs something for `column`, bounds nothing for it; None where its events do."""
    if column is None:
        if entry.threat_model is None:
            return "it is not private: its model depends on every record without noise."
        if entry.threat_model == "attribute":
            return "it protects the sensitive attribute alone and uses all features and labels in clear."
        return entry.unbounded
    if entry.threat_model != "record" and not _hides(entry, column):
        return f"it uses '{column}' in clear, among what it predicts from or as its label."
    return entry.unbounded if entry.threat_model is not None else f"it is not private and it uses '{column}'."


def costs(entry: LedgerEntry, column: str | None) -> bool:
    """Return whether `entry` depends on what is protected: whole records (None) or the values of one column."""
    if column is None or entry.threat_model == "record":
        return True
    if _hides(entry, column):
        return entry.threat_model is not None or entry.reads_sensitive
    return entry.clear is None or column in entry.clear


def _hides(entry: LedgerEntry, column: str) -> bool:
    """Return whether an entry uses a column as its sensitive attribute alone."""
    return column in entry.sensitive and column not in (entry.clear or ())


def _for_column(entry: LedgerEntry, column: str | None) -> LedgerEntry:
    if column is None or entry.threat_model != "record":
        return entry
    shared, whole = (
        {name: as_replacement(events) for name, events in parts.items()} for parts in (entry.shared, entry.whole)
    )
    return replace(entry, events=as_replacement(entry.events), shared=shared, whole=whole)


def _divide(events: Events) -> tuple[Events, Events]:
    """Return what was released of training rows and of test rows."""
    if len(events) == 1 and isinstance(events[0], Parallel) and events[0].fixed and len(events[0].branches) == 2:
        return events[0].branches[0], events[0].branches[1]
    return events, ()


def _compose_training(entries: Sequence[LedgerEntry]) -> Events:
    """Return the training releases of entries on one split, shared ones once."""
    own: list[Event] = []
    once: dict[tuple[str, Events], Events] = {}
    streams: dict[str, list[list[SampledGaussian]]] = {}
    for entry in entries:
        left, shared = _take_shared(entry)
        once |= {(name, events): events for name, events in shared.items()}
        if entry.stream is None:
            own += left
            continue
        sampled = [event for event in left if isinstance(event, SampledGaussian)]
        own += [event for event in left if not isinstance(event, SampledGaussian)]
        streams.setdefault(entry.stream, []).append(sampled)
    own += [event for events in once.values() for event in events]
    own += [event for several in streams.values() for event in share_sample(several)]
    return merge(tuple(own))


def _take_shared(entry: LedgerEntry) -> tuple[Events, Mapping[str, Events]]:
    """Return an entry's own training events and its shared ones; where they contradict each other all are its own."""
    training = _divide(entry.events)[0]
    if not entry.shared:
        return training, {}
    try:
        return subtract(training, tuple(event for events in entry.shared.values() for event in events)), entry.shared
    except BadInput:
        return training, {}


def share_sample(samples: Sequence[Sequence[SampledGaussian]]) -> Events:
    """Return the joint releases of models whose steps use one secret sample, with independent noise each.

    The sums of a step are one Gaussian with multiplier (sum over models of sigma**-2)**(-1/2). `samples` holds each
    model's sampled Gaussians; a model is taken at its least noise and highest rate for all its steps, which is never
    too little.
    """
    models = [_at_worst(sampled) for sampled in samples if sampled]
    joint: list[Event] = []
    done = 0
    for length in sorted({model.count for model in models}):
        going = [model for model in models if model.count >= length]
        noises = [model.noise_multiplier for model in going]
        noise = 0.0 if 0.0 in noises else sum(level**-2 for level in noises) ** -0.5
        rate = max(model.sampling_rate for model in going)
        joint.append(SampledGaussian(noise, rate, length - done, going[0].relation))
        done = length
    return merge(tuple(joint))


def _at_worst(sampled: Sequence[SampledGaussian]) -> SampledGaussian:
    """Return one model's releases as if all of its steps had its least noise and its highest rate."""
    return SampledGaussian(
        min(event.noise_multiplier for event in sampled),
        max(event.sampling_rate for event in sampled),
        sum(event.count for event in sampled),
        sampled[0].relation,
    )


def _in_sequence(events: Events) -> Events:
    """Return every branch in sequence: right for any parts, and never too little."""
    flat: list[Event] = []
    for event in events:
        branches = event.branches if isinstance(event, Parallel) else ()
        flat += [leaf for branch in branches for leaf in _in_sequence(branch)] if branches else [event]
    return merge(tuple(flat))
