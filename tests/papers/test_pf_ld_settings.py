"""PF-LD's settings are those that the rule takes of the kept candidates, and the rule is the one that is written."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from benchmarks.pf_ld_settings import (
    PATH,
    SEEDS,
    A,
    Candidate,
    Rival,
    choose,
    choose_each,
    list_choices,
    read_choice,
    sweep_at,
    write_choice,
)
from fairpriv_core.papers.catalog import papers
from fairpriv_core.papers.pf_ld.settings import CHOSEN, build_pf_ld
from fairpriv_core.papers.runs import list_configs

KIND = ("demographic_parity", "logit", "published")
RIVAL = Rival(0.04, ())


def make(accuracy: float, gap: float) -> Candidate:
    return Candidate(*KIND, 35, 0.02, accuracy, 0.88, gap, ())


def test_the_most_accurate_of_those_about_as_fair_as_the_rival_is_chosen() -> None:
    unfair, fair, fairer = make(0.9, 0.051), make(0.89, 0.05), make(0.885, 0.01)
    assert choose([unfair, fair, fairer], RIVAL) == fair


def test_where_none_is_fair_the_fairest_of_those_that_learned_is_chosen() -> None:
    unlearned = make(0.879, 0.0)
    assert choose([make(0.9, 0.2), make(0.88, 0.1), unlearned], RIVAL) == make(0.88, 0.1)
    with pytest.raises(ValueError, match="empty"):
        choose([unlearned], RIVAL)


def test_the_presets_take_what_the_rule_chose(tmp_path: Path) -> None:
    candidates, rivals = read_choice()
    bare = [replace(one, chosen=False) for one in candidates]
    taken = choose_each(bare, rivals)
    assert {kind: one.choice for kind, one in taken.items()} == CHOSEN
    write_choice(bare, rivals, tmp_path / "again.json")
    assert (tmp_path / "again.json").read_text("utf-8") == PATH.read_text("utf-8")


def test_candidates_are_runs_of_todays_settings_at_seeds_that_no_figure_has() -> None:
    candidates, rivals = read_choice()
    for one in candidates:
        assert one.choice in list_choices(one.kind)
        assert one.keys == tuple(list_configs([sweep_at(one.notion, [build_pf_ld(one.kind, one.choice)])]))
    assert all(one.keys == tuple(list_configs([sweep_at(notion, [A])])) for notion, one in rivals.items())
    sweeps = [raw for one in papers()["pf_ld"].presets for size in one.versions.values() for raw in size.sweeps]
    assert not set(SEEDS) & {seed for raw in sweeps for seed in raw["axes"]["seed"]}
