"""Networks of layers that end in one logit: the gradient's unit is the NumPy kernel's, and so is every number."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from fairpriv_core.engine.kernel import Kernel
from fairpriv_core.engine.layers import Dense, LayeredShape, Relu
from fairpriv_core.engine.networks import NetworkShape, build_cnn_small, build_vgg9
from fairpriv_core.engine.predict import count_labels, predict_proba
from fairpriv_core.engine.rows import Feed, Records
from fairpriv_core.engine.torch import kernel as layered_kernel
from fairpriv_core.engine.torch.kernel import LayeredKernel
from tests.engine.reference import SMALL, build_module, score, start
from tests.methods.harness import make_data

MODELS, ROWS = 2, 11
WEIGHTS = np.linspace(-1, 2, MODELS * ROWS).reshape(MODELS, ROWS)
DENSE = LayeredShape((7,), (Dense(5), Relu(), Dense(5), Relu(), Dense(1)))
SHAPES = {"small": LayeredShape(SMALL.size_in, (*SMALL.layers[:-1], Dense(1))), "dense": DENSE}
IMAGES = {"cnn_small": build_cnn_small((1, 15, 14), 1), "vgg9": build_vgg9((3, 16, 17), 1)}
every_shape = pytest.mark.parametrize("shape", SHAPES.values(), ids=SHAPES)


def _rows(shape: LayeredShape, streams: int = 1) -> np.ndarray:
    return np.random.default_rng(3).normal(size=(streams, ROWS, shape.inputs))


@every_shape
@pytest.mark.parametrize("streams", [1, 2])
def test_gradients_of_the_logit_equal_autograd(shape: LayeredShape, streams: int) -> None:
    kernel, rows = LayeredKernel(shape, start(shape, MODELS)), _rows(shape, streams)
    passed = kernel.run(rows)
    total = kernel.weighted_sum(passed, WEIGHTS, slice(None))
    assert passed.logits.shape == (MODELS, ROWS) and passed.losses is None
    for k in range(MODELS):
        module, found, logits = build_module(shape, kernel.parameters[k]), [], []
        for row in rows[k % streams]:
            module.zero_grad()
            logit = module(torch.tensor(row).view(1, *shape.size_in)).squeeze()
            logit.backward()
            logits.append(float(logit.detach()))
            found.append(np.concatenate([p.grad.numpy().ravel() for p in module.parameters()]))
        assert np.allclose(passed.logits[k], logits, rtol=1e-10)
        assert np.allclose(passed.norms[k], np.linalg.norm(found, axis=1), rtol=1e-10)
        assert np.linalg.norm(total[k] - WEIGHTS[k] @ found) <= 1e-10 * np.linalg.norm(total[k])


@every_shape
def test_the_last_layer_is_fed_what_its_gradients_are_made_of(
    shape: LayeredShape, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The logit is the scoring layer's product with the embedding; its gradient there is the embedding, and 1."""
    kernel, rows = LayeredKernel(shape, start(shape, MODELS)), _rows(shape)
    passed = kernel.run(rows)
    fed, (weights, biases) = passed.embeddings, shape.views(kernel.parameters)[-1]
    scored = np.matmul(fed, weights.transpose(0, 2, 1))[:, :, 0] + biases[:, 0]
    assert np.allclose(scored, passed.logits, rtol=1e-12)
    for j in (0, 4):
        alone = kernel.weighted_sum(passed, np.ones((MODELS, 1)), slice(j, j + 1))
        assert np.array_equal(alone[:, -fed.shape[2] - 1 : -1], fed[:, j]) and (alone[:, -1] == 1.0).all()
    monkeypatch.setattr(layered_kernel, "_CACHED", 0)
    monkeypatch.setattr(layered_kernel, "_WORKING", 1)
    again = LayeredKernel(shape, kernel.parameters).run(rows)
    assert not again.cache and np.allclose(again.embeddings, fed, rtol=1e-12)
    assert kernel.run(rows[:, :0]).embeddings.shape == (MODELS, 0, fed.shape[2])


@every_shape
def test_some_models_score_without_deriving_and_one_runs_alone(shape: LayeredShape) -> None:
    kernel, rows = LayeredKernel(shape, start(shape, 3)), _rows(shape)
    passed, scored = kernel.run(rows), kernel.score(slice(1, 3), rows[0])
    assert np.array_equal(scored, passed.logits[1:])
    alone = kernel.alone(1)
    assert np.array_equal(alone.run(rows).norms[0], passed.norms[1])
    kernel.parameters[1] *= 0.5
    assert np.array_equal(alone.run(rows).logits[0], kernel.run(rows).logits[1]), "over the same parameters"


def test_a_dense_network_gives_the_numpy_kernel_s_numbers() -> None:
    plain = NetworkShape(7, 2, 5)
    assert plain.size == DENSE.size and np.array_equal(plain.initial(4), DENSE.initial(4))
    flat, rows = start(DENSE, MODELS), _rows(DENSE)
    kernels = Kernel(plain, flat), LayeredKernel(DENSE, flat)
    for bounded in (False, True):
        ours, theirs = (kernel.run(rows) for kernel in kernels)
        for name in ("logits", "norms", "layer_norms", "embeddings"):
            assert np.allclose(getattr(ours, name), getattr(theirs, name), rtol=1e-10), name
        sums = [
            kernel.weighted_sum(passed, WEIGHTS, slice(None), bounded=bounded)
            for kernel, passed in zip(kernels, (ours, theirs), strict=True)
        ]
        assert np.allclose(*sums, rtol=1e-10, atol=1e-14)
    assert np.allclose(*(kernel.score(slice(None), rows[0]) for kernel in kernels), rtol=1e-10)


def test_records_have_the_logit_s_deviation_and_loss() -> None:
    data = make_data(n=ROWS, d=7)
    drawn = Feed([data]).draw([np.arange(ROWS)])
    records = Records(LayeredKernel(DENSE, start(DENSE, 1).astype(np.float32)).take(drawn), drawn)
    chance = 1.0 / (1.0 + np.exp(-records.logits))
    assert np.allclose(records.deviation, chance - data.y, atol=1e-6)
    assert np.allclose(records.loss, -np.log(np.where(data.y, chance, 1.0 - chance)), atol=1e-6)


@pytest.mark.parametrize("shape", {**SHAPES, **IMAGES}.values(), ids={**SHAPES, **IMAGES})
def test_predictions_are_the_logit_s_chances(shape: LayeredShape) -> None:
    flat = start(shape, 1).astype(np.float32)
    rows = np.random.default_rng(0).normal(size=(7, shape.inputs)).astype(np.float32)
    network = shape.to_json()
    assert LayeredShape.from_json(network) == shape and (count_labels(network), shape.outputs) == (2, 1)
    ours = predict_proba(network, flat[0], rows)
    assert ours.shape == (7, 2) and ours.dtype == np.float64
    theirs = score(shape, flat[0], rows).sigmoid().detach().numpy()[:, 0]
    kernel = 1.0 / (1.0 + np.exp(-LayeredKernel(shape, flat).run(rows[None]).logits[0]))
    assert np.abs(ours[:, 1] - theirs).max() <= 1e-5 and np.abs(ours[:, 1] - kernel).max() <= 1e-5
    assert np.allclose(ours.sum(axis=1), 1.0, atol=1e-12)
