"""Audits as figures, and the stored audits of the whole catalogue that `examples/make_audit_results.py` writes."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path

from fairpriv_core.figures.figure import Axis, FigureData, Panel, Reference, Series, Value, from_zero
from fairpriv_core.figures.origin import ALL_RAW, Origin
from fairpriv_core.records.audit import (
    Attribute,
    AuditResults,
    Bound,
    CatalogueAudit,
    CodeAudit,
    Demonstration,
    Distinguishing,
    Membership,
)
from fairpriv_core.text import at_least_text, delta_text, epsilon_text, number_text, percent_text, points_text

PATH = Path(__file__).with_name("audit_results.json")
FOUND = "Attacks show at least"
CURVE = "If only the noise can be wrong"
#: what the bound by the whole curve rests on
ASSUMED = (
    "The bound by the whole curve assumes noise of the counted kind, of unknown scale, with the sampling as stated; it "
    "would not catch other faults."
)
_TITLES = {"LR": "Logistic regression", "MLP": "Neural network", "RF": "Random forest", "KNN": "Nearest neighbours"}


def read_audit_results() -> AuditResults:
    """Return the stored audits."""
    results: AuditResults = json.loads(PATH.read_text(encoding="utf-8"))
    return results


def at_own_delta(attack: Distinguishing) -> Bound:
    """Return the bounds of a distinguishing attack at the run's own delta, the smallest."""
    return attack["profile"][0]


def curve_bound(attack: Distinguishing) -> float | None:
    """Return the bound by the whole curve at the run's own delta; None where nothing is proved, or of older audits."""
    return at_own_delta(attack).get("lower_bound_curve")


def best_lower_bound(code: CodeAudit) -> float:
    """Return the larger of the bounds that many runs and one run give, at the run's own delta."""
    return max(code["one_run"]["lower_bound"], at_own_delta(code["distinguishing"])["lower_bound"])


def bound_bars(code: CodeAudit) -> FigureData:
    """Return what attacks found beside what is proved and what the paper's accounting says, of the same releases."""
    attack, one_run = code["distinguishing"], code["one_run"]["lower_bound"]
    first = at_own_delta(attack)
    parts = [
        (f"{FOUND}: many runs", first["lower_bound"], "found"),
        (f"{FOUND}: one run", one_run, "found once"),
        (CURVE, curve_bound(attack), "found once"),
        ("Proved: at most", first["epsilon"], "budget"),
        ("The paper's formula", first["epsilon_published"], "published"),
    ]
    series = [Series(name, "bar", ("ε",), (value,), style=style) for name, value, style in parts if value is not None]
    words = ", ".join(f"{bar.name.lower()} {_show(bar)}" for bar in series)
    return FigureData(
        name="audit_bounds",
        title="What attacks found, and what is promised",
        x=Axis("ε of the audited releases", range=from_zero([bar.y[0] for bar in series])),
        panels=(Panel(Axis("")),),
        series=tuple(series),
        caption=f"δ = {delta_text(first['delta'])}. Lower bounds hold with {100 * attack['confidence']:g} % "
        f"confidence; {attack['runs']:,} runs on each of two data sets. The true ε lies at or above them."
        + ("" if curve_bound(attack) is None else f" {ASSUMED}"),
        alt=f"ε of the audited releases: {words}.",
        horizontal=True,
    )


def _show(bar: Series) -> str:
    """Return a bar's epsilon, rounded to the side on which the bound still holds."""
    value = float(bar.y[0] or 0.0)
    return epsilon_text(value) if bar.style in ("budget", "published") else at_least_text(value)


def catalogue_bars(audits: Sequence[CatalogueAudit]) -> FigureData:
    """Return the lower bound beside the proved epsilon of each audited method that has one."""
    proved = [audit for audit in audits if at_own_delta(audit["distinguishing"])["epsilon"] is not None]
    names = tuple(audit["title"] for audit in proved)
    bounds = tuple(best_lower_bound(audit) for audit in proved)
    curves: tuple[Value, ...] = tuple(curve_bound(audit["distinguishing"]) for audit in proved)
    limits: tuple[Value, ...] = tuple(at_own_delta(audit["distinguishing"])["epsilon"] for audit in proved)
    sentence = "; ".join(
        f"{n}: {at_least_text(f)} of {epsilon_text(e)}" for n, f, e in zip(names, bounds, limits, strict=True)
    )
    return FigureData(
        name="audit_catalogue",
        title="What attacks found, and what is proved",
        x=Axis("ε of the audited releases", range=from_zero(limits)),
        panels=(Panel(Axis("")),),
        series=(
            Series(FOUND, "bar", names, bounds, style="found"),
            Series(CURVE, "bar", names, curves, style="found once"),
            Series("Proved: at most", "bar", names, limits, style="budget"),
        ),
        caption="No attack exceeds what is proved. A short lower bar says that our attacks found little, not "
        f"that there is little to find. {ASSUMED}",
        alt=f"Lower bound from attacks and proved ε, by method. {sentence}.",
        horizontal=True,
    )


