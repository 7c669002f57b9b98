"""DP-SGD's relatives at the mechanism during the real fit: what a record adds, what chooses the bounds, the noise.

A run is recorded, then replayed: other models see the same releases while their samples are forced to one record of
other data. What that record adds is the mechanism's input itself, relative to the record being absent.
"""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable

import numpy as np
import pytest

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.methods.dp_fedavg import DpFedAvg
from fairpriv_core.methods.dp_is_sgd import DpIsSgd
from fairpriv_core.methods.dpsgd_f import DpsgdF
from fairpriv_core.methods.dpsgd_global_adapt import DpsgdGlobalAdapt
from fairpriv_core.methods.fairdp_adaptive import FairDpAdaptive
from fairpriv_core.methods.fairlens import FairLens
from fairpriv_core.methods.noisy_sums import NoisySums, SumsWithCounts
from fairpriv_core.methods.opt_q import OptQ
from fairpriv_core.privacy.accountants import epsilon
from fairpriv_core.privacy.event import SampledGaussian
from tests.methods.examples.catalog import EXAMPLES, Make, on_images, takes_images
from tests.methods.harness import (
    RecordingMechanism,
    Release,
    make_data,
    make_images,
    shrink_network,
    train,
    with_group,
)

MODELS = 8
SHORT = {"epochs": 5, "batch_size": 10, "clip_primal": 0.3, "noise_primal": 0.5, "learning_rate": 0.2}
FAMILY: dict[str, NoisySums] = {
    "opt_q": OptQ(**SHORT, share_counts=0.2, quantile=0.7),
    "opt_q, deep": OptQ(**SHORT, share_counts=0.4, quantile=0.5, hidden_layers=2, width=5),
    "dp_fedavg, deep": DpFedAvg(**SHORT, hidden_layers=2, width=5),
    "dpsgd_f": DpsgdF(**SHORT, share_counts=0.3),
    "dpsgd_global_adapt": DpsgdGlobalAdapt(**SHORT, share_counts=0.2, strict_clip=0.5, threshold=0.8),
    "dp_is_sgd": DpIsSgd(**SHORT, noise_counts=2.0),
    "fairlens": FairLens(**SHORT, noise_statistics=0.1, multiplier_gradient=30.0, multiplier_boundary=5.0),
    "fairlens, deep": FairLens(**SHORT, noise_statistics=1.0, hidden_layers=2, width=5),
    "fairdp, class": FairDpAdaptive(**SHORT, share_counts=0.3, lipschitz=1.0),
    "fairdp, group": FairDpAdaptive(**SHORT, share_counts=0.3, clip_by="group", hidden_layers=1, width=5),
}
#: every other method that sums so and does not look at groups: those that do need groups of some size
OTHERS: dict[str, NoisySums] = {
    name: dataclasses.replace(example, **SHORT)
    for name, each in EXAMPLES.items()
    for example in each[:1]
    if isinstance(example, NoisySums) and not example.info.uses_groups
    if example.unproved_reason() is None and type(example) not in {type(method) for method in FAMILY.values()}
}
#: all that have networks for images, on three labels; a few steps of each, as a convolution takes its time
ON_IMAGES: dict[str, NoisySums] = {
    f"{name}, images": dataclasses.replace(on_images(method), epochs=2, batch_size=15)
    for name, method in (FAMILY | OTHERS).items()
    if takes_images(method)
}


def with_data(*families: dict[str, NoisySums]) -> pytest.MarkDecorator:
    """Run a test on every method, with the data of its network."""
    cases = {name: method for family in families for name, method in family.items()}
    made = [(method, make_images if name in ON_IMAGES else make_data) for name, method in cases.items()]
    return pytest.mark.parametrize(("method", "make"), made, ids=cases)


@pytest.fixture(autouse=True)
def small_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Train small convolutional networks."""
    shrink_network(monkeypatch)


def _huge(make: Make) -> Dataset:
    data = make()
    return dataclasses.replace(data, X=data.X * np.geomspace(1e-3, 1e6, data.n)[:, None].astype(np.float32))


def _tiny_group(make: Make) -> Dataset:
    data = make()
    return with_group(data, np.arange(data.n) < 3)


def _equal(make: Make) -> Dataset:
    data = make()
    return dataclasses.replace(data, X=np.full_like(data.X, 30.0))


SHAPES: dict[str, Callable[[Make], Dataset]] = {
    "ordinary": lambda make: make(groups=3),
    "huge norms": _huge,
    "tiny group": _tiny_group,
    "equal gradients": _equal,
}


def replay_single_records(method: NoisySums, data: Dataset) -> tuple[list[Release], list[list[Release]]]:
    """Return a run's sums, and for each of MODELS replays the sums of samples that are forced to one record."""
    base = RecordingMechanism()
    train(method, [data], [base])
    order = np.random.default_rng(4).permutation(data.n)
    steps, apart = math.ceil(data.n / method.batch_size), data.n // MODELS
    mechanisms = [
        RecordingMechanism(
            forced=lambda epoch, step, k=k: order[[(epoch * steps + step + apart * k) % data.n]],
            replayed=base.releases,
        )
        for k in range(MODELS)
    ]
    labels = np.random.default_rng(5).integers(0, data.labels, (MODELS, data.n))
    train(method, [dataclasses.replace(data, y=y) for y in labels], mechanisms)
    return _sums(base), [_sums(mechanism) for mechanism in mechanisms]


