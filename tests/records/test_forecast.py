"""The signal of private training beside its noise, and what is said where there is next to none."""

from __future__ import annotations

import re
from itertools import count
from typing import Any

import pytest

from benchmarks.forecast import Found, fit_table
from fairpriv_core.privacy.event import Gaussian, SampledGaussian
from fairpriv_core.privacy.gaussian import gaussian_mu
from fairpriv_core.privacy.randomness import Randomness
from fairpriv_core.records.config import RunConfig, build_config
from fairpriv_core.records.forecast import ENOUGH, LITTLE, format_little_signal, measure_signal
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
    said = forecast(config, calibrate_method(config, 300), n_train=300, parameters=parameters) or ""
    assert said.startswith("So much noise on 300 rows leaves next to nothing to learn")
    rows, epsilon = re.search(r"about ([\d,]+) training rows, or ε of about ([\d.]+),", said).groups()  # type: ignore[union-attr]
    for n, budget in ((int(rows.replace(",", "")), 0.3), (300, float(epsilon))):
        better = ask({"name": "dp_sgd", "batch_size": 5}, budget)
        signal = measure_signal(calibrate_method(better, n).event(n), n_train=n, parameters=parameters)
        assert signal is not None and 0.7 * ENOUGH < signal < 1.5 * ENOUGH


def test_nothing_is_said_where_something_can_be_learned() -> None:
    assert format_little_signal(LITTLE, n_train=100, epsilon=1.0, delta=1e-5) is None
    assert format_little_signal(None, n_train=100, epsilon=1.0, delta=1e-5) is None
    by_hand = format_little_signal(1.0, n_train=100, epsilon=None, delta=1e-5) or ""
    assert "about 1,000 training rows would do" in by_hand and "ε" not in by_hand


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
