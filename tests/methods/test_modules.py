"""Methods on a person's own modules: the same updates as by the kernel, and what one record can move.

What they promise as on other networks is in `test_contract.py`.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch
from opacus import GradSampleModule
from opacus.optimizers import DPOptimizer
from torch import nn

from fairpriv_core.audit.attack import Train
from fairpriv_core.audit.sensitivity import measure_shapes
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.modules import Held, ModuleShape, hold
from fairpriv_core.engine.networks import NetworkShape
from fairpriv_core.engine.predict import predict_proba
from fairpriv_core.engine.torch.model import Learnt
from fairpriv_core.engine.torch.module import OpenModule, build_module
from fairpriv_core.engine.training import Fitted
from fairpriv_core.errors import BadInput
from fairpriv_core.methods.base import Method
from fairpriv_core.methods.dp_fermi_record import DpFermiRecord
from fairpriv_core.methods.dp_sgd import DpSgd
from fairpriv_core.methods.f_ld import FLd
from fairpriv_core.methods.fairdp_certified import FairDpCertified
from fairpriv_core.methods.none import Plain
from fairpriv_core.methods.pf_ld import PfLd
from fairpriv_core.methods.pf_ld_record import PfLdRecord
from fairpriv_core.methods.raco_dp import RacoDp
from fairpriv_core.privacy.accountants import epsilon
from tests.methods.harness import RecordingMechanism, make_data, make_images, train

QUIET: dict[str, Any] = {"noise_primal": 0.0}
ADAM: dict[str, Any] = {"epochs": 3, "learning_rate": 0.02}
DUAL: dict[str, Any] = {"noise_counts": 1e-3, "noise_dual": 1e-3, "multiplier_max": 3.0, "dual_step": 20.0}
SAME: dict[str, Method] = {
    "none": Plain(batch_size=25, **ADAM),
    "f_ld": FLd(batch_size=50, multiplier_max=3.0, dual_step=20.0, **ADAM),
    "dp_sgd": DpSgd(batch_size=25, clip_primal=0.3, **ADAM, **QUIET),
    "pf_ld": PfLd(batch_size=50, sampling_rate=0.2, clip_primal=0.3, **ADAM, **QUIET, **DUAL),
    "pf_ld_record": PfLdRecord(sampling_rate=0.2, clip_primal=0.3, **ADAM, **QUIET, **DUAL),
    "dp_fermi_record": DpFermiRecord(batch_size=50, clip_primal=0.3, noise_counts=1e-3, **ADAM, **QUIET),
    "raco_dp": RacoDp(sampling_rate=0.2, clip_primal=0.3, **ADAM, **QUIET),
}
SIZE = {"hidden_layers": 2, "width": 5}


def _as_the_kernel_starts(size: tuple[int, ...], outputs: int) -> nn.Module:
    """Return the mlp of 2 layers of 5 units, with the parameters that the kernel's starts with under seed 0."""
    module = nn.Sequential(nn.Linear(*size, 5), nn.ReLU(), nn.Linear(5, 5), nn.ReLU(), nn.Linear(5, outputs))
    torch.nn.utils.vector_to_parameters(torch.tensor(NetworkShape(*size, 2, 5).initial(0)), module.parameters())
    return module


@pytest.mark.parametrize("method", SAME.values(), ids=SAME)
def test_the_same_network_by_kernel_and_by_module_gives_the_same_updates(method: Any) -> None:
    """Without noise, and samples and batches alike."""
    data = make_data(n=300, d=7)
    by_kernel = dataclasses.replace(method, **SIZE)
    by_module = dataclasses.replace(method, network="in_memory:mlp")

    def fit(one: Method) -> tuple[Fitted, list[np.ndarray]]:
        recorder = RecordingMechanism(seed=4)
        return train(one, [data], [recorder])[0], [release.value for release in recorder.releases]

    plain, sums = fit(by_kernel)
    with hold("in_memory:mlp", Held(_as_the_kernel_starts)):
        own, others = fit(by_module)
        chances = predict_proba(own.network, own.parameters, data.X)
    start = NetworkShape(7, 2, 5).initial(0)
    moved = np.linalg.norm(plain.parameters - start)
    assert moved > 0.1
    assert np.linalg.norm(own.parameters - plain.parameters) <= 1e-5 * moved * (1 if method.info.threat_model else 10)
    assert all(
        np.linalg.norm(one - other) <= 1e-5 * max(np.linalg.norm(one), 1.0)
        for one, other in zip(sums, others, strict=True)
    )
    assert own.events == plain.events
    assert np.allclose(chances, predict_proba(plain.network, plain.parameters, data.X), atol=1e-4)