def demonstration_bars(demonstration: Demonstration) -> FigureData:
    """Return what attacks found on the stored pair of data sets, beside what each variant of PF-LD says."""
    names = ("As published", "Proved variant")
    first = [at_own_delta(demonstration["published"]), at_own_delta(demonstration["proved"])]
    bounds = tuple(bound["lower_bound"] for bound in first)
    epsilons = (first[0]["epsilon_published"], first[1]["epsilon"])
    sentence = "; ".join(
        f"{name}: {at_least_text(low)} found, {epsilon_text(claim)} stated"
        for name, low, claim in zip(names, bounds, epsilons, strict=True)
    )
    return FigureData(
        name="audit_demonstration",
        title="PF-LD: one person's group changed",
        x=Axis("ε", range=from_zero([*bounds, *epsilons])),
        panels=(Panel(Axis("")),),
        series=(
            Series(FOUND, "bar", names, bounds, style="found"),
            Series("Stated: at most", "bar", names, epsilons, style="budget"),
        ),
        caption=f"δ = {delta_text(first[0]['delta'])}; {demonstration['published']['runs']:,} runs on each of two data "
        "sets of made-up people. Every step uses all rows, so no amplification by sampling is in question.",
        alt=f"ε shown by attacks and ε stated, by variant of PF-LD. {sentence}.",
        horizontal=True,
    )


def membership_bars(audit: Membership, origin: Origin = ALL_RAW) -> FigureData:
    """Return the four attackers' advantage in telling training rows from others (FairDP-A, Figure 3)."""
    attackers = audit["attackers"]
    names = tuple(_TITLES[attacker["attacker"]] for attacker in attackers)
    values = tuple(100.0 * attacker["advantage"] for attacker in attackers)
    marks = [Reference(100.0 * audit["chance"], "by chance alone")]
    if audit["limit"] is not None and audit["limit"] < 1.0:
        marks.append(Reference(100.0 * audit["limit"], "ε allows"))
    words = ", ".join(
        f"{name} {points_text(attacker['advantage'])} (AUC {number_text(attacker['auc'])})"
        for name, attacker in zip(names, attackers, strict=True)
    )
    areas = ", ".join(number_text(attacker["auc"]) for attacker in attackers)
    return FigureData(
        name="audit_membership",
        title="Who was trained on? What attackers gain",
        x=Axis("Advantage", "percentage points", range=from_zero(values, max(mark.value for mark in marks))),
        panels=(Panel(Axis("")),),
        series=(Series("advantage", "bar", names, values, style="part"),),
        caption=f"Advantage: the attacker's hits minus false alarms, 0 for a coin. AUC (0.5 for a coin), in "
        f"this order: {areas}. Judged on {audit['judged']:,} training rows and as many others.",
        alt=f"Advantage of four membership attackers: {words}.",
        references=tuple(marks),
        horizontal=True,
        origin=origin,
    )


def attribute_bars(audit: Attribute, origin: Origin = ALL_RAW) -> FigureData:
    """Return how often each attacker names a training row's group, without and with the model's answer."""
    attackers = audit["attackers"]
    names = tuple(_TITLES[attacker["attacker"]] for attacker in attackers)
    alone, helped = ([attacker["baseline"] for attacker in attackers], [attacker["accuracy"] for attacker in attackers])
    parts = (("from the other columns", alone, "muted"), ("with the model's answer too", helped, "part"))
    series = tuple(
        Series(title, "bar", names, tuple(100.0 * share for share in shares), style=style)
        for title, shares, style in parts
    )
    words = ", ".join(
        f"{name} {percent_text(attacker['baseline'])} without and {percent_text(attacker['accuracy'])} with it"
        for name, attacker in zip(names, attackers, strict=True)
    )
    return FigureData(
        name="audit_attribute",
        title=f"Guessing {audit['sensitive']}: does the model's answer help?",
        x=Axis("Named rightly", "%", range=(0.0, 100.0)),
        panels=(Panel(Axis("")),),
        series=series,
        caption=f"Judged on {audit['judged']:,} training rows. What the other columns reveal is no leak of the model: "
        "the difference is.",
        alt=f"How often {audit['sensitive']} is named rightly, without and with the model's answer: {words}.",
        references=(Reference(100.0 * audit["majority"], "always the largest group"),),
        horizontal=True,
        origin=origin,
    )
