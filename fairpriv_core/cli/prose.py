"""Audits and ledgers as short aligned text for a terminal."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from fairpriv_core.privacy.explain import sentence
from fairpriv_core.runs.prose import align, tabulate
from fairpriv_core.text import at_least_text, count_text, epsilon_text

_SHOWN = "attacks find a lower bound; 0 says that they found nothing, not that there is nothing"

NOT_PRIVATE = "not private: it promises nothing that an attack could be held against"
_BY = {
    "released": "numbers that had been released: the choice costs nothing more",
    "noisy": "gaps with noise, counted in the ledger",
    "raw": "raw numbers on protected data",
}
_GIVEN = "The sums assume what each run's epsilon assumes, such as which rows were left out."
_LINE_COLUMNS = ("key", "status", "what", "protects", "of", "epsilon alone")


def describe_audit(audit: Mapping[str, Any]) -> str:
    """Return what an audit found: the code beside its epsilon, then the model, marked as raw."""
    code, model = audit["code"], audit["model"]
    pairs = [("audit of run", f"{audit['key']}, {audit['made']}")]
    pairs += [("method", NOT_PRIVATE)] if code is None else describe_code(code)
    pairs += [("membership", _list_membership(model["membership"])), ("attribute", _list_attribute(model["attribute"]))]
    pairs.append(("", model["note"]))
    return align(pairs)


def describe_code(code: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Return the lines on a method's code: what was audited, reach, noise, lower bounds."""
    method, found = code["method"], code["distinguishing"]
    epochs = f", {count_text(method['epochs'], 'epoch')}" if "epochs" in method else ""
    pairs = [("audited", f"{method['name']} with its noise on {code['rows']} made-up rows{epochs}")]
    for one in code["reach"]:
        verdict = "within" if one["largest"] <= 1.0 + 1e-9 else "OUTSIDE"
        measured = f"{one['measured']:,} measured"
        pairs.append(
            (f"  adds to {one['release']}", f"{one['largest']:.4f} of its bound at most: {verdict}; {measured}")
        )
    noise = code["noise"]
    if noise is not None:
        pairs.append(
            ("  noise", f"{noise['deviation']:.4f} of what is counted [{noise['low']:.4f}, {noise['high']:.4f}]")
        )
    sure = f"{100 * found['confidence']:g} % sure, corrected for {found['among']} tests"
    pairs.append(
        (
            "lower bound",
            f"{at_least_text(_first(found)['lower_bound'])} ({sure}, {found['runs']:,} runs on each data set)",
        )
    )
    pairs.append(("  from one run", at_least_text(code["one_run"]["lower_bound"])))
    if "noise" in found:
        least = "any noise" if found["noise"] is None else f"at most {found['noise']:.2f} times the counted noise"
        bound = at_least_text(_first(found)["lower_bound_curve"])
        pairs.append(("  whole curve", f"{bound}, if only the noise can be wrong: {least} fits the tests"))
    pairs += _describe_claims(found)
    return [*pairs, ("", _SHOWN)]


def _describe_claims(found: Mapping[str, Any]) -> list[tuple[str, str]]:
    names = {"epsilon": ("proved", "refuted"), "epsilon_published": ("published", "refuted_published")}
    lines = []
    for name, (title, flag) in names.items():
        value = _first(found)[name]
        if value is not None:
            stands = "REFUTED by this audit" if found[flag] else "not refuted"
            lines.append((f"  {title} epsilon", f"{epsilon_text(value)} of the same releases: {stands}"))
    return lines


def _first(found: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return what holds at the run's own delta, the smallest."""
    first: Mapping[str, Any] = found["profile"][0]
    return first


def _list_membership(found: Mapping[str, Any]) -> str:
    each = ", ".join(f"{one['attacker']} {one['auc']:.3f} / {one['advantage']:.3f}" for one in found["attackers"])
    limit = "" if found["limit"] is None else f"; epsilon allows {found['limit']:.3f}"
    return f"AUC / advantage: {each} (chance: 0.5 / up to {found['chance']:.3f}{limit})"


def _list_attribute(found: Mapping[str, Any] | None) -> str:
    if found is None:
        return "the groups are the classes: whoever knows the label knows the group"
    each = ", ".join(f"{one['attacker']} {one['accuracy']:.3f} ({one['baseline']:.3f})" for one in found["attackers"])
    return f"{found['sensitive']} named rightly: {each}; in brackets from x and y alone"


def describe_ledgers(ledgers: Sequence[Mapping[str, Any]]) -> str:
    """Return each data set's ledger: what it has spent, for whom, and the runs that count."""
    if not ledgers:
        return "nothing has been launched in this store yet"
    return "\n\n".join([*(_describe(ledger) for ledger in ledgers), _GIVEN])


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
