"""The kernel against autograd: logits, per-record norms, weighted sums."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from fairpriv_core.engine import kernel as kernel_module
from fairpriv_core.engine.kernel import Kernel
from fairpriv_core.engine.networks import NetworkShape, logits
from fairpriv_core.privacy.sums import BLOCK

MODELS, ROWS, INPUTS = 3, 17, 5
WEIGHTS = np.linspace(-1, 2, MODELS * ROWS).reshape(MODELS, ROWS)


def _kernel(hidden_layers: int) -> tuple[Kernel, np.ndarray]:
    draw = np.random.default_rng(hidden_layers)
    shape = NetworkShape(INPUTS, hidden_layers, width=7)
    return Kernel(shape, draw.normal(size=(MODELS, shape.size)) * 0.5), draw.normal(size=(MODELS, ROWS, INPUTS))


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


def _jacobian(kernel: Kernel, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    scores, gradients = [], []
    for k in range(MODELS):
        for row in rows[k % len(rows)]:
            flat = torch.from_numpy(kernel.parameters[k].copy()).requires_grad_()
            score = _logit(kernel.shape, flat, torch.from_numpy(row))
            score.backward()
            scores.append(score.item())
            gradients.append(flat.grad.numpy())
    return np.reshape(scores, (MODELS, ROWS)), np.reshape(gradients, (MODELS, ROWS, -1))


@pytest.mark.parametrize("shared", [False, True])
@pytest.mark.parametrize("hidden_layers", [0, 1, 2, 10])
def test_pass_equals_autograd(hidden_layers: int, shared: bool) -> None:
    kernel, rows = _kernel(hidden_layers)
    rows = rows[:1] if shared else rows
    scores, gradients = _jacobian(kernel, rows)
    passed = kernel.run(rows)
    expected = (WEIGHTS[:, :, None] * gradients).sum(axis=1)
    total = kernel.weighted_sum(passed, WEIGHTS, slice(None))
    norms = np.broadcast_to(passed.norms, (MODELS, ROWS))
    assert np.allclose(passed.logits, scores, rtol=1e-12, atol=1e-12)
    assert np.allclose(norms, np.linalg.norm(gradients, axis=2), rtol=1e-10)
    assert np.allclose(np.sqrt((passed.layer_norms**2).sum(axis=0)), norms, rtol=1e-10)
    assert np.linalg.norm(total - expected) <= 1e-10 * np.linalg.norm(expected)


def test_float32_gradients_stay_within_1e_5() -> None:
    for hidden_layers in [0, 2, 10]:
        kernel, rows = _kernel(hidden_layers)
        exact = kernel.weighted_sum(kernel.run(rows), WEIGHTS, slice(None))
        small = Kernel(kernel.shape, kernel.parameters.astype(np.float32))
        rounded = small.weighted_sum(small.run(rows.astype(np.float32)), WEIGHTS.astype(np.float32), slice(None))
        assert rounded.dtype == np.float32
        assert np.linalg.norm(rounded - exact) <= 1e-5 * np.linalg.norm(exact)


@pytest.mark.parametrize("hidden_layers", [0, 2])
def test_models_together_equal_each_alone(hidden_layers: int) -> None:
    kernel, rows = _kernel(hidden_layers)
    together = kernel.weighted_sum(kernel.run(rows[:1]), WEIGHTS, slice(None)).copy()
    for k in range(MODELS):
        alone = Kernel(kernel.shape, kernel.parameters[k : k + 1])
        own = alone.weighted_sum(alone.run(rows[:1]), WEIGHTS[k : k + 1], slice(None))
        assert np.linalg.norm(own[0] - together[k]) <= 1e-12 * np.linalg.norm(own)


@pytest.mark.parametrize("hidden_layers", [0, 2])
def test_each_layer_may_have_weights_of_its_own(hidden_layers: int) -> None:
    kernel, rows = _kernel(hidden_layers)
    passed = kernel.run(rows)
    total = kernel.weighted_sum(
        passed, np.stack([(1.0 + layer) * WEIGHTS for layer in range(hidden_layers + 1)]), slice(None)
    ).copy()
    for layer, (weights, biases) in enumerate(kernel.shape.views(kernel.weighted_sum(passed, WEIGHTS, slice(None)))):
        own_weights, own_biases = kernel.shape.views(total)[layer]
        assert np.allclose(own_weights, (1.0 + layer) * weights) and np.allclose(own_biases, (1.0 + layer) * biases)


def test_weighted_sum_of_a_slice_leaves_the_other_records_out() -> None:
    kernel, rows = _kernel(2)
    weights = np.ones((MODELS, ROWS))
    passed = kernel.run(rows)
    parts = [kernel.weighted_sum(passed, weights[:, part], part).copy() for part in (slice(0, 6), slice(6, None))]
    assert np.allclose(parts[0] + parts[1], kernel.weighted_sum(passed, weights, slice(None)))


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
def test_a_record_that_is_not_finite_contributes_nothing() -> None:
    kernel, rows = _kernel(2)
    spoiled = rows.copy()
    spoiled[:, 3] = 1e308
    weights = np.ones((MODELS, ROWS))
    total = kernel.weighted_sum(kernel.run(spoiled), weights, slice(None), bounded=True).copy()
    weights[:, 3] = 0.0
    assert np.isfinite(total).all()
    assert np.allclose(total, kernel.weighted_sum(kernel.run(rows), weights, slice(None)))


def test_no_records_give_a_sum_of_zero() -> None:
    kernel, rows = _kernel(1)
    total = kernel.weighted_sum(kernel.run(rows), np.zeros((MODELS, 0)), slice(ROWS, None))
    assert np.array_equal(total, np.zeros_like(kernel.parameters))


def test_chunked_logits_equal_the_kernel() -> None:
    kernel, _ = _kernel(2)
    rows = np.random.default_rng(0).normal(size=(5000, INPUTS))
    assert np.allclose(logits(kernel.shape, kernel.parameters, rows), kernel.run(rows[None]).logits)


SIZES = [300, 128, 1, 0, 300, 64 * 128 + 129, 127]


def _one_model(hidden_layers: int) -> Kernel:
    shape = NetworkShape(INPUTS, hidden_layers, width=7)
    return Kernel(shape, shape.initial(1)[None] + np.float32(0.1))


def test_passes_of_other_sizes_between_leave_no_trace() -> None:
    """Memory and its views are used again: each pass and sum has the bits that a kernel of its own gives."""
    for hidden_layers in [0, 1, 3]:
        kernel, draw = _one_model(hidden_layers), np.random.default_rng(4)
        for size in SIZES:
            rows = draw.normal(size=(1, size, INPUTS)).astype(np.float32)
            weights, fresh = draw.normal(size=(1, size)).astype(np.float32), _one_model(hidden_layers)
            passed, expected = kernel.run(rows), fresh.run(rows)
            assert np.array_equal(passed.logits, expected.logits) and np.array_equal(passed.norms, expected.norms)
            for bounded in (False, True):
                total = kernel.weighted_sum(passed, weights, slice(None), bounded=bounded)
                assert np.array_equal(total, fresh.weighted_sum(expected, weights, slice(None), bounded=bounded))


def test_more_sizes_than_are_kept() -> None:
    kernel = _one_model(1)
    rows = np.ones((1, 2 * kernel_module._ROOMS, INPUTS), dtype=np.float32)
    first = kernel.run(rows[:, :5]).logits.copy()
    for size in range(2 * kernel_module._ROOMS):
        kernel.run(rows[:, :size])
    assert len(kernel._rooms) <= kernel_module._ROOMS
    assert np.array_equal(kernel.run(rows[:, :5]).logits, first)


def test_one_models_blocks_add_up_in_float64() -> None:
    for size in [1, 127, 128, 300, 64 * 128 + 129]:
        kernel, draw = _one_model(2), np.random.default_rng(size)
        rows, weights = draw.normal(size=(1, size, INPUTS)).astype(np.float32), draw.normal(size=(1, size))
        passed = kernel.run(rows)
        total = kernel.weighted_sum(passed, weights.astype(np.float32), slice(None), bounded=True).copy()
        blocks = [slice(start, start + BLOCK) for start in range(0, size, BLOCK)]
        each = [
            kernel.weighted_sum(passed, weights[:, block].astype(np.float32), block).astype(np.float64)
            for block in blocks
        ]
        assert total.dtype == np.float64
        assert np.linalg.norm(total - np.sum(each, axis=0)) <= 1e-6 * np.linalg.norm(total)


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
@pytest.mark.parametrize("part", [slice(None), slice(128, None)])
def test_a_record_of_one_model_that_is_not_finite_contributes_nothing(part: slice) -> None:
    kernel, rows = _one_model(2), np.random.default_rng(0).normal(size=(1, 300, INPUTS)).astype(np.float32)
    weights = np.ones((1, len(range(300)[part])), dtype=np.float32)
    spoiled = rows.copy()
    spoiled[:, 140] = np.inf
    total = kernel.weighted_sum(kernel.run(spoiled), weights, part, bounded=True).copy()
    weights[:, range(300)[part].index(140)] = 0.0
    assert np.array_equal(total, kernel.weighted_sum(kernel.run(rows), weights, part, bounded=True))
