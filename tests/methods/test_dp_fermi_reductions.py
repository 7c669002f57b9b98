"""DP-FERMI without noise is descent and ascent on Lowy et al.'s objective, and without lambda it is plain training."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
import torch

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.methods.dp_fermi import DpFermi
from fairpriv_core.methods.none import Plain
from fairpriv_core.notions.catalog import notions
from fairpriv_core.privacy.event import Gaussian, SampledGaussian
from tests.methods.harness import RecordingMechanism, make_data, train

METHOD = DpFermi(
    epochs=6,
    batch_size=600,
    sampling_rate=1.0,
    learning_rate=0.3,
    optimizer="sgd",
    multiplier=1.5,
    clip_primal=100.0,
    dual_step=0.4,
    dual_norm=1.45,
    noise_primal=0.0,
    noise_counts=0.0,
)


@pytest.mark.parametrize("variant", METHOD.info.variants)
@pytest.mark.parametrize("hidden_layers", [0, 2])
def test_without_lambda_the_method_is_plain_training_bit_for_bit(hidden_layers: int, variant: str) -> None:
    data = make_data()
    plain = Plain(epochs=3, batch_size=25, learning_rate=0.01, hidden_layers=hidden_layers, width=5)
    same = {name: getattr(plain, name) for name in (field.name for field in dataclasses.fields(plain))}
    (expected,) = train(plain, [data], [RecordingMechanism()])
    (fitted,) = train(DpFermi(**same, variant=variant, multiplier=0.0), [data], [RecordingMechanism()])
    assert np.array_equal(expected.parameters, fitted.parameters)
    assert fitted.events == ()


@pytest.mark.parametrize("variant", METHOD.info.variants)
@pytest.mark.parametrize("notion", METHOD.info.notions)
@pytest.mark.parametrize("groups", [2, 3])
def test_without_noise_it_descends_and_ascends_the_written_out_objective(
    groups: int, notion: str, variant: str
) -> None:
    """Everyone in every batch and sample: Algorithm 1 on Theorem C.1's psi, by automatic differentiation."""
    data = make_data(n=600, groups=groups)
    (fitted,) = train(dataclasses.replace(METHOD, variant=variant), [data], [RecordingMechanism()], notion=notion)
    factor = METHOD.multiplier if variant == "published" else 1.0
    theta, adversaries = _written_out(data, notion, dual_step=METHOD.dual_step * factor)
    assert np.allclose(fitted.parameters, theta, rtol=1e-3, atol=1e-5)
    assert np.allclose(fitted.notes["adversary"], adversaries, rtol=1e-3, atol=1e-5)


def _written_out(data: Dataset, notion: str, *, dual_step: float) -> tuple[np.ndarray, np.ndarray]:
    rows, y = torch.from_numpy(data.X).double(), torch.from_numpy(data.y)
    one_hot = torch.nn.functional.one_hot(torch.from_numpy(data.group), data.groups).double()
    among = [torch.ones_like(y).bool() if label is None else y == label for label in notions()[notion].conditions]
    shares = [one_hot[inside].mean(dim=0) for inside in among]
    theta = torch.zeros(data.d + 1, dtype=torch.float64, requires_grad=True)
    w = [share.sqrt()[:, None].repeat(1, 2).requires_grad_() for share in shares]
    for _ in range(METHOD.epochs):
        score = rows @ theta[:-1] + theta[-1]
        f = torch.stack([torch.sigmoid(-score), torch.sigmoid(score)], dim=1)
        regulariser = sum(
            psi(f[inside], one_hot[inside], each, share).sum() / data.n
            for inside, each, share in zip(among, w, shares, strict=True)
        )
        loss = torch.nn.functional.binary_cross_entropy_with_logits(score, y.double())
        gradients = torch.autograd.grad(loss + METHOD.multiplier * regulariser, [theta, *w])
        theta = (theta - METHOD.learning_rate * gradients[0]).detach().requires_grad_()
        steps = [each + dual_step * g / METHOD.multiplier for each, g in zip(w, gradients[1:], strict=True)]
        w = [
            (each * min(1.0, METHOD.dual_norm / float(each.detach().norm()))).detach().requires_grad_()
            for each in steps
        ]
    return theta.detach().numpy(), np.stack([each.detach().numpy() for each in w])


def psi(f: torch.Tensor, one_hot: torch.Tensor, w: torch.Tensor, share: torch.Tensor) -> torch.Tensor:
    """Return psi of each record (n,): -Tr(W diag(F) W^T) + 2 Tr(W (s F^T)^T P^-1/2) - 1."""
    first = torch.einsum("rj,nj,rj->n", w, f, w)
    second = torch.einsum("rj,nj,nr,r->n", w, f, one_hot, share.rsqrt())
    return -first + 2.0 * second - 1.0


def test_the_best_adversary_makes_the_regulariser_exponential_renyi_mutual_information() -> None:
    """Long ascent on a fixed classifier: mean psi is sum_rj p(r, j)^2 / (p(r) p(j)) - 1 (Definition 3.1)."""
    data = make_data(n=600, groups=3)
    still = dataclasses.replace(METHOD, epochs=60, learning_rate=1e-5, dual_norm=10.0)
    (fitted,) = train(still, [data], [RecordingMechanism()])
    w = np.array(fitted.notes["adversary"][0])
    f = np.full((data.n, 2), 0.5)  # logistic regression starts at 0
    one_hot = np.eye(3)[data.group]
    joint = one_hot.T @ f / data.n
    expected = (joint**2 / np.outer(joint.sum(axis=1), joint.sum(axis=0))).sum() - 1.0
    found = psi(*(torch.from_numpy(each) for each in (f, one_hot, w, one_hot.mean(axis=0))))
    assert float(found.mean()) == pytest.approx(expected, abs=1e-3)


def test_one_event_counts_both_sums_of_a_step() -> None:
    """(sigma_theta^-2 + sigma_w^-2)^(-1/2) is the multiplier of the one release."""
    method = dataclasses.replace(METHOD, share_dual=0.2, noise_primal=3.0, noise_counts=2.0)
    theta, w = 3.0 / np.sqrt(0.8), 3.0 / np.sqrt(0.2)
    counts, steps = method.event(600)
    assert counts == Gaussian(2.0)
    assert isinstance(steps, SampledGaussian)
    assert steps.noise_multiplier == pytest.approx((theta**-2 + w**-2) ** -0.5)
