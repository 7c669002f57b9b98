"""OneRelease: one bounded release, nothing but post-processing after it, and fair models from it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.predict import evaluate
from fairpriv_core.engine.training import Fitted, Training
from fairpriv_core.errors import BadInput, RunFailed
from fairpriv_core.methods.none import Plain
from fairpriv_core.methods.one_release import OneRelease, move_multipliers
from fairpriv_core.methods.shared import group_estimate as estimates
from fairpriv_core.methods.shared import group_statistic as statistics
from fairpriv_core.notions.catalog import notions
from fairpriv_core.notions.cells import NO_CELL
from tests.methods.harness import RecordingMechanism, Watcher, make_data, train, with_group

METHOD = OneRelease(epochs=2, batch_size=50, gap_target=0.0, noise_statistic=1.0)
_ROWS = 3000
FAIR = OneRelease(epochs=16, batch_size=100, learning_rate=0.03, gap_target=0.02, noise_statistic=0.5)


def _ordinary(groups: int) -> Dataset:
    data = make_data(n=150 * groups, groups=groups)
    return with_group(data, np.random.default_rng(5).integers(0, groups, data.n))


def _huge(groups: int) -> Dataset:
    """Rows of every size, one of them not finite."""
    data = _ordinary(groups)
    rows = data.X * np.logspace(-3, 6, data.n).astype(np.float32)[:, None]
    rows[7, 0] = np.inf
    return dataclasses.replace(data, X=rows)


def _alike(groups: int) -> Dataset:
    data = _ordinary(groups)
    return dataclasses.replace(data, X=np.full_like(data.X, 30.0))


def _largest() -> Dataset:
    """Features as large as 32 bits can hold."""
    data = _ordinary(2)
    return dataclasses.replace(data, X=np.copysign(np.finfo(np.float32).max, data.X))


FAILING: dict[str, tuple[OneRelease, Dataset, type[Exception], str]] = {
    "a wide bound": (dataclasses.replace(METHOD, clip=1e200), _ordinary(2), BadInput, "cannot be computed with"),
    "a narrow bound": (dataclasses.replace(METHOD, clip=1e-200), _ordinary(2), BadInput, "cannot be computed with"),
    "a row that is not finite": (METHOD, _huge(2), BadInput, "too large to be numbers"),
    "too large a step": (dataclasses.replace(METHOD, learning_rate=1e38), _largest(), RunFailed, "epsilon is spent"),
}


@pytest.mark.parametrize("name", FAILING)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_huge_features_fail_before_the_release_or_say_that_it_is_spent(name: str) -> None:
    method, data, kind, says = FAILING[name]
    recorder = RecordingMechanism()
    with pytest.raises(kind, match=says):
        train(method, [data], [recorder])
    assert len(recorder.releases) == (kind is RunFailed)


def test_what_fails_after_the_release_says_that_it_is_spent(monkeypatch: pytest.MonkeyPatch) -> None:
    def overflow(*_: object, **__: object) -> None:
        raise OverflowError("too large")

    monkeypatch.setattr(estimates, "estimate_groups", overflow)
    with pytest.raises(
        RunFailed, match=r"\(too large\)\. The sums by group were released, and the run's epsilon is sp"
    ):
        train(METHOD, [_ordinary(2)], [RecordingMechanism()])


SHAPES: dict[str, Callable[[int], Dataset]] = {"ordinary": _ordinary, "huge": _huge, "alike": _alike}


def _statistic(method: OneRelease, data: Dataset) -> tuple[np.ndarray, float]:
    """Return what goes into the mechanism, and the shift that it is told."""
    recorder = RecordingMechanism()
    training = Training(notions()["demographic_parity"], 0, recorder, Watcher())
    features = statistics.build_features(method, data)
    statistics.release_statistic(method, data, training, features=features)
    (release,) = recorder.releases
    return release.value, release.bound


@pytest.mark.parametrize("groups", [2, 3])
def test_a_fit_releases_the_sums_once_and_nothing_else(groups: int) -> None:
    data, recorder = _ordinary(groups), RecordingMechanism()
    train(METHOD, [data], [recorder], notion="equalized_odds")
    (release,) = recorder.releases
    value, sensitivity = _statistic(METHOD, data)
    assert np.array_equal(release.value, value)
    assert (release.kind, release.bound) == ("gaussian", sensitivity)
    assert sensitivity == METHOD.sensitivities(data.n, groups)["statistic"] == (1.0 if groups == 2 else np.sqrt(2.0))


def test_norms_are_within_1_after_rounding() -> None:
    for shape, clip in product(SHAPES.values(), (None, 0.01, 3.0)):
        features = statistics.build_features(dataclasses.replace(METHOD, clip=clip), shape(2))
        assert np.isfinite(features.rows).all()
        assert float(np.linalg.norm(features.rows, axis=1).max()) <= 1.0


def test_features_do_not_see_the_groups() -> None:
    data = _ordinary(2)
    seen = statistics.build_features(METHOD, data)
    other = statistics.build_features(METHOD, with_group(data, 1 - data.group))
    assert np.array_equal(seen.rows, other.rows)
    assert seen.bound == other.bound


def test_a_score_that_is_trained_with_the_groups_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def replay_differs() -> bool:
        data, recorder = _ordinary(2), RecordingMechanism()
        (honest,) = train(METHOD, [data], [recorder])
        garbage = with_group(data, np.random.default_rng(2).integers(0, 2, data.n))
        (replayed,) = train(METHOD, [garbage], [RecordingMechanism(replayed=recorder.releases)])
        return not np.array_equal(honest.parameters, replayed.parameters)

    assert not replay_differs()
    public = statistics.bin_score
    monkeypatch.setattr(
        statistics,
        "bin_score",
        lambda data, bins, score: public(dataclasses.replace(data, y=data.group), bins, score),
    )
    assert replay_differs()


def _fit_again(method: OneRelease, data: Dataset, first: Fitted, **how: Any) -> tuple[Fitted, RecordingMechanism]:
    recorder, notion = RecordingMechanism(), notions()[how.get("notion", "demographic_parity")]
    return method.fit(data, Training(notion, how.get("seed", 0), recorder, Watcher(), given=first.notes)), recorder


def test_a_second_training_on_the_release_costs_nothing() -> None:
    data = _ordinary(2)
    (first,) = train(METHOD, [data], [RecordingMechanism()])
    garbage = with_group(data, 1 - data.group)
    same, recorder = _fit_again(METHOD, garbage, first)
    assert np.array_equal(same.parameters, first.parameters)
    assert same.notes == first.notes
    assert recorder.releases == []
    assert same.events == ()
    for changed, notion, seed in (
        (dataclasses.replace(METHOD, gap_target=0.2), "equal_opportunity", 1),
        (dataclasses.replace(METHOD, hidden_layers=1, width=4, dual_step=9.0), "accuracy_parity", 2),
    ):
        other, recorder = _fit_again(changed, garbage, first, notion=notion, seed=seed)
        assert recorder.releases == []
        assert other.notes["shared_releases"] == first.notes["shared_releases"]


@pytest.mark.parametrize("hidden_layers", [0, 1])
def test_without_multipliers_it_is_plain_training(hidden_layers: int) -> None:
    shared = {"epochs": 3, "batch_size": 50, "hidden_layers": hidden_layers, "width": 5}
    method = OneRelease(**shared, multiplier_max=0.0, averaged=0.0, noise_statistic=1.0)
    data = _ordinary(2)
    (ours,) = train(method, [data], [RecordingMechanism()], seed=3)
    (plain,) = train(Plain(**shared), [data], [RecordingMechanism()], seed=3)
    assert np.array_equal(ours.parameters, plain.parameters)


@pytest.mark.parametrize(
    ("notion", "groups"), [*((name, 2) for name in OneRelease.info.notions), ("demographic_parity", 3)]
)
def test_the_gap_of_the_chosen_notion_closes(notion: str, groups: int) -> None:
    data = _unfair(groups)
    metric = notions()[notion].metric
    gaps = []
    for multiplier_max in (0.0, 5.0):
        method = dataclasses.replace(FAIR, multiplier_max=multiplier_max)
        (fitted,) = train(method, [data], [RecordingMechanism(seed=1)], notion=notion)
        measured = evaluate(fitted.network, fitted.parameters, data)[metric]
        assert fitted.notes["released_gaps"][metric] == pytest.approx(measured, abs=0.03)
        gaps.append(measured)
    assert gaps[0] > 0.1
    assert gaps[1] < gaps[0] / 2


def _unfair(groups: int) -> Dataset:
    """Return data on which every notion's gap of the best model is large, and the group can be told from x."""
    draw = np.random.default_rng(0)
    group = draw.integers(0, groups, _ROWS)
    far = group / (groups - 1)
    rows = np.stack([draw.normal(size=_ROWS) + 1.2 * far, 2.0 * far - 1.0 + 0.3 * draw.normal(size=_ROWS)], axis=1)
    noise = draw.normal(size=_ROWS) * (1.0 + 0.6 * far) - 0.4 * far
    y = (rows[:, 0] + noise > 0.8).astype(np.int64)
    data = make_data(n=10, d=2, groups=groups)
    return dataclasses.replace(data, X=rows.astype(np.float32), y=y, group=group)


