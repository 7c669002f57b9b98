"""A ledger as text for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairpriv_core.privacy.explain import sentence
from fairpriv_core.runs.prose import align, tabulate
from fairpriv_core.text import at_least_text, epsilon_text

_BY = {
    "released": "numbers that had been released: the choice costs nothing more",
    "noisy": "gaps with noise, paid for in the ledger",
    "raw": "raw numbers on protected data",
}
_LINE_COLUMNS = ("key", "status", "what", "protects", "of", "epsilon alone")


def describe_ledgers(ledgers: Sequence[Mapping[str, Any]]) -> str:
    """Return each data set's ledger: what it has spent, for whom, and the runs that count."""
    if not ledgers:
        return "nothing has been launched in this store yet"
    return "\n\n".join(_describe(ledger) for ledger in ledgers)


def describe_protected(item: Mapping[str, Any], delta: float) -> str:
    """Return what one protected thing has cost, in one line."""
    if item["reason"] is not None:
        spent = f"no bound. {item['reason'][0].upper()}{item['reason'][1:]}"
    else:
        spent = f"epsilon {epsilon_text(item['epsilon'])} at delta {delta:g}, of {_count(item['runs'])}"
        if item["epsilon_planned"] != item["epsilon"]:
            spent += f"; {epsilon_text(item['epsilon_planned'])} with what waits and runs"
    cap = item["cap"]
    if cap is None:
        return spent
    return f"{spent}; cap {cap['epsilon']:g} at delta {cap['delta']:g}, {at_least_text(cap['remaining'])} of it remains"


def describe_selection(found: Mapping[str, Any]) -> str:
    """Return which run was chosen, by what, and what epsilon the choice leaves."""
    request, delta = found["request"], found["delta"]
    number = request["metric"].replace("_", " ")
    best = "highest" if request["metric"] == "accuracy" else "smallest"
    pairs = [
        ("selected", f"{found['selected']}, the {best} {number} of {len(found['candidates'])} runs"),
        ("by", _BY[request["by"]]),
    ]
    if found["epsilon"] is None:
        pairs.append(("epsilon", f"none. {found['epsilon_reason']}"))
    else:
        pairs.append(
            ("epsilon", f"{epsilon_text(found['epsilon'])} at delta {delta:g}, proved: all candidates and the choice")
        )
        pairs.append(("protects", sentence(found["epsilon"], delta, found["threat_model"])))
    return align(pairs)


def _describe(ledger: Mapping[str, Any]) -> str:
    delta = ledger["delta"]
    pairs = [("data", f"{ledger['data']} ({ledger['id']})")]
    pairs += [(item["column"] or "whole records", describe_protected(item, delta)) for item in ledger["protected"]]
    lines = [_LINE_COLUMNS, *(_list(line) for line in ledger["lines"])]
    return f"{align(pairs)}\n\n{tabulate(lines)}" if ledger["lines"] else align(pairs)


def _list(line: Mapping[str, Any]) -> tuple[str, ...]:
    protects = line["threat_model"] or "nothing"
    epsilon = "-" if line["epsilon"] is None else epsilon_text(line["epsilon"])
    return (line["key"], line["status"], line["what"], protects, "+".join(line["sensitive"]), epsilon)


def _count(runs: Sequence[str]) -> str:
    return "1 run" if len(runs) == 1 else f"{len(runs)} runs"
