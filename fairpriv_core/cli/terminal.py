"""Catalogues, budgets, labels, audits, ledgers and choices as short aligned text for a terminal."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import TYPE_CHECKING

from fairpriv_core.facts.terminal import Lines, align, format_cell, tabulate
from fairpriv_core.ledger.report import LedgerReport, ProtectedReport
from fairpriv_core.plain import Json
from fairpriv_core.privacy.explain import sentence
from fairpriv_core.records.audit import NOTHING_TO_GUESS, Attribute, Audit, CodeAudit, Membership
from fairpriv_core.runs.account import Account
from fairpriv_core.store.ledger import Choice
from fairpriv_core.text import at_least_text, count_text, epsilon_text, show_unseen

if TYPE_CHECKING:
    # it loads the database's library, which catalogues do not need
    from fairpriv_core.store.labels import RunLabel

_NOT_PRIVATE = "not private: it promises nothing that an attack could be held against"
_LOWER_BOUND = "attacks find a lower bound; 0 says that they found nothing, not that there is nothing"
_BY = {
    "released": "numbers that had been released: the choice costs nothing more",
    "noisy": "gaps with noise, counted in the ledger",
    "raw": "raw numbers on protected data",
}
_GIVEN = "The sums assume what each run's epsilon assumes, such as which rows were left out."
_LEDGER_COLUMNS = ("key", "status", "what", "protects", "of", "epsilon alone")


def format_catalogue(items: Sequence[Json]) -> str:
    """Return one line an entry, under headings where entries have a group: its name and what it is."""
    width = max(len(item["name"]) for item in items) + 2
    parts = []
    for group, own in groupby(items, key=lambda item: str(item.get("group", ""))):
        lines = [(item["name"], item.get("sentence") or item.get("summary") or item["title"]) for item in own]
        parts.append(f"{group}\n" * bool(group) + align(lines, width))
    return "\n\n".join(parts)


def format_settings(method: Json) -> str:
    """Return a method's sentence, and a line for each of its hyper-parameters: what it is, default and range."""
    lines = [("--epsilon", "The privacy budget, > 0.")] if method["threat_model"] else []
    for item in method["parameters"]:
        default = "automatic" if item["default"] is None else item["default"]
        ends = "" if item["low"] is None or item["high"] is None else f", {item['low']:g} to {item['high']:g}"
        paper = f", paper {item['paper']}" if item["paper"] else ""
        lines.append((item["name"], f"{item['title']}: {item['help']} (default {default}{ends}{paper})"))
    return f"{method['title']}: {method['summary']}\n{align(lines)}"


def format_account(account: Account) -> str:
    """Return what a budget costs."""
    lines = [("method", account.method), *account.stated.rows]
    lines += [(name, f"{value:.4f}") for name, value in account.noise_multipliers.items() if value is not None]
    for event in account.event:
        numbers = [f"{name} {format_cell(value)}" for name, value in event.items() if name not in ("kind", "branches")]
        lines.append(("releases", f"{event['kind']}: {', '.join(numbers)}"))
    lines += [("warning", warning) for warning in account.warnings]
    return align([*lines, *(("assumes", assumption) for assumption in account.assumptions)])


def format_label(key: str, label: RunLabel) -> str:
    """Return what a person calls a run."""
    flags = ", ".join(name for name in ("pinned", "archived") if getattr(label, name))
    texts = {"name": label.name, "tags": ", ".join(label.tags), "note": label.note}
    lines = [(name, show_unseen(text)) for name, text in texts.items() if text]
    return align([("run", f"{key}, {flags}" if flags else key), *lines])


def format_audit(audit: Audit) -> str:
    """Return what an audit found: the code beside its epsilon, then the model, marked as raw."""
    code, model = audit["code"], audit["model"]
    lines = [("audit of run", f"{audit['key']}, {audit['made']}")]
    lines += [("method", _NOT_PRIVATE)] if code is None else _list_code(code)
    if model is not None:
        lines += [("membership", _show_membership(model["membership"]))]
        lines += [("attribute", _show_attribute(model["attribute"])), ("", model["note"])]
    return align(lines)