def test_the_estimate_matches_the_sums_that_were_released() -> None:
    """Group sizes by label, and the groups' sums of every feature, come out as they went in; nearly no noise."""
    data, method = _unfair(3), dataclasses.replace(METHOD, noise_statistic=1e-6)
    recorder = RecordingMechanism()
    training = Training(notions()["demographic_parity"], 0, recorder, Watcher())
    features = statistics.build_features(method, data)
    statistic = statistics.release_statistic(method, data, training, features=features)
    estimate = estimates.estimate_groups(statistic, method=method, features=features, y=data.y, groups=3).estimate
    assert np.allclose(estimate.probabilities.sum(axis=1), 1.0)
    truth = [[((data.group == group) & (data.y == label)).sum() for label in (0, 1)] for group in range(3)]
    assert np.allclose(estimate.sizes(), truth, atol=3.0)
    sums = np.stack([estimate.probabilities[data.y == label].T @ features.rows[data.y == label] for label in (0, 1)])
    assert np.allclose(sums.ravel(), statistic, atol=3.0)


def test_multipliers_follow_the_excess_and_shrink_below_it() -> None:
    method = OneRelease(gap_target=0.1, dual_step=2.0, multiplier_max=1.0)
    everyone = np.full(3, NO_CELL)

    def move(multipliers: list[float], means: list[float]) -> list[float]:
        return move_multipliers(np.array(multipliers), np.array(means), among=everyone, method=method).tolist()

    assert move([0.0, 0.0, 0.0], [0.5, 0.2, 0.3]) == pytest.approx([0.4, -0.4, 0.0])
    assert move([0.4, -0.4, 0.0], [0.3, 0.3, 0.3]) == pytest.approx([0.2, -0.2, 0.0])
    assert move([0.1, -0.1, 0.0], [0.3, 0.3, 0.3]) == [0.0, 0.0, 0.0]
    assert move([0.9, -0.9, 0.0], [0.9, 0.1, 0.3]) == pytest.approx([1.0, -1.0, 0.0])


