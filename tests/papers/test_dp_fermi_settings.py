"""DP-FERMI's and its rivals' settings are those that the rule takes of the kept trials, four trials a method."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.dp_fermi_settings import (
    NOT_REACHED,
    PATH,
    Trial,
    choose,
    choose_each,
    list_tried,
    measure,
    read_trial,
    read_trials,
    sweep_trial,
    write_trials,
)
from fairpriv_core.errors import RunFailed
from fairpriv_core.papers.catalog import papers
from fairpriv_core.papers.dp_fermi.settings import CASES, CHOSEN, TRIAL_SEEDS, TRIED, format_trials, list_methods
from fairpriv_core.papers.paper_run import PaperRun
from fairpriv_core.papers.runs import list_configs


def make(violations: tuple[float, ...], accuracies: tuple[float, ...] = (84.5, 84.5)) -> Trial:
    return Trial("Adult, parity", "pf_ld", {}, violations, accuracies, ())


def record(multiplier: float, seed: int, accuracy: float, gap: float) -> PaperRun:
    method = {"name": "pf_ld", "multiplier_max": multiplier}
    config = {"method": method, "epsilon": 1.0, "seed": seed, "notion": "demographic_parity"}
    numbers = {"metrics/accuracy": accuracy, "metrics/demographic_parity_gap": gap}
    return PaperRun(f"{multiplier}:{seed}", config, numbers=numbers)


def test_the_smallest_mean_violation_is_chosen_and_of_equal_ones_the_more_accurate() -> None:
    even, uneven, accurate = make((5.0, 5.0)), make((1.0, 10.0)), make((5.0, 5.0), (85.0, 84.5))
    assert choose([uneven, even, accurate]) == accurate
    assert choose([make((0.5, NOT_REACHED)), uneven]) == uneven, "a budget that is not reached is the worst"


def test_a_budgets_violation_is_that_of_the_fairest_value_that_reaches_the_level_on_average() -> None:
    fair = [record(1.0, 0, 0.83, 0.01), record(1.0, 1, 0.84, 0.01)]
    reaching = [record(0.5, 0, 0.838, 0.04), record(0.5, 1, 0.844, 0.06)]
    unfair = [record(0.1, 0, 0.85, 0.09), record(0.1, 1, 0.85, 0.09)]
    assert measure([*fair, *reaching, *unfair], 84.0) == pytest.approx((5.0, 84.1))
    assert measure([*fair, *reaching], 84.2) == pytest.approx((NOT_REACHED, 84.1))


def test_the_figures_take_what_the_rule_chose(tmp_path: Path) -> None:
    trials = [replace(one, chosen=False) for one in read_trials()]
    taken = choose_each(trials)
    assert {of: one.setting for of, one in taken.items()} == {
        (case, method): setting for case, chosen in CHOSEN.items() for method, setting in chosen.items()
    }
    write_trials(trials, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_text("utf-8") == PATH.read_text("utf-8")


def test_trials_are_runs_of_todays_settings_at_seeds_that_no_figure_has() -> None:
    trials = read_trials()
    assert [(one.case, one.method, one.setting) for one in trials] == list(list_tried())
    for one in trials:
        assert one.keys == tuple(list_configs([sweep_trial(CASES[one.case], one.method, one.setting)]))
    sweeps = [raw for one in papers()["dp_fermi"].presets for size in one.versions.values() for raw in size.sweeps]
    assert not set(TRIAL_SEEDS) & {seed for raw in sweeps for seed in raw["axes"]["seed"]}


def test_every_method_of_a_case_has_as_many_trials_and_runs_as_any_other() -> None:
    trials = read_trials()
    assert set(Counter(one.of for one in trials).values()) == {4}
    for case in CASES:
        assert len({len(one.keys) for one in trials if one.case == case}) == 1


def test_a_trial_of_which_runs_are_missing_is_not_judged(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIRPRIV_STORE", str(tmp_path / "runs.db"))
    with pytest.raises(RunFailed, match="0 of 24 runs"):
        read_trial("Adult, parity", "pf_ld", TRIED["pf_ld"][0])


def test_a_figure_says_what_was_tried_and_what_was_chosen() -> None:
    for name, case in CASES.items():
        told = format_trials(name)
        assert f"at an accuracy of {case.level:g} %" in told
        for method in list_methods(case):
            for value in {value for setting in TRIED[method] for value in setting.values()}:
                assert f"{value:g}" in told
    assert "for Tran et al. 2021b a step of 0.05 with 200 epochs" in format_trials("Credit Card, parity")
