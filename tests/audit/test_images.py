"""Methods on a small convolutional network under audit: what a record adds, the noise, and an attack that must fail."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from fairpriv_core.audit.attack import Train
from fairpriv_core.audit.canary import choose_pair, list_pairs, make_data
from fairpriv_core.audit.observe import SUM
from fairpriv_core.audit.sensitivity import measure_noise, measure_sensitivities, measure_shapes, record_runs
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.methods.base import Method, parameters
from fairpriv_core.methods.catalog import methods
from fairpriv_core.methods.dp_sgd import DpSgd
from fairpriv_core.runs.audit import AuditPlan, attack_pair, make_trainer, shorten, with_fields
from tests.noise import scale_noise

DELTA, SIDE = 1e-5, 14
ON_IMAGES = [
    name for name, kind in methods().items() if kind.info.threat_model is not None and "network" in parameters(kind)
]


def make_images(rows: int) -> Dataset:
    """Return images of which all but three pixels are dark, the canaries' own; two labels, two groups."""
    return replace(make_data(rows=rows, isolated=SIDE**2 - 3, groups=2, seed=0), image=(1, SIDE, SIDE))


def prepare(name: str) -> Method:
    method = methods()[name]().calibrated(epsilon=4.0, delta=DELTA, n_train=20_000)
    return with_fields(shorten(method, 240, DELTA), epochs=2, network="cnn_small")


def trainer_of(method: Method) -> Train:
    return make_trainer(method, notion=method.info.notions[0], seed=0)


@pytest.mark.parametrize("name", ON_IMAGES)
def test_no_record_adds_more_than_is_counted(name: str) -> None:
    method = prepare(name)
    whole = method.info.threat_model == "record"
    found = measure_shapes(trainer_of(method), make_images(240), changes=8, whole_record=whole, seed=0)
    assert found
    assert {one.release: one.largest for one in found if one.largest > 1.0 + 1e-9} == {}


@pytest.mark.parametrize("name", [name for name in ON_IMAGES if name != "one_release"])  # which releases no sum
def test_halved_noise_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    method, data = prepare(name), make_images(240)
    honest = measure_noise(record_runs(trainer_of(method), data, runs=3, seed=0))
    assert honest is not None and honest.low <= 1.0 <= honest.high
    scale_noise(monkeypatch, 0.5)
    releases = record_runs(trainer_of(method), data, runs=3, seed=0)
    halved = measure_noise([[one for one in run if one.kind == SUM] for run in releases])
    assert halved is not None and halved.high < 0.75


def test_the_mutant_without_clipping_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("fairpriv_core.methods.noisy_sums.clip_weights", lambda weights, norms, bound: weights.copy())
    (reach,) = measure_sensitivities(
        trainer_of(prepare("dp_sgd")), make_images(240), changes=12, whole_record=True, seed=0
    )
    assert reach.largest > 2.0


def test_the_attack_stays_below_epsilon_and_wins_without_noise() -> None:
    assert attack_dp_sgd(noise=1.4)["refuted"] is False
    found = attack_dp_sgd(noise=0.0)
    (test, *_) = found["tests"]
    assert (test["hits"], test["alarms"]) == (test["seconds"], 0)
    assert found["profile"][0]["epsilon"] == float("inf")


def attack_dp_sgd(*, noise: float) -> dict[str, Any]:
    """Return the audit of two steps on 30 images, one of which is the canary."""
    fixed: dict[str, Any] = {"epochs": 2, "batch_size": 30, "learning_rate": 1e-5, "network": "cnn_small"}
    method = DpSgd(noise_primal=noise, clip_primal=0.3, **fixed)
    pairs = list_pairs(make_images(30), nulled=True)[::200]
    pair = choose_pair(trainer_of(method), pairs, seed=0)
    plan = AuditPlan(runs=60)
    return attack_pair(method, pair, notion="demographic_parity", delta=DELTA, plan=plan, report=lambda _: None)
