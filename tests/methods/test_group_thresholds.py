"""Thresholds by group: one bounded count, the best thresholds that it allows, and a model that needs the group."""

from __future__ import annotations

import dataclasses
from itertools import product

import numpy as np
import pytest

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.predict import decisions, evaluate, predict_proba
from fairpriv_core.engine.training import Training
from fairpriv_core.errors import BadInput, RunFailed
from fairpriv_core.methods.group_thresholds import (
    GroupThresholds,
    choose_thresholds,
    list_thresholds,
    measure_thresholds,
)
from fairpriv_core.methods.shared.group_estimate import Estimate, Redraws
from fairpriv_core.methods.shared.public_score import LINEAR, fit_score
from fairpriv_core.notions.catalog import notions, notions_of_means
from fairpriv_core.records.model import Model
from tests.methods.harness import RecordingMechanism, Watcher, make_data, train, with_group

METHOD = GroupThresholds(learner=LINEAR, gap_target=0.03, noise_histogram=0.5)


def _unfair(groups: int = 2, rows: int = 3000) -> Dataset:
    """Return data on which the groups' scores differ, and no feature tells the group."""
    draw = np.random.default_rng(0)
    group = draw.integers(0, groups, rows)
    far = group / (groups - 1)
    X = np.stack([draw.normal(size=rows) + far, draw.normal(size=rows)], axis=1).astype(np.float32)
    y = (X[:, 0] + (0.6 + 0.5 * far) * draw.normal(size=rows) > 0.7).astype(np.int64)
    return dataclasses.replace(make_data(n=10, d=2, groups=groups), X=X, y=y, group=group)


def test_a_fit_releases_the_counts_once_and_says_that_it_needs_the_group() -> None:
    data, recorder = _unfair(), RecordingMechanism()
    (fitted,) = train(METHOD, [data], [recorder])
    (release,) = recorder.releases
    assert (release.kind, release.value.size) == ("gaussian", 2 * METHOD.score_bins)
    assert METHOD.info.needs_group_at_prediction and fitted.network.needs_group
    with pytest.raises(BadInput, match="predicting needs the sensitive attribute of every row"):
        predict_proba(fitted.network, fitted.parameters, data.X)


@pytest.mark.parametrize("groups", [2, 3])
@pytest.mark.parametrize("notion", METHOD.info.notions)
def test_the_gap_of_the_chosen_notion_closes(notion: str, groups: int) -> None:
    data, metric = _unfair(groups), notions()[notion].metric
    gaps = []
    for target in (1.0, 0.03):
        (fitted,) = train(dataclasses.replace(METHOD, gap_target=target), [data], [RecordingMechanism()], notion=notion)
        gaps.append(evaluate(fitted.network, fitted.parameters, data)[metric])
        released, error = (fitted.notes[name][metric] for name in ("released_gaps", "released_gap_errors"))
        assert released <= fitted.notes["gap_aimed_at"] + 0.003
        assert abs(gaps[-1] - released) <= 5 * error + 0.03
    assert gaps[1] <= max(gaps[0] / 2, 0.06)


@pytest.mark.parametrize("notion", METHOD.info.notions)
@pytest.mark.parametrize("gap", [0.0, 0.05, 0.2])
def test_no_thresholds_within_the_gap_have_fewer_errors(notion: str, gap: float) -> None:
    """All triples of 12 thresholds are tried."""
    data = _unfair(3, rows=600)
    score = fit_score(LINEAR, data, seed=0).held_out
    tried = np.unique(np.concatenate([[-1.0, 1.0], np.quantile(score, np.arange(1, 11) / 11)]))
    probabilities = np.random.default_rng(0).dirichlet((2.0, 1.0, 3.0), data.n)
    nothing = Redraws(np.arange(data.n), probabilities.T[None])
    estimate = Estimate(np.zeros(1), probabilities, data.y, lambda: nothing)
    rates, errors = measure_thresholds(notions()[notion], estimate, score, tried)
    place = list(notions_of_means()).index(notion)
    chosen = choose_thresholds(rates, errors, gap)
    found = float(sum(errors[group, own] for group, own in enumerate(chosen)))
    assert estimate.gaps(score[:, None] > tried[chosen])[place] <= max(gap, 0.002) + 1e-9
    best = np.inf
    for triple in product(range(len(tried)), repeat=3):
        if all(np.ptp([own[group, index] for group, index in enumerate(triple)]) <= gap for own in rates):
            best = min(best, float(sum(errors[group, own] for group, own in enumerate(triple))))
    slack = 1e-9 if len(rates) == 1 else 0.02 * data.n  # of several rates boxes are tried at quarters of their width
    assert found <= best + slack


def test_rates_and_errors_are_those_of_the_decisions() -> None:
    data = _unfair(2, rows=500)
    score = fit_score(LINEAR, data, seed=0).held_out
    exact = np.eye(2)[data.group]
    estimate = Estimate(np.zeros(1), exact, data.y, lambda: Redraws(np.arange(500), exact.T[None]))
    tried = list_thresholds(score)
    rates, errors = measure_thresholds(notions()["equalized_odds"], estimate, score, tried)
    for index in (0, 7, len(tried) // 2, len(tried) - 1):
        for group in range(2):
            decided = score > tried[index]
            own = data.group == group
            assert errors[group, index] == pytest.approx((decided != data.y)[own].sum())
            assert rates[1, group, index] == pytest.approx(decided[own & (data.y == 1)].mean())


def test_a_threshold_decides_as_it_says_and_the_model_reads_back() -> None:
    data = _unfair(3)
    (fitted,) = train(METHOD, [data], [RecordingMechanism()], notion="equal_opportunity")
    own = fit_score(LINEAR, data, seed=0).of(data.X)
    thresholds = np.array([fitted.notes["thresholds"][name] for name in data.group_names])
    decided = decisions(fitted.network, fitted.parameters, data)
    assert np.array_equal(decided == 1, own > thresholds[data.group])
    read = Model.read(Model.of(fitted, data).write().__getitem__)
    assert np.array_equal(read.score(data), predict_proba(fitted.network, fitted.parameters, data.X, data.group))


def test_another_notion_on_the_counts_costs_nothing() -> None:
    data = _unfair()
    (first,) = train(METHOD, [data], [RecordingMechanism()])
    garbage = with_group(data, 1 - data.group)
    for notion in METHOD.info.notions:
        recorder = RecordingMechanism()
        again = METHOD.fit(garbage, Training(notions()[notion], 0, recorder, Watcher(), given=first.notes))
        assert recorder.releases == [] and again.events == ()
        assert again.notes["shared_releases"] == first.notes["shared_releases"]


def test_a_group_that_nobody_is_in_ends_the_run() -> None:
    data = _unfair(3)
    with pytest.raises(RunFailed, match=r"group 'B' has about \d+ training rows"):
        train(METHOD, [with_group(data, 2 * (data.group // 2))], [RecordingMechanism()])


def test_bad_settings_are_refused() -> None:
    for setting, says in [
        ({"learner": "network"}, "learner must be one of linear, boosted, automatic, got 'network'"),
        ({"gap_target": -0.1}, "gap_target must lie in"),
        ({"score_bins": 1}, "score_bins must be"),
        ({"noise_histogram": -1.0}, "noise_histogram must be"),
    ]:
        with pytest.raises(BadInput, match=says):
            dataclasses.replace(METHOD, **setting)


def test_noise_must_be_known() -> None:
    with pytest.raises(BadInput, match="noise_histogram is not set; give epsilon"):
        train(GroupThresholds(learner=LINEAR), [_unfair()], [RecordingMechanism()])
