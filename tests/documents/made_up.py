"""Report data made up for tests: every raw number in them is one that nothing else in a report would show."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from fairpriv_core.documents.report_data import ReportData
from fairpriv_core.facts.run_facts import RunFacts, read_facts
from fairpriv_core.ledger.report import Spent
from fairpriv_core.records.record import RunRecord
from fairpriv_core.records.release import Kind

Told = RunFacts[Kind]

#: raw shares and sizes, by what they are
RAW = {
    "accuracy": 0.8371926,
    "balanced_accuracy": 0.6417385,
    "gap": 0.2739418,
    "equalized_odds_gap": 0.3164927,
    "positive_rate": 0.4182736,
    "low": 0.3914728,
    "high": 0.4471936,
    "true_positive_rate": 0.6192837,
    "false_positive_rate": 0.1473829,
    "group_accuracy": 0.7928374,
    "curve": 0.7139285,
    "curve_gap": 0.2468135,
    "membership": 0.5871234,
    "advantage": 0.1739182,
    "inferred": 0.6648291,
    "theil": 0.0394817,
    "constant": 0.7519384,
    "reference_accuracy": 0.8529173,
    "reference_gap": 0.1937482,
}
SIZE = 47913
PAID = {"accuracy": 0.8361, "gap": 0.2512, "positive_rate": 0.4034}
WORDS = {"group": "Female", "column": "workclass", "label": "income", "positive": ">50K", "sensitive": "sex"}
#: a benchmark's rows, as a config has them
ADULT = {"dataset": "adult", "file": None, "label": None, "positive": None, "sensitive": "sex"}
_DELTA = 1e-5


def make_data(*runs: Told) -> ReportData:
    """Return the report data of `runs`, as `gather_report` returns it: a reference beside them, more in the ledger."""
    plain = make_record("0" * 16, method="none", threat_model=None, epsilon=None, paid=False)
    shares = {"accuracy": RAW["reference_accuracy"], "demographic_parity_gap": RAW["reference_gap"]}
    plain["metrics"] = {**plain["metrics"], **shares}
    plain["config"]["data"] = runs[0].config["data"] if runs else plain["config"]["data"]
    reference = tell(plain)
    spent = Spent("adult", "sex", 41, 7.31, None, _DELTA)
    records = replace(spent, column=None, epsilon=None, reason="run x has none.")
    return ReportData(runs, (), (records, spent), "2026-01-05", (reference,))


def make_record(
    key: str = "a" * 16,
    *,
    method: str = "pf_ld",
    threat_model: str | None = "attribute",
    epsilon: float | None = 1.0,
    seed: int = 0,
    paid: bool = True,
    words: dict[str, str] | None = None,
    **config: Any,
) -> dict[str, Any]:
    """Return the record's JSON of one finished run on a file of somebody's own; `words` are the names that they chose.

    `config` are settings in place of its own.
    """
    named = {**WORDS, **(words or {})}
    return {
        "key": key,
        "status": "finished",
        "config": _config(method, threat_model, seed, paid, named, config),
        "threat_model": threat_model,
        "variant": None if threat_model is None else "proved",
        "epsilon": epsilon,
        "epsilon_published": None if threat_model is None else 0.92,
        "epsilon_reason": None if epsilon is not None else "Nothing is proved of it.",
        "epsilon_if_secret": None,
        "delta": _DELTA,
        "event": [{"kind": "gaussian", "noise_multiplier": RAW["theil"], "count": SIZE}],
        "released": [],
        "assumptions": ["The list of groups is public."],
        "calibrated": {"name": method, "epochs": 3, "noise_primal": 1.5},
        "data": _data(named),
        "versions": {"python": "3.11", "fairpriv": "0.1.0"},
        "steps": 30,
        "seconds": 1.0,
        "metrics": _metrics(named),
        "metrics_are_raw": True,
        "metrics_note": "",
        "metrics_private": _paid(named) if paid else None,
        "warnings": [],
        "notes": {"exact_sizes": {named["group"]: SIZE}},
    }


def tell_run(key: str = "a" * 16, **asked: Any) -> Told:
    """Return what is told of the run that `make_record` makes."""
    return tell(make_record(key, **asked))


def _config(
    method: str, threat_model: str | None, seed: int, paid: bool, named: dict[str, str], more: dict[str, Any]
) -> dict[str, Any]:
    asked = {"label": named["label"], "positive": named["positive"], "sensitive": named["sensitive"]}
    data = {"dataset": None, "file": "people.csv", **asked}
    return {
        "data": data,
        "notion": "demographic_parity",
        "method": {"name": method, "epochs": 3},
        "epsilon": None if threat_model is None else 1.0,
        "delta": _DELTA,
        "split": "stratified",
        "seed": seed,
        "replay_noise": None,
        "private_evaluation": paid,
        "reuse": None,
        **more,
    }


def _data(named: dict[str, str]) -> dict[str, Any]:
    return {
        "name": "adult",
        "sensitive": named["sensitive"],
        "digest": "d" * 64,
        "n_train": 3000,
        "n_test": 1000,
        "columns": [named["column"], "age"],
        "group_names": [named["group"], "Male"],
        "label_names": ["<=50K", named["positive"]],
        "caveats": [],
    }


def _metrics(named: dict[str, str]) -> dict[str, Any]:
    group = {
        "name": named["group"],
        "size": SIZE,
        "positive_rate": RAW["positive_rate"],
        "positive_rate_interval": [RAW["low"], RAW["high"]],
        "true_positive_rate": RAW["true_positive_rate"],
        "false_positive_rate": RAW["false_positive_rate"],
        "accuracy": RAW["group_accuracy"],
        **{"positives": 12000, "selected": 20000, "correct": 38000},
    }
    single = {name: RAW[name] for name in ("accuracy", "balanced_accuracy", "equalized_odds_gap", "theil")}
    single["constant_accuracy"] = RAW["constant"]
    return {**single, "demographic_parity_gap": RAW["gap"], "groups": [group, {**group, "name": "Male"}]}


def _paid(named: dict[str, str]) -> dict[str, Any]:
    rate = PAID["positive_rate"]
    group = {"name": named["group"], "size": 512.3, "positive_rate": rate, "positive_rate_interval": [0.38, 0.43]}
    others = {
        "true_positive_rate": None,
        "false_positive_rate": None,
        "accuracy": 0.81,
        "accuracy_interval": [0.7, 0.9],
    }
    return {
        "accuracy": PAID["accuracy"],
        "accuracy_interval": [0.82, 0.85],
        "demographic_parity_gap": PAID["gap"],
        "demographic_parity_gap_interval": [0.21, 0.29],
        "groups": [{**group, **others}, {**group, **others, "name": "Male"}],
    }


def tell(record: dict[str, Any]) -> Told:
    """Return what is told of a record that `make_record` made, with curves, an audit and certificates."""
    attackers = [{"attacker": name, "auc": RAW["membership"], "advantage": RAW["advantage"]} for name in ("LR", "MLP")]
    guesses = [{"attacker": "LR", "baseline": RAW["inferred"], "accuracy": RAW["inferred"]}]
    profile = [{"delta": _DELTA, "lower_bound": 0.31, "epsilon": 1.21, "epsilon_published": 1.11}]
    found = {"runs": 200, "confidence": 0.99, "profile": profile, "refuted": False, "refuted_published": False}
    curves = [(step, "test/accuracy", RAW["curve"]) for step in (10, 20, 30)]
    sensitive = record["data"]["sensitive"]
    audit = {
        "made": "2026-01-02T03:04:05",
        "plan": {"seed": 0},
        "code": {"rows": 400, "distinguishing": found, "one_run": {"lower_bound": 0.22}},
        "model": {
            "membership": {"attackers": attackers, "chance": 0.01, "limit": 0.2, "judged": 100},
            "attribute": {
                "attackers": guesses,
                "majority": 0.5,
                "judged": 100,
                "sensitive": sensitive,
            },
        },
    }
    certified = [("demographic parity gap", "at most 12.34 percentage points"), ("accuracy", "at least 80.00 %")]
    told = read_facts(
        RunRecord.from_json(record),
        curves=[*curves, *((step, "test/demographic_parity_gap", RAW["curve_gap"]) for step in (10, 20, 30))],
        audit=audit,
    )
    words = {"title": "Adult", "summary": "Made up.", "citation": "Nobody", "licence": "CC BY 4.0", "own_file": False}
    return replace(told, certificates=certified, data=replace(told.data, **words))
