"""The kernel on a PyTorch device, here the CPU, gives what the kernel gives."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from fairpriv_core.engine.kernel import Kernel
from fairpriv_core.engine.networks import NetworkShape
from fairpriv_core.engine.torch.device import DeviceKernel
from fairpriv_core.engine.training import Training, Unwatched
from fairpriv_core.errors import BadInput
from fairpriv_core.methods.pf_ld import PfLd
from fairpriv_core.notions.catalog import notions
from fairpriv_core.privacy.mechanism import Mechanism
from fairpriv_core.privacy.randomness import Randomness
from tests.methods.harness import make_data

MODELS, ROWS, INPUTS = 4, 17, 5
WEIGHTS = np.linspace(-1, 2, MODELS * ROWS).reshape(MODELS, ROWS)


def _kernels(hidden_layers: int) -> tuple[Kernel, DeviceKernel]:
    shape = NetworkShape(INPUTS, hidden_layers, width=7)
    parameters = np.random.default_rng(hidden_layers).normal(size=(MODELS, shape.size)) * 0.5
    return Kernel(shape, parameters), DeviceKernel(shape, parameters, "cpu")


def test_a_device_gives_what_the_kernel_gives() -> None:
    for streams in [1, 2, 4]:
        for hidden_layers in [0, 1, 3]:
            ours, other = _kernels(hidden_layers)
            rows = np.random.default_rng(9).normal(size=(streams, ROWS, INPUTS))
            passed, fetched = ours.run(rows), other.run(rows)
            assert np.allclose(passed.logits, fetched.logits)
            assert np.allclose(np.broadcast_to(passed.norms, WEIGHTS.shape), fetched.norms)
            assert np.allclose(passed.layer_norms, fetched.layer_norms)
            assert all(np.allclose(a, b) for a, b in zip(passed.hidden, fetched.hidden, strict=True))
            each = np.stack([WEIGHTS * (1.0 + layer) for layer in range(hidden_layers + 1)])
            for weights in (WEIGHTS[:, 3:9], each[:, :, 3:9]):
                sums = [
                    kernel.weighted_sum(own, weights, slice(3, 9)) for kernel, own in ((ours, passed), (other, fetched))
                ]
                assert np.allclose(*sums)


@pytest.mark.filterwarnings("ignore:overflow", "ignore:invalid value")
def test_what_is_not_finite_contributes_nothing_there_either() -> None:
    ours, other = _kernels(2)
    rows = np.random.default_rng(9).normal(size=(MODELS, ROWS, INPUTS))
    rows[:, 3] = 1e308
    sums = [kernel.weighted_sum(kernel.run(rows), WEIGHTS, slice(None), bounded=True) for kernel in (ours, other)]
    assert np.isfinite(sums[0]).all() and np.allclose(*sums)


def test_training_elsewhere_gives_the_same_model(monkeypatch: pytest.MonkeyPatch) -> None:
    method = PfLd(
        epochs=3,
        batch_size=50,
        hidden_layers=1,
        width=6,
        noise_primal=1.0,
        noise_dual=1.0,
        noise_counts=1.0,
        gap_target=None,
    )
    notion, models = notions()["equalized_odds"], []
    for device in ("cpu", "cpu:0"):  # the second one is not the kernel's own name for it
        mechanism = Mechanism(Randomness.replay(3))
        training = dataclasses.replace(Training(notion, 0, mechanism, Unwatched()), device=device)
        models.append(method.fit(make_data(n=300), training).parameters)
    assert np.allclose(*models, rtol=1e-4, atol=1e-6)


def test_a_device_that_is_not_there_is_named() -> None:
    with pytest.raises(BadInput, match=r"device 'nowhere' cannot be used here .*; take cpu\."):
        DeviceKernel(NetworkShape(3), np.zeros((1, 4), dtype=np.float32), "nowhere")
