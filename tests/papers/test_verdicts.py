"""Verdicts follow the numbers: one sentence each, with the runs that it was made from."""

from __future__ import annotations

import copy
from dataclasses import replace
from statistics import stdev
from typing import Any

import pytest
from scipy.special import stdtr
from scipy.stats import binomtest, ttest_1samp, ttest_rel

from fairpriv_core.papers.differences import compare, list_settings, reach
from fairpriv_core.papers.paper_run import PaperRun
from fairpriv_core.papers.preset import (
    ACCURACY,
    EPSILON,
    GAP,
    SECONDS,
    Best,
    Check,
    Compare,
    Differ,
    PaperClaim,
    Part,
    Printed,
    Quantity,
    Reach,
    Trend,
    Value,
)
from fairpriv_core.papers.printed import set_beside
from fairpriv_core.papers.status import TITLES, find_unlearned, stand, stand_by_count
from fairpriv_core.papers.values import answers_alike
from fairpriv_core.papers.verdicts import Verdict, judge
from fairpriv_core.stats import Mean
from tests.papers import tiny
from tests.papers.records import make_record, make_runs

PF_LD = Quantity("PF-LD", GAP, {"config/method/name": "pf_ld"})
M = Quantity("M", GAP, {"config/method/name": "randomized_response"})
CLIP = Value("config/method/clip_primal", "C_p")
LOWER = Compare(PF_LD, M, high=0.0)


def statuses(verdict: Verdict) -> list[str]:
    return [case.status for case in verdict.cases]


def told(verdict: Verdict) -> str:
    """Return what the numbers are, and those of each case with how it stands."""
    cases = [f"{one.case}: {one.words} ({TITLES[one.status]})" for one in verdict.cases]
    return f"{verdict.subject}{'; '.join(cases)}"


def keys(verdict: Verdict) -> tuple[str, ...]:
    return tuple(dict.fromkeys(run.key for one in verdict.cases for run in one.runs))


def look(check: Check, runs: list[PaperRun], *cases: Part) -> Verdict:
    return judge(PaperClaim("A sentence.", "a section", check, cases or (Part(""),)), runs)


def test_a_flipped_number_changes_the_sentence() -> None:
    runs = make_runs()
    before = look(LOWER, runs)
    assert statuses(before) == ["agrees"]
    assert before.subject == "Fairness violation of PF-LD minus M (percentage points), at most 0.00 expected"
    assert before.cases[0].words == "−7.80 ± 0.50"
    flipped = copy.deepcopy(runs)
    for run in flipped:
        if run.config["method"]["name"] == "pf_ld":
            run.metrics["demographic_parity_gap"] += 0.2
    after = look(LOWER, flipped)
    assert statuses(after) == ["differs"]
    assert after.cases[0].words == "12.20 ± 0.50"
    assert keys(before) == keys(after) == tuple(sorted(keys(before), key=lambda key: "randomized" in key))
    assert set(keys(before)) == {run.key for run in runs}


def test_a_difference_that_the_seeds_do_not_settle_says_so() -> None:
    runs = make_runs(fair=0.0995, unfair=0.1)
    found = look(LOWER, runs)
    assert statuses(found) == ["open"]
    assert (found.cases[0].seeds, found.cases[0].on_average) == (3, False)
    settled = look(LOWER, make_runs(fair=0.09, unfair=0.1))
    assert statuses(settled) == ["agrees"]
    one = [run for run in make_runs() if run.config["seed"] == 0]
    (alone,) = look(LOWER, one).cases
    assert (alone.status, alone.seeds, alone.on_average) == ("open", 1, True)


def test_cases_are_counted_and_those_without_runs_too() -> None:
    runs = make_runs()
    for run in runs:
        if run.config["epsilon"] == 0.5 and run.config["method"]["name"] == "pf_ld":
            run.metrics["demographic_parity_gap"] = 0.5
    cases = [Part(f"ε = {epsilon:g}", {"config/epsilon": epsilon}) for epsilon in (0.5, 1.0, 9.0)]
    found = look(LOWER, runs, *cases)
    assert statuses(found) == ["differs", "agrees", "open"]
    assert found.cases[2].seeds == 0 and not found.cases[2].runs
    assert "ε = 0.5: 37.10 ± 0.25 (differs)" in told(found) and "ε = 1: −7.80 ± 0.50 (agrees)" in told(found)


