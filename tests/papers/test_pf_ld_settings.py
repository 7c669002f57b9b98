"""PF-LD's settings are those that the rule takes of the kept candidates, and the rule is the one that is written."""

from __future__ import annotations

from dataclasses import replace

import pytest

from benchmarks.pf_ld_settings import SEEDS, Candidate, choose, choose_each, list_choices, read_candidates, sweep_at
from fairpriv_core.papers.catalog import papers
from fairpriv_core.papers.pf_ld_settings import CHOSEN, build_pf_ld
from fairpriv_core.papers.runs import list_configs

KIND = ("demographic_parity", "logit", "published")


def make(accuracy: float, gap: float) -> Candidate:
    return Candidate(*KIND, 35, 0.02, accuracy, 0.88, gap, ())


def test_the_most_accurate_of_the_fair_is_chosen() -> None:
    unfair, fair, fairer = make(0.9, 0.051), make(0.89, 0.05), make(0.885, 0.01)
    assert choose([unfair, fair, fairer]) == fair


def test_where_none_is_fair_the_fairest_of_those_that_learned_is_chosen() -> None:
    unlearned = make(0.879, 0.0)
    assert choose([make(0.9, 0.2), make(0.88, 0.1), unlearned]) == make(0.88, 0.1)
    with pytest.raises(ValueError, match="empty"):
        choose([unlearned])


def test_the_presets_take_what_the_rule_chose() -> None:
    candidates = read_candidates()
    taken = choose_each([replace(one, chosen=False) for one in candidates])
    assert {kind: one.choice for kind, one in taken.items()} == CHOSEN
    assert [replace(one, chosen=False) for one in candidates if one.chosen] == list(taken.values())


def test_candidates_are_runs_of_todays_settings_at_seeds_that_no_figure_has() -> None:
    kept = {(one.kind, one.choice): one.keys for one in read_candidates()}
    for (kind, choice), keys in kept.items():
        assert choice in list_choices(kind)
        assert keys == tuple(list_configs([sweep_at(kind[0], [build_pf_ld(kind, choice)])]))
    sweeps = [raw for one in papers()["pf_ld"].presets for size in one.versions.values() for raw in size.sweeps]
    assert not set(SEEDS) & {seed for raw in sweeps for seed in raw["axes"]["seed"]}
