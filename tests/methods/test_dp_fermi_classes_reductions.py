"""DP-FERMI on networks with an output a label: its objective written out, and what it is for two labels."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from fairpriv_core.engine.layers import Dense, LayeredShape
from fairpriv_core.methods.dp_fermi import DpFermi
from fairpriv_core.methods.none import Plain
from fairpriv_core.methods.shared.setting import Setting
from tests.engine.reference import build_module
from tests.methods.harness import RecordingMechanism, make_data, make_images, make_three, train
from tests.methods.test_dp_fermi_reductions import write_out

METHOD = DpFermi(
    epochs=6,
    batch_size=1200,
    sampling_rate=1.0,
    learning_rate=0.2,
    optimizer="sgd",
    multiplier=1.5,
    clip_primal=100.0,
    dual_step=0.4,
    dual_norm=1.85,
    noise_primal=0.0,
    noise_counts=0.0,
    width=5,
    gap_target=None,
)
NOTIONS = ("demographic_parity", "equalized_odds")


@pytest.mark.parametrize("variant", METHOD.info.variants)
@pytest.mark.parametrize("notion", NOTIONS)
@pytest.mark.parametrize("hidden_layers", [0, 1])
def test_without_noise_it_descends_and_ascends_the_written_out_objective(
    hidden_layers: int, notion: str, variant: str
) -> None:
    """Everyone in every batch and sample: Algorithm 1 on Theorem C.1's psi, by automatic differentiation."""
    data = make_three(n=1200, groups=3)
    method = dataclasses.replace(METHOD, variant=variant, hidden_layers=hidden_layers)
    (fitted,) = train(method, [data], [RecordingMechanism()], notion=notion)
    shape = fitted.network
    network = build_module(shape, shape.initial(0).astype(np.float64))
    theta, adversaries = write_out(method, data, notion, list(network.parameters()), network)
    assert np.abs(theta - shape.initial(0)).max() > 0.1
    assert np.allclose(fitted.parameters, theta, rtol=1e-3, atol=1e-5)
    assert np.allclose(fitted.notes["adversary"], adversaries, rtol=1e-3, atol=1e-5)


@pytest.mark.parametrize("variant", METHOD.info.variants)
@pytest.mark.parametrize("notion", METHOD.info.notions)
def test_two_outputs_are_one_logit(notion: str, variant: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """Softmax of two outputs and the sigmoid of their difference, clipping, batches and samples included.

    The difference moves by both outputs' steps, so that it learns twice as fast; its gradient is sqrt(2) longer.
    """
    data = make_data(n=600, groups=3)
    short = dataclasses.replace(METHOD, variant=variant, batch_size=150, sampling_rate=0.4, clip_primal=0.4)
    (logit,) = train(short, [data], [RecordingMechanism(seed=1)], notion=notion)
    monkeypatch.setattr(Setting, "shape", property(lambda self: LayeredShape((data.d,), (Dense(2),))))
    twice = dataclasses.replace(short, learning_rate=METHOD.learning_rate / 2, clip_primal=0.4 * np.sqrt(2.0))
    (softmax,) = train(twice, [data], [RecordingMechanism(seed=1)], notion=notion)
    weights, biases = softmax.parameters[:-2].reshape(2, -1), softmax.parameters[-2:]
    difference = np.append(weights[1] - weights[0], biases[1] - biases[0])
    assert np.abs(logit.parameters).max() > 0.1
    assert np.allclose(difference, logit.parameters, rtol=1e-3, atol=1e-5)
    assert np.allclose(softmax.notes["adversary"], logit.notes["adversary"], rtol=1e-3, atol=1e-4)
    assert softmax.notes["multipliers"] == pytest.approx(
        {name: abs(value) for name, value in logit.notes["multipliers"].items()}, rel=1e-2, abs=1e-4
    )


@pytest.mark.parametrize("variant", METHOD.info.variants)
@pytest.mark.parametrize("network", ["mlp", "cnn_small"])
def test_without_lambda_the_method_is_plain_training_bit_for_bit(network: str, variant: str) -> None:
    data = make_images(n=45)
    shared: dict[str, Any] = {"epochs": 2, "batch_size": 15, "learning_rate": 0.01, "network": network}
    (expected,) = train(Plain(**shared), [data], [RecordingMechanism()])
    (fitted,) = train(
        DpFermi(**shared, variant=variant, multiplier=0.0, gap_target=None), [data], [RecordingMechanism()]
    )
    assert np.array_equal(expected.parameters, fitted.parameters)
    assert fitted.events == ()
