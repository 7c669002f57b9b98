"""Auditing a method's code with given noise: sensitivity, noise, and lower bounds on epsilon beside what is claimed.

The data are made up (audit/canary.py), so nobody's privacy is at stake and everything may be shown. Noise multipliers
are the method's own; the schedule is one that shows leaks best (few steps, 40 % of the rows in a sample, a step length
that keeps the canary's gradient at its bound). Epsilon is that of exactly the audited event.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from fairpriv_core.audit.attack import Pair, distinguish
from fairpriv_core.audit.canary import choose_pair, list_pairs, make_data, plant_canaries
from fairpriv_core.audit.lower_bound import Test, build_tests, lower_bound, noise_bound, with_noise
from fairpriv_core.audit.one_run import best_bound, guess_coins
from fairpriv_core.audit.sensitivity import measure_noise, measure_shapes, record_runs
from fairpriv_core.errors import RunFailed
from fairpriv_core.methods.base import FitsAlone, Method
from fairpriv_core.privacy.accountants import epsilon
from fairpriv_core.privacy.event import Events, Parallel, SampledGaussian, to_json
from fairpriv_core.runs.audit_schedule import make_trainer, proved, shorten
from fairpriv_core.runs.parameters import method_to_json

PROFILE = (1e-3, 1e-2, 1e-1)  # deltas, beside the run's own, at which the accountant is held against the attack
_MOST_ROWS = 6400
_ISOLATED = 6
_NOISE_RUNS = 40
_SLOW = 4  # a method without steps, or that trains one model at a time, gets this part of the runs

Report = Callable[[str], None]


@dataclass(frozen=True)
class AuditPlan:
    """How much is tried.

    Attributes:
        runs: trained on each of the two data sets; three quarters of them are counted.
        confidence: of all lower bounds of one kind together.
        among: how many audits share the error, where several are read together.
        rows, canaries: of the canary data; rows double where a method finds its groups too small.
        changes: changed records tried for each shape of data.
        together: models trained in one loop.
        seed: public; an audit with the same seed, code and libraries gives the same numbers.
    """

    runs: int = 1000
    confidence: float = 0.99
    among: int = 1
    rows: int = 400
    canaries: int = 60
    changes: int = 48
    together: int = 200
    seed: int = 0


def audit_method(method: Method, *, notion: str, delta: float, plan: AuditPlan, report: Report) -> dict[str, Any]:
    """Return the audit of a private `method` (its noise set) as JSON; RunFailed where the data cannot train it."""
    rows = plan.rows
    while True:
        try:
            return _audit(method, notion, delta, replace(plan, rows=rows), report)
        except RunFailed:
            if rows >= _MOST_ROWS:
                raise
            rows *= 2


def _audit(method: Method, notion: str, delta: float, plan: AuditPlan, report: Report) -> dict[str, Any]:
    brief = shorten(method, plan.rows, delta)
    return {
        "method": method_to_json(brief),
        "notion": notion,
        "threat_model": method.info.threat_model,
        "rows": plan.rows,
        "event": to_json(brief.event(plan.rows)),
        "delta": delta,
        "plan": asdict(plan),
        **_measure(brief, notion, plan, report),
        "one_run": _guess(brief, notion, delta, plan, report),
        "distinguishing": _distinguish(brief, notion, delta, plan, report),
    }


def _measure(method: Method, notion: str, plan: AuditPlan, report: Report) -> dict[str, Any]:
    report("measuring what single records add")
    train = make_trainer(method, notion=notion, seed=plan.seed)
    data = make_data(rows=plan.rows, isolated=_ISOLATED, groups=2, seed=plan.seed)
    reach = measure_shapes(train, data, changes=plan.changes, whole_record=_nulls(method), seed=plan.seed)
    noise = measure_noise(record_runs(train, data, runs=_NOISE_RUNS, seed=plan.seed))
    return {"reach": [asdict(one) for one in reach], "noise": None if noise is None else asdict(noise)}


def _guess(method: Method, notion: str, delta: float, plan: AuditPlan, report: Report) -> dict[str, Any]:
    report("guessing the coins of canaries in one run")
    train = make_trainer(method, notion=notion, seed=plan.seed)
    blank = make_data(rows=plan.rows, isolated=plan.canaries, groups=2, seed=plan.seed)
    data = plant_canaries(blank, plan.canaries)
    found = guess_coins(train, data, plan.canaries, nulled=_nulls(method), seed=plan.seed)
    bound = best_bound(found, delta, confidence=1.0 - (1.0 - plan.confidence) / plan.among)
    stated = {"lower_bound": bound, "epsilon": proved(method, plan.rows, delta), "confidence": plan.confidence}
    return {"guesses": [asdict(one) for one in found], **stated}


def _distinguish(method: Method, notion: str, delta: float, plan: AuditPlan, report: Report) -> dict[str, Any]:
    train = make_trainer(method, notion=notion, seed=plan.seed)
    data = make_data(rows=plan.rows, isolated=_ISOLATED, groups=2, seed=plan.seed)
    pair = choose_pair(train, list_pairs(data, nulled=_nulls(method)), seed=plan.seed)
    counted = replace(plan, runs=_count_runs(method, plan))
    return attack_pair(method, pair, notion=notion, delta=delta, plan=counted, report=report)


def _count_runs(method: Method, plan: AuditPlan) -> int:
    sampled = any(isinstance(event, SampledGaussian | Parallel) for event in method.event(plan.rows))
    return plan.runs // _SLOW if isinstance(method, FitsAlone) or not sampled else plan.runs


def attack_pair(
    method: Method, pair: Pair, *, notion: str, delta: float, plan: AuditPlan, report: Report
) -> dict[str, Any]:
    """Return what attacks on `plan.runs` runs of `method`, as it is, on each data set of `pair` found, as JSON."""

    def tell(done: int) -> None:
        report(f"{done} of {plan.runs} runs on each data set")

    train, rows = make_trainer(method, notion=notion, seed=plan.seed), pair.first.n
    scores = distinguish(train, pair, runs=plan.runs, seed=plan.seed + 1, together=plan.together, report=tell)
    deltas = tuple(sorted({delta, *(each for each in PROFILE if each > delta)}))
    among = (len(deltas) + 1) * plan.among  # thresholds, of which each delta and the whole curve choose one
    tests = build_tests(scores, deltas, alpha=(1.0 - plan.confidence) / among)
    profile = [
        {
            "delta": each,
            "lower_bound": lower_bound(tests, each, confidence=plan.confidence, among=among),
            "epsilon": proved(method, rows, each),
            "epsilon_published": method.published_epsilon(rows, each) if each == delta else None,
        }
        for each in deltas
    ]
    found = {
        "runs": plan.runs,
        "confidence": plan.confidence,
        "among": among,
        "tests": [asdict(test) for test in tests],
        "profile": profile,
        "refuted": _refuted(profile, "epsilon"),
        "refuted_published": _refuted(profile, "epsilon_published"),
    }
    return found if profile[0]["epsilon"] is None else add_curve(found, method.event(rows))


def add_curve(found: dict[str, Any], events: Events) -> dict[str, Any]:
    """Return what a distinguishing attack `found`, with what its tests say of the whole curve of `events`.

    `noise` is how much noise at most, over what is counted, fits the tests (None: any), and `lower_bound_curve` in the
    profile the epsilon of that much. Below 1 the counted epsilon is refuted, whatever one assumes.
    """
    tests = [Test(**test) for test in found["tests"]]
    noise = noise_bound(tests, events, confidence=found["confidence"], among=found["among"])
    profile = [
        {**at, "lower_bound_curve": 0.0 if noise is None else epsilon(with_noise(events, noise), at["delta"])}
        for at in found["profile"]
    ]
    refuted = found["refuted"] or (noise is not None and noise < 1.0)
    return {**found, "profile": profile, "noise": noise, "refuted": refuted}


def _nulls(method: Method) -> bool:
    return method.info.threat_model == "record"


def _refuted(profile: Sequence[dict[str, Any]], name: str) -> bool | None:
    """Return whether a bound exceeds the epsilon called `name` at a delta that has one; None where none has."""
    stated = [one for one in profile if one[name] is not None]
    return any(one["lower_bound"] > one[name] for one in stated) if stated else None
