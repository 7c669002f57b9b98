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

from fairpriv_core.audit import contract
from fairpriv_core.audit.trials import make_hard
from fairpriv_core.engine.modules import Held, ModuleShape, hold
from fairpriv_core.engine.networks import NetworkShape
from fairpriv_core.engine.predict import predict_proba
from fairpriv_core.engine.torch.module import build_module
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
    "f_ld": FLd(batch_size=50, multiplier_max=3.0, dual_step=20.0, **ADAM, gap_target=None),
    "dp_sgd": DpSgd(batch_size=25, clip_primal=0.3, **ADAM, **QUIET),
    "pf_ld": PfLd(batch_size=50, sampling_rate=0.2, clip_primal=0.3, **ADAM, **QUIET, **DUAL, gap_target=None),
    "pf_ld_record": PfLdRecord(sampling_rate=0.2, clip_primal=0.3, **ADAM, **QUIET, **DUAL, gap_target=None),
    "dp_fermi_record": DpFermiRecord(
        batch_size=50, clip_primal=0.3, noise_counts=1e-3, **ADAM, **QUIET, gap_target=None
    ),
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


@pytest.mark.parametrize("network", ["words", "tied", "frozen"])
def test_a_person_moves_no_sum_over_other_modules_by_more_than_is_counted(network: str) -> None:
    method = DpSgd(epochs=2, batch_size=80, clip_primal=0.1, noise_primal=1.0, network=f"tests.modules:{network}")
    data = make_hard("rows of all lengths", make_data, 240)
    assert contract.check_bounds(method, data, "demographic_parity")["sum"] >= 0.99


def test_rounding_in_a_module_adds_no_more_than_is_counted() -> None:
    contract.check_rounding(DpSgd(noise_primal=1.0, network="tests.modules:normed"), rows=4_096)


def test_one_that_certifies_refuses_a_module() -> None:
    with pytest.raises(BadInput, match=r"network must be one of mlp, cnn_small, vgg9, got 'a:b'\."):
        FairDpCertified(network="a:b")
