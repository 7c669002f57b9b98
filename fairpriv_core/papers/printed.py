"""The numbers that a paper prints beside ours, and whether each is the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from fairpriv_core.papers.differences import compare, used_by
from fairpriv_core.papers.preset import Compare, Preset, Printed
from fairpriv_core.papers.status import Status, count_seeds_needed, find_unlearned, format_seeds_needed, stand
from fairpriv_core.papers.values import Runs, amount, has_interval, measure, with_half
from fairpriv_core.stats import Mean

_ROUNDED = 0.005  # half a unit of the last of two decimals


@dataclass(frozen=True)
class Beside:
    """A printed number beside ours, as text, how the two stand (None: no runs), and the keys of the runs.

    `seeds_needed`: with how many seeds an open one would be settled; None where that cannot be told. `reading`: the way
    of reading the paper that ours is of; "" where there is one alone.
    """

    label: str
    reading: str
    printed: str
    ours: str
    status: Status | None
    verdict: str
    seeds: int
    seeds_needed: int | None
    unit: str
    source: str
    keys: tuple[str, ...]


def set_beside(preset: Preset, runs: Runs) -> list[Beside]:
    """Return each number that the paper prints beside ours."""
    return [_set_beside(number, runs) for number in preset.printed]


def part_readings(beside: Sequence[Beside]) -> dict[str, list[Beside]]:
    """Return all printed numbers by each reading of the paper; those that have one alone are in every list."""
    names = dict.fromkeys(row.reading for row in beside if row.reading) or {"": None}
    return {name: [row for row in beside if row.reading in ("", name)] for name in names}


def format_agreement(beside: Sequence[Beside]) -> str:
    """Return how many printed numbers ours agree with: "3 of 18", by two readings "20 or 61 of 122"."""
    parts = part_readings([row for row in beside if row.status]).values()
    agree = dict.fromkeys(str(sum(row.status == "agrees" for row in own)) for own in parts)
    return f"{' or '.join(agree)} of {max(map(len, parts))}" if any(parts) else "–"


def count_beside(beside: Sequence[Beside]) -> str:
    """Return the sentences on how many printed numbers ours agree with; "" without any."""
    if not any(row.status for row in beside):
        return ""
    counts = [
        f"{name[:1].upper()}{name[1:]}: " * bool(name) + _count(own) for name, own in part_readings(beside).items()
    ]
    return f"{' '.join(counts)} A number agrees where our whole 95 % interval lies within its tolerance."


def _count(beside: Sequence[Beside]) -> str:
    counts = Counter[str](row.status for row in beside if row.status)
    rest = (
        ("differs", "differs", "differ"),
        ("open", "is open", "are open"),
        ("not_tested", "is untested", "are untested"),
    )
    parts = [f"{counts[status]} {one if counts[status] == 1 else many}" for status, one, many in rest if counts[status]]
    lead = f"{counts['agrees']} of {counts.total()} printed numbers agree with ours"
    return f"{'; '.join([lead, *parts])}."


def _set_beside(one: Printed, runs: Runs) -> Beside:
    if isinstance(one.ours, Compare):
        ours, runs_of_number, value = compare(runs, runs, one.ours), used_by(runs, one.ours), one.ours.one.value
        unit = "" if one.ours.as_ratio else value.unit
    else:
        (ours, runs_of_number), value = measure(runs, one.ours), one.ours.value
        unit = value.unit
    away = one.allowed + _ROUNDED
    low, high = one.number - away, one.number + away
    status = None if ours.mean is None else stand(ours, low, high, bare=not has_interval(value))
    unlearned = find_unlearned(runs_of_number, value)
    if status and unlearned:
        status = "not_tested"
    needed = count_seeds_needed(ours, low, high) if status == "open" else None
    verdict = _format_one(one, ours, status, needed, unlearned)
    keys = tuple(run.key for run in runs_of_number)
    numbers = (amount(one.number), with_half(ours))
    return Beside(one.label, one.reading, *numbers, status, verdict, ours.n, needed, unit, one.source, keys)


def _format_one(one: Printed, ours: Mean, status: Status | None, needed: int | None, unlearned: str) -> str:
    """Return how a printed number and ours stand, in words."""
    if status is None or ours.mean is None:
        return "no runs"
    if status == "not_tested":
        return f"not tested: {unlearned}"
    if status == "open":
        return f"open: {format_seeds_needed(ours.n, needed)}"
    return (
        f"agrees within {amount(one.allowed)}" if status == "agrees" else f"differs by {amount(ours.mean - one.number)}"
    )
