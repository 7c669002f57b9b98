"""FairDP with certificates: what reaches the mechanism, one step by hand, and certificates that hold."""

from __future__ import annotations

import dataclasses
from pathlib import Path

import numpy as np
import pytest

from fairpriv_core.data.dataset import Dataset, load_dataset, split_dataset
from fairpriv_core.data.problem import DataSpec
from fairpriv_core.engine.evaluate import evaluate
from fairpriv_core.engine.records import Records
from fairpriv_core.errors import BadInput, RunFailed
from fairpriv_core.methods.fairdp_certified import FairDpCertified
from fairpriv_core.methods.rules import fairdp_certified as rule
from fairpriv_core.methods.rules import fairdp_releases as releases
from fairpriv_core.methods.rules.setting import Setting
from fairpriv_core.privacy.accountants import epsilon
from fairpriv_core.privacy.event import Gaussian, Parallel, SampledGaussian
from fairpriv_core.privacy.sums import sensitivity
from tests.methods.harness import RecordingMechanism, Release, make_data, train, with_group

MODELS = 8
METHOD = FairDpCertified(
    epochs=3,
    batch_size=100,
    clip_primal=0.2,
    ensemble=5,
    hidden_layers=1,
    width=5,
    weight_bound=2.0,
    noise_primal=1.0,
    noise_counts=1.0,
    noise_certificate=1.0,
)
LINEAR = dataclasses.replace(METHOD, hidden_layers=0, weight_bound=100.0)


def _huge(groups: int) -> Dataset:
    data = make_data(n=400, groups=groups)
    sign = np.where(np.arange(400) % 2, 1.0, -1.0).astype(np.float32)
    return dataclasses.replace(data, X=data.X * 0 + 60.0 * sign[:, None], group=np.arange(400) % groups)


def _sums_of_single_records(method: FairDpCertified, data: Dataset) -> list[tuple[int, Release]]:
    """Replay a run with samples of one record: what reaches the mechanism is that record, relative to its absence."""
    base = RecordingMechanism()
    train(method, [data], [base])
    order = np.random.default_rng(2).permutation(data.n)
    found: list[tuple[int, Release]] = []
    for start in range(0, 3 * MODELS, MODELS):

        def row(epoch: int, step: int, k: int, start: int = start) -> np.ndarray:
            return order[[(start + k + 24 * (epoch * 4 + step)) % data.n]]

        mechanisms = [
            RecordingMechanism(forced=lambda epoch, step, k=k: row(epoch, step, k), replayed=base.releases)
            for k in range(MODELS)
        ]
        train(method, [data] * MODELS, mechanisms)
        for k, mechanism in enumerate(mechanisms):
            for release in mechanism.releases:
                if release.kind == "sum":
                    found.append((int(row(*divmod(release.index[1], 4), k)[0]), release))
    return found


@pytest.mark.parametrize("method", [METHOD, LINEAR], ids=["deep", "linear"])
@pytest.mark.parametrize("data", [make_data(n=400, groups=3), _huge(2)], ids=["three groups", "huge"])
def test_a_record_adds_at_most_c_and_only_to_its_own_group(method: FairDpCertified, data: Dataset) -> None:
    found = _sums_of_single_records(method, data)
    assert len(found) == 3 * MODELS * 12 * data.groups
    largest = 0.0
    for row, release in found:
        size = float(np.linalg.norm(release.value))
        assert release.bound == sensitivity(method.clip_primal)
        assert size <= release.bound
        assert (size > 0) <= (release.index[0] == str(data.group[row]))
        largest = max(largest, size)
    assert largest > 0.99 * method.clip_primal


def test_a_record_moves_counts_and_certificate_in_one_cell() -> None:
    data, base = make_data(n=400), RecordingMechanism()
    train(METHOD, [data], [base])
    whole = {release.index[0]: release for release in base.releases if release.kind == "gaussian"}
    assert (whole["counts"].bound, whole["certificate"].bound) == (1.0, pytest.approx(np.sqrt(2.0)))
    for row in (0, 7, 300):
        other = dataclasses.replace(data, group=data.group.copy())
        other.group[row] = 1 - data.group[row]
        mechanism = RecordingMechanism(replayed=base.releases)
        train(METHOD, [other], [mechanism])
        for release in mechanism.releases:
            if release.kind == "gaussian":
                moved = release.value - whole[release.index[0]].value
                left, joined = moved[moved < 0], moved[moved > 0]
                for part in (left, joined):  # the record's own contribution, before and after
                    assert 1.0 <= np.linalg.norm(part) <= release.bound * (1 + 1e-9)  # differences of sums of 400
                    assert np.abs(part).max() == pytest.approx(1.0)