def test_an_open_case_counts_as_neither() -> None:
    runs = make_runs()
    for run in runs:
        if run.config["epsilon"] == 0.5 and run.config["method"]["name"] == "pf_ld":
            run.metrics["demographic_parity_gap"] = 0.12 + 0.05 * run.config["seed"] - 0.05
    cases = [Part(f"ε = {epsilon:g}", {"config/epsilon": epsilon}) for epsilon in (0.5, 1.0)]
    found = look(LOWER, runs, *cases)
    assert statuses(found) == ["open", "agrees"]
    assert found.cases[0].on_average and found.cases[0].seeds == 3


def test_the_paper_is_judged_by_what_it_had_and_ours_stands_apart() -> None:
    runs = make_runs()
    variants = [{**PF_LD.where, "config/method/variant": kind} for kind in ("published", "proved")]
    checks = [Compare(Quantity("PF-LD", GAP, where), M, high=0.0) for where in variants]
    claim = PaperClaim("PF-LD is fairer", "a section", checks[0], ours=checks[1], reading="lower at all")
    found = judge(claim, runs)
    assert (statuses(found), found.subject, found.cases[0].words) == (["open"], "", "")
    assert [one.status for one in found.own] == ["agrees"]
    worse = [
        make_record("pf_ld", seed=seed, accuracy=0.9, gap=0.5, epsilon=1.0, variant="published") for seed in range(3)
    ]
    assert statuses(judge(claim, [*runs, *worse])) == ["differs"]
    (lost,) = judge(replace(claim, lost="the paper's budgets"), [*runs, *worse]).cases
    assert (lost.status, lost.settles, lost.on_average) == ("open", "the paper's budgets", False) and lost.against


def test_a_ratio_is_that_of_the_means_with_an_interval_of_its_own() -> None:
    gaps = ((0.02, 0.01), (0.01, 0.04), (0.03, 0.05))
    runs = [make_record("pf_ld", seed=seed, accuracy=0.9, gap=one, epsilon=1.0) for seed, (one, _) in enumerate(gaps)]
    runs += [
        make_record("randomized_response", seed=seed, accuracy=0.9, gap=other, epsilon=1.0)
        for seed, (_, other) in enumerate(gaps)
    ]
    check = Compare(PF_LD, M, high=0.5, as_ratio=True)
    found = compare(runs, runs, check)
    residuals = [(one - 0.6 * other) / (0.1 / 3) for one, other in gaps]  # each seed's x - r y over the mean of y
    assert found.mean == pytest.approx(0.6)
    assert found.half == pytest.approx(4.302653 * stdev(residuals) / 3**0.5, rel=1e-5)
    said = look(check, runs)
    assert statuses(said) == ["open"] and "a ratio of means with its interval by the delta method" in said.subject


@pytest.mark.parametrize(
    ("low", "high", "status"),
    [
        (0.0, 1.0, "agrees"),
        (-0.001, 1.0, "open"),
        (0.0, 1.001, "open"),
        (1.0, 2.0, "open"),
        (1.001, 2.0, "differs"),
        (-1.0, 0.0, "open"),
        (-1.0, -0.001, "differs"),
        (None, None, "open"),
    ],
)
def test_an_interval_agrees_up_to_its_bounds_and_differs_beyond_them(low: Any, high: Any, status: str) -> None:
    assert stand(Mean(0.5, low, high, 3), 0.0, 1.0) == status


@pytest.mark.parametrize(
    ("mean", "status"), [(0.0, "agrees"), (1.0, "agrees"), (1.001, "differs"), (-0.001, "differs")]
)
def test_a_number_without_an_interval_by_nature_stands_for_itself(mean: float, status: str) -> None:
    assert stand(Mean(mean, None, None, 3), 0.0, 1.0, bare=True) == status


