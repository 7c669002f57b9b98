"""What is special to methods on images: that they learn, that nothing depends on the kernel, what is refused.

What they promise as on tables is in `test_contract.py`.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch
from opacus import GradSampleModule
from opacus.optimizers import DPOptimizer
from torch.nn import functional

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.data.problem import DataSpec
from fairpriv_core.engine import loop
from fairpriv_core.engine.layers import Dense, Layer, LayeredShape, Relu
from fairpriv_core.engine.networks import NetworkShape
from fairpriv_core.engine.predict import predict_proba
from fairpriv_core.engine.training import Fitted, Training
from fairpriv_core.errors import BadInput
from fairpriv_core.methods import previews
from fairpriv_core.methods.base import Method
from fairpriv_core.methods.clipping_choice import Warmup
from fairpriv_core.methods.dp_sgd import DpSgd
from fairpriv_core.methods.f_ld import FLd
from fairpriv_core.methods.fairdp_certified import FairDpCertified
from fairpriv_core.methods.none import Plain
from fairpriv_core.methods.one_release import OneRelease
from fairpriv_core.methods.pf_ld import PfLd
from fairpriv_core.methods.pf_ld_record import PfLdRecord
from fairpriv_core.methods.shared.setting import Setting
from fairpriv_core.methods.shared.thumbnails import NAME, SIDE
from fairpriv_core.notions.catalog import notions
from fairpriv_core.privacy.mechanism import Mechanism
from fairpriv_core.privacy.randomness import Randomness
from tests.engine.reference import build_module
from tests.methods.harness import (
    RecordingMechanism,
    Watcher,
    make_data,
    make_images,
    train,
    with_group,
)

NETWORK: dict[str, Any] = {"epochs": 2, "batch_size": 15, "network": "cnn_small", "learning_rate": 0.05}
SHARED: dict[str, Any] = {**NETWORK, "clip_primal": 0.3, "noise_primal": 0.5}
BINARY: dict[str, Any] = {"epochs": 3, "network": "cnn_small", "learning_rate": 0.05}
NOISE: dict[str, Any] = {"noise_primal": 1.0, "noise_counts": 1.0}
DUAL: dict[str, Any] = {**NOISE, "noise_dual": 1.0, "multiplier_max": 3.0, "dual_step": 20.0}
PLAIN = FLd(batch_size=60, **BINARY, gap_target=None)
PROVED: dict[str, Method] = {
    "pf_ld": PfLd(batch_size=150, clip_primal=0.3, **BINARY, **DUAL, gap_target=None),
    "pf_ld, its own bound": PfLd(
        batch_size=150, sampling_rate=0.1, clip_primal=None, **BINARY, **DUAL, gap_target=None
    ),
    "one_release": OneRelease(batch_size=150, gap_target=0.0, noise_statistic=1.0, **BINARY),
    "pf_ld_record": PfLdRecord(sampling_rate=0.25, clip_primal=0.3, **BINARY, **DUAL, gap_target=None),
    "fairdp_certified": FairDpCertified(
        batch_size=150, clip_primal=0.3, ensemble=4, **NOISE, **{**BINARY, "epochs": 2}
    ),
}


def make_faces(n: int = 300, seed: int = 0) -> Dataset:
    """Return images of two labels."""
    return make_images(n=n, seed=seed, labels=2)


def test_it_learns() -> None:
    data, method = make_images(n=300), Plain(**{**NETWORK, "epochs": 10, "batch_size": 30, "learning_rate": 0.01})
    (fitted,) = train(method, [data], [RecordingMechanism()])
    found = predict_proba(fitted.network, fitted.parameters, data.X).argmax(axis=1)
    assert (found == data.y).mean() > 0.95


def test_they_learn_and_f_ld_narrows_the_gap() -> None:
    data = make_faces(600)
    data = with_group(data, np.where(np.arange(600) % 5 == 0, 1 - data.y, data.y))

    def learn(multiplier: float) -> tuple[float, float]:
        method = FLd(
            epochs=12, batch_size=60, network="cnn_small", multiplier_max=multiplier, dual_step=5.0, gap_target=None
        )
        (fitted,) = train(method, [data], [RecordingMechanism()])
        decided = predict_proba(fitted.network, fitted.parameters, data.X)[:, 1] > 0.5
        rates = [decided[data.group == group].mean() for group in range(2)]
        return float((decided == data.y).mean()), float(abs(rates[0] - rates[1]))

    accuracy, gap = learn(0.0)
    assert accuracy > 0.95 and gap > 0.4
    assert learn(5.0)[1] < gap - 0.2


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")
def test_a_step_equals_that_of_opacus() -> None:
    """The same sample, the same noise: parameters after the step are within 1e-5."""
    data, sample = make_images(n=30), np.arange(0, 30, 2)
    method = DpSgd(**{**SHARED, "epochs": 1, "batch_size": 30, "optimizer": "sgd", "learning_rate": 0.5})
    recorder = RecordingMechanism(forced=lambda epoch, step: sample)
    (fitted,) = train(method, [data], [recorder])
    shape = fitted.network
    module = GradSampleModule(build_module(shape, shape.initial(0)))
    optimizer = DPOptimizer(
        torch.optim.SGD(module.parameters(), lr=0.5), noise_multiplier=0.0, max_grad_norm=0.3, expected_batch_size=30
    )
    scores = module(torch.tensor(data.X[sample]).view(-1, 1, 14, 14))
    functional.cross_entropy(scores, torch.tensor(data.y[sample])).backward()
    optimizer.step()
    noise = recorder.releases[0].out - recorder.releases[0].value
    theirs = np.concatenate([p.detach().numpy().ravel() for p in module.parameters()]) - 0.5 * noise / 30
    assert np.abs(fitted.parameters - theirs).max() <= 1e-5
    assert np.abs(fitted.parameters - shape.initial(0)).max() > 1e-3


def test_what_is_shown_is_the_loss() -> None:
    data, watcher = make_images(), Watcher()
    method = Plain(**{**NETWORK, "learning_rate": 1e-5})
    method.fit(data, Training(notions()["demographic_parity"], 0, Mechanism(Randomness.replay(1)), watcher))
    last = watcher.shown[-1]
    probabilities = predict_proba(last.network, last.parameters, data.X)[np.arange(data.n), data.y]
    assert last.scalars["loss"] == pytest.approx(-np.log(probabilities).mean(), rel=1e-5)
    assert set(last.histograms["gradient_norm"].counts) == set(data.group_names)


def test_a_table_trains_without_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "_LAYERED", "nowhere")
    train(Plain(epochs=1, batch_size=50), [make_data()], [RecordingMechanism()])


def test_wrong_networks_are_refused_in_a_sentence() -> None:
    with pytest.raises(BadInput, match=r"network must be one of .*, or package:function of your own, got 'resnet'\."):
        DpSgd(network="resnet")
    with pytest.raises(BadInput, match=r"network 'cnn_small' needs images, and these data are a table; take mlp\."):
        train(DpSgd(**SHARED), [make_data()], [RecordingMechanism()])
    with pytest.raises(BadInput, match=r"network 'vgg9' needs images of at least 16 x 16 pixels, got 14 x 14"):
        train(Plain(network="vgg9", batch_size=20), [make_images()], [RecordingMechanism()])


@pytest.mark.parametrize("method", [*PROVED.values(), PLAIN], ids=[*PROVED, "f_ld"])
def test_a_network_of_layers_is_treated_as_the_numpy_kernel_treats_it(
    method: Method, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scoring layer, certificate, multipliers, noise: the same dense network by either kernel gives the same fit."""
    data = make_data(n=300, d=7)
    dense: Any = dataclasses.replace(method, network="mlp", hidden_layers=2, width=5, learning_rate=0.02)

    def fit() -> Fitted:
        return train(dense, [data], [RecordingMechanism(seed=4)])[0]

    plain = fit()
    hidden: tuple[Layer, ...] = (Dense(5), Relu()) * 2
    monkeypatch.setattr(Setting, "shape", property(lambda self: LayeredShape((data.d,), (*hidden, Dense(1)))))
    layered = fit()
    assert (type(plain.network), type(layered.network)) == (NetworkShape, LayeredShape)
    assert np.allclose(layered.parameters, plain.parameters, rtol=1e-3, atol=1e-5)
    assert layered.events == plain.events
    assert _numbers(layered.notes) == pytest.approx(_numbers(plain.notes), rel=1e-3)
    probabilities = [predict_proba(one.network, one.parameters, data.X) for one in (plain, layered)]
    assert np.allclose(*probabilities, atol=1e-4)


