"""Networks of layers that end in one logit: the gradient's unit is the NumPy kernel's, and so is every number."""

from __future__ import annotations

import numpy as np
import pytest

from fairpriv_core.engine.kernel import Kernel
from fairpriv_core.engine.layers import LayeredShape
from fairpriv_core.engine.networks import NetworkShape
from fairpriv_core.engine.rows import Feed, Records
from fairpriv_core.engine.torch import kernel as layered_kernel
from fairpriv_core.engine.torch.kernel import TorchKernel
from tests.engine.reference import DENSE, LOGITS, start
from tests.methods.harness import make_data

MODELS, ROWS = 2, 11
WEIGHTS = np.linspace(-1, 2, MODELS * ROWS).reshape(MODELS, ROWS)
every_shape = pytest.mark.parametrize("shape", LOGITS.values(), ids=LOGITS)


def _rows(shape: LayeredShape) -> np.ndarray:
    return np.random.default_rng(3).normal(size=(1, ROWS, shape.inputs))


@every_shape
def test_the_last_layer_is_fed_what_its_gradients_are_made_of(
    shape: LayeredShape, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The logit is the scoring layer's product with the embedding; its gradient there is the embedding, and 1."""
    kernel, rows = TorchKernel(shape, start(shape, MODELS)), _rows(shape)
    passed = kernel.run(rows)
    fed, (weights, biases) = passed.embeddings, shape.views(kernel.parameters)[-1]
    scored = np.matmul(fed, weights.transpose(0, 2, 1))[:, :, 0] + biases[:, 0]
    assert np.allclose(scored, passed.logits, rtol=1e-12)
    for j in (0, 4):
        alone = kernel.weighted_sum(passed, np.ones((MODELS, 1)), slice(j, j + 1))
        assert np.array_equal(alone[:, -fed.shape[2] - 1 : -1], fed[:, j]) and (alone[:, -1] == 1.0).all()
    monkeypatch.setattr(layered_kernel, "_CACHED", 0)
    monkeypatch.setattr(layered_kernel, "_AT_ONCE", 1)
    again = TorchKernel(shape, kernel.parameters).run(rows)
    assert not again.cache and np.allclose(again.embeddings, fed, rtol=1e-12)
    assert kernel.run(rows[:, :0]).embeddings.shape == (MODELS, 0, fed.shape[2])


@every_shape
def test_some_models_score_without_deriving_and_one_runs_alone(shape: LayeredShape) -> None:
    kernel, rows = TorchKernel(shape, start(shape, 3)), _rows(shape)
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
    kernels = Kernel(plain, flat), TorchKernel(DENSE, flat)
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
    records = Records(TorchKernel(DENSE, start(DENSE, 1).astype(np.float32)).take(drawn), drawn)
    chance = 1.0 / (1.0 + np.exp(-records.logits))
    assert np.allclose(records.deviation, chance - data.y, atol=1e-6)
    assert np.allclose(records.loss, -np.log(np.where(data.y, chance, 1.0 - chance)), atol=1e-6)