def test_as_accurate_as_one_answer_has_learned_and_a_level_that_is_just_reached_is_reached() -> None:
    runs = [make_record("pf_ld", seed=seed, accuracy=0.8, gap=0.1, epsilon=1.0) for seed in range(3)]
    assert find_unlearned(runs, GAP) == ""  # 0.8 is the constant answer's too
    assert reach(list_settings(runs, PF_LD, ACCURACY), 80.0) == runs
    for rate, alike in ((0.95, True), (0.05, True), (0.94, False), (0.06, False)):
        runs[0].metrics["positive_rate"] = rate
        assert answers_alike(runs[0]) is alike, rate


def test_without_runs_a_claim_is_open() -> None:
    found = look(LOWER, [])
    assert (statuses(found), keys(found)) == (["open"], ())


@pytest.mark.parametrize(("way", "status"), [("down", "agrees"), ("up", "differs")])
def test_a_trend_goes_one_way(way: Any, status: str) -> None:
    found = look(Trend(PF_LD, EPSILON, way, slack=0.5), make_runs())
    assert statuses(found) == [status]
    assert "5.10 → 2.10" in told(found)
    assert "a step back of up to 0.50 percentage points is allowed by us" in told(found)


def test_a_trend_that_the_seeds_do_not_settle_is_open() -> None:
    runs = make_runs()
    for run in runs:
        if run.config["epsilon"] == 0.5:
            run.metrics["demographic_parity_gap"] = 0.03 + 0.03 * run.config["seed"]
    found = look(Trend(PF_LD, EPSILON, "down"), runs)
    assert statuses(found) == ["open"] and found.cases[0].on_average


def test_the_best_setting_is_found_and_lies_within() -> None:
    runs = make_runs()
    assert statuses(look(Best(PF_LD, CLIP, "smallest", 10.0, 20.0), runs)) == ["agrees"]
    found = look(Best(PF_LD, CLIP, "smallest", 1.0, 5.0), runs)
    assert statuses(found) == ["differs"]
    assert "2.10 at C_p = 10" in told(found)


def test_a_level_is_reached_by_the_fairest_setting_that_is_accurate_enough() -> None:
    runs = make_runs()
    found = look(Reach(PF_LD, M, ACCURACY, (86.0,), high=0.0), runs)
    assert statuses(found) == ["agrees"]
    assert "2.10 minus 9.90 is −7.80" in told(found)
    assert all("_1.0_" in key for key in keys(found))
    alone = look(Reach(PF_LD, M, ACCURACY, (88.0,), high=0.0), runs)
    assert statuses(alone) == ["agrees"] and "no setting of M gets there" in told(alone)
    assert statuses(look(Reach(PF_LD, M, ACCURACY, (99.0,), high=0.0), runs)) == ["open"]


def reach_a_level(*levels: float, rival: float) -> Verdict:
    """Return the verdict at `levels` where ours has a gap of 5, and a rival's fairer setting `rival` % accuracy.

    They are 85 % alone where none are given. The rival's other setting, of 87 %, has a gap of 9, its fairer one of 1.
    """
    return look(
        Reach(PF_LD, M, ACCURACY, levels or (85.0,), high=0.0),
        [
            run
            for seed, off in enumerate((-0.002, 0.0, 0.002))
            for run in (
                make_record("pf_ld", seed=seed, accuracy=0.87, gap=0.05 + off / 4, epsilon=1.0, clip_primal=1.0),
                make_record("randomized_response", seed=seed, accuracy=0.87, gap=0.09, epsilon=1.0, iterations=1),
                make_record("randomized_response", seed=seed, accuracy=rival / 100 + off, gap=0.01, iterations=2),
            )
        ],
    )


