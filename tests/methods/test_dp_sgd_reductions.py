"""With one bound for all, each of DP-SGD's relatives is DP-SGD; without noise and clipping, plain descent."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.methods import dpsgd_f, dpsgd_global_adapt, fairdp_adaptive, opt_q
from fairpriv_core.methods.base import Method
from fairpriv_core.methods.dp_sgd import DpSgd
from fairpriv_core.methods.dpsgd_f import DpsgdF
from fairpriv_core.methods.dpsgd_global_adapt import DpsgdGlobalAdapt
from fairpriv_core.methods.fairdp_adaptive import FairDpAdaptive
from fairpriv_core.methods.opt_q import OptQ
from fairpriv_core.methods.shared.noisy_sums import SumsWithCounts
from tests.methods.harness import RecordingMechanism, make_data, train

SHARED: dict[str, Any] = {"epochs": 3, "batch_size": 25, "learning_rate": 0.1, "optimizer": "sgd", "clip_primal": 0.4}
ADAPTIVE: list[SumsWithCounts] = [
    OptQ(**SHARED, share_counts=0.3),
    DpsgdF(**SHARED, share_counts=0.3),
    DpsgdGlobalAdapt(**SHARED, share_counts=0.3, strict_clip=0.4),
    FairDpAdaptive(**SHARED, share_counts=0.3),
    FairDpAdaptive(**SHARED, share_counts=0.3, clip_by="group"),
]
NAMES = ["opt_q", "dpsgd_f", "dpsgd_global_adapt", "fairdp, class", "fairdp, group"]


class SameNoise(RecordingMechanism):
    """One sample and one noise vector a step, whatever else is released beside the gradients."""

    def __init__(self) -> None:
        super().__init__(
            forced=lambda epoch, step: np.flatnonzero(np.random.default_rng([epoch, step]).random(200) < 0.1)
        )

    def sampled_gaussian(
        self, total: np.ndarray, *, radius: float, step: int, part: str = "", **how: Any
    ) -> np.ndarray:
        noise = np.random.default_rng(step).standard_normal(len(total))
        return total + how["noise_multiplier"] * radius * noise


@pytest.fixture
def frozen(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is learnt: every bound stays where it starts."""
    for rule in (opt_q.OptQRule, dpsgd_f.DpsgdFRule, dpsgd_global_adapt.GlobalAdaptRule, fairdp_adaptive.FairDpRule):
        monkeypatch.setattr(rule, "learn", lambda self, model, statistics, gradient: None)


@pytest.mark.usefixtures("frozen")
@pytest.mark.parametrize("hidden_layers", [0, 2])
@pytest.mark.parametrize("method", ADAPTIVE, ids=NAMES)
def test_with_equal_bounds_it_is_dp_sgd_under_the_same_noise(method: SumsWithCounts, hidden_layers: int) -> None:
    """DP-SGD with the gradients' share of the noise; DPSGD-F's equal bounds are 2 C."""
    size = {"hidden_layers": hidden_layers, "width": 5}
    ready = dataclasses.replace(method, noise_primal=0.8, **size)
    clip = 0.8 if isinstance(method, DpsgdF) else 0.4
    plain = DpSgd(**{**SHARED, "clip_primal": clip}, noise_primal=ready.gradient_noise(), **size)
    (expected,), (found,) = (train(each, [make_data()], [SameNoise()]) for each in (plain, ready))
    assert np.allclose(found.parameters, expected.parameters, rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("variant", ["proved", "published"])
@pytest.mark.parametrize("method", ADAPTIVE, ids=NAMES)
def test_without_noise_and_clipping_it_is_plain_descent(method: SumsWithCounts, variant: str) -> None:
    """No noise, bounds past every norm: the written-out mean gradient of the same samples over q n."""
    wide: dict[str, Any] = {"clip_primal": 1e3, "noise_primal": 0.0, "variant": variant}
    if isinstance(method, OptQ):
        wide |= {"clip_step": 0.0, "quantile": 0.999}
    ready = dataclasses.replace(method, **wide)
    if isinstance(ready, DpsgdGlobalAdapt):  # scales by C / Z
        ready = dataclasses.replace(ready, strict_clip=1e3, strict_step=0.0)
    (found,) = train(ready, [make_data()], [SameNoise()])
    scale = 0.02 if isinstance(ready, OptQ) and variant == "published" else 1e-4
    assert np.allclose(found.parameters, _plain_descent(make_data(), ready), rtol=scale, atol=scale / 10)


def _plain_descent(data: Dataset, method: Method) -> np.ndarray:
    rows = np.concatenate([data.X, np.ones((data.n, 1))], axis=1).astype(np.float64)
    theta = np.zeros(data.d + 1)
    for epoch in range(SHARED["epochs"]):
        for step in range(8):
            index = np.flatnonzero(np.random.default_rng([epoch, step]).random(200) < 0.1)
            wrong = 1.0 / (1.0 + np.exp(-rows[index] @ theta)) - data.y[index]
            theta = theta - SHARED["learning_rate"] * wrong @ rows[index] / SHARED["batch_size"]
    return theta


def test_opt_q_with_step_0_keeps_its_bound() -> None:
    method = OptQ(**SHARED, noise_primal=0.5, clip_step=0.0)
    (fitted,) = train(method, [make_data()], [RecordingMechanism()])
    assert fitted.notes["clip"] == 0.4
