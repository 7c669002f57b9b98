"""DP-FERMI without noise is descent and ascent on Lowy et al.'s objective, and without lambda it is plain training."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence

import numpy as np
import pytest
import torch
from torch.nn import functional

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
    gap_target=None,
)


@pytest.mark.parametrize("variant", METHOD.info.variants)
@pytest.mark.parametrize("hidden_layers", [0, 2])
def test_without_lambda_the_method_is_plain_training_bit_for_bit(hidden_layers: int, variant: str) -> None:
    data = make_data()
    plain = Plain(epochs=3, batch_size=25, learning_rate=0.01, hidden_layers=hidden_layers, width=5)
    same = {name: getattr(plain, name) for name in (field.name for field in dataclasses.fields(plain))}
    (expected,) = train(plain, [data], [RecordingMechanism()])
    (fitted,) = train(DpFermi(**same, variant=variant, multiplier=0.0, gap_target=None), [data], [RecordingMechanism()])
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
    theta = torch.zeros(data.d + 1, dtype=torch.float64, requires_grad=True)
    written = write_out(
        dataclasses.replace(METHOD, variant=variant),
        *(data, notion, [theta]),
        lambda rows: torch.stack([torch.zeros(len(rows)), rows @ theta[:-1] + theta[-1]], dim=1),
    )
    assert np.allclose(fitted.parameters, written[0], rtol=1e-3, atol=1e-5)
    assert np.allclose(fitted.notes["adversary"], written[1], rtol=1e-3, atol=1e-5)


def test_algorithm_2_on_the_papers_f_is_algorithm_1_with_lambda_times_its_noise() -> None:
    """DP-SGDA for f = loss + lambda psi, noise on f's mean gradients over the shifts 2 L / m (Appendix E)."""
    data, mechanism = make_data(n=600, groups=3), RecordingMechanism()
    method = dataclasses.replace(METHOD, variant="published", noise_primal=0.05, clip_primal=2.0)
    (fitted,) = train(method, [data], [mechanism])
    rho, each = float(np.bincount(data.group).min() / data.n), 0.05 * np.sqrt(2.0)  # the multiplier of each part
    of_w = 1.5 * np.sqrt(2.0 / rho)  # L_w = lambda sqrt(2 / rho), and L_theta is D L_F times that
    drawn = [(one.out - one.value) / 0.05 for one in mechanism.releases]
    deviations = [each * 2.0 * lipschitz / 600 for lipschitz in (of_w * method.dual_norm * method.clip_primal, of_w)]
    size = data.d + 1
    noise = [(deviations[0] * z[:size], deviations[1] * z[size:].reshape(3, 2)) for z in drawn]
    theta = torch.zeros(size, dtype=torch.float64, requires_grad=True)
    written = write_out(
        method,
        *(data, "demographic_parity", [theta]),
        lambda rows: torch.stack([torch.zeros(len(rows)), rows @ theta[:-1] + theta[-1]], dim=1),
        noise,
    )
    assert len(noise) == 6 and max(np.abs(u).max() for u, _ in noise) > 1e-3
    assert np.allclose(fitted.parameters, written[0], rtol=1e-3, atol=1e-5)
    assert np.allclose(fitted.notes["adversary"], written[1], rtol=1e-3, atol=1e-5)


def write_out(
    method: DpFermi,
    data: Dataset,
    notion: str,
    parameters: list[torch.Tensor],
    score: Callable[..., torch.Tensor],
    noise: Sequence[Sequence[np.ndarray]] = (),
) -> tuple[np.ndarray, np.ndarray]:
    """Return the parameters that Algorithm 2 moves for f = loss + lambda psi, and its adversaries.

    `score` gives rows' scores (n, labels), `noise` each step's on the gradients; without it Algorithm 1 is the same.
    """
    rows, y = torch.from_numpy(data.X).double(), torch.from_numpy(data.y)
    one_hot = functional.one_hot(torch.from_numpy(data.group), data.groups).double()
    conditions = notions()[notion].conditions_among(data.labels)
    among = [torch.ones_like(y).bool() if label is None else y == label for label in conditions]
    shares = [one_hot[inside].mean(dim=0) for inside in among]
    w = [share.sqrt()[:, None].repeat(1, data.labels).requires_grad_() for share in shares]
    ascent = method.dual_step / (1.0 if method.variant == "published" else method.multiplier)
    for step in range(method.epochs):
        scores = score(rows)
        f = scores.softmax(dim=1)
        regulariser = sum(
            psi(f[inside], one_hot[inside], each, share).sum() / data.n
            for inside, each, share in zip(among, w, shares, strict=True)
        )
        loss = functional.cross_entropy(scores, y) + method.multiplier * regulariser
        gradients = torch.autograd.grad(loss, [*parameters, *w])
        if noise:
            gradients = tuple(g + torch.from_numpy(z) for g, z in zip(gradients, noise[step], strict=True))
        for parameter, gradient in zip(parameters, gradients, strict=False):
            parameter.data -= method.learning_rate * gradient
        steps = [each.detach() + ascent * g for each, g in zip(w, gradients[len(parameters) :], strict=True)]
        w = [(each * min(1.0, method.dual_norm / float(each.norm()))).requires_grad_() for each in steps]
    theta = np.concatenate([parameter.detach().numpy().ravel() for parameter in parameters])
    return theta, np.stack([each.detach().numpy() for each in w])


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