def test_another_network_trains_on_one_release() -> None:
    """The statistic is of thumbnails, whatever the network: so the release of one run serves another network's."""
    data, recorder, notion = make_faces(), RecordingMechanism(), notions()["demographic_parity"]
    (first,) = train(PROVED["one_release"], [data], [recorder])
    (released,) = recorder.releases
    assert released.value.shape == (2 * (SIDE**2 + 1 + 10),) and first.notes["statistic_of"] == NAME
    other = dataclasses.replace(PROVED["one_release"], network="mlp")
    silent = RecordingMechanism()
    again = other.fit(data, Training(notion, 0, silent, Watcher(), given=first.notes))
    assert not silent.releases and isinstance(again.network, NetworkShape)
    assert again.notes["shared_releases"] == first.notes["shared_releases"]


def test_the_curves_of_clipping_are_those_of_the_network_that_is_trained(monkeypatch: pytest.MonkeyPatch) -> None:
    data = make_faces()
    monkeypatch.setattr(previews, "load_dataset", lambda spec: data)
    monkeypatch.setattr(previews, "split_dataset", lambda data, seed, split: (data, data))
    spec = dataclasses.asdict(DataSpec(dataset="synthetic", sensitive="group"))
    request = {"data": spec, "notion": "demographic_parity", "hidden_layers": 0, "width": 64, "seed": 0}
    warmup = Warmup(**previews.compute({**request, "network": "cnn_small"}))
    assert warmup.parameters == train(PLAIN, [data], [RecordingMechanism()])[0].network.size
    assert Warmup(**previews.compute(request)).parameters == data.d + 1


def _numbers(notes: Any) -> list[float]:
    """Return every number in notes, in order."""
    if isinstance(notes, dict):
        return [number for value in notes.values() for number in _numbers(value)]
    return [float(notes)] if isinstance(notes, int | float) else []
