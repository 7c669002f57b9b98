"""DP-FERMI on networks with an output a label: models that share samples, and attacks."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from fairpriv_core.audit.attack import Pair
from fairpriv_core.engine.training import Training
from fairpriv_core.methods.dp_fermi import DpFermi
from fairpriv_core.notions.catalog import notions
from fairpriv_core.privacy.mechanism import Mechanism
from fairpriv_core.privacy.randomness import Randomness
from fairpriv_core.runs.audit import AuditPlan, attack_pair
from tests.methods.harness import Watcher, make_images, shrink_networks, with_group
from tests.methods.test_dp_fermi_classes import DEEP, IMAGES, METHOD, make_faces


def test_models_that_share_samples_are_as_each_alone() -> None:
    """Of shared rows, and one of them without lambda: it releases nothing."""
    data, notion = make_faces(), notions()["demographic_parity"]
    each = [dataclasses.replace(DEEP, multiplier=most) for most in (0.0, 1.0, 3.0)]

    def fit(methods: list[DpFermi], mechanisms: list[Mechanism]) -> list[Any]:
        trainings = [Training(notion, 0, mechanism, Watcher()) for mechanism in mechanisms]
        return DpFermi.fit_many(methods, [data] * len(methods), trainings)

    together = fit(each, [Mechanism(Randomness.replay(7), model=k, stream=4) for k in range(3)])
    for k, (method, joint) in enumerate(zip(each, together, strict=True)):
        (alone,) = fit([method], [Mechanism(Randomness.replay(7), model=k, stream=4)])
        assert np.linalg.norm(alone.parameters - joint.parameters) <= 1e-4 * np.linalg.norm(joint.parameters)
        assert alone.events == joint.events
    assert together[0].events == ()


def _pair() -> Pair:
    """Return images that differ in one face's group, which nothing else is like."""
    data = make_images(n=90)
    rows = data.X.copy()
    rows[-1] = 20.0 * np.random.default_rng(2).uniform(size=rows.shape[1])
    group = np.append(np.arange(89) % 2, 0)
    first = dataclasses.replace(data, X=rows, group=group)
    return Pair(first, with_group(first, np.append(group[:-1], 1)), 89)


def _attack(method: DpFermi, *, rate: float, runs: int) -> dict[str, Any]:
    brief: dict[str, Any] = {"epochs": 1, "batch_size": 45, "learning_rate": 1e-5}
    quiet = dataclasses.replace(method, **brief, sampling_rate=rate)
    plan = AuditPlan(runs=runs)
    return attack_pair(quiet, _pair(), notion="demographic_parity", delta=1e-5, plan=plan, report=lambda _: None)


@pytest.mark.long
def test_the_attack_does_not_refute_the_stated_epsilon() -> None:
    method = dataclasses.replace(METHOD, hidden_layers=0, noise_primal=2.0, noise_counts=2.0)
    assert _attack(method, rate=0.5, runs=60)["refuted"] is False


def test_without_noise_the_attack_wins_on_a_convolutional_network(monkeypatch: pytest.MonkeyPatch) -> None:
    shrink_networks(monkeypatch)
    found = _attack(dataclasses.replace(IMAGES, noise_primal=0.0, noise_counts=0.0), rate=1.0, runs=8)
    (test, *_) = found["tests"]
    assert (test["hits"], test["alarms"]) == (test["seconds"], 0)
