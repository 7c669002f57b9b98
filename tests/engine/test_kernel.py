"""The kernel against autograd: logits, per-record norms, weighted sums."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from fairpriv_core.engine.kernel import Kernel
from fairpriv_core.engine.networks import NetworkShape, logits

MODELS, ROWS, INPUTS = 3, 17, 5


def _kernel(hidden_layers: int) -> tuple[Kernel, Tensor]:
    generator = torch.Generator().manual_seed(hidden_layers)
    shape = NetworkShape(INPUTS, hidden_layers, width=7)
    parameters = torch.randn(MODELS, shape.size, generator=generator, dtype=torch.float64) * 0.5
    return Kernel(shape, parameters), torch.randn(MODELS, ROWS, INPUTS, generator=generator, dtype=torch.float64)


def _logit(shape: NetworkShape, flat: Tensor, row: Tensor) -> Tensor:
    """One record's logit, written plainly: the reference."""
    hidden, start = row, 0
    for index, (outputs, inputs) in enumerate(shape.layers):
        weights = flat[start : start + outputs * inputs].reshape(outputs, inputs)
        start += outputs * inputs
        hidden = weights @ hidden + flat[start : start + outputs]
        start += outputs
        if index < len(shape.layers) - 1:
            hidden = hidden.relu()
    assert start == flat.numel() == shape.size
    return hidden[0]


def _jacobian(kernel: Kernel, rows: Tensor) -> tuple[Tensor, Tensor]:
    scores, gradients = [], []
    for k in range(MODELS):
        for row in rows[k]:
            flat = kernel.parameters[k].clone().requires_grad_()
            score = _logit(kernel.shape, flat, row)
            score.backward()
            scores.append(score.detach())
            gradients.append(flat.grad)
    return torch.stack(scores).reshape(MODELS, ROWS), torch.stack(gradients).reshape(MODELS, ROWS, -1)


@pytest.mark.parametrize("hidden_layers", [0, 1, 2, 10])
def test_pass_equals_autograd(hidden_layers: int) -> None:
    kernel, rows = _kernel(hidden_layers)
    scores, gradients = _jacobian(kernel, rows)
    passed = kernel.run(rows)
    weights = torch.linspace(-1, 2, MODELS * ROWS, dtype=torch.float64).reshape(MODELS, ROWS)
    expected = (weights.unsqueeze(2) * gradients).sum(dim=1)
    total = kernel.weighted_sum(passed, weights, slice(None))
    assert torch.allclose(passed.logits, scores, rtol=1e-12, atol=1e-12)
    assert torch.allclose(passed.norms, gradients.norm(dim=2), rtol=1e-10)
    assert (total - expected).norm() <= 1e-10 * expected.norm()


@pytest.mark.parametrize("hidden_layers", [0, 2, 10])
def test_float32_gradients_stay_within_1e_5(hidden_layers: int) -> None:
    kernel, rows = _kernel(hidden_layers)
    weights = torch.linspace(-1, 2, MODELS * ROWS, dtype=torch.float64).reshape(MODELS, ROWS)
    exact = kernel.weighted_sum(kernel.run(rows), weights, slice(None))
    small = Kernel(kernel.shape, kernel.parameters.float())
    rounded = small.weighted_sum(small.run(rows.float()), weights.float(), slice(None)).double()
    assert (rounded - exact).norm() <= 1e-5 * exact.norm()


def test_weighted_sum_of_a_slice_leaves_the_other_records_out() -> None:
    kernel, rows = _kernel(2)
    weights = torch.ones(MODELS, ROWS, dtype=torch.float64)
    passed = kernel.run(rows)
    parts = [kernel.weighted_sum(passed, weights[:, part], part) for part in (slice(0, 6), slice(6, None))]
    assert torch.allclose(parts[0] + parts[1], kernel.weighted_sum(passed, weights, slice(None)))


def test_a_record_that_is_not_finite_contributes_nothing() -> None:
    kernel, rows = _kernel(2)
    spoiled = rows.clone()
    spoiled[:, 3] = 1e308
    weights = torch.ones(MODELS, ROWS, dtype=torch.float64)
    total = kernel.weighted_sum(kernel.run(spoiled), weights, slice(None))
    weights[:, 3] = 0.0
    assert torch.isfinite(total).all()
    assert torch.allclose(total, kernel.weighted_sum(kernel.run(rows), weights, slice(None)))


def test_no_records_give_a_sum_of_zero() -> None:
    kernel, rows = _kernel(1)
    passed = kernel.run(rows)
    none = slice(ROWS, None)
    assert torch.equal(
        kernel.weighted_sum(passed, torch.zeros(MODELS, 0, dtype=torch.float64), none),
        torch.zeros_like(kernel.parameters),
    )


def test_chunked_logits_equal_the_kernel() -> None:
    kernel, _ = _kernel(2)
    rows = torch.randn(5000, INPUTS, dtype=torch.float64)
    whole = kernel.run(rows.expand(MODELS, -1, -1)).logits
    assert torch.allclose(logits(kernel.shape, kernel.parameters, rows), whole)
