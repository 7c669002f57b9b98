"""Methods for two labels on images, where a small convolutional network ends in one logit: what the contract asks.

Also that a network of layers is treated as the NumPy kernel's: where both can train one network, a fit is the same.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from fairpriv_core.audit.attack import Train
from fairpriv_core.audit.sensitivity import measure_shapes
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.data.problem import DataSpec
from fairpriv_core.engine.layers import LAYERED_KIND, Dense, Layer, LayeredShape, Relu
from fairpriv_core.engine.networks import MLP
from fairpriv_core.engine.predict import predict_proba
from fairpriv_core.engine.rows import Records
from fairpriv_core.engine.training import Fitted, Training
from fairpriv_core.methods import fairdp_certified as certified_rule
from fairpriv_core.methods import previews
from fairpriv_core.methods import setting as setting_module
from fairpriv_core.methods.base import Method
from fairpriv_core.methods.clipping_choice import Warmup
from fairpriv_core.methods.f_ld import FLd
from fairpriv_core.methods.fairdp_certified import FairDpCertified
from fairpriv_core.methods.one_release import NAME, SIDE, OneRelease
from fairpriv_core.methods.pf_ld import PfLd
from fairpriv_core.methods.pf_ld_record import PfLdRecord
from fairpriv_core.methods.setting import Setting
from fairpriv_core.notions.catalog import notions
from fairpriv_core.privacy.event import merge
from fairpriv_core.privacy.mechanism import Mechanism
from fairpriv_core.privacy.randomness import Randomness
from tests.methods.harness import RecordingMechanism, Watcher, make_data, train, with_group
from tests.methods.test_images import make_images

CNN: dict[str, Any] = {"network": "cnn_small", "learning_rate": 0.05}
NOISE: dict[str, Any] = {"noise_primal": 1.0, "noise_counts": 1.0}
DUAL: dict[str, Any] = {**NOISE, "noise_dual": 1.0, "multiplier_max": 3.0, "dual_step": 20.0}
ATTRIBUTE: dict[str, Method] = {
    "pf_ld": PfLd(epochs=3, batch_size=60, clip_primal=0.3, **CNN, **DUAL),
    "pf_ld, its own bound": PfLd(epochs=3, batch_size=60, sampling_rate=0.1, clip_primal=None, **CNN, **DUAL),
    "one_release": OneRelease(epochs=3, batch_size=60, gap_target=0.0, noise_statistic=1.0, **CNN),
}
RECORD: dict[str, Method] = {
    "pf_ld_record": PfLdRecord(epochs=3, sampling_rate=0.25, clip_primal=0.3, **CNN, **DUAL),
    "fairdp_certified": FairDpCertified(epochs=2, batch_size=60, clip_primal=0.3, ensemble=4, **CNN, **NOISE),
}
OTHERS: dict[str, Method] = {
    "f_ld": FLd(epochs=3, batch_size=60, **CNN),
    "pf_ld, published": PfLd(
        variant="published", epochs=3, batch_size=60, clip_primal=0.3, noise_primal=1.0, noise_dual=1.0, **CNN
    ),
    "fairdp_certified, published": FairDpCertified(
        variant="published", epochs=2, batch_size=60, ensemble=4, noise_primal=1.0, noise_certificate=1.0, **CNN
    ),
}
PROVED = {**ATTRIBUTE, **RECORD}
ALL = {**PROVED, **OTHERS}
RELEASES = {
    "pf_ld": {"counts", "sum", "dual"},
    "one_release": {"statistic"},
    "pf_ld_record": {"counts", "sum", "dual"},
    "fairdp_certified": {"counts", "0", "1"},
}
every_method = pytest.mark.parametrize("method", ALL.values(), ids=ALL)
every_proved = pytest.mark.parametrize("method", PROVED.values(), ids=PROVED)


def make_faces(n: int = 300, seed: int = 0) -> Dataset:
    """Return images of two labels."""
    return make_images(n=n, seed=seed, labels=2)


@pytest.mark.parametrize("notion", list(notions()))
@every_method
def test_a_fit_releases_what_was_announced_and_ends_in_one_logit(method: Method, notion: str) -> None:
    if notion not in method.info.notions:
        return
    data = make_faces()
    (fitted,) = train(method, [data], [RecordingMechanism()], notion=notion)
    assert set(merge(fitted.events)) == set(merge(method.event(data.n)))
    assert np.isfinite(fitted.parameters).all()
    shape = LayeredShape.from_json(fitted.network)
    assert (shape.outputs, shape.labels) == (1, 2)
    probabilities = predict_proba(fitted.network, fitted.parameters, data.X)
    assert probabilities.shape == (data.n, 2) and np.allclose(probabilities.sum(axis=1), 1.0)


def test_they_learn_and_f_ld_narrows_the_gap() -> None:
    data = make_faces(600)
    data = with_group(data, np.where(np.arange(600) % 5 == 0, 1 - data.y, data.y))

    def learn(multiplier: float) -> tuple[float, float]:
        method = FLd(epochs=12, batch_size=60, network="cnn_small", multiplier_max=multiplier, dual_step=5.0)
        (fitted,) = train(method, [data], [RecordingMechanism()])
        decided = predict_proba(fitted.network, fitted.parameters, data.X)[:, 1] > 0.5
        rates = [decided[data.group == group].mean() for group in range(2)]
        return float((decided == data.y).mean()), float(abs(rates[0] - rates[1]))

    accuracy, gap = learn(0.0)
    assert accuracy > 0.95 and gap > 0.4
    assert learn(5.0)[1] < gap - 0.2


@every_method
def test_k_models_equal_one_at_a_time(method: Method) -> None:
    datasets = [make_faces(120, seed) for seed in (0, 1)]
    together = train(method, datasets, [RecordingMechanism(seed=seed) for seed in (0, 1)])
    for seed, (data, joint) in enumerate(zip(datasets, together, strict=True)):
        (alone,) = train(method, [data], [RecordingMechanism(seed=seed)])
        assert np.linalg.norm(alone.parameters - joint.parameters) <= 1e-4 * np.linalg.norm(joint.parameters)
        assert alone.events == joint.events


@every_method
def test_a_resumed_fit_gives_the_same_bits(method: Method) -> None:
    data, notion = make_faces(120), notions()["demographic_parity"]  # some epochs of two steps
    watcher = Watcher(frozenset(range(method.steps(data.n) + 1)))
    whole = method.fit(data, Training(notion, 0, Mechanism(Randomness.replay(5)), watcher))
    for step, checkpoint in watcher.checkpoints.items():
        resumed = method.fit(data, Training(notion, 0, Mechanism.from_state(checkpoint), Watcher(), checkpoint))
        assert np.array_equal(resumed.parameters, whole.parameters), step
        assert (resumed.network, resumed.notes, resumed.events) == (whole.network, whole.notes, whole.events)


@every_proved
def test_what_is_protected_leaves_through_the_releases_alone(method: Method) -> None:
    """Garbage in place of the groups, or of whole records, and the releases replayed: the same bits come out."""
    data, recorder = make_faces(), RecordingMechanism()
    garbage = make_faces(seed=9)
    if method.info.threat_model == "attribute":
        garbage = with_group(data, garbage.group)
    (honest,) = train(method, [data], [recorder])
    (replayed,) = train(method, [garbage], [RecordingMechanism(replayed=recorder.releases)])
    assert np.array_equal(honest.parameters, replayed.parameters)
    assert honest.notes == replayed.notes


def _reach(method: Method) -> dict[str, float]:
    """Return the largest share of its bound that a changed attribute, or record, fills: by kind of release."""
    whole = method.info.threat_model == "record"
    found = measure_shapes(
        Train(lambda datasets, mechanisms: train(method, datasets, mechanisms)),
        make_faces(),
        changes=6,
        whole_record=whole,
        seed=3,
    )
    return {one.release: one.largest for one in found}


@every_proved
def test_a_person_moves_each_release_within_its_bound(method: Method) -> None:
    found = _reach(method)
    assert max(found.values()) <= 1.0 + 1e-9
    assert max(found.values()) >= 0.99
    assert set(found) == RELEASES[method.info.name]
    assert all(found[name] >= 0.3 for name in set(found) - {"dual"})


@pytest.mark.parametrize("name", ["pf_ld", "fairdp_certified"])
def test_one_that_forgets_to_clip_is_caught(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def unclipped(records: Records, bounds: object) -> np.ndarray:
        return records.deviation * records.present

    monkeypatch.setattr(certified_rule, "clipped_loss_weights", unclipped)
    monkeypatch.setattr(setting_module, "clip_positive", lambda weights, norms, bound: weights.copy())
    assert max(_reach(PROVED[name]).values()) > 2.0


@pytest.mark.parametrize("name", [name for name in ALL if "published" not in name])
def test_a_network_of_layers_is_treated_as_the_numpy_kernel_treats_it(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Scoring layer, certificate, multipliers, noise: the same dense network by either kernel gives the same fit."""
    data = make_data(n=300, d=7)
    method: Any = dataclasses.replace(ALL[name], network="mlp", hidden_layers=2, width=5, learning_rate=0.02)

    def fit() -> Fitted:
        return train(method, [data], [RecordingMechanism(seed=4)])[0]

    plain = fit()
    hidden: tuple[Layer, ...] = (Dense(5), Relu()) * 2
    monkeypatch.setattr(Setting, "shape", property(lambda self: LayeredShape((data.d,), (*hidden, Dense(1)))))
    layered = fit()
    assert (plain.network["kind"], layered.network["kind"]) == (MLP, LAYERED_KIND)
    assert np.allclose(layered.parameters, plain.parameters, rtol=1e-3, atol=1e-5)
    assert layered.events == plain.events
    assert _numbers(layered.notes) == pytest.approx(_numbers(plain.notes), rel=1e-3)
    probabilities = [predict_proba(one.network, one.parameters, data.X) for one in (plain, layered)]
    assert np.allclose(*probabilities, atol=1e-4)


