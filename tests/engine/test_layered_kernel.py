"""The kernel for networks of layers against autograd and Opacus: losses, per-record norms, weighted sums."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from opacus import GradSampleModule
from torch.nn import functional

from fairpriv_core.engine.layers import LayeredShape
from fairpriv_core.engine.networks import build_cnn_small, build_vgg9
from fairpriv_core.engine.torch import kernel as layered_kernel
from fairpriv_core.engine.torch.gradients import Gradients, Outer
from fairpriv_core.engine.torch.kernel import TorchKernel, TorchPass
from tests.engine.reference import FLAT, LOGITS, SHAPES, SMALL, build_module, score, start

MODELS, ROWS = 2, 11
WEIGHTS = np.linspace(-1, 2, MODELS * ROWS).reshape(MODELS, ROWS)
every_shape = pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)


def _data(shape: LayeredShape, rows: int = ROWS, streams: int = 1) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(3)
    return draw.normal(size=(streams, rows, shape.inputs)), draw.integers(0, shape.labels, (streams, rows))


def _gradients(shape: LayeredShape, flat: np.ndarray, rows: np.ndarray, labels: np.ndarray) -> np.ndarray:
    """Return each record's gradient (B, P) of the logit, or else of the loss, by autograd of that record alone."""
    module, found = build_module(shape, flat), []
    for row, label in zip(rows, labels, strict=True):
        module.zero_grad()
        scores = module(torch.tensor(row).view(1, *shape.size_in))
        loss = functional.cross_entropy(scores, torch.tensor([int(label)])) if shape.outputs > 1 else scores.sum()
        loss.backward()
        found.append(np.concatenate([p.grad.numpy().ravel() for p in module.parameters()]))
    return np.array(found)


def _run(kernel: TorchKernel, streams: int = 1) -> tuple[TorchPass, np.ndarray, np.ndarray]:
    rows, labels = _data(kernel.shape, streams=streams)
    return kernel.run(rows, labels=labels), rows, labels


@pytest.mark.parametrize("shape", {**SHAPES, **LOGITS}.values(), ids={**SHAPES, **LOGITS})
@pytest.mark.parametrize("streams", [1, 2])
def test_pass_equals_autograd(shape: LayeredShape, streams: int) -> None:
    kernel = TorchKernel(shape, start(shape, MODELS))
    rows, labels = _data(shape, streams=streams)
    passed = kernel.run(rows, labels=labels if shape.outputs > 1 else None)
    total = kernel.weighted_sum(passed, WEIGHTS, slice(None))
    for k in range(MODELS):
        own = _gradients(shape, kernel.parameters[k], rows[k % streams], labels[k % streams])
        expected = WEIGHTS[k] @ own
        scores = score(shape, kernel.parameters[k], rows[k % streams]).detach().numpy()
        assert np.allclose(passed.logits[k], scores.reshape(passed.logits[k].shape), rtol=1e-10)
        assert np.allclose(passed.norms[k], np.linalg.norm(own, axis=1), rtol=1e-10)
        assert np.linalg.norm(total[k] - expected) <= 1e-10 * np.linalg.norm(expected)
    assert np.allclose(np.sqrt((passed.layer_norms**2).sum(axis=0)), passed.norms)
    assert len(passed.layer_norms) == len(shape.views(kernel.parameters))
    assert (passed.losses is None) == (shape.outputs == 1)


def test_dense_layers_keep_what_their_gradients_are_products_of() -> None:
    kernel = TorchKernel(SMALL, start(SMALL, 1))
    passed, _, _ = _run(kernel)
    assert [type(layer) for layer in passed.cache[0][0]] == [Gradients, Gradients, Gradients, Outer, Outer]


def test_digits_are_passed_through_in_few_parts() -> None:
    shape = build_cnn_small((1, 28, 28), 10)
    kernel = TorchKernel(shape, shape.initial(0)[None])
    rows, labels = _data(shape, rows=256)
    passed = kernel.run(rows.astype(np.float32), labels=labels)
    assert len(passed.cache[0]) == 2
    assert [type(layer) for layer in passed.cache[0][0]] == [Gradients, Gradients, Outer, Outer]


