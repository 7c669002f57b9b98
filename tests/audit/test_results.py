"""The stored audits hold together, cover the catalogue, and a part of them comes out again."""

from __future__ import annotations

import json
import re
import shlex
from dataclasses import asdict
from pathlib import Path
from typing import Any

import click
import numpy as np
import pytest

from examples import make_audit_results
from examples.make_audit_results import BALANCED_PAIR, write_tables
from fairpriv_core.audit.canary import make_data, plant_canaries
from fairpriv_core.audit.lower_bound import Test as Counted
from fairpriv_core.audit.lower_bound import lower_bound, noise_bound, with_noise
from fairpriv_core.audit.one_run import guess_coins
from fairpriv_core.audit.sensitivity import measure_shapes
from fairpriv_core.cli.main import cli
from fairpriv_core.figures.audits import at_own_delta, read_audit_results
from fairpriv_core.methods.catalog import methods
from fairpriv_core.privacy.accountants import epsilon
from fairpriv_core.privacy.event import from_json
from fairpriv_core.records.parameters import read_method
from fairpriv_core.runs.audit import make_trainer, shorten

DOCUMENT = Path(__file__).parents[2] / "docs" / "audit.md"
RESULTS = read_audit_results()
AUDITS = {one["name"]: one for one in RESULTS["methods"]}
OF_EACH_KIND = ("pf_ld", "dp_is_sgd", "jagielski_in", "group_thresholds", "fairlens")  # a whole curve takes its time


@pytest.mark.long  # a method may be tried and kept before it is attacked; none is shipped so
def test_every_private_method_is_audited() -> None:
    private = [name for name, kind in methods().items() if kind.info.threat_model is not None]
    missing = [name for name in private if name not in AUDITS]
    again = f"{RESULTS['command']} --only {' '.join(missing)}"
    assert list(AUDITS) == private, f"if a method is missing, make its audit: {again}"


@pytest.mark.parametrize("name", AUDITS)
def test_no_attack_exceeds_what_is_proved(name: str) -> None:
    audit = AUDITS[name]
    found = audit["distinguishing"]
    check_bounds(found)
    assert found["refuted"] is False
    for at in found["profile"]:
        assert 0.0 <= at["lower_bound"] <= at["epsilon"]
        assert 0.0 <= at["lower_bound_curve"] <= at["epsilon"]
        assert at["epsilon"] == pytest.approx(epsilon(from_json(audit["event"]), at["delta"]), rel=1e-6)
    assert audit["one_run"]["lower_bound"] <= audit["one_run"]["epsilon"]
    assert audit["reach"] and all(one["largest"] <= 1.0 + 1e-9 for one in audit["reach"])
    noise = audit["noise"]
    assert noise is None or noise["low"] <= 1.0 <= noise["high"]


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name in OF_EACH_KIND else pytest.mark.long) for name in AUDITS]
)
def test_bounds_of_whole_curves_follow_from_the_counts(name: str) -> None:
    audit = AUDITS[name]
    found, events = audit["distinguishing"], from_json(audit["event"])
    tests = [Counted(**test) for test in found["tests"]]
    noise = noise_bound(tests, events, confidence=found["confidence"], among=found["among"])
    assert found["noise"] == (None if noise is None else pytest.approx(noise, rel=1e-6))
    if noise is not None:
        stated = [epsilon(with_noise(events, noise), at["delta"]) for at in found["profile"]]
        assert stated == pytest.approx([at["lower_bound_curve"] for at in found["profile"]], rel=1e-6)


def test_attacks_come_within_a_third_of_epsilon_for_at_least_three_methods() -> None:
    """At one of the four deltas; the accountant states an epsilon for each."""
    profiles = {name: audit["distinguishing"]["profile"] for name, audit in AUDITS.items()}
    near = [name for name, each in profiles.items() if any(at["lower_bound"] >= at["epsilon"] / 3 for at in each)]
    assert len(near) >= 3, near


def test_one_run_shows_something_of_most_methods() -> None:
    shown = [audit["one_run"]["lower_bound"] / audit["one_run"]["epsilon"] for audit in AUDITS.values()]
    assert sum(share > 0.05 for share in shown) >= 14


