"""Without noise and multipliers every method is the plain model; DP-SGD equals Opacus step by step."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch
from opacus.grad_sample import GradSampleModule

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.networks import NetworkShape
from fairpriv_core.methods.base import Method
from fairpriv_core.methods.dp_sgd import DpSgd
from fairpriv_core.methods.f_ld import FLd
from fairpriv_core.methods.none import Plain
from fairpriv_core.methods.pf_ld import PfLd
from fairpriv_core.notions.catalog import notions
from tests.methods.harness import RecordingMechanism, make_data, train

SHARED = {"epochs": 4, "batch_size": 25, "learning_rate": 0.05, "optimizer": "sgd"}
NOISELESS = {"noise_primal": 0.0, "noise_dual": 0.0, "noise_counts": 0.0}
ZERO: list[Method] = [
    FLd(**SHARED, multiplier_max=0.0, gap_target=None),
    PfLd(**SHARED, multiplier_max=0.0, **NOISELESS, gap_target=None),
    PfLd(**SHARED, multiplier_max=0.0, variant="published", **NOISELESS, gap_target=None),
]


@pytest.mark.parametrize("hidden_layers", [0, 2])
@pytest.mark.parametrize("method", ZERO, ids=["f_ld", "proved", "published"])
def test_without_multipliers_a_method_is_the_plain_model(method: Method, hidden_layers: int) -> None:
    data = make_data()
    size = {"hidden_layers": hidden_layers, "width": 6}
    (plain,) = train(Plain(**SHARED, **size), [data], [RecordingMechanism()])
    (fair,) = train(dataclasses.replace(method, **size), [data], [RecordingMechanism()])
    assert np.allclose(plain.parameters, fair.parameters, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("notion", PfLd.info.notions)
def test_without_noise_the_proved_variant_follows_the_exact_gradient(notion: str) -> None:
    """A sample of everyone, no clipping, no noise, one batch: the update is that of the written-out Lagrangian."""
    data = make_data()
    method = PfLd(
        epochs=3,
        batch_size=200,
        sampling_rate=1.0,
        learning_rate=0.3,
        optimizer="sgd",
        clip_primal=1e6,
        clip_dual=1.0,
        dual_step=2.0,
        **NOISELESS,
        gap_target=None,
    )
    (fitted,) = train(method, [data], [RecordingMechanism()], notion=notion)
    assert np.allclose(fitted.parameters, write_out(data, method, notion), rtol=1e-4, atol=1e-6)


def write_out(data: Dataset, method: Any, notion: str, *, in_proportion: bool = False) -> np.ndarray:
    """Return the parameters of descent and ascent on a notion's Lagrangian; dual steps by cells' shares, or alike."""
    rows, y = torch.from_numpy(data.X).double(), torch.from_numpy(data.y).double()
    chosen = notions()[notion]
    cells = [
        (among, among & torch.from_numpy(data.group == group))
        for label in chosen.conditions
        for among in [torch.ones(data.n, dtype=torch.bool) if label is None else torch.from_numpy(data.y == label)]
        for group in range(data.groups)
    ]
    shares = torch.stack([inside.sum().double() / among.sum() for among, inside in cells])
    shares = shares if in_proportion else torch.ones_like(shares)
    theta = torch.zeros(data.d + 1, dtype=torch.float64, requires_grad=True)
    multipliers = torch.zeros(len(cells), dtype=torch.float64)

    def violations() -> tuple[torch.Tensor, torch.Tensor]:
        scores = rows @ theta[:-1] + theta[-1]
        losses = torch.nn.functional.binary_cross_entropy_with_logits(scores, y, reduction="none")
        h = torch.sigmoid(scores) if chosen.target == "score" else losses
        return losses.mean(), torch.stack([h[among].mean() - h[inside].mean() for among, inside in cells])

    for _ in range(method.epochs):
        loss, moved = violations()
        (gradient,) = torch.autograd.grad(loss + (multipliers * moved).sum(), theta)
        theta = (theta - method.learning_rate * gradient).detach().requires_grad_()
        raised = multipliers + method.dual_step * shares * violations()[1].detach()
        multipliers = raised.clamp(-method.multiplier_max, method.multiplier_max)
    return theta.detach().numpy()


@pytest.mark.filterwarnings("ignore:Full backward hook is firing")
@pytest.mark.parametrize("hidden_layers", [0, 2])
def test_dp_sgd_sums_equal_opacus(hidden_layers: int) -> None:
    """Per-record gradients by Opacus, clipped and summed, at every step of a run with noise."""
    data = make_data()
    method = DpSgd(
        epochs=2,
        batch_size=50,
        learning_rate=0.1,
        optimizer="sgd",
        clip_primal=0.3,
        noise_primal=0.7,
        hidden_layers=hidden_layers,
        width=6,
    )
    samples = [np.flatnonzero(np.random.default_rng(step).random(data.n) < 0.25) for step in range(8)]
    mechanism = RecordingMechanism(forced=lambda epoch, step: samples[epoch * 4 + step])
    train(method, [data], [mechanism])
    shape = NetworkShape(data.d, hidden_layers, 6)
    flat = torch.from_numpy(shape.initial(0)).double()
    for sample, release in zip(samples, mechanism.releases, strict=True):
        expected = _opacus_sum(shape, flat, data, sample, method.clip_primal)
        assert np.linalg.norm(release.value - expected) <= 3e-5 * np.linalg.norm(expected)
        flat = flat - method.learning_rate * torch.from_numpy(release.out) / method.batch_size


def _opacus_sum(shape: NetworkShape, flat: torch.Tensor, data: Dataset, sample: np.ndarray, clip: float) -> np.ndarray:
    layers: list[torch.nn.Module] = []
    for (weights, biases), (outputs, inputs) in zip(shape.views(flat.reshape(1, -1)), shape.layers, strict=True):
        linear = torch.nn.Linear(inputs, outputs).double()
        linear.weight.data, linear.bias.data = weights[0].clone(), biases[0, 0].clone()
        layers += [linear, torch.nn.ReLU()]
    module = GradSampleModule(torch.nn.Sequential(*layers[:-1]), loss_reduction="sum")
    scores = module(torch.from_numpy(data.X[sample]).double()).squeeze(1)
    labels = torch.from_numpy(data.y[sample]).double()
    torch.nn.functional.binary_cross_entropy_with_logits(scores, labels, reduction="sum").backward()
    parts = [parameter.grad_sample.reshape(len(sample), -1) for parameter in module.parameters()]
    per_record = torch.cat(parts, dim=1)
    factors = (clip / per_record.norm(dim=1)).clamp(max=1.0)
    return np.asarray((per_record * factors[:, None]).sum(dim=0))
