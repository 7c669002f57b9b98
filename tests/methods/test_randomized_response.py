"""Randomised response and fair learning on its answers: what leaves, what is estimated, what is corrected."""

from __future__ import annotations

import dataclasses
import math
from itertools import cycle

import numpy as np
import pytest

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.models import Derived
from fairpriv_core.engine.predict import predict_proba
from fairpriv_core.engine.training import Fitted, Training
from fairpriv_core.errors import BadInput, RunFailed
from fairpriv_core.methods import randomized_response
from fairpriv_core.methods.randomized_response import ResponseReductions, Responses, release_responses
from fairpriv_core.methods.reductions import Reductions
from fairpriv_core.methods.shared.exponentiated_gradient import NotionMoment
from fairpriv_core.notions.catalog import notions
from tests.methods.harness import RecordingMechanism, make_data, train, with_group
from tests.methods.spread import spread

PROCEDURES = ("one_step", "two_step")
ROUNDS = 6
TRUTHFUL = 30.0  # an epsilon at which nobody answers anything but the truth


def _fit(data: Dataset, procedure: str, epsilon: float, *, notion: str = "demographic_parity", **how: object) -> Fitted:
    method = ResponseReductions(procedure=procedure, difference_bound=0.02, iterations=ROUNDS, response_epsilon=epsilon)
    (fitted,) = train(method, [data], [RecordingMechanism(**how)], notion=notion)
    return fitted


def _chances(fitted: Fitted, data: Dataset) -> np.ndarray:
    return predict_proba(fitted.network, fitted.parameters, data.X, data.group)[:, 1]


def _answer(truth: np.ndarray, groups: int, epsilon: float, seed: int = 0) -> Responses:
    answers = RecordingMechanism(seed=seed).randomized_response(
        truth, k=groups, epsilon=epsilon, purpose="group", index=0
    )
    return Responses(answers, groups, 1.0 / (math.exp(epsilon) + groups - 1))


@pytest.mark.parametrize("procedure", PROCEDURES)
def test_the_answers_are_all_that_leaves_and_a_person_moves_one(procedure: str) -> None:
    data = make_data(n=600)
    base = RecordingMechanism(seed=1)
    method = ResponseReductions(procedure=procedure, iterations=3, response_epsilon=2.0)
    train(method, [data], [base])
    (own,) = base.releases
    assert np.array_equal(own.value, data.group)
    for row in range(0, 40):
        group = data.group.copy()
        group[row] = 1 - group[row]
        other = RecordingMechanism(seed=1)
        other.randomized_response(group, k=2, epsilon=2.0, purpose="group", index=0)
        moved = np.flatnonzero(other.releases[0].out != own.out)
        assert set(moved) <= {row}


@pytest.mark.parametrize("groups", [2, 3, 5])
def test_no_answer_is_more_than_e_to_epsilon_times_as_likely_for_another_group(groups: int) -> None:
    """Each group's answers are as frequent as the matrix says, whose largest ratio is e^epsilon."""
    truth = np.arange(200_000) % groups
    responses = _answer(truth, groups, 1.2)
    found = np.array([np.bincount(responses.answers[truth == group], minlength=groups) for group in range(groups)])
    assert np.allclose(found / found.sum(axis=1, keepdims=True), responses.matrix, atol=0.01)
    assert np.allclose(responses.matrix.sum(axis=1), 1.0)
    assert responses.matrix.max() / responses.matrix.min() == pytest.approx(math.exp(1.2))


@pytest.mark.parametrize("groups", [2, 4])
def test_sums_by_group_are_estimated_without_bias(groups: int) -> None:
    data = make_data(n=400, groups=groups)
    column = data.X[:, 0].astype(float)
    truth = np.bincount(data.group, weights=column, minlength=groups)
    each = [_answer(data.group, groups, 1.0, seed=seed).estimate(column)[:, 0] for seed in range(100)]
    error = np.std(each, axis=0) / 10
    assert (np.abs(np.mean(each, axis=0) - truth) < 4.5 * error).all()


