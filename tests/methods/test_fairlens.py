"""FairLens at the mechanism during the real fit, and against the written-out objective."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from fairpriv_core.audit import contract
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.kernel import Kernel
from fairpriv_core.engine.networks import NetworkShape, logits
from fairpriv_core.errors import BadInput
from fairpriv_core.methods.dp_sgd import DpSgd
from fairpriv_core.methods.fairlens import (
    FairLens,
    FairLensRule,
    GroupSums,
    derive_factors,
    directional,
)
from fairpriv_core.privacy.event import Gaussian
from fairpriv_core.privacy.sums import sensitivity
from tests.methods.harness import RecordingMechanism, Release, make_data, train, with_group
from tests.methods.test_dp_sgd_family import SHORT

STRONG: dict[str, Any] = {"multiplier_gradient": 30.0, "multiplier_boundary": 5.0, "noise_statistics": 0.1}
METHOD = FairLens(**SHORT, **STRONG)
FEW_STEPS = dataclasses.replace(METHOD, epochs=9, batch_size=100)
FEW_DEEP = dataclasses.replace(FEW_STEPS, hidden_layers=2, width=5)


def _statistics(mechanism: RecordingMechanism) -> list[Release]:
    return [release for release in mechanism.releases if release.index[0] == "statistics"]


def test_statistics_are_released_after_each_epoch_but_the_last() -> None:
    data, recorder = make_data(), RecordingMechanism()
    (fitted,) = train(METHOD, [data], [recorder])
    assert [release.index[1] for release in _statistics(recorder)] == [0, 1, 2, 3]
    assert {release.bound for release in _statistics(recorder)} == {sensitivity(1.0)}
    assert Gaussian(0.1, 4) in fitted.events


@pytest.mark.parametrize("variant", ["proved", "published"])
def test_without_regularisers_nothing_leaves_beside_the_releases(variant: str) -> None:
    """Epsilon is proved then, of the published variant too."""
    method = FairLens(**SHORT, multiplier_gradient=0.0, multiplier_boundary=0.0, variant=variant)
    recorded = contract.record(method, make_data, "demographic_parity")
    assert method.unproved_reason() is None
    contract.check_replay(method, make_data, "demographic_parity", recorded)


@pytest.mark.parametrize("variant", ["proved", "published"])
@pytest.mark.parametrize("hidden_layers", [0, 2])
def test_without_regularisers_it_is_dp_sgd_bit_for_bit(variant: str, hidden_layers: int) -> None:
    size = {"hidden_layers": hidden_layers, "width": 5}
    none: dict[str, Any] = {"multiplier_gradient": 0.0, "multiplier_boundary": 0.0, "variant": variant}
    (plain,) = train(DpSgd(**SHORT, **size), [make_data()], [RecordingMechanism(seed=4)])
    (found,) = train(FairLens(**SHORT, **size, **none), [make_data()], [RecordingMechanism(seed=4)])
    assert np.array_equal(plain.parameters, found.parameters)
    assert plain.events == found.events


@pytest.mark.parametrize("variant", ["proved", "published"])
@pytest.mark.parametrize("multipliers", [(2.0, 0.0), (0.0, 0.5), (1.0, 0.3)])
def test_without_noise_it_follows_the_written_out_objective(
    variant: str, multipliers: tuple[float, float], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A sample of everyone, one step an epoch, and no clipping of what is summed: g_C in the objective alone is."""
    data = with_group(make_data(n=300), np.arange(300) % 3 == 0)
    monkeypatch.setattr(FairLensRule, "bounds", lambda rule: np.array([1e6]))
    method = FairLens(
        epochs=5,
        batch_size=300,
        learning_rate=0.3,
        optimizer="sgd",
        clip_primal=0.5,
        noise_primal=0.0,
        noise_statistics=0.0,
        reach=1e3,
        variant=variant,
        multiplier_gradient=multipliers[0],
        multiplier_boundary=multipliers[1],
    )
    (fitted,) = train(method, [data], [RecordingMechanism()])
    assert np.allclose(fitted.parameters, _written_out(data, method), rtol=1e-3, atol=1e-5)


def _written_out(data: Dataset, method: FairLens) -> np.ndarray:
    rows = torch.cat([torch.from_numpy(data.X), torch.ones(data.n, 1)], dim=1).double()
    y, group = torch.from_numpy(data.y).double(), torch.from_numpy(data.group)
    theta = torch.zeros(data.d + 1, dtype=torch.float64, requires_grad=True)

    def objective(regularised: bool) -> Tensor:
        chance = torch.sigmoid(rows @ theta)
        loss = torch.nn.functional.binary_cross_entropy(chance, y)
        gradients = (chance - y)[:, None] * rows
        clipped = gradients * (method.clip_primal / gradients.norm(dim=1, keepdim=True)).clamp(max=1.0)
        excess, near = (gradients - clipped).mean(dim=0), 2.0 * chance * (1.0 - chance)
        for own in [group == each for each in range(data.groups)] if regularised else []:
            apart = gradients[own].mean(dim=0) - gradients.mean(dim=0)
            loss = loss + method.multiplier_gradient * (apart @ excess).abs()
            loss = loss + method.multiplier_boundary * (near[own].mean() - near.mean()).abs()
        return loss

    for epoch in range(method.epochs):
        (gradient,) = torch.autograd.grad(objective(epoch > 0 or not method.proved), theta)
        theta = (theta - method.learning_rate * gradient).detach().requires_grad_()
    return theta.detach().numpy()


def test_directional_derivatives_of_a_network_are_exact() -> None:
    shape, draw = NetworkShape(4, 2, 5), np.random.default_rng(0)
    flat, rows, direction = (draw.normal(size=size) for size in ((2, shape.size), (2, 7, 4), (2, shape.size)))
    kernel = Kernel(shape, flat)
    found = directional(kernel, kernel.run(rows), slice(2, 7), direction)
    for k in range(2):
        ahead, behind = (logits(shape, flat[k : k + 1] + h * direction[k], rows[k])[0] for h in (1e-6, -1e-6))
        assert np.allclose(found[k], ((ahead - behind) / 2e-6)[2:], rtol=1e-4, atol=1e-4)


def test_packed_sums_are_unpacked_as_they_were() -> None:
    draw = np.random.default_rng(0)
    sums = GroupSums(draw.normal(size=(3, 11)), draw.normal(size=11), draw.random(3), draw.random(3))
    found = GroupSums.unpack(sums.pack(0.7, 3.0), 0.7, 3.0, 3)
    for name, value in vars(sums).items():
        assert np.allclose(getattr(found, name), value), name


def test_a_group_that_is_too_small_is_left_out() -> None:
    draw = np.random.default_rng(0)
    sums = GroupSums(draw.normal(size=(3, 5)), draw.normal(size=5), np.array([100.0, -4.0, 200.0]), draw.random(3))
    factors = derive_factors(sums, least=30.0)
    assert factors.clipping[1] == factors.boundary[1] == 0.0
    assert factors.clipping[0] != 0.0


def test_settings_out_of_range_are_refused() -> None:
    for wrong, message in [
        ({"reach": 0.0}, "reach must be a finite number > 0, got 0.0"),
        ({"share_statistics": 1.0}, "share_statistics must lie strictly between 0 and 1, got 1.0"),
        ({"multiplier_gradient": -1.0}, "multiplier_gradient must be a finite number >= 0, got -1.0"),
        ({"variant": "raw"}, "variant must be one of proved, published, got 'raw'"),
    ]:
        with pytest.raises(BadInput, match=message):
            FairLens(**wrong)
