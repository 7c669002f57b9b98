"""The numbers that a paper prints beside ours, and whether each is the same."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from fairpriv_core.papers.differences import compare, used_by
from fairpriv_core.papers.preset import Check, Compare, Preset, Printed
from fairpriv_core.papers.values import Runs, amount, measure, with_half
from fairpriv_core.stats import Mean

_ROUNDED = 0.005  # half a unit of the last of two decimals


@dataclass(frozen=True)
class Beside:
    """A printed number beside ours, as text, whether they agree (None: no runs), and the keys of the runs."""

    label: str
    printed: str
    ours: str
    agrees: bool | None
    verdict: str
    unit: str
    source: str
    keys: tuple[str, ...]


def set_beside(preset: Preset, runs: Runs) -> list[Beside]:
    """Return each number that the paper prints beside ours."""
    return [_set_beside(one, runs) for one in preset.printed]


def count_beside(beside: Sequence[Beside]) -> str:
    """Return the sentence on how many printed numbers ours agree with; "" without any."""
    known = [one for one in beside if one.agrees is not None]
    if not known:
        return ""
    same = sum(bool(one.agrees) for one in known)
    unlike = len(known) - same
    return (
        f"{same} of {len(known)} printed numbers agree with ours, within our 95 % interval over seeds or within the "
        f"tolerance that the line names; {unlike} differ{'s' if unlike == 1 else ''}."
    )


def note_unlike(printed: Sequence[Printed], check: Check, runs: Runs) -> str:
    """Return the sentence on a comparison's sides whose printed numbers ours do not reproduce; "" for none."""
    if not isinstance(check, Compare):
        return ""
    of_sides = [one for one in printed if _side(one) in (check.one, check.other)]
    unlike = [one for one in (_set_beside(each, runs) for each in of_sides) if one.agrees is False]
    text = "; ".join(f"{one.label}: printed {one.printed}, ours {one.ours}" for one in unlike)
    return f"Ours does not reproduce what the paper prints of its sides: {text}." if text else ""


def _side(one: Printed) -> object:
    return one.ours.one if isinstance(one.ours, Compare) else one.ours


def _set_beside(one: Printed, runs: Runs) -> Beside:
    if isinstance(one.ours, Compare):
        found, used = compare(runs, runs, one.ours), used_by(runs, one.ours)
        unit = "" if one.ours.as_ratio else one.ours.one.value.unit
    else:
        found, used = measure(runs, one.ours)
        unit = one.ours.value.unit
    agrees, verdict = _hold_against(one, found)
    keys = tuple(str(run["key"]) for run in used)
    return Beside(one.label, amount(one.number), with_half(found), agrees, verdict, unit, one.source, keys)


def _hold_against(one: Printed, found: Mean) -> tuple[bool | None, str]:
    """Return whether ours is the printed number, which is rounded to two decimals, and the words for it."""
    if found.mean is None:
        return None, "no runs"
    low, high = found.low, found.high
    if low is not None and high is not None and low - _ROUNDED <= one.number <= high + _ROUNDED:
        return True, "agrees: within our interval"
    away = found.mean - one.number
    if abs(away) <= one.tolerance + _ROUNDED:
        return True, f"agrees within {amount(one.tolerance)}"
    return False, f"differs by {amount(away)}"