@pytest.mark.filterwarnings("ignore::DeprecationWarning:fairlearn")  # of fairlearn
@pytest.mark.parametrize(("notion", "groups"), list(zip(ResponseReductions.info.notions, cycle((3, 2)))))
def test_the_corrected_bound_shrinks_as_the_gap_of_the_answers_does(notion: str, groups: int) -> None:
    """A gap of the groups shows in the answers as the same share of itself that the bound is corrected by."""
    n, draw = 300_000, np.random.default_rng(2)
    group = draw.choice(groups, n, p=[0.5, 0.3, 0.2][:groups] if groups == 3 else [0.6, 0.4])
    y = (draw.random(n) < 0.3 + 0.2 * (group == 0)).astype(np.int64)
    decision = (draw.random(n) < 0.2 + 0.5 * (group == 1) * (0.4 + 0.6 * y)).astype(np.int64)
    answers = _answer(group, groups, 1.5)
    gaps, bounds = [], []
    for seen, misreport in ((group, 0.0), (answers.answers, answers.misreport)):
        moment = NotionMoment(notions()[notion], 0.1, misreport)
        moment.load_data(decision[:, None], y, sensitive_features=seen)
        gaps.append(moment.gamma(lambda rows: rows[:, 0]).to_numpy())
        bounds.append(moment.bound().to_numpy())
    assert np.abs(gaps[0]).max() > 0.05
    assert np.allclose(gaps[1] / bounds[1], gaps[0] / bounds[0], atol=0.12)
    assert (bounds[1] < 0.8 * bounds[0]).all()


@pytest.mark.parametrize("notion", ["equalized_odds", "accuracy_parity"])
def test_where_everyone_tells_the_truth_it_is_the_reduction(notion: str) -> None:
    data = make_data(n=500)
    fitted = _fit(data, "one_step", TRUTHFUL, notion=notion)
    (plain,) = train(
        Reductions(difference_bound=0.02, iterations=ROUNDS, gap_target=None),
        [data],
        [RecordingMechanism()],
        notion=notion,
    )
    errors = [np.abs(_chances(each, data) - data.y).mean() for each in (fitted, plain)]
    assert spread(notions()[notion], _chances(fitted, data), data) <= 2 * 0.02 + 0.02
    assert errors[0] == pytest.approx(errors[1], abs=0.02)


@pytest.mark.parametrize("notion", ResponseReductions.info.notions)
def test_the_second_step_closes_the_gap_on_its_half(notion: str) -> None:
    data = make_data(n=2000, groups=3)
    fitted = _fit(data, "two_step", TRUTHFUL, notion=notion)
    assert isinstance(fitted.network, Derived)
    assert spread(notions()[notion], _chances(fitted, data), data) <= 0.02 + 0.08  # the other half was not seen


def test_the_second_step_decides_from_a_fresh_answer() -> None:
    """The chances by group are mixed by the response: at epsilon 0.5 no two groups can be told far apart."""
    fitted = _fit(make_data(n=4000), "two_step", 0.5)
    table = np.array(fitted.network.table)
    kept = (math.exp(0.5) - 1) / (math.exp(0.5) + 1)
    assert np.abs(table[0] - table[1]).max() <= kept + 1e-9


@pytest.mark.parametrize("procedure", PROCEDURES)
def test_learning_from_the_truth_is_caught(procedure: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def truth(data: Dataset, training: Training, epsilon: float) -> Responses:
        return dataclasses.replace(release_responses(data, training, epsilon), answers=data.group)

    data, recorder = make_data(n=600), RecordingMechanism()
    method = ResponseReductions(procedure=procedure, iterations=3, response_epsilon=2.0)
    garbage = with_group(data, np.random.default_rng(1).integers(0, 2, data.n))
    (honest,) = train(method, [data], [recorder])
    (same,) = train(method, [garbage], [RecordingMechanism(replayed=recorder.releases)])
    assert np.array_equal(honest.parameters, same.parameters) and honest.network == same.network
    monkeypatch.setattr(randomized_response, "release_responses", truth)
    (other,) = train(method, [garbage], [RecordingMechanism(replayed=recorder.releases)])
    assert not np.array_equal(honest.parameters, other.parameters)


def test_what_cannot_be_used_is_said_in_a_sentence() -> None:
    with pytest.raises(BadInput, match=r"procedure must be one of one_step, two_step, got 'three'\."):
        ResponseReductions(procedure="three")
    with pytest.raises(BadInput, match=r"response_epsilon must be a finite number > 0, got 0\."):
        ResponseReductions(response_epsilon=0)
    few = with_group(make_data(), np.zeros(200, dtype=np.int64))
    with pytest.raises(RunFailed, match=r"group 'B' has about \d+ training rows .* take a larger epsilon"):
        _fit(few, "one_step", 3.0)
    data = make_data(n=600)
    with pytest.raises(BadInput, match="needs the sensitive attribute of every row"):
        fitted = _fit(data, "two_step", 3.0)
        predict_proba(fitted.network, fitted.parameters, data.X)