@pytest.mark.parametrize("notion", ["demographic_parity", "equalized_odds"])
def test_a_group_that_nobody_is_in_ends_the_run_after_the_same_release(notion: str) -> None:
    data = _ordinary(3)
    recorder = RecordingMechanism(seed=2)
    with pytest.raises(RunFailed, match=r"group 'C.*' has about \d+ training rows \(an estimate"):
        train(METHOD, [with_group(data, data.group % 2)], [recorder], notion=notion)
    full = RecordingMechanism(seed=2)
    train(METHOD, [data], [full], notion=notion)
    (release,), (other,) = recorder.releases, full.releases
    assert release.value.shape == other.value.shape
    assert release.bound == other.bound


def test_one_label_alone_can_be_trained_on() -> None:
    data = dataclasses.replace(_ordinary(2), y=np.zeros(300, dtype=np.int64))
    (fitted,) = train(METHOD, [data], [RecordingMechanism()])
    assert fitted.notes["released_gaps"]["equal_opportunity_gap"] is None


@pytest.mark.parametrize("groups", [2, 3])
@pytest.mark.parametrize("learner", ["network", "linear"])
def test_what_was_released_is_used_whatever_the_features_are(learner: str, groups: int) -> None:
    """Curvatures of 1e60 beside a ridge of 1e-60, columns that repeat each other, and columns without any size."""
    data = _ordinary(groups)
    for rows in (data.X * np.float32(1e30), np.tile(data.X, 3), data.X * np.float32(1e-38), np.zeros_like(data.X)):
        method = dataclasses.replace(METHOD, learner=learner)
        (fitted,) = train(method, [dataclasses.replace(data, X=rows)], [RecordingMechanism(seed=2)])
        assert len(fitted.events) == 1 and np.isfinite(fitted.parameters).all()


def test_what_has_no_room_is_refused_before_the_release(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(estimates, "find_memory", lambda: 2**12)
    recorder = RecordingMechanism()
    with pytest.raises(BadInput, match=r"3 groups times \d+ features would take .* GiB .*; merge groups"):
        train(METHOD, [_ordinary(3)], [recorder])
    assert not recorder.releases


def test_bad_settings_are_refused() -> None:
    for setting, says in [
        ({"gap_target": 1.5}, "gap_target must lie in"),
        ({"averaged": -0.1}, "averaged must lie in"),
        ({"dual_step": 0.0}, "dual_step must be"),
        ({"multiplier_max": -1.0}, "multiplier_max must be"),
        ({"score_bins": 0}, "score_bins must be"),
        ({"clip": 0.0}, "clip must be"),
        ({"noise_statistic": -1.0}, "noise_statistic must be"),
    ]:
        with pytest.raises(BadInput, match=says):
            dataclasses.replace(METHOD, **setting)


def test_noise_must_be_known() -> None:
    with pytest.raises(BadInput, match="noise_statistic is not set; give epsilon"):
        train(OneRelease(epochs=1), [_ordinary(2)], [RecordingMechanism()])