def test_micro_batches_of_one_that_forgets_to_clip_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def unclipped(records: Records, bounds: object) -> np.ndarray:
        return records.deviation * records.present

    monkeypatch.setattr(rule, "clipped_loss_weights", unclipped)
    sizes = [np.linalg.norm(release.value) / release.bound for _, release in _sums_of_single_records(METHOD, _huge(2))]
    assert max(sizes) > 5.0


def test_exact_counts_are_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """The replayed run of another data set must come out alike; exact counts make it differ."""
    honest, garbage = make_data(n=400), with_group(make_data(n=400), np.arange(400) % 4 == 0)

    def replayed() -> bool:
        base = RecordingMechanism()
        (first,) = train(METHOD, [honest], [base])
        (second,) = train(METHOD, [garbage], [RecordingMechanism(replayed=base.releases)])
        return np.array_equal(first.parameters, second.parameters)

    assert replayed()
    true_sizes = releases.release_sizes

    def exact(setting: Setting[FairDpCertified], k: int) -> np.ndarray:
        true_sizes(setting, k)
        counts: np.ndarray = np.bincount(setting.trains[k].group).astype(float)
        return counts

    monkeypatch.setattr(rule, "release_sizes", exact)
    assert not replayed()


def test_one_step_is_the_mean_of_the_groups_mean_gradients() -> None:
    """Everyone sampled, no noise, no clipping: theta_1 = -eta / K sum_k mean of group k's gradients at 0."""
    data = make_data(n=300, groups=3)
    method = dataclasses.replace(
        LINEAR, epochs=1, batch_size=300, clip_primal=100.0, noise_primal=0.0, noise_counts=0.0, learning_rate=0.7
    )
    (fitted,) = train(method, [data], [RecordingMechanism()])
    rows = np.column_stack([data.X, np.ones(data.n)])
    gradients = (0.5 - data.y)[:, None] * rows
    means = np.stack([gradients[data.group == g].mean(axis=0) for g in range(3)])
    assert np.allclose(fitted.parameters, -0.7 * means.mean(axis=0), atol=1e-5)


def test_the_scoring_layer_is_bounded_before_each_step() -> None:
    data = make_data(n=400)
    method = dataclasses.replace(METHOD, weight_bound=0.05, learning_rate=0.01, noise_primal=0.0)
    (fitted,) = train(method, [data], [RecordingMechanism()])
    last_step = 0.01 * method.clip_primal * 2  # no mean gradient is longer than C, sampling apart
    assert np.linalg.norm(fitted.parameters[-6:]) <= 0.05 + last_step


def test_groups_are_counted_in_parallel_and_epsilon_is_one_group_s() -> None:
    blank = dataclasses.replace(METHOD, noise_primal=None, noise_counts=None, noise_certificate=None)
    method = blank.calibrated(epsilon=1.0, delta=1e-5, n_train=5000)
    counts, steps, certificate = method.event(5000)
    assert isinstance(counts, Gaussian)
    assert isinstance(certificate, Gaussian)
    assert isinstance(steps, Parallel)
    ((one,),) = steps.branches
    assert isinstance(one, SampledGaussian)
    assert epsilon((counts, one, certificate), 1e-5) == epsilon(method.event(5000), 1e-5)


def test_a_vanishing_group_ends_the_run_with_its_name() -> None:
    data = with_group(make_data(n=400), np.arange(400) < 5)
    with pytest.raises(RunFailed, match=r"group 'B' has about -?\d+ training rows \(a noisy count\)"):
        train(METHOD, [data], [RecordingMechanism()])
    with pytest.raises(BadInput, match=r"share_counts \+ share_certificate must stay below 1, got 1\.1"):
        dataclasses.replace(METHOD, share_counts=0.6, share_certificate=0.5)
    with pytest.raises(BadInput, match="optimizer must be one of sgd, got 'adam'"):
        dataclasses.replace(METHOD, optimizer="adam")


def test_on_adult_the_certificate_covers_the_test_gap(real_data: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAIRPRIV_DATA", str(real_data))
    data = load_dataset(DataSpec(dataset="adult", sensitive="sex"))
    for seed in range(2):
        rows, test = split_dataset(data, seed=seed)
        method = FairDpCertified(epochs=10, weight_bound=1.0)
        method = method.calibrated(epsilon=1.0, delta=1e-5, n_train=rows.n)
        (fitted,) = train(method, [rows], [RecordingMechanism(seed=seed)], seed=seed)
        measured = evaluate(fitted.network, fitted.parameters, test)
        certified = fitted.notes["certificates"]["proposition_3"]
        assert measured["accuracy"] > 0.8
        for notion, bound in certified.items():
            assert measured[f"{notion}_gap"] <= bound < 1.0
        assert fitted.notes["certificates"]["theorem_2"] is None
