"""The signal of private training beside its noise, and what is said where there is next to none."""

from __future__ import annotations

import re
from itertools import count
from typing import Any

import pytest

from benchmarks.forecast import Found, fit_table
from fairpriv_core.methods.fields import fit_batch_size
from fairpriv_core.privacy.event import Gaussian, Laplace, RandomizedResponse, SampledGaussian
from fairpriv_core.privacy.gaussian import gaussian_mu
from fairpriv_core.privacy.randomness import Randomness
from fairpriv_core.records.config import RunConfig, build_config
from fairpriv_core.records.evidence import find_height, list_candidates, read_candidates, read_fits
from fairpriv_core.records.forecast import (
    ENOUGH,
    LITTLE,
    format_little_signal,
    format_much_noise,
    measure_noise,
    measure_signal,
)
from fairpriv_core.records.plan import DatasetCache, calibrate_method, plan_run
from fairpriv_core.records.record import forecast


def ask(method: str | dict[str, Any], epsilon: float, **data: Any) -> RunConfig:
    raw = {"data": {"dataset": "synthetic", "sensitive": "group", **data}, "method": method, "epsilon": epsilon}
    return build_config({**raw, "notion": "demographic_parity"})


def test_the_signal_is_the_sum_of_gradients_over_its_noise() -> None:
    steps = SampledGaussian(2.0, 0.1, 400)
    assert measure_signal((Gaussian(3.0), steps), n_train=1_000, parameters=25) == pytest.approx(100 * 20 / (2 * 5))
    assert measure_signal((steps, steps), n_train=1_000, parameters=50) == pytest.approx(200.0)
    assert measure_signal((Gaussian(3.0),), n_train=1_000, parameters=25) is None
    assert measure_signal((SampledGaussian(2.0, 0.1, 4, "replace"),), n_train=1_000, parameters=25) is None
    assert measure_signal((SampledGaussian(0.0, 0.1, 4),), n_train=1_000, parameters=25) is None


@pytest.mark.parametrize("batch", [13, 100, 1_000])
def test_it_is_about_the_same_however_the_steps_are_cut(batch: int) -> None:
    config = ask({"name": "dp_sgd", "batch_size": batch}, 1.0)
    method = calibrate_method(config, 1_000)
    signal = measure_signal(method.event(1_000), n_train=1_000, parameters=16)
    assert signal == pytest.approx(1_000 * gaussian_mu(1.0, 1e-5) / 4, rel=0.1)


def test_what_would_do_does() -> None:
    """With the rows, and with the epsilon, that the sentence names, the signal is about what it asks for."""
    config, parameters = ask({"name": "dp_sgd", "batch_size": 5}, 0.3), 41
    said = forecast(config, calibrate_method(config, 300), n_train=300, groups=2, parameters=parameters) or ""
    assert said.startswith("So much noise on 300 rows leaves next to nothing to learn")
    rows, epsilon = re.search(r"about ([\d,]+) training rows, or ε of about ([\d.]+),", said).groups()  # type: ignore[union-attr]
    for n, budget in ((int(rows.replace(",", "")), 0.3), (300, float(epsilon))):
        better = ask({"name": "dp_sgd", "batch_size": 5}, budget)
        signal = measure_signal(calibrate_method(better, n).event(n), n_train=n, parameters=parameters)
        assert signal is not None and 0.7 * ENOUGH < signal < 1.5 * ENOUGH


def test_nothing_is_said_where_something_can_be_learned() -> None:
    assert format_little_signal(LITTLE, n_train=100, epsilon=1.0, delta=1e-5) is None
    assert format_little_signal(None, n_train=100, epsilon=1.0, delta=1e-5) is None
    assert format_much_noise(0.99, n_train=100, groups=2, unit="row", epsilon=1.0) is None
    by_hand = format_little_signal(1.0, n_train=100, epsilon=None, delta=1e-5) or ""
    assert "about 1,000 training rows would do" in by_hand and "ε" not in by_hand


def test_noise_is_told_beside_what_all_people_of_an_equal_group_move() -> None:
    replaced, added = (SampledGaussian(6.0, 0.25, 40, relation) for relation in ("replace", "add_remove"))
    each = {Gaussian(10.0, 3): 10.0, Laplace(10.0): 14.142, replaced: 6.0, added: 12.0, RandomizedResponse(0.1): 0.0}
    for event, expected in each.items():
        assert measure_noise((event,), n_train=400, groups=4) == pytest.approx(expected / 100, rel=1e-4)
    assert measure_noise((*each,), n_train=400, groups=4) == pytest.approx(0.14142, rel=1e-4)
    assert measure_noise((), n_train=400, groups=4) == 0.0