def test_another_network_trains_on_one_release() -> None:
    """The statistic is of thumbnails, whatever the network: so the release of one run serves another network's."""
    data, recorder, notion = make_faces(), RecordingMechanism(), notions()["demographic_parity"]
    (first,) = train(ATTRIBUTE["one_release"], [data], [recorder])
    (released,) = recorder.releases
    assert released.value.shape == (2 * (SIDE**2 + 1 + 10),) and first.notes["statistic_of"] == NAME
    other = dataclasses.replace(ATTRIBUTE["one_release"], network="mlp")
    silent = RecordingMechanism()
    again = other.fit(data, Training(notion, 0, silent, Watcher(), given=first.notes))
    assert not silent.releases and again.network["kind"] == MLP
    assert again.notes["shared_releases"] == first.notes["shared_releases"]


def test_the_curves_of_clipping_are_those_of_the_network_that_is_trained(monkeypatch: pytest.MonkeyPatch) -> None:
    data = make_faces()
    monkeypatch.setattr(previews, "load_dataset", lambda spec: data)
    monkeypatch.setattr(previews, "split_dataset", lambda data, seed, split: (data, data))
    spec = dataclasses.asdict(DataSpec(dataset="synthetic", sensitive="group"))
    request = {"data": spec, "notion": "demographic_parity", "hidden_layers": 0, "width": 64, "seed": 0}
    warmup = Warmup(**previews.compute({**request, "network": "cnn_small"}))
    assert (
        warmup.parameters
        == LayeredShape.from_json(train(OTHERS["f_ld"], [data], [RecordingMechanism()])[0].network).size
    )
    assert Warmup(**previews.compute(request)).parameters == data.d + 1


def _numbers(notes: Any) -> list[float]:
    """Return every number in notes, in order."""
    if isinstance(notes, dict):
        return [number for value in notes.values() for number in _numbers(value)]
    return [float(notes)] if isinstance(notes, int | float) else []
