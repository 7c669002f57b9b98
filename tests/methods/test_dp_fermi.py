"""DP-FERMI at the mechanism during the real fit: what a record adds, and what the published variant does.

What would add too much, or leave beside the releases, is in test_planted.py.

A run is recorded, then replayed on other sensitive columns: all models see the same releases and take the same course,
so what a record adds to a step's vector is the mechanism's input itself, relative to the record being absent.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from fairpriv_core.audit import contract
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.loop import public_batches
from fairpriv_core.engine.training import Training
from fairpriv_core.errors import RunFailed
from fairpriv_core.methods.dp_fermi import DpFermi, Pairs, StepRelease
from fairpriv_core.notions.catalog import notions
from fairpriv_core.privacy.mechanism import Mechanism
from fairpriv_core.privacy.randomness import Randomness
from tests.methods.harness import RecordingMechanism, Release, Watcher, make_data, train, with_group

MODELS = 8
METHOD = DpFermi(
    epochs=4,
    batch_size=40,
    sampling_rate=0.2,
    multiplier=3.0,
    clip_primal=0.05,
    dual_step=5.0,
    dual_norm=4.0,
    share_dual=0.3,
    noise_primal=1.0,
    noise_counts=1.0,
    gap_target=None,
)
DEEP = dataclasses.replace(METHOD, hidden_layers=2, width=6)
PUBLISHED = dataclasses.replace(METHOD, variant="published", batch_size=100)
NOTIONS = METHOD.info.notions


def _ordinary(groups: int) -> Dataset:
    data = make_data(n=150 * groups + 100, groups=groups)
    return with_group(data, np.random.default_rng(5).integers(0, groups, data.n))


def _tiny_group() -> Dataset:
    data = make_data(n=500, groups=3)
    group = np.zeros(500, dtype=np.int64)
    group[:80], group[80:160] = 1, 2
    return with_group(data, group)


def _certain() -> Dataset:
    """Return rows that logistic regression is sure about either way: predictions at the corners."""
    data = _ordinary(3)
    sign = np.where(np.arange(data.n) % 2, 1.0, -1.0).astype(np.float32)
    return dataclasses.replace(data, X=data.X * 0 + 1e4 * sign[:, None])


def _contributions(method: DpFermi, data: Dataset, notion: str = "demographic_parity") -> np.ndarray:
    """Return the lengths of what single records, whatever their group, add to a step's vector, over its radius."""
    base = RecordingMechanism()
    train(method, [data], [base], notion=notion)
    draw = np.random.default_rng(3)
    order = draw.permutation(data.n)
    columns = [np.full(data.n, group) for group in range(data.groups)]
    columns += [draw.integers(0, data.groups, data.n) for _ in range(MODELS)]
    mechanisms = [
        RecordingMechanism(
            forced=lambda epoch, step: order[[(epoch * 1000 + step * 7) % data.n]], replayed=base.releases
        )
        for _ in range(MODELS)
    ]
    train(method, [with_group(data, column) for column in columns[:MODELS]], mechanisms, notion=notion)
    return np.array([float(np.linalg.norm(release.value)) / release.bound for release in _sums(*mechanisms)])


def _sums(*mechanisms: RecordingMechanism) -> list[Release]:
    return [release for mechanism in mechanisms for release in mechanism.releases if release.kind == "sum"]


def _neighbour(data: Dataset, row: int) -> Dataset:
    group = data.group.copy()
    group[row] = (group[row] + 1) % data.groups
    return with_group(data, group)


def test_the_ball_is_not_needlessly_large() -> None:
    only_w = dataclasses.replace(METHOD, share_dual=0.99)
    assert _contributions(only_w, _certain()).max() >= 0.99
    only_theta = dataclasses.replace(METHOD, share_dual=0.01)
    assert _contributions(only_theta, _ordinary(2)).max() >= 0.98


def test_as_published_a_person_outside_the_batch_changes_what_the_batch_gives() -> None:
    """The shares are exact: amplification by sampling has no record to be absent."""
    data = _ordinary(2)
    first = public_batches(0, n=data.n, batch_size=PUBLISHED.batch_size, epoch=0)[0]
    outside = int(np.setdiff1d(np.arange(data.n), first)[0])
    recorders = RecordingMechanism(), RecordingMechanism()
    for recorder, each in zip(recorders, (data, _neighbour(data, outside)), strict=True):
        train(PUBLISHED, [each], [recorder])
    moved = recorders[0].releases[0].value - recorders[1].releases[0].value
    assert np.abs(moved).max() > 1e-6