def _sums(mechanism: RecordingMechanism) -> list[Release]:
    return [release for release in mechanism.releases if release.kind == "sum"]


@pytest.mark.parametrize("shape", SHAPES)
@with_data(FAMILY, OTHERS, ON_IMAGES)
def test_each_contribution_lies_in_its_ball(method: NoisySums, make: Make, shape: str) -> None:
    """Gradient and counts together: 800 contributions a case, 64 on images."""
    data = SHAPES[shape](make)
    _, replays = replay_single_records(method, data)
    lengths = [float(np.linalg.norm(release.value)) / release.bound for sums in replays for release in sums]
    assert len(lengths) == MODELS * method.steps(data.n)
    assert max(lengths) <= 1.0


@with_data(FAMILY, ON_IMAGES)
def test_the_ball_is_filled(method: NoisySums, make: Make) -> None:
    _, replays = replay_single_records(method, _huge(make))
    assert max(float(np.linalg.norm(r.value)) / r.bound for sums in replays for r in sums) >= 0.98


@pytest.mark.parametrize("method", FAMILY.values(), ids=FAMILY)
def test_bounds_follow_from_earlier_releases_alone(method: NoisySums) -> None:
    """Whatever the records of the step are: the replays' bounds are the recorded run's, bit for bit."""
    base, replays = replay_single_records(method, make_data())
    bounds = [release.bound for release in base]
    assert all([release.bound for release in sums] == bounds for sums in replays)
    moves = isinstance(method, OptQ | DpsgdF | FairDpAdaptive)
    assert (len(set(bounds)) > 1) == moves


@with_data(FAMILY, ON_IMAGES)
def test_an_absent_record_adds_nothing(method: NoisySums, make: Make) -> None:
    empty = RecordingMechanism(forced=lambda epoch, step: np.zeros(0, dtype=np.int64))
    train(method, [make()], [empty])
    assert not any(release.value.any() for release in _sums(empty))


@with_data(FAMILY, ON_IMAGES)
def test_a_sum_is_the_sum_of_its_contributions(method: NoisySums, make: Make) -> None:
    data, chosen = make(), np.array([3, 17, 40])
    base = RecordingMechanism(forced=lambda epoch, step: chosen)
    train(method, [data], [base])
    parts = [
        RecordingMechanism(forced=lambda epoch, step, row=row: np.array([row]), replayed=base.releases)
        for row in chosen
    ]
    train(method, [data] * 3, parts)
    for whole, *single in zip(_sums(base), *map(_sums, parts), strict=True):
        assert np.allclose(whole.value, sum(release.value for release in single), atol=1e-5 * whole.bound)


@pytest.mark.parametrize("method", FAMILY.values(), ids=FAMILY)
def test_noise_has_the_scale_that_is_counted(method: NoisySums) -> None:
    """On gradients and on counts: sigma over the radius, which is sigma / sqrt(share) over what each is bounded by."""
    recorder = RecordingMechanism()
    train(dataclasses.replace(method, epochs=30), [make_data()], [recorder])
    noise = np.stack([(r.out - r.value) / (r.bound * method.noise()) for r in _sums(recorder)])
    for part in (noise[:, :5], noise[:, -1]):
        assert part.std() == pytest.approx(1.0, abs=5.0 / np.sqrt(2.0 * part.size))


@pytest.mark.parametrize("share", [0.05, 0.5])
def test_gradients_and_counts_are_one_gaussian(share: float) -> None:
    """(sigma_g^-2 + sigma_c^-2)^(-1/2) = sigma, which costs more than two events of their own would claim."""
    method = OptQ(epochs=1, batch_size=10, noise_primal=1.0 / np.sqrt(2.0), share_counts=share)
    counts = method.count_noise()
    assert counts is not None
    assert (method.gradient_noise() ** -2 + counts**-2) ** -0.5 == pytest.approx(method.noise())


def test_one_sample_costs_more_than_two_would() -> None:
    together = (SampledGaussian(1.0 / np.sqrt(2.0), 0.0075, 6600),)
    apart = (SampledGaussian(1.0, 0.0075, 2 * 6600),)
    assert epsilon(together, 1e-5) == pytest.approx(7.99, abs=0.01)
    assert epsilon(apart, 1e-5) == pytest.approx(5.18, abs=0.01)


@pytest.mark.parametrize("method", [m for m in FAMILY.values() if isinstance(m, SumsWithCounts)])
def test_the_published_claim_is_for_other_releases(method: SumsWithCounts) -> None:
    published = dataclasses.replace(method, variant="published")
    assert published.unproved_reason()
    assert method.unproved_reason() is None