def test_a_case_is_open_where_a_setting_that_other_seeds_may_take_says_the_opposite() -> None:
    assert statuses(reach_a_level(rival=80.0)) == ["agrees"] and statuses(reach_a_level(rival=86.0)) == ["differs"]
    for rival in (84.8, 85.2):  # ± 0.5
        found = reach_a_level(rival=rival)
        assert statuses(found) == ["open"] and found.cases[0].on_average is (rival < 85)
        assert "and the opposite at a setting that other seeds might pick" in told(found)
        assert found.cases[0].seeds_needed == 7


def test_what_levels_say_unlike_is_open_and_tells_where() -> None:
    (case,) = reach_a_level(80.0, 83.0, rival=82.0).cases
    assert (case.status, case.on_average, case.seeds_needed) == ("open", False, None)
    assert case.settles == "the accuracy at which the paper compares"
    assert case.words.startswith("differs up to 80 %, agrees from 83 %; at 80 %, 5.00 minus 1.00 is 4.00")
    (case,) = reach_a_level(80.0, 81.0, rival=82.0).cases
    assert case.status == "differs" and case.words.startswith("differs up to 81.5 %, open at 82 %, agrees from 82.5 %")


def test_a_level_is_compared_with_a_number_of_the_authors() -> None:
    runs = make_runs()
    found = look(Reach(PF_LD, 9.9, ACCURACY, (86.0,), high=0.0), runs)
    assert statuses(found) == ["agrees"] and "2.10 minus 9.90 is −7.80" in told(found)
    assert "minus 9.90 (percentage points), each smallest where accuracy reaches a level of 86 %" in found.subject
    assert statuses(look(Reach(PF_LD, 1.0, ACCURACY, (86.0,), high=0.0), runs)) == ["differs"]
    assert statuses(look(Reach(PF_LD, 1.0, ACCURACY, (99.0,), high=0.0), runs)) == ["open"]


def test_every_seed_can_be_asked_for() -> None:
    runs = [make_record("none", seed=seed, accuracy=0.9, gap=gap) for seed, gap in enumerate((0.01, 0.02, 0.09))]
    mean = Compare(Quantity("N", GAP), 5.0, high=0.0)
    assert look(mean, runs).cases[0].on_average
    found = look(Compare(Quantity("N", GAP), 5.0, high=0.0, failing=0.0), runs)
    assert statuses(found) == ["differs"] and found.cases[0].words == "1 of 3 runs fail, worst 4.00"


