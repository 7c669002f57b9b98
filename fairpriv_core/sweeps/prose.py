"""A sweep as text for a terminal: what it costs, how far it is, what it found."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairpriv_core.records.record import RAW_OF_OWN
from fairpriv_core.runs.prose import align, tabulate
from fairpriv_core.sweeps.spec import show_value
from fairpriv_core.text import epsilon_text

_SKIPS = 3  # combinations that are named among those left out
_ANALYST = (
    "what stays with you costs nobody anything; once some of it is released the ledger counts every run, since each "
    "may have led to the choice"
)
_SHARED = "runs of one seed share their secret samples: for the analyst alone, since releasing several costs"

Json = Mapping[str, Any]


def describe_cost(cost: Json) -> str:
    """Return what a sweep will do and cost."""
    stored = f", {cost['ended']} have ended already" if cost["ended"] else ""
    begun = f", {cost['unfinished']} go on" if cost["unfinished"] else ""
    chunks = f"{cost['chunks']} {'chunk' if cost['chunks'] == 1 else 'chunks'}"
    pairs = [("runs", f"{cost['runs']} in {chunks}: {cost['new']} new{begun}{stored}")]
    same = cost["combinations"] - cost["runs"] - len(cost["skipped"])
    if same:
        pairs.append(("", f"{same} of {cost['combinations']} combinations ask for the same as others"))
    pairs += _describe_skipped(cost["skipped"])
    for item in cost["protected"]:
        pairs += _describe_protected(item, shared=cost["share_samples"])
    if any(item["protected"] for item in cost["protected"]):
        pairs.append(("", _ANALYST))
    return align([*pairs, ("time", _describe_time(cost))])


def describe_progress(counts: Mapping[str, int], runs: int, left: float | None) -> str:
    """Return how many runs have ended, and about how many seconds are left."""
    ended = {name: counts.get(name, 0) for name in ("finished", "failed", "cancelled") if counts.get(name)}
    said = ", ".join(f"{count} {name}" for name, count in ended.items()) or "none finished"
    return f"{said} of {runs} runs" + (f"; about {say_seconds(left)} left" if left is not None else "")


def describe_results(results: Sequence[Json], table: Sequence[Json], *, raw: bool) -> str:
    """Return the means over seeds, and the reasons of what did not finish; `raw`: some are of a person's own rows."""
    axes = list(dict.fromkeys(axis for line in table for axis in line["cell"]))
    head = (*(axis.removeprefix("method.") for axis in axes), "runs", "accuracy", "gap", "epsilon")
    text = tabulate([head, *[_list(line, axes) for line in table]])
    reasons: dict[str, int] = {}
    for line in results:
        if line["status"] not in ("finished", "left out"):
            name = f"{line['status']}: {line['reason']}"
            reasons[name] = reasons.get(name, 0) + 1
    said = [f"{count} {'run' if count == 1 else 'runs'} {reason}" for reason, count in reasons.items()]
    return "\n".join([text, *said, *([RAW_OF_OWN] if raw else [])])


def say_seconds(seconds: float) -> str:
    """Return a duration in words: "40 s", "12 min", "3.5 h"."""
    if seconds < 90:
        return f"{max(seconds, 1):.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"


def _list(line: Json, axes: Sequence[str]) -> tuple[str, ...]:
    finished = line["finished"]
    runs = str(finished) if finished == line["runs"] else f"{finished} of {line['runs']}"
    values = [show_value(line["cell"][axis]) if axis in line["cell"] else "-" for axis in axes]
    return (*values, runs, *(_number(line[name]) for name in ("accuracy", "gap", "epsilon")))


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.4f}"


def _describe_skipped(skipped: Sequence[Json]) -> list[tuple[str, str]]:
    if not skipped:
        return []
    named = [f"{_name(item['cell'])}: {item['reason']}" for item in skipped[:_SKIPS]]
    more = f" and {len(skipped) - _SKIPS} more" if len(skipped) > _SKIPS else ""
    return [("left out", f"{len(skipped)} combinations: {' '.join(named)}{more}")]


def _name(cell: Mapping[str, Any]) -> str:
    return ", ".join(f"{axis} = {show_value(value)}" for axis, value in cell.items())


def _describe_protected(item: Json, *, shared: bool) -> list[tuple[str, str]]:
    if not item["protected"]:
        return []
    what = f"of {'whole records' if item['column'] is None else item['column']} in {item['data']}"
    if item["epsilon"] is None:
        return [("epsilon", f"{what}: no bound if all results are released. {item['reason']}")]
    alone = f"; one run alone at most {epsilon_text(item['most_alone'])}" if item["most_alone"] is not None else ""
    said = f"{what}: {epsilon_text(item['epsilon'])} at delta {item['delta']:g} if all results are released{alone}"
    pairs = [("epsilon", said)]
    if shared and item["epsilon_own_samples"] != item["epsilon"]:
        joint, own = epsilon_text(item["epsilon"]), epsilon_text(item["epsilon_own_samples"])
        pairs.append(("", f"{_SHARED} {joint}, and {own} with samples of their own"))
    if item["epsilon_after"] != item["epsilon"]:
        after = "no bound" if item["epsilon_after"] is None else epsilon_text(item["epsilon_after"])
        pairs.append(("", f"with what the ledger of {item['data']} holds already: {after}"))
    return pairs


def _describe_time(cost: Json) -> str:
    if not cost["new"] and not cost["unfinished"]:
        return "nothing is left to run"
    workers = f"with {cost['workers']} {'process' if cost['workers'] == 1 else 'processes'}"
    untold = f", and {cost['untold']} runs whose time is not known beforehand" if cost["untold"] else ""
    return f"about {say_seconds(cost['seconds'])} {workers} and nothing else running{untold}"