@every_shape
def test_what_is_handed_in_stays_as_it_is(shape: LayeredShape) -> None:
    """Derivatives are used up on their way back, the caller's rows and seeds are not."""
    kernel = TorchKernel(shape, start(shape, MODELS))
    rows, _ = _data(shape)
    scored = kernel.run(rows)
    seeds = np.tanh(scored.logits)
    rows_before, seeds_before = rows.copy(), seeds.copy()
    first, again = scored.back(seeds), scored.back(seeds)
    assert np.array_equal(rows, rows_before) and np.array_equal(seeds, seeds_before)
    assert np.array_equal(first.norms, again.norms)


@pytest.mark.parametrize(
    ("shape", "off"),
    [(build_cnn_small((1, 14, 14), 3), 1e-5), (build_vgg9((1, 16, 16), 3), 1e-4)],  # its group norm rounds: autograd's
    ids=["cnn_small", "vgg9"],  # norms are ours to 1e-6
)
@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")
def test_clipped_sums_equal_those_of_opacus(shape: LayeredShape, off: float) -> None:
    flat = shape.initial(0)
    rows, labels = _data(shape, rows=5)
    rows = rows.astype(np.float32)
    kernel = TorchKernel(shape, flat[None])
    passed = kernel.run(rows, labels=labels)
    bound = float(np.median(passed.norms))
    ours = kernel.weighted_sum(passed, np.minimum(1.0, bound / passed.norms), slice(None), bounded=True)[0]
    module = GradSampleModule(build_module(shape, flat), loss_reduction="sum")
    scores = module(torch.tensor(rows[0]).view(-1, *shape.size_in))
    functional.cross_entropy(scores, torch.tensor(labels[0]), reduction="sum").backward()
    each = torch.cat([p.grad_sample.flatten(1) for p in module.parameters()], dim=1)
    norms = each.norm(dim=1)
    theirs = ((bound / norms).clamp(max=1.0) @ each).numpy()
    assert np.allclose(passed.norms[0], norms.numpy(), rtol=off)
    assert np.linalg.norm(ours - theirs) <= off * np.linalg.norm(theirs)