def test_a_promise_about_single_runs_is_judged_by_the_share_that_breaks_it() -> None:
    def look_at(failures: int, runs: int) -> Verdict:
        gaps = [0.09] * failures + [0.01] * (runs - failures)
        made = [make_record("none", seed=seed, accuracy=0.9, gap=gap) for seed, gap in enumerate(gaps)]
        return look(Compare(Quantity("N", GAP), 5.0, high=0.0, failing=0.1), made)

    assert [statuses(look_at(*each)) for each in ((0, 35), (0, 36), (1, 36), (9, 36))] == [
        ["open"],
        ["agrees"],
        ["open"],
        ["differs"],
    ]
    (case,) = look_at(1, 36).cases
    interval = binomtest(1, 36).proportion_ci(method="exact")
    assert case.words == f"1 of 36 runs fail, worst 4.00 (0.1 to {100 * interval.high:.1f} %, 10 % allowed)"
    assert stand_by_count(1, 36, 0.1)[1:] == pytest.approx((interval.low, interval.high))
    assert case.seeds_needed and statuses(look_at(case.seeds_needed // 36, case.seeds_needed)) == ["agrees"]
    assert stand_by_count(3, 3, 0.1)[0] == "differs" and stand_by_count(0, 3, 0.0)[0] == "agrees"


def test_a_time_has_no_interval() -> None:
    runs = make_runs()
    found = look(Compare(Quantity("PF-LD", SECONDS, PF_LD.where), 1.0, high=5.0), runs)
    assert "±" not in told(found) and "(it has no interval)" in told(found)


def test_spreads_over_settings_are_compared_at_each_seed_and_those_over_seeds_by_their_ratio() -> None:
    runs = make_runs()
    of = {side.name: replace(side, of="spread") for side in (PF_LD, M)}
    check = Compare(of["PF-LD"], of["M"], high=1.0)
    both = look(check, runs)
    assert both.subject == (
        "Standard deviation, over 2 settings, seed by seed, of fairness violation of PF-LD minus that of M "
        "(percentage points), at most 1.00 expected"
    )
    alone = look(check, runs, Part("ε = 1", {"config/epsilon": 1.0}))
    assert alone.subject.startswith("Standard deviation, over seeds, with an interval by Fisher's F, of fairn")
    assert statuses(both) == statuses(alone) == ["agrees"] and "tandard deviation" not in look(LOWER, runs).subject


def test_the_interval_of_two_spreads_is_fishers() -> None:
    gaps = {"pf_ld": (0.01, 0.03, 0.05, 0.02), "randomized_response": (0.10, 0.11, 0.12, 0.13)}
    runs = [
        make_record(name, seed=seed, accuracy=0.9, gap=gap, epsilon=1.0)
        for name, each in gaps.items()
        for seed, gap in enumerate(each)
    ]
    one, other = (replace(side, of="spread") for side in (PF_LD, M))
    found = compare(runs, runs, Compare(one, other, high=0.0))
    first, second = (100 * stdev(each) for each in gaps.values())
    assert found.mean == pytest.approx(first - second)
    reach = 15.4392**0.5  # the 97.5 % quantile of F with 3 and 3 degrees of freedom
    assert found.high == pytest.approx(first * reach - second, rel=1e-4)
    assert found.low == pytest.approx(first / reach - second, rel=1e-4)
    assert statuses(look(Compare(one, other, high=0.0), runs)) == ["open"]


def test_an_open_case_says_how_many_seeds_would_settle_it_and_so_many_do() -> None:
    def run(seeds: int) -> list[PaperRun]:
        gaps = [0.04 + 0.02 * (-1) ** seed for seed in range(seeds)]
        return [make_record("pf_ld", seed=seed, accuracy=0.9, gap=gap, epsilon=1.0) for seed, gap in enumerate(gaps)]

    check = Compare(PF_LD, 5.0, high=0.0)
    (few,) = look(check, run(4)).cases
    assert few.status == "open" and few.seeds == 4 and few.seeds_needed is not None
    (enough,) = look(check, run(few.seeds_needed)).cases
    assert enough.status == "agrees" and enough.seeds_needed is None
    (one,) = look(check, run(1)).cases
    assert (one.status, one.seeds_needed) == ("open", None)


def test_a_wide_interval_agrees_with_nothing() -> None:
    gaps = (0.05, 0.15, 0.40)
    runs = [make_record("pf_ld", seed=seed, accuracy=0.9, gap=gap, epsilon=1.0) for seed, gap in enumerate(gaps)]
    preset = replace(tiny.TABLE, printed=(Printed("gap", 8.9, "Table 1", PF_LD),))
    (beside,) = set_beside(preset, runs)
    assert beside.status == "open" and beside.ours == "20.00 ± 44.78"
    assert statuses(look(Compare(PF_LD, 8.9, low=-1.0, high=1.0), runs)) == ["open"]


def test_runs_that_are_less_accurate_than_one_answer_test_nothing() -> None:
    runs = make_runs()
    for run in runs:
        if run.config["method"]["name"] == "pf_ld" and run.config["epsilon"] == 0.5:
            run.metrics.update(accuracy=0.8, constant_accuracy=0.85)
    found = look(LOWER, runs)
    assert statuses(found) == ["not_tested"]
    assert "less accurate than always the same answer (1 of 4 settings, down to 80.0 against 85.0 %)" in told(found)
    assert statuses(look(LOWER, runs, Part("", {"config/epsilon": 1.0}))) == ["agrees"]
    times = Compare(Quantity("PF-LD", SECONDS, PF_LD.where), 1.0, high=5.0)
    assert statuses(look(times, runs)) == ["agrees"], "a time does not depend on what was learned"
    (beside,) = set_beside(replace(tiny.TABLE, printed=(Printed("gap", 3.6, "Table 1", PF_LD),)), runs)
    assert beside.status == "not_tested" and beside.verdict.startswith("not tested: less accurate")


def test_a_paired_t_test_agrees_at_every_budget_or_stays_open_and_never_differs() -> None:
    found = look(Differ(PF_LD, M, EPSILON, 0.001), make_runs())
    assert statuses(found) == ["agrees"] and "p is at most 0.0" in told(found)
    runs = make_runs(fair=0.07)
    for run in runs:
        if run.config["method"]["name"] == "pf_ld" and run.config["epsilon"] == 0.5:
            run.metrics["demographic_parity_gap"] += 0.02 * run.config["seed"]
    (case,) = look(Differ(PF_LD, M, EPSILON, 0.001), runs).cases
    assert case.status == "open" and "at ε = 0.5" in case.words and case.seeds == 3
    differences = [0.03, 0.008, -0.014]
    assert case.words.startswith(f"p is at most {ttest_1samp(differences, 0.0).pvalue:.2g}")
    assert case.seeds_needed is not None
    spread, mean = stdev(differences), sum(differences) / 3
    own = [2 * stdtr(n - 1, -mean / spread * n**0.5) for n in (case.seeds_needed - 1, case.seeds_needed)]
    assert own[0] >= 0.001 > own[1]


def test_a_t_test_against_runs_without_the_setting_is_made_at_each_of_its_values() -> None:
    plain = [make_record("none", seed=seed, accuracy=0.9, gap=gap) for seed, gap in enumerate((0.2, 0.23, 0.19))]
    check = Differ(PF_LD, Quantity("plain", GAP, {"config/method/name": "none"}), EPSILON, 0.05)
    (case,) = look(check, [*make_runs(), *plain]).cases
    fair = {0.5: [0.05, 0.051, 0.052], 1.0: [0.02, 0.021, 0.022]}
    tests = {x: ttest_rel(gaps, [0.2, 0.23, 0.19]).pvalue for x, gaps in fair.items()}
    x = max(tests, key=tests.__getitem__)
    assert case.status == "agrees" and case.seeds == 3
    assert case.words == f"p is at most {tests[x]:.2g}, at ε = {x:g}"
    assert statuses(look(check, plain)) == ["open"]


def test_that_a_setting_is_less_accurate_is_tested_by_one_that_has_learned_less_than_one_answer() -> None:
    runs = make_runs()
    for run in runs:
        run.metrics["constant_accuracy"] = 0.88  # above M's accuracy, below PF-LD's
    less, more = (Quantity(one.name, ACCURACY, one.where) for one in (M, PF_LD))
    found = look(Compare(less, more, high=0.0), runs)
    assert statuses(found) == ["agrees"]
    assert "and the first is less accurate than always the same answer (2 of 4 settings" in told(found)
    for check in (Compare(less, more, low=-5.0), Compare(more, less, high=9.0), LOWER):
        assert statuses(look(check, runs)) == ["not_tested"]
    spreads = Compare(replace(less, of="spread"), replace(more, of="spread"), high=0.0)
    assert statuses(look(spreads, runs)) == ["not_tested"], "a spread of what was not learned says nothing"


def test_a_setting_that_has_not_learned_is_not_the_best() -> None:
    runs = [
        make_record("pf_ld", seed=seed, accuracy=accuracy, gap=gap + 0.001 * seed, epsilon=1.0, clip_primal=clip)
        for clip, accuracy, gap in ((1.0, 0.9, 0.10), (10.0, 0.9, 0.02), (100.0, 0.7, 0.0))
        for seed in range(3)
    ]
    found = look(Best(PF_LD, CLIP, "smallest", 10.0, 20.0), runs)
    assert statuses(found) == ["agrees"]
    assert "2.10 at C_p = 10 (left out, as less accurate than always the same answer: 100)" in told(found)
    assert statuses(look(Best(PF_LD, CLIP, "smallest", 50.0, 100.0), runs)) == ["not_tested"]