def test_the_published_noise_is_that_of_theorem_3_3(monkeypatch: pytest.MonkeyPatch) -> None:
    """Both deviations, on means over the batch, theta's times lambda; rho is the smallest share of a group."""
    given: list[Pairs] = []
    honest = StepRelease.release

    def watch(self: StepRelease, pairs: Pairs, *, step: int) -> tuple[np.ndarray, np.ndarray]:
        given.append(pairs)
        return honest(self, pairs, step=step)

    monkeypatch.setattr(StepRelease, "release", watch)
    data, epsilon, delta = _tiny_group(), 0.7, 1e-5
    method = dataclasses.replace(PUBLISHED, noise_primal=None).calibrated(epsilon=epsilon, delta=delta, n_train=data.n)
    train(method, [data], [RecordingMechanism()])
    root = 4.0 * np.sqrt(method.steps(data.n) * np.log(1 / delta) / (80 / 500)) / (epsilon * data.n)
    of_a_part = method.noise("noise_primal") * np.sqrt(2.0)
    assert given[0].w_bound[0] * of_a_part / method.batch_size == pytest.approx(root)
    on_the_update = root * method.multiplier * method.clip_primal * method.dual_norm
    assert given[0].theta_bound[0] * of_a_part == pytest.approx(on_the_update)
    assert method.published_epsilon(data.n, delta) == pytest.approx(epsilon)


def test_as_published_an_empty_group_ends_the_run() -> None:
    with pytest.raises(RunFailed, match="group 'B, label 0' has no training rows; at least 1 is needed"):
        train(PUBLISHED, [with_group(make_data(), make_data().y)], [RecordingMechanism()], notion="equalized_odds")


@pytest.mark.parametrize("notion", NOTIONS)
def test_the_order_in_which_groups_are_summed_leaves_no_trace(notion: str) -> None:
    """Probabilities from 1e-9 to 1 in batches of 512: a sum by group rounds as the groups fall, and W shows it."""
    draw, n = np.random.default_rng(0), 600
    features = draw.normal(0, 20.0, (n, 5)).astype(np.float32)
    label = (features[:, 0] + draw.normal(size=n) > 0).astype(np.int64)
    data = dataclasses.replace(make_data(n=n, d=5), X=features, y=label)
    wide = dataclasses.replace(METHOD, epochs=10, batch_size=512, optimizer="sgd", learning_rate=0.5, dual_norm=50.0)
    recorder = RecordingMechanism()
    (honest,) = train(wide, [with_group(data, draw.integers(0, 2, n))], [recorder], notion=notion)
    for _ in range(3):
        other = with_group(data, draw.integers(0, 2, n))
        (replayed,) = train(wide, [other], [RecordingMechanism(replayed=recorder.releases)], notion=notion)
        assert np.array_equal(honest.parameters, replayed.parameters)
        assert honest.notes == replayed.notes


@pytest.mark.parametrize("variant", ["proved", "published"])
def test_a_uniform_iterate_is_that_after_its_step_and_any_step_may_be_drawn(variant: str) -> None:
    data = make_data(n=200)
    method = dataclasses.replace(METHOD, variant=variant, epochs=2, batch_size=50, iterate="uniform")
    drawn = set()
    for seed in range(40):
        watcher = Watcher(frozenset(range(1, 9)))
        training = Training(notions()["demographic_parity"], seed, Mechanism(Randomness.replay(seed)), watcher)
        (fitted,) = DpFermi.fit_many([method], [data], [training])
        step = fitted.notes["returned_after"]
        assert isinstance(step, int) and 1 <= step <= fitted.steps == 8
        assert np.array_equal(fitted.parameters, watcher.checkpoints[step]["parameters"])
        drawn.add(step)
    assert drawn == set(range(1, 9))


def test_a_uniform_iterate_resumes_and_trains_beside_others() -> None:
    method = dataclasses.replace(METHOD, iterate="uniform")
    contract.check_resume(method, make_data)
    contract.check_together(method, make_data)
    assert "returned_after" not in train(METHOD, [make_data(n=200)], [RecordingMechanism()])[0].notes