def _list_code(code: CodeAudit) -> Lines:
    """Return the lines on a method's code: what was audited, reach, noise, lower bounds."""
    method, attack = code["method"], code["distinguishing"]
    epochs = f", {count_text(method['epochs'], 'epoch')}" if "epochs" in method else ""
    lines = [("audited", f"{method['name']} with its noise on {code['rows']} made-up rows{epochs}")]
    for reach in code["reach"]:
        verdict = "within" if reach["largest"] <= 1.0 + 1e-9 else "OUTSIDE"
        text = f"{reach['largest']:.4f} of its bound at most: {verdict}; {reach['measured']:,} measured"
        lines.append((f"  adds to {reach['release']}", text))
    noise = code["noise"]
    if noise is not None:
        text = f"{noise['deviation']:.4f} of what is counted [{noise['low']:.4f}, {noise['high']:.4f}]"
        lines.append(("  noise", text))
    at_delta = attack["profile"][0]  # the run's own delta is the smallest
    sure = f"{100 * attack['confidence']:g} % sure, corrected for {attack['among']} tests"
    bound = at_least_text(at_delta["lower_bound"])
    lines.append(("lower bound", f"{bound} ({sure}, {attack['runs']:,} runs on each data set)"))
    lines.append(("  from one run", at_least_text(code["one_run"]["lower_bound"])))
    if "noise" in attack:
        fit = "any noise" if attack["noise"] is None else f"at most {attack['noise']:.2f} times the counted noise"
        bound = at_least_text(at_delta["lower_bound_curve"])
        lines.append(("  whole curve", f"{bound}, if only the noise can be wrong: {fit} fits the tests"))
    for title, claim, refuted in (
        ("proved", at_delta["epsilon"], attack["refuted"]),
        ("published", at_delta["epsilon_published"], attack["refuted_published"]),
    ):
        if claim is not None:
            verdict = "REFUTED by this audit" if refuted else "not refuted"
            lines.append((f"  {title} epsilon", f"{epsilon_text(claim)} of the same releases: {verdict}"))
    return [*lines, ("", _LOWER_BOUND)]


def _show_membership(attack: Membership) -> str:
    attackers = [f"{item['attacker']} {item['auc']:.3f} / {item['advantage']:.3f}" for item in attack["attackers"]]
    limit = "" if attack["limit"] is None else f"; epsilon allows {attack['limit']:.3f}"
    return f"AUC / advantage: {', '.join(attackers)} (chance: 0.5 / up to {attack['chance']:.3f}{limit})"


def _show_attribute(attack: Attribute | None) -> str:
    if attack is None:
        return NOTHING_TO_GUESS
    attackers = [f"{item['attacker']} {item['accuracy']:.3f} ({item['baseline']:.3f})" for item in attack["attackers"]]
    return f"{attack['sensitive']} named rightly: {', '.join(attackers)}; in brackets from x and y alone"


def format_ledgers(ledgers: Sequence[LedgerReport]) -> str:
    """Return each data set's ledger: what it has spent, for whom, and the runs that count."""
    if not ledgers:
        return "nothing has been launched in this store yet"
    return "\n\n".join([*map(_format_ledger, ledgers), _GIVEN])


def _format_ledger(ledger: LedgerReport) -> str:
    lines = [("data", f"{ledger['data']} ({ledger['id']})")]
    lines += [(item["column"] or "whole records", _show_spent(item, ledger["delta"])) for item in ledger["protected"]]
    table = [
        (
            line["key"],
            line["status"],
            line["what"],
            line["threat_model"] or "nothing",
            "+".join(line["sensitive"]),
            "-" if line["epsilon"] is None else epsilon_text(line["epsilon"]),
        )
        for line in ledger["lines"]
    ]
    return f"{align(lines)}\n\n{tabulate([_LEDGER_COLUMNS, *table])}" if table else align(lines)


def _show_spent(item: ProtectedReport, delta: float) -> str:
    """Return what one protected thing has cost, in one line."""
    if item["reason"] is not None:
        cost = f"no bound. {item['reason'][0].upper()}{item['reason'][1:]}"
    else:
        runs = count_text(len(item["runs"]), "run")
        cost = f"epsilon {epsilon_text(item['epsilon'])} at delta {delta:g}, of {runs}"
        if item["epsilon_planned"] != item["epsilon"]:
            cost += f"; {epsilon_text(item['epsilon_planned'])} with what waits and runs"
    cap = item["cap"]
    if cap is None:
        return cost
    return f"{cost}; cap {cap['epsilon']:g} at delta {cap['delta']:g}, {at_least_text(cap['remaining'])} of it remains"


def format_selection(selection: Choice) -> str:
    """Return which run was chosen, by what, and what epsilon the choice leaves."""
    request, delta, epsilon = selection["request"], selection["delta"], selection["epsilon"]
    number = (request["metric"] or "").replace("_", " ")
    best = "highest" if request["metric"] == "accuracy" else "smallest"
    winner = f"{selection['selected']}, the {best} {number} of {len(selection['candidates'])} runs"
    lines = [("selected", winner), ("by", _BY[request["by"]])]
    threat_model = selection["threat_model"]
    if epsilon is None or threat_model is None:
        return align([*lines, ("epsilon", f"none. {selection['epsilon_reason']}")])
    proved = f"{epsilon_text(epsilon)} at delta {delta:g}, proved: all candidates and the choice"
    protects = sentence(epsilon, delta, threat_model)
    return align([*lines, ("epsilon", proved), ("protects", protects)])
