"""Verdicts follow the numbers: one sentence each, with the runs that it was made from."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from fairpriv_core.papers.preset import (
    ACCURACY,
    EPSILON,
    GAP,
    SECONDS,
    Best,
    Check,
    Claim,
    Compare,
    Part,
    Quantity,
    Reach,
    Trend,
    Value,
)
from fairpriv_core.report.verdicts import Verdict, judge
from tests.papers.records import make_record, make_runs

PF_LD = Quantity("PF-LD", GAP, {"config/method/name": "pf_ld"})
M = Quantity("M", GAP, {"config/method/name": "randomized_response"})
CLIP = Value("config/method/clip_primal", "C_p")
LOWER = Compare(PF_LD, M, high=0.0)


def look(check: Check, runs: list[dict[str, Any]], *cases: Part) -> Verdict:
    return judge(Claim("A sentence.", "a section", check, cases or (Part(""),)), runs)


def test_a_flipped_number_changes_the_sentence() -> None:
    runs = make_runs()
    before = look(LOWER, runs)
    assert before.standing == "agrees"
    assert before.sentence == (
        "Agrees: fairness violation of PF-LD minus M (percentage points), at most 0.00 expected: −7.80 ± 0.50."
    )
    flipped = copy.deepcopy(runs)
    for run in flipped:
        if run["config"]["method"]["name"] == "pf_ld":
            run["metrics"]["demographic_parity_gap"] += 0.2
    after = look(LOWER, flipped)
    assert after.standing == "disagrees"
    assert "12.20 ± 0.50" in after.sentence and after.sentence.startswith("Disagrees:")
    assert before.keys == after.keys == tuple(sorted(before.keys, key=lambda key: "randomized" in key))
    assert set(before.keys) == {run["key"] for run in runs}


def test_a_difference_that_the_seeds_do_not_settle_says_so() -> None:
    runs = make_runs(fair=0.0995, unfair=0.1)
    found = look(LOWER, runs)
    assert found.standing == "disagrees"
    assert found.sentence.startswith("Disagrees, which the seeds do not settle:")


def test_cases_are_counted_and_those_without_runs_too() -> None:
    runs = make_runs()
    for run in runs:
        if run["config"]["epsilon"] == 0.5 and run["config"]["method"]["name"] == "pf_ld":
            run["metrics"]["demographic_parity_gap"] = 0.5
    cases = [Part(f"ε = {epsilon:g}", {"config/epsilon": epsilon}) for epsilon in (0.5, 1.0, 9.0)]
    found = look(LOWER, runs, *cases)
    assert found.standing == "agrees in part"
    assert found.sentence.startswith("Agrees in 1 of 2 cases (1 without runs): ")
    assert "ε = 0.5: 37" in found.sentence and "ε = 1: −7.80" in found.sentence


def test_without_runs_a_claim_is_open() -> None:
    found = look(LOWER, [])
    assert (found.standing, found.keys) == ("open", ())


@pytest.mark.parametrize(("way", "standing"), [("down", "agrees"), ("up", "disagrees")])
def test_a_trend_goes_one_way(way: Any, standing: str) -> None:
    found = look(Trend(PF_LD, EPSILON, way), make_runs())
    assert found.standing == standing
    assert "5.10 → 2.10" in found.sentence


def test_the_best_setting_is_found_and_lies_within() -> None:
    runs = make_runs()
    assert look(Best(PF_LD, CLIP, "smallest", 10.0, 20.0), runs).standing == "agrees"
    found = look(Best(PF_LD, CLIP, "smallest", 1.0, 5.0), runs)
    assert found.standing == "disagrees"
    assert "2.10 at C_p = 10" in found.sentence


def test_a_level_is_reached_by_the_fairest_setting_that_is_accurate_enough() -> None:
    runs = make_runs()
    found = look(Reach(PF_LD, M, ACCURACY, 86.0, high=0.0), runs)
    assert found.standing == "agrees"
    assert "2.10 and 9.90, −7.80" in found.sentence
    assert all("_1.0_" in key for key in found.keys)
    alone = look(Reach(PF_LD, M, ACCURACY, 88.0, high=0.0), runs)
    assert alone.standing == "agrees" and "no setting of M gets there" in alone.sentence
    assert look(Reach(PF_LD, M, ACCURACY, 99.0, high=0.0), runs).standing == "open"


def test_every_seed_can_be_asked_for() -> None:
    runs = [make_record("none", seed=seed, accuracy=0.9, gap=gap) for seed, gap in enumerate((0.01, 0.02, 0.09))]
    mean = Compare(Quantity("N", GAP), 5.0, high=0.0)
    assert look(mean, runs).standing == "agrees"
    found = look(Compare(Quantity("N", GAP), 5.0, high=0.0, every=True), runs)
    assert found.standing == "disagrees" and "worst 4.00" in found.sentence


def test_a_time_has_no_interval_and_a_spread_neither() -> None:
    runs = make_runs()
    assert "±" not in look(Compare(Quantity("PF-LD", SECONDS, PF_LD.where), 1.0, high=5.0), runs).sentence
    spread = Quantity("PF-LD", GAP, PF_LD.where, "spread")
    found = look(Compare(spread, Quantity("M", GAP, M.where, "spread"), high=1.0), runs)
    assert found.standing == "agrees" and "spread over seeds" in found.sentence and "±" not in found.sentence


def test_models_that_answer_alike_are_counted() -> None:
    runs = make_runs()
    assert "same answer" not in look(LOWER, runs).sentence
    runs[0]["metrics"]["positive_rate"] = 0.0
    assert "(of these 12 models 1 give nearly everybody the same answer)" in look(LOWER, runs).sentence