def test_whole_curves_show_half_of_epsilon_where_a_threshold_shows_a_fifth() -> None:
    """At the run's own delta, of the methods that release sums over samples."""
    first = [at_own_delta(audit["distinguishing"]) for audit in AUDITS.values()]
    by_curve = [at["lower_bound_curve"] / at["epsilon"] for at in first]
    by_threshold = [at["lower_bound"] / at["epsilon"] for at in first]
    assert sum(share > 0.45 for share in by_curve) >= 8
    assert np.mean(by_curve) > 2 * np.mean(by_threshold)


def test_the_published_accounting_is_refuted_and_the_proved_one_is_not() -> None:
    shown = RESULTS["demonstration"]
    for variant in ("published", "proved"):
        check_bounds(shown[variant])
    published, proved = (at_own_delta(shown[variant]) for variant in ("published", "proved"))
    assert published["epsilon_published"] <= 1.0 and published["epsilon"] is None
    assert published["lower_bound"] > 3.0
    assert proved["lower_bound"] <= proved["epsilon"] <= 1.0
    assert shown["pair"] == BALANCED_PAIR
    for variant in ("published", "proved"):
        method = read_method(shown[variant]["method"])
        claimed = method.published_epsilon(shown["rows"], 1e-5)
        assert claimed == pytest.approx(at_own_delta(shown[variant])["epsilon_published"], rel=1e-6)


def test_a_part_comes_out_again() -> None:
    audit = AUDITS["dp_sgd"]
    method, plan = read_method(audit["method"]), audit["plan"]
    train = make_trainer(method, notion=audit["notion"], seed=plan["seed"])
    data = make_data(rows=audit["rows"], isolated=6, groups=2, seed=plan["seed"])
    (reach,) = measure_shapes(train, data, changes=plan["changes"], whole_record=True, seed=plan["seed"])
    assert asdict(reach) == {**audit["reach"][0], "largest": pytest.approx(audit["reach"][0]["largest"], rel=1e-5)}
    rows = audit["one_run"]["rows"]
    assert audit["one_run"]["canaries"] == 1000
    planted = plant_canaries(make_data(rows=rows, isolated=1000, groups=2, seed=plan["seed"]), 1000)
    short = shorten(method, rows, audit["delta"])
    train = make_trainer(short, notion=audit["notion"], seed=plan["seed"])
    guesses = guess_coins(train, planted, 1000, nulled=True, seed=plan["seed"])
    assert asdict(guesses) == {name: audit["one_run"][name] for name in ("canaries", "guesses", "correct")}


def test_the_document_shows_these_results_and_its_commands_are_understood() -> None:
    text = DOCUMENT.read_text("utf-8")
    assert write_tables(text, RESULTS) == text, f"run: {RESULTS['command']} --only {next(iter(AUDITS))}"
    lines = [shlex.split(line, comments=True) for line in text.splitlines() if line.startswith("./fairpriv ")]
    assert len(lines) >= 4
    for _, name, *arguments in lines:
        context = click.Context(cli, **cli.context_settings)
        known = cli.get_command(context, name)
        assert known is not None
        known.make_context(name, arguments, parent=context)
    named = set(re.findall(r"`([\w./-]+/[\w./-]*)`", text))
    assert named and not [path for path in named if not (DOCUMENT.parent.parent / path).exists()]


def test_an_audit_that_is_made_again_leaves_the_days_of_the_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    out = tmp_path / "audits.json"
    out.write_text(json.dumps({**RESULTS, "methods": [{**each, "made": "2026-01-01"} for each in RESULTS["methods"]]}))
    found = AUDITS["dp_sgd"]["distinguishing"]
    monkeypatch.setattr(make_audit_results, "audit_method", lambda *_, **__: {"distinguishing": found})
    monkeypatch.setattr("sys.argv", ["make_audit_results.py", "--only", "dp_sgd", "--out", str(out)])
    make_audit_results.main()
    written = json.loads(out.read_text())
    assert [one["name"] for one in written["methods"] if one["made"] != "2026-01-01"] == ["dp_sgd"]
    assert written["demonstration"] == RESULTS["demonstration"]


def check_bounds(found: dict[str, Any]) -> None:
    """Check that the lower bounds are what the counts give, each test at its share of the error."""
    tests = [Counted(**test) for test in found["tests"]]
    for at in found["profile"]:
        bound = lower_bound(tests, at["delta"], confidence=found["confidence"], among=found["among"])
        assert at["lower_bound"] == pytest.approx(bound)
