"""The public score: trees as arrays decide as scikit-learn's do, and no row is scored by a model that has seen it."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from sklearn.ensemble import HistGradientBoostingClassifier

from fairpriv_core.engine.predict import predict_proba
from fairpriv_core.engine.trees import Trees
from fairpriv_core.errors import BadInput
from fairpriv_core.methods.shared import public_score
from fairpriv_core.methods.shared.public_score import BOOSTED, LINEAR, fit_score
from tests.methods.harness import make_data, with_group

LEARNERS = (LINEAR, BOOSTED)


def _boost_both(features: np.ndarray, y: np.ndarray) -> tuple[Trees, HistGradientBoostingClassifier]:
    how = {"max_iter": 30, "early_stopping": False, "random_state": 0, **public_score._BOOSTING}
    return public_score._boost(features, y, 30), HistGradientBoostingClassifier(**how).fit(features, y)


def test_trees_as_arrays_score_as_scikit_learns() -> None:
    draw = np.random.default_rng(0)
    features = np.round(draw.normal(size=(3000, 6)), 1).astype(np.float32)
    y = (features[:, 0] * features[:, 1] + draw.normal(size=3000) > 0).astype(np.int64)
    trees, model = _boost_both(features, y)
    other = draw.normal(size=(500, 6)).astype(np.float32)
    for rows in (features, other):
        stored = trees.shape.open(trees.flat())
        assert np.allclose(stored.score(rows), model.predict_proba(rows)[:, 1], atol=1e-5)
        scores = predict_proba(trees.shape, trees.flat(), rows)
        assert np.array_equal(scores[:, 1], trees.score(rows))
    assert trees.shape.size == len(trees.flat())


def test_neighbouring_floats_stay_on_their_sides_of_a_threshold() -> None:
    """A threshold between two float32 values that follow each other is no float32 itself."""
    low = np.float32(1.0)
    high = np.nextafter(low, np.float32(2.0))
    features = np.repeat(np.array([low, high], dtype=np.float32), 200)[:, None]
    y = np.repeat([0, 1], 200)
    trees, model = _boost_both(features, y)
    assert np.array_equal(trees.score(features) > 0.5, model.predict(features) == 1)
    assert np.array_equal(trees.score(features) > 0.5, y == 1)


def test_trees_refuse_rows_and_parameters_of_another_size() -> None:
    data = make_data(n=100)
    score = fit_score(BOOSTED, data, seed=0)
    with pytest.raises(BadInput, match="takes 4 encoded columns, got 3"):
        score.of(data.X[:, :3])
    with pytest.raises(BadInput, match=r"the model needs \d+ parameters, got \d+\."):
        predict_proba(score.network, score.parameters[:-1], data.X)


@pytest.mark.parametrize("learner", LEARNERS)
def test_rows_are_scored_by_models_that_have_not_seen_them(learner: str) -> None:
    """Labels by chance on many features: whoever has seen them scores them well, others cannot."""
    data, draw = make_data(n=400, d=60), np.random.default_rng(1)
    data = dataclasses.replace(data, y=draw.integers(0, 2, 400))
    score = fit_score(learner, data, seed=0)
    assert abs(np.corrcoef(score.held_out, data.y)[0, 1]) < 0.2
    assert np.corrcoef(score.of(data.X), data.y)[0, 1] > 0.3


@pytest.mark.parametrize("learner", LEARNERS)
def test_the_score_reads_no_group_and_draws_folds_from_the_seed(learner: str) -> None:
    data = make_data()
    first = fit_score(learner, data, seed=0)
    public_score._known.clear()
    again = fit_score(learner, with_group(data, 1 - data.group), seed=0)
    assert np.array_equal(first.parameters, again.parameters)
    assert np.array_equal(first.held_out, again.held_out)
    assert not np.array_equal(first.held_out, fit_score(learner, data, seed=1).held_out)


def test_a_score_is_fitted_once_for_the_same_rows_labels_and_seed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(public_score, "_known", {})
    data = make_data()
    first = fit_score(LINEAR, data, seed=0)
    assert fit_score(LINEAR, dataclasses.replace(data, X=data.X.copy()), seed=0) is first
    flipped = data.y.copy()
    flipped[0] = 1 - flipped[0]
    moved = data.X.copy()
    moved[5, 1] += 1.0
    others = [{"y": flipped}, {"X": moved}]
    found = [fit_score(LINEAR, dataclasses.replace(data, **other), seed=0) for other in others]
    found += [fit_score(LINEAR, data, seed=1), fit_score(BOOSTED, data, seed=0)]
    assert all(other is not first for other in found)
    assert len(public_score._known) == public_score._REMEMBERED


@pytest.mark.parametrize("learner", LEARNERS)
@pytest.mark.parametrize("ones", [0, 3, 200])
def test_labels_of_too_few_rows_give_their_share(learner: str, ones: int) -> None:
    data = dataclasses.replace(make_data(), y=(np.arange(200) < ones).astype(np.int64))
    score = fit_score(learner, data, seed=0)
    assert np.allclose(score.of(data.X), ones / 200, atol=1e-5)


@pytest.mark.parametrize("learner", LEARNERS)
def test_rows_that_are_not_finite_have_a_score(learner: str) -> None:
    data = make_data()
    rows = data.X.copy()
    rows[:3, 0] = (np.inf, -np.inf, np.nan)
    score = fit_score(learner, dataclasses.replace(data, X=rows), seed=0)
    assert np.isfinite(score.held_out).all()
    assert np.isfinite(score.parameters).all()