@every_shape
def test_micro_batches_change_nothing(shape: LayeredShape, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = TorchKernel(shape, start(shape, MODELS))
    passed, _, _ = _run(kernel)
    whole = kernel.weighted_sum(passed, WEIGHTS[:, 2:9], slice(2, 9)).copy()
    monkeypatch.setattr(layered_kernel, "_AT_ONCE", 1)
    parted = TorchKernel(shape, kernel.parameters)
    again, _, _ = _run(parted)
    assert len(again.cache[0]) == ROWS > len(passed.cache[0])
    assert np.allclose(again.norms, passed.norms, rtol=1e-12) and np.allclose(again.logits, passed.logits, rtol=1e-12)
    assert np.allclose(parted.weighted_sum(again, WEIGHTS[:, 2:9], slice(2, 9)), whole, rtol=1e-10, atol=1e-14)


@every_shape
def test_what_memory_cannot_keep_is_made_again(shape: LayeredShape, monkeypatch: pytest.MonkeyPatch) -> None:
    kernel = TorchKernel(shape, start(shape, MODELS))
    kept = kernel.weighted_sum(_run(kernel)[0], WEIGHTS, slice(None)).copy()
    monkeypatch.setattr(layered_kernel, "_CACHED", 0)
    passed, _, _ = _run(kernel)
    assert not passed.cache
    assert np.array_equal(kernel.weighted_sum(passed, WEIGHTS, slice(None)), kept)


@every_shape
def test_models_together_equal_each_alone(shape: LayeredShape) -> None:
    kernel = TorchKernel(shape, start(shape, MODELS))
    passed, _, _ = _run(kernel)
    together = kernel.weighted_sum(passed, WEIGHTS, slice(None)).copy()
    for k in range(MODELS):
        alone = TorchKernel(shape, kernel.parameters[k : k + 1])
        own, _, _ = _run(alone)
        assert np.array_equal(own.norms[0], passed.norms[k])
        assert np.array_equal(alone.weighted_sum(own, WEIGHTS[k : k + 1], slice(None))[0], together[k])


@every_shape
def test_each_layer_may_have_weights_of_its_own(shape: LayeredShape) -> None:
    kernel = TorchKernel(shape, start(shape, MODELS))
    passed, _, _ = _run(kernel)
    plain = kernel.weighted_sum(passed, WEIGHTS, slice(None)).copy()
    layers = len(passed.layer_norms)
    total = kernel.weighted_sum(passed, np.stack([(1.0 + i) * WEIGHTS for i in range(layers)]), slice(None))
    for i, (own, same) in enumerate(zip(shape.views(total), shape.views(plain), strict=True)):
        assert all(np.allclose(part, (1.0 + i) * other) for part, other in zip(own, same, strict=True))


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize("weight", [0.0, 1.0])
@every_shape
def test_a_record_that_is_not_finite_contributes_nothing(shape: LayeredShape, value: float, weight: float) -> None:
    kernel = TorchKernel(shape, start(shape, MODELS))
    rows, labels = _data(shape)
    weights = np.ones((MODELS, ROWS))
    weights[:, 3] = 0.0
    clean = kernel.weighted_sum(kernel.run(rows, labels=labels), weights, slice(None)).copy()
    rows[:, 3], weights[:, 3] = value, weight
    passed = kernel.run(rows, labels=labels)
    assert not np.isfinite(passed.norms[:, 3]).any()
    total = kernel.weighted_sum(passed, weights, slice(None), bounded=True)
    assert np.allclose(total, clean, rtol=1e-12, atol=1e-15)


@every_shape
def test_other_seeds_are_propagated_back(shape: LayeredShape) -> None:
    """The gradient of sum_c seed_c score_c, for seeds that were chosen after the scores were seen."""
    kernel = TorchKernel(shape, start(shape, MODELS))
    rows, _ = _data(shape)
    scored = kernel.run(rows)
    seeds = np.tanh(scored.logits)
    passed = scored.back(seeds)
    assert scored.losses is None and passed.losses is None
    total = kernel.weighted_sum(passed, WEIGHTS, slice(None))
    for k in range(MODELS):
        module = build_module(shape, kernel.parameters[k])
        scores = module(torch.tensor(rows[0]).view(-1, *shape.size_in))
        (torch.tensor(WEIGHTS[k])[:, None] * torch.tensor(seeds[k]) * scores).sum().backward()
        expected = np.concatenate([p.grad.numpy().ravel() for p in module.parameters()])
        assert np.allclose(total[k], expected, rtol=1e-9, atol=1e-12)


def test_no_records_give_a_sum_of_zero() -> None:
    kernel = TorchKernel(FLAT, start(FLAT, MODELS))
    rows, labels = _data(FLAT, rows=0)
    passed = kernel.run(rows, labels=labels)
    assert passed.norms.shape == (MODELS, 0)
    assert not kernel.weighted_sum(passed, np.zeros((MODELS, 0)), slice(None), bounded=True).any()


def test_norms_are_never_too_short_where_places_cancel() -> None:
    """All places see the same and their derivatives cancel but for a little: what is summed is within the norm."""
    shape = LayeredShape((8, 6, 6), (*SMALL.layers[4:6], *SMALL.layers[6:]))
    kernel = TorchKernel(shape, start(shape, 1).astype(np.float32))
    rows = np.full((1, 4, shape.inputs), 1e3, dtype=np.float32) * np.geomspace(1, 1e3, 4, dtype=np.float32)[:, None]
    passed = kernel.run(rows).back(np.array([[[1.0, -1.0, 0.5]] * 4]))
    for j in range(4):
        alone = kernel.weighted_sum(passed, 1.0 / passed.norms[:, j : j + 1], slice(j, j + 1))
        assert np.linalg.norm(alone.astype(np.float64)) <= 1.0 + 1e-6
