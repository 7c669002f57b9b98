"""The contract of private methods on a small convolutional network and three labels: at the mechanism, during the fit.

What `test_contract.py` and `test_dp_sgd_family.py` ask of every method is asked here of those that only use losses.
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
from fairpriv_core.engine import loop
from fairpriv_core.engine.layers import LayeredShape
from fairpriv_core.engine.predict import predict_proba
from fairpriv_core.engine.training import Training
from fairpriv_core.errors import BadInput
from fairpriv_core.methods.base import Method
from fairpriv_core.methods.catalog import methods
from fairpriv_core.methods.dp_fedavg import DpFedAvg
from fairpriv_core.methods.dp_is_sgd import DpIsSgd
from fairpriv_core.methods.dp_sgd import DpSgd
from fairpriv_core.methods.dpsgd_f import DpsgdF
from fairpriv_core.methods.dpsgd_global_adapt import DpsgdGlobalAdapt
from fairpriv_core.methods.dpsgd_smooth import DpsgdSmooth
from fairpriv_core.methods.fairdp_adaptive import FairDpAdaptive
from fairpriv_core.methods.fairsmooth import FairSmooth
from fairpriv_core.methods.none import Plain
from fairpriv_core.methods.opt_q import OptQ
from fairpriv_core.notions.catalog import notions
from fairpriv_core.privacy.event import merge
from fairpriv_core.privacy.mechanism import Mechanism
from fairpriv_core.privacy.randomness import Randomness
from fairpriv_core.records.parameters import build_method, method_to_json
from tests.engine.reference import build_module
from tests.methods.harness import RecordingMechanism, Release, Watcher, make_data, train

NETWORK: dict[str, Any] = {"epochs": 2, "batch_size": 15, "network": "cnn_small", "learning_rate": 0.05}
SHARED: dict[str, Any] = {**NETWORK, "clip_primal": 0.3, "noise_primal": 0.5}
PRIVATE: dict[str, Method] = {
    "dp_sgd": DpSgd(**SHARED),
    "dp_sgd, sgd": DpSgd(**SHARED, optimizer="sgd"),
    "dp_sgd, many labels without images": DpSgd(**{**SHARED, "network": "mlp"}, hidden_layers=2, width=6),
    "dp_fedavg": DpFedAvg(**SHARED),
    "opt_q": OptQ(**SHARED, share_counts=0.2, quantile=0.7),
    "dpsgd_f": DpsgdF(**SHARED, share_counts=0.3),
    "dpsgd_global_adapt": DpsgdGlobalAdapt(**SHARED, share_counts=0.2, strict_clip=0.5),
    "dp_is_sgd": DpIsSgd(**SHARED, noise_counts=2.0),
    "dpsgd_smooth": DpsgdSmooth(**SHARED, smoothing_samples=3),
    "fairdp, class": FairDpAdaptive(**SHARED, share_counts=0.3, lipschitz=1.0),
    "fairdp, group": FairDpAdaptive(**SHARED, share_counts=0.3, clip_by="group"),
}
PUBLISHED: dict[str, Method] = {
    "opt_q, published": OptQ(**SHARED, variant="published"),
    "dpsgd_f, published": DpsgdF(**SHARED, variant="published"),
    "dpsgd_global_adapt, published": DpsgdGlobalAdapt(**SHARED, variant="published"),
    "fairdp, published": FairDpAdaptive(**SHARED, variant="published"),
}
PLAIN: dict[str, Method] = {"none": Plain(**NETWORK), "fairsmooth": FairSmooth(**NETWORK, smoothing_samples=3)}
ALL = {**PRIVATE, **PUBLISHED, **PLAIN}
MODELS = 4


def make_images(n: int = 60, seed: int = 0, labels: int = 3) -> Dataset:
    """Return small grey images with a bright row for each label, in two groups."""
    draw = np.random.default_rng(seed)
    y = draw.integers(0, labels, n)
    rows = draw.uniform(0.0, 0.3, (n, 14, 14)).astype(np.float32)
    rows[np.arange(n), 3 * y + 2] += 0.5
    return dataclasses.replace(
        make_data(n=n),
        X=rows.reshape(n, -1),
        y=y,
        group=draw.integers(0, 2, n),
        feature_names=tuple(f"p{j}" for j in range(196)),
        label_names=tuple("abcdefghij"[:labels]),
        image=(1, 14, 14),
    )


@pytest.mark.parametrize("method", ALL.values(), ids=ALL)
def test_fit_releases_what_was_announced_and_predicts_each_label(method: Method) -> None:
    data = make_images()
    (fitted,) = train(method, [data], [RecordingMechanism()])
    assert set(merge(fitted.events)) == set(merge(method.event(data.n)))
    assert np.isfinite(fitted.parameters).all()
    assert predict_proba(fitted.network, fitted.parameters, data.X).shape == (data.n, 3)


def test_it_learns() -> None:
    data, method = make_images(n=300), Plain(**{**NETWORK, "epochs": 20, "learning_rate": 0.01})
    (fitted,) = train(method, [data], [RecordingMechanism()])
    found = predict_proba(fitted.network, fitted.parameters, data.X).argmax(axis=1)
    assert (found == data.y).mean() > 0.95


@pytest.mark.parametrize("method", ALL.values(), ids=ALL)
def test_k_models_equal_one_at_a_time(method: Method) -> None:
    datasets = [make_images(seed=seed) for seed in (0, 1)]
    together = train(method, datasets, [RecordingMechanism(seed=seed) for seed in (0, 1)])
    for seed, (data, joint) in enumerate(zip(datasets, together, strict=True)):
        (alone,) = train(method, [data], [RecordingMechanism(seed=seed)])
        assert np.linalg.norm(alone.parameters - joint.parameters) <= 1e-4 * np.linalg.norm(joint.parameters)
        assert alone.events == joint.events


@pytest.mark.parametrize("method", ALL.values(), ids=ALL)
def test_a_resumed_fit_gives_the_same_bits(method: Method) -> None:
    data, notion = make_images(), notions()["demographic_parity"]
    watcher = Watcher(frozenset(range(method.steps(data.n) + 1)))
    whole = method.fit(data, Training(notion, 0, Mechanism(Randomness.replay(5)), watcher))
    for step, checkpoint in watcher.checkpoints.items():
        resumed = method.fit(data, Training(notion, 0, Mechanism.from_state(checkpoint), Watcher(), checkpoint))
        assert np.array_equal(resumed.parameters, whole.parameters), step
        assert (resumed.network, resumed.notes, resumed.events) == (whole.network, whole.notes, whole.events)


@pytest.mark.parametrize("method", PRIVATE.values(), ids=PRIVATE)
def test_nothing_of_the_records_leaves_but_the_releases(method: Method) -> None:
    data, recorder = make_images(), RecordingMechanism()
    (honest,) = train(method, [data], [recorder])
    (replayed,) = train(method, [make_images(seed=9)], [RecordingMechanism(replayed=recorder.releases)])
    assert np.array_equal(honest.parameters, replayed.parameters)
    assert honest.notes == replayed.notes


def _huge() -> Dataset:
    data = make_images()
    return dataclasses.replace(data, X=data.X * np.geomspace(1e-3, 1e6, data.n)[:, None].astype(np.float32))


def _equal() -> Dataset:
    data = make_images()
    return dataclasses.replace(data, X=np.full_like(data.X, 30.0))


@pytest.mark.parametrize("data", [make_images(), _huge(), _equal()], ids=["ordinary", "huge norms", "equal gradients"])
@pytest.mark.parametrize("method", PRIVATE.values(), ids=PRIVATE)
def test_each_contribution_lies_in_its_ball(method: Method, data: Dataset) -> None:
    lengths = [float(np.linalg.norm(release.value)) / release.bound for release in _single_records(method, data)]
    assert len(lengths) == MODELS * method.steps(data.n)
    assert max(lengths) <= 1.0


@pytest.mark.parametrize("method", PRIVATE.values(), ids=PRIVATE)
def test_the_ball_is_filled(method: Method) -> None:
    assert max(np.linalg.norm(release.value) / release.bound for release in _single_records(method, _huge())) >= 0.9


@pytest.mark.parametrize("method", PRIVATE.values(), ids=PRIVATE)
def test_a_sum_is_the_sum_of_its_contributions(method: Method) -> None:
    data, chosen = make_images(), np.array([3, 17, 40])
    base = RecordingMechanism(forced=lambda epoch, step: chosen)
    train(method, [data], [base])
    parts = [
        RecordingMechanism(forced=lambda epoch, step, row=row: np.array([row]), replayed=base.releases)
        for row in chosen
    ]
    train(method, [data] * 3, parts)
    empty = RecordingMechanism(forced=lambda epoch, step: np.zeros(0, dtype=np.int64), replayed=base.releases)
    train(method, [data], [empty])
    assert not any(release.value.any() for release in _sums(empty))
    for whole, *single in zip(_sums(base), *map(_sums, parts), strict=True):
        assert np.allclose(whole.value, sum(release.value for release in single), atol=1e-5 * whole.bound)


@pytest.mark.filterwarnings("ignore::UserWarning", "ignore::FutureWarning")
def test_a_step_equals_that_of_opacus() -> None:
    """The same sample, the same noise: parameters after the step are within 1e-5."""
    data, sample = make_images(n=30), np.arange(0, 30, 2)
    method = DpSgd(**{**SHARED, "epochs": 1, "batch_size": 30, "optimizer": "sgd", "learning_rate": 0.5})
    recorder = RecordingMechanism(forced=lambda epoch, step: sample)
    (fitted,) = train(method, [data], [recorder])
    shape = LayeredShape.from_json(fitted.network)
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


def test_the_network_stays_unsaid_while_it_is_an_mlp() -> None:
    assert "network" not in method_to_json(DpSgd())
    said = method_to_json(DpSgd(network="vgg9"))
    assert said["network"] == "vgg9"
    assert build_method(DpSgd, {name: value for name, value in said.items() if name != "name"}) == DpSgd(network="vgg9")


def test_a_method_takes_many_labels_where_it_says_so() -> None:
    many = {name for name, kind in methods().items() if kind.info.max_labels is None}
    assert many == {method.info.name for method in ALL.values()} | {"dp_fermi"}  # test_dp_fermi_classes.py
    with pytest.raises(BadInput, match=r"method 'pf_ld' takes at most 2 labels, and 'small' has 3\."):
        train(methods()["pf_ld"](epochs=1, batch_size=20, noise_primal=1.0), [make_images()], [RecordingMechanism()])


def test_wrong_networks_are_refused_in_a_sentence() -> None:
    with pytest.raises(BadInput, match=r"network must be one of mlp, cnn_small, vgg9, got 'resnet'\."):
        DpSgd(network="resnet")
    with pytest.raises(BadInput, match=r"network 'cnn_small' needs images, and these data are a table; take mlp\."):
        train(DpSgd(**SHARED), [make_data()], [RecordingMechanism()])
    with pytest.raises(BadInput, match=r"network 'vgg9' needs images of at least 16 x 16 pixels, got 14 x 14"):
        train(Plain(network="vgg9", batch_size=20), [make_images()], [RecordingMechanism()])


def _single_records(method: Method, data: Dataset) -> list[Release]:
    """Return the sums of replays whose samples are forced to one record, whose labels are other ones."""
    base = RecordingMechanism()
    train(method, [data], [base])
    order = np.random.default_rng(4).permutation(data.n)
    mechanisms = [
        RecordingMechanism(
            forced=lambda epoch, step, k=k: order[[(epoch * 4 + step + 15 * k) % data.n]], replayed=base.releases
        )
        for k in range(MODELS)
    ]
    labels = np.random.default_rng(5).integers(0, 3, (MODELS, data.n))
    train(method, [dataclasses.replace(data, y=y) for y in labels], mechanisms)
    return [release for mechanism in mechanisms for release in _sums(mechanism)]


def _sums(mechanism: RecordingMechanism) -> list[Release]:
    return [release for release in mechanism.releases if release.kind == "sum"]