@pytest.mark.parametrize("method", ["pf_ld", "dp_fermi", "jagielski_in"])
def test_what_would_do_for_groups_does(method: str) -> None:
    def say(n_train: int, epsilon: float) -> str:
        batch = {} if method == "jagielski_in" else {"batch_size": 60}
        config = ask({"name": method, **batch}, epsilon)
        return forecast(config, calibrate_method(config, n_train), n_train=n_train, groups=2, parameters=9) or ""

    said = say(240, 0.1)
    assert re.search(r"of 2 groups\. In a pass over the rows it is \d\.\d times what 120 people", said)
    (rows,) = re.search(r"about ([\d,]+) training rows would do, or a larger ε", said).groups()  # type: ignore[union-attr]
    assert say(int(rows.replace(",", "")), 0.1) == ""


def test_groups_of_rows_and_noise_by_hand_are_called_so() -> None:
    method = {"name": "one_release", "noise_statistic": 500.0}
    data = {"file": "visits.csv", "label": "left", "sensitive": "sex"}
    config = build_config({"data": data, "notion": "demographic_parity", "method": method})
    said = forecast(config, calibrate_method(config, 240), n_train=240, groups=2, parameters=9) or ""
    assert "what 120 rows, an equal group" in said and said.endswith("training rows would do.") and "ε" not in said


@pytest.mark.parametrize("n_train", [750, 50_000])
def test_noise_of_single_votes_is_not_held_against_all_of_them(n_train: int) -> None:
    """Its deviation grows as the square root of the questions, and what is learned is a mean over all answers."""
    config = ask("sf_pate", 0.05)
    method = calibrate_method(config, n_train)
    assert measure_noise(method.event(n_train), n_train=n_train, groups=6) > 1.0
    assert forecast(config, method, n_train=n_train, groups=6, parameters=9) is None


def test_no_kept_fits_of_what_is_refused_were_better_than_lots() -> None:
    """On no table, at no budget, was their mean accuracy above the mixing line."""
    fits = read_fits()
    fits["height"] = find_height(fits)
    refused = []
    for (name, _, _, epsilon), cell in fits.groupby(["setting", "notion", "table", "epsilon"]):
        if read_candidates()[name].info.threat_model == "attribute" and cell.height.notna().any():
            rows, groups = int(cell["rows"].iloc[0]), int(cell.groups.iloc[0])
            batch = fit_batch_size(read_candidates()[name], rows, ())
            asked = list_candidates()[name] if batch is None else {**list_candidates()[name], "batch_size": batch}
            config = ask(dict(asked), epsilon)
            method = calibrate_method(config, rows)
            if forecast(config, method, n_train=rows, groups=groups, parameters=None) is not None:
                refused.append(cell.height)
    assert len(refused) >= 10 and all(heights.mean() <= 0.0 for heights in refused)


def test_a_record_says_it_before_training() -> None:
    def warn(config: RunConfig) -> str:
        plan = plan_run(config, "key", datasets=DatasetCache(), find_record=lambda key: {})
        return " ".join(plan.draft.warnings)

    assert "next to nothing to learn" in warn(ask({"name": "dp_sgd", "batch_size": 20}, 0.05, rows=200))
    assert "next to nothing" not in warn(ask("dp_sgd", 1.0))
    assert "next to nothing" not in warn(ask("pf_ld", 0.5, rows=400))


@pytest.mark.filterwarnings("ignore::fairpriv_core.warnings.TrainingWarning")
def test_the_limits_hold_on_a_made_up_table(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds = count()
    monkeypatch.setattr(Randomness, "fresh", lambda: Randomness.replay(next(seeds)))  # fresh noise is seldom unlucky

    def ahead(found: Found) -> bool:
        return found.accuracy > found.constant + 0.01

    hopeful = [each for each in fit_table("sparse", 1_000, 8) if each.signal >= 2 * ENOUGH]
    assert hopeful and all(map(ahead, hopeful))
    hopeless = [each for each in fit_table("dense", 300, 150) if each.signal < LITTLE]
    assert len(hopeless) == 3 and not any(map(ahead, hopeless))
