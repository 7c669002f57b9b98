"""What to expect of a run, from runs that ship: as today's settings name them, at what was run and between it."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from typing import Any

import numpy as np
import pandas as pd
import pytest
from scipy.stats import norm
from scipy.stats import t as student

from examples.make_grid import BUDGETS, CLIPPING, DATA, GAPS, SEEDS, list_configs
from fairpriv_core.facts.grid import PATH, expect, name_setting
from fairpriv_core.records.config import RunConfig, build_config

BOUND = 0.5  # the usual one of pf_ld


def ask(epsilon: float | None = 1.0, data: str = "adult", **method: Any) -> RunConfig:
    spec = {"dataset": data, "sensitive": "sex" if data == "adult" else "age"}
    said = {"name": "pf_ld", **method}
    return build_config({"data": spec, "notion": "demographic_parity", "method": said, "epsilon": epsilon, "seed": 7})


def test_the_file_has_each_run_that_today_s_settings_name_and_is_small() -> None:
    table = pd.read_parquet(PATH)
    configs = {config.key: config.to_json() for name in DATA for config in list_configs(name)}
    assert list(table["key"]) == list(configs) and PATH.stat().st_size < 300_000
    assert list(table["setting"]) == [name_setting(config) for config in configs.values()]
    assert list(table["epsilon"]) == [config["epsilon"] for config in configs.values()]


@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("method", ["pf_ld", "one_release", "raco_dp", "dp_sgd"])
def test_at_a_stop_it_is_the_mean_of_the_seeds_and_where_one_more_falls(data: str, method: str) -> None:
    config = ask(3.0, data=data, name=method).to_json()
    found, table = expect(config), pd.read_parquet(PATH)
    same = table[(table["setting"] == name_setting(config)) & (table["epsilon"] == 3.0)]
    for name in ("gap_target", "clip_primal"):
        same = same[same[name].isna() if config["method"].get(name) is None else same[name] == config["method"][name]]
    assert found is not None and not found.between and len(same) == len(SEEDS) == found.accuracy.n
    for name, interval in (("accuracy", found.accuracy), ("gap", found.gap)):
        half = student.ppf(0.975, 4) * same[name].std(ddof=1) * math.sqrt(1 + 1 / 5)
        if name == "accuracy":  # no shorter than drawing so many test rows makes it
            [tested] = set(same["tested"])
            drawn = np.mean([right * (1 - right) / tested for right in same[name]])
            half = max(half, norm.ppf(0.975) * math.sqrt(drawn * (1 + 1 / 5)))
        ends = np.clip([same[name].mean(), same[name].mean() - half, same[name].mean() + half], 0, 1)
        assert [interval.mean, interval.low, interval.high] == pytest.approx(ends.tolist())
    assert list(found.rates) == json.loads(same["groups"].iloc[0])
    assert list(found.rates.values()) == pytest.approx(np.mean(same["rates"].to_list(), axis=0).tolist())
    assert found.constant == pytest.approx(same["constant"].mean())


def test_between_stops_it_is_weighed_by_factors_of_epsilon_and_of_the_bound_and_by_differences_of_the_gap() -> None:
    found = expect(ask(math.sqrt(1.0 * 3.0), gap_target=0.06, clip_primal=BOUND * math.sqrt(4.0)).to_json())
    ends = [
        expect(ask(epsilon, gap_target=gap, clip_primal=bound).to_json())
        for epsilon in (1.0, 3.0)
        for gap in (0.04, 0.08)
        for bound in (BOUND, 4 * BOUND)
    ]
    assert found is not None and found.between
    for read in (lambda e: e.accuracy.mean, lambda e: e.gap.low, lambda e: e.gap.high, lambda e: e.rates["Male"]):
        assert read(found) == pytest.approx(np.mean([read(end) for end in ends]))


def test_what_training_never_sees_changes_nothing() -> None:
    config = ask()
    assert expect(replace(config, seed=1, private_evaluation=True).to_json()) == expect(config.to_json()) is not None


@pytest.mark.parametrize(
    "config",
    [
        ask(0.9 * BUDGETS[0]),
        ask(1.1 * BUDGETS[-1]),
        ask(gap_target=GAPS[-1] + 0.01),
        ask(gap_target=None),
        ask(clip_primal=1.1 * BOUND * CLIPPING[-1]),
        ask(multiplier_max=4.0),
        ask(None, noise_primal=1.0, noise_dual=1.0, noise_counts=1.0),
        ask(name="dp_fermi"),
        ask(None, name="none"),
        replace(ask(), notion="equal_opportunity"),
        replace(ask(), split="stratified"),
        replace(ask(), delta=1e-6),
        replace(ask(), data=replace(ask().data, encoding="plain")),
        replace(ask(), data=replace(ask().data, rows=500)),
    ],
    ids=lambda config: config.key,
)
def test_elsewhere_nothing_is_expected(config: RunConfig) -> None:
    assert expect(config.to_json()) is None