@pytest.mark.parametrize("method", [each for each in SAME.values() if each.info.threat_model])
def test_epsilon_and_noise_are_those_of_any_network(method: Any) -> None:
    blank = {name: None for name in ("noise_primal", "noise_counts", "noise_dual") if hasattr(method, name)}
    asked = dataclasses.replace(method, **blank)
    fitting = asked.calibrated(epsilon=2.0, delta=1e-5, n_train=4000)
    own = dataclasses.replace(asked, network="a:b").calibrated(epsilon=2.0, delta=1e-5, n_train=4000)
    assert own == dataclasses.replace(fitting, network="a:b")
    assert own.event(4000) == fitting.event(4000) and epsilon(own.event(4000), 1e-5) <= 2.0


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")
@pytest.mark.parametrize("network", ["block", "cnn"])
def test_a_step_equals_that_of_opacus_own_loop(network: str) -> None:
    """The same sample, without noise: clipped and summed by DPOptimizer."""
    data = make_images(n=60, labels=2) if network == "cnn" else make_data(n=60)
    sample, reference = np.arange(0, 60, 2), f"tests.modules:{network}"
    method = DpSgd(
        **{"epochs": 1, "batch_size": 60, "optimizer": "sgd", "learning_rate": 0.5, "network": reference},
        clip_primal=0.3,
        noise_primal=0.0,
    )
    recorder = RecordingMechanism(forced=lambda epoch, step: sample)
    (fitted,) = train(method, [data], [recorder])
    shape = ModuleShape(reference, data.image or (data.d,), 2)
    module = GradSampleModule(build_module(shape, 0), strict=False)
    optimizer = DPOptimizer(
        torch.optim.SGD(module.parameters(), lr=0.5), noise_multiplier=0.0, max_grad_norm=0.3, expected_batch_size=60
    )
    scores = module(torch.tensor(data.X[sample]).view(-1, *shape.size_in)).squeeze(1)
    nn.functional.binary_cross_entropy_with_logits(scores, torch.tensor(data.y[sample]).float()).backward()
    optimizer.step()
    theirs = np.concatenate([each.detach().numpy().ravel() for each in module.parameters()])
    moved = np.linalg.norm(theirs - shape.initial(0))
    assert moved > 1e-3 and np.linalg.norm(fitted.parameters - theirs) <= 1e-4 * moved


SHARED: dict[str, Any] = {"epochs": 3, "clip_primal": 0.3, "noise_primal": 1.0, "learning_rate": 0.05}
RELEASING: dict[str, Any] = {"noise_counts": 1.0, "noise_dual": 1.0, "multiplier_max": 3.0, "dual_step": 20.0}
PROVED: dict[str, Any] = {
    "dp_sgd": DpSgd(batch_size=60, **SHARED),
    "pf_ld": PfLd(batch_size=150, sampling_rate=0.1, **SHARED, **RELEASING),
    "pf_ld_record": PfLdRecord(sampling_rate=0.25, **SHARED, **RELEASING),
    "dp_fermi_record": DpFermiRecord(batch_size=60, noise_counts=1.0, **SHARED),
    "raco_dp": RacoDp(sampling_rate=0.25, **SHARED),
}


def _reach(method: Method, data: Dataset) -> dict[str, float]:
    """Return the largest share of its bound that a changed attribute, or record, fills: by kind of release."""
    whole = method.info.threat_model == "record"
    found = measure_shapes(
        Train(lambda datasets, mechanisms: train(method, datasets, mechanisms)),
        data,
        changes=8,
        whole_record=whole,
        seed=3,
    )
    return {one.release: one.largest for one in found}


REACHED = [*((name, network) for name in PROVED for network in ("block", "cnn"))]
REACHED += [("dp_sgd", network) for network in ("words", "tied", "frozen")]


@pytest.mark.parametrize(("name", "network"), REACHED)
def test_a_person_moves_each_release_within_its_bound(name: str, network: str) -> None:
    data = make_images(n=300, labels=2) if network == "cnn" else make_data(n=300)
    found = _reach(dataclasses.replace(PROVED[name], network=f"tests.modules:{network}"), data)
    assert max(found.values()) <= 1.0 + 1e-9
    assert max(found.values()) >= 0.99
    assert found["sum"] >= 0.3


def test_a_gradient_that_is_measured_too_short_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where the norm left a layer out."""
    learn = OpenModule.learn

    def short(self: OpenModule, *given: Any) -> Learnt:
        learnt = learn(self, *given)
        learnt.cache[-1].squares.zero_()
        return learnt

    monkeypatch.setattr(OpenModule, "learn", short)
    method = dataclasses.replace(PROVED["dp_sgd"], network="tests.modules:mlp")
    assert max(_reach(method, make_data(n=300)).values()) > 1.2


def test_a_row_moves_a_large_sum_within_what_the_mechanism_was_told() -> None:
    """Like-signed contributions, longer than the bound; the row nulled in place, and replaced."""
    data = make_data(n=4096)
    data = dataclasses.replace(data, X=np.abs(data.X) + 5.0, y=np.zeros(4096, dtype=np.int64))
    method = DpSgd(epochs=1, batch_size=4096, clip_primal=1.0, noise_primal=1.0, network="tests.modules:normed")

    def release(value: float | None) -> tuple[np.ndarray, float]:
        rows = data.X.copy()
        rows[1000] = rows[1000] if value is None else value
        recorder = RecordingMechanism(seed=0)
        train(method, [dataclasses.replace(data, X=rows)], [recorder])
        return recorder.releases[0].value, recorder.releases[0].bound

    whole, bound = release(None)
    assert np.linalg.norm(whole) > 0.5 * 4096
    assert 0.9 * bound <= np.linalg.norm(whole - release(np.nan)[0]) <= bound
    assert np.linalg.norm(whole - release(-3.0)[0]) <= 2 * bound


def test_one_that_certifies_refuses_a_module() -> None:
    with pytest.raises(BadInput, match=r"network must be one of mlp, cnn_small, vgg9, got 'a:b'\."):
        FairDpCertified(network="a:b")


def test_it_learns_with_layer_norm_at_a_budget_of_two() -> None:
    data = make_data(n=4000)
    for kind in (DpSgd, PfLdRecord):
        method = kind(network="tests.modules:normed", epochs=10).calibrated(epsilon=2.0, delta=1e-5, n_train=4000)
        (fitted,) = train(method, [data], [RecordingMechanism(seed=1)])
        right = (predict_proba(fitted.network, fitted.parameters, data.X)[:, 1] > 0.5) == data.y
        assert epsilon(fitted.events, 1e-5) <= 2.0 and right.mean() > 0.75
