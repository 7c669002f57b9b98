"""Every private method of the catalogue under audit: sensitivity, noise, and what is caught where one breaks."""

from __future__ import annotations

from dataclasses import replace
from functools import cache
from typing import Any

import pytest

from fairpriv_core.audit.canary import choose_pair, list_pairs, make_balanced_pair, make_data
from fairpriv_core.audit.observe import SUM
from fairpriv_core.audit.sensitivity import Noise, measure_noise, measure_sensitivities, measure_shapes, record_runs
from fairpriv_core.methods.base import FitsAlone, Method
from fairpriv_core.methods.catalog import methods
from fairpriv_core.methods.dp_sgd import DpSgd
from fairpriv_core.methods.pf_ld import PfLd
from fairpriv_core.runs.audit import AuditPlan, attack_pair, make_trainer, shorten, with_fields
from tests.noise import scale_noise

DELTA = 1e-5
PRIVATE = [name for name, kind in methods().items() if kind.info.threat_model is not None]


@cache
def prepare(name: str) -> Method:
    """Return the method as an audit trains it, on the shortest schedule that has every release."""
    method = methods()[name]().calibrated(epsilon=4.0, delta=DELTA, n_train=20_000)
    return with_fields(shorten(method, 800, DELTA), epochs=2)


def trainer_of(method: Method) -> Any:
    return make_trainer(method, notion=method.info.notions[0], seed=0)


def noise_of(method: Method) -> Noise | None:
    data = make_data(rows=800, isolated=2, groups=2, seed=0)
    return measure_noise(record_runs(trainer_of(method), data, runs=20, seed=0))


@pytest.mark.parametrize("name", PRIVATE)
def test_no_record_adds_more_than_is_counted(name: str) -> None:
    method = prepare(name)
    few = 2 if isinstance(method, FitsAlone) else 8
    data = make_data(rows=800, isolated=2, groups=2, seed=0)
    whole = method.info.threat_model == "record"
    found = measure_shapes(trainer_of(method), data, changes=few, whole_record=whole, seed=0)
    assert found
    assert {one.release: one.largest for one in found if one.largest > 1.0 + 1e-9} == {}


@pytest.mark.parametrize("name", [name for name in PRIVATE if not issubclass(methods()[name], FitsAlone)])
def test_halved_noise_is_caught_in_every_gradient_method(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the accountant untouched: what is counted lies in the honest noise's range, and above the halved one's."""
    method = prepare(name)
    honest = noise_of(method)
    assert honest is None or honest.low <= 1.0 <= honest.high
    scale_noise(monkeypatch, 0.5)
    releases = record_runs(trainer_of(method), make_data(rows=800, isolated=2, groups=2, seed=0), runs=20, seed=0)
    halved = measure_noise([[one for one in run if one.kind == SUM] for run in releases])
    assert halved is None or halved.high < 0.75


def test_halved_noise_is_refuted_by_the_attack(monkeypatch: pytest.MonkeyPatch) -> None:
    scale_noise(monkeypatch, 0.5)
    assert attack_dp_sgd(DpSgd(noise_primal=1.4, clip_primal=0.3), runs=500)["refuted"] is True


def test_without_noise_the_attack_wins() -> None:
    found = attack_dp_sgd(DpSgd(noise_primal=0.0, clip_primal=0.3), runs=100)
    (test, *_) = found["tests"]
    assert (test["hits"], test["alarms"]) == (test["seconds"], 0)
    assert found["profile"][0]["epsilon"] == float("inf")


def attack_dp_sgd(method: DpSgd, *, runs: int) -> dict[str, Any]:
    known = replace(method, epochs=2, batch_size=200, learning_rate=1e-5)
    data = make_data(rows=200, isolated=2, groups=2, seed=0)
    train = make_trainer(known, notion="demographic_parity", seed=0)
    pair = choose_pair(train, list_pairs(data, nulled=True), seed=0)
    plan = AuditPlan(runs=runs)
    return attack_pair(known, pair, notion="demographic_parity", delta=DELTA, plan=plan, report=lambda _: None)


def test_the_mutant_without_clipping_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    method = prepare("dp_sgd")
    monkeypatch.setattr("fairpriv_core.methods.noisy_sums.clip_weights", lambda weights, norms, bound: weights.copy())
    data = make_data(rows=800, isolated=2, groups=2, seed=0)
    (reach,) = measure_sensitivities(trainer_of(method), data, changes=12, whole_record=True, seed=0)
    assert reach.largest > 2.0


@pytest.mark.parametrize("variant", ["published", "proved"])
def test_one_persons_group_refutes_the_published_accounting_and_not_the_proved_one(variant: str) -> None:
    """Two tables of 400 that differ in one group (`make_balanced_pair`); 60 runs on each are enough."""
    method = PfLd(variant=variant, epochs=4, batch_size=400, optimizer="sgd", learning_rate=1e-4, dual_step=1e4)
    known = method.calibrated(epsilon=1.0, delta=DELTA, n_train=400)
    plan = AuditPlan(runs=80)
    pair = make_balanced_pair(400)
    found = attack_pair(known, pair, notion="demographic_parity", delta=DELTA, plan=plan, report=lambda _: None)
    assert found["refuted_published"] is (variant == "published")
    assert found["refuted"] is (None if variant == "published" else False)
