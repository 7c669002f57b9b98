"""OneRelease on everybody's own answer: what flips hide is undone on average, and errors are what they say."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from fairpriv_core.engine.predict import evaluate
from fairpriv_core.engine.training import Training
from fairpriv_core.errors import BadInput
from fairpriv_core.methods.one_release_local import OneReleaseLocal
from fairpriv_core.methods.shared.answer_estimate import read_answers
from fairpriv_core.methods.shared.public_score import LINEAR, fit_score
from fairpriv_core.methods.shared.responses import find_deviation, release_responses
from fairpriv_core.notions.catalog import notions, notions_of_means
from tests.methods.harness import RecordingMechanism, Watcher, make_images, make_unfair, train

_SEEDS = range(60)


@pytest.mark.parametrize(("notion", "groups"), [("demographic_parity", 3), ("equalized_odds", 2)])
def test_the_gap_closes_on_answers_alone(notion: str, groups: int) -> None:
    data, metric, gaps = make_unfair(groups), notions()[notion].metric, []
    for multiplier_max in (0.0, 5.0):
        method = OneReleaseLocal(LINEAR, 0.02, multiplier_max, response_epsilon=2.0)
        (fitted,) = train(method, [data], [RecordingMechanism(seed=1)], notion=notion)
        gaps.append(evaluate(fitted.network, fitted.parameters, data)[metric])
    assert gaps[0] > 0.1 and gaps[1] < gaps[0] / 2
    assert "statistic" not in fitted.notes, "a record keeps nobody's answer"


@pytest.mark.parametrize("groups", [2, 3])
def test_gaps_are_told_without_bias_and_errors_are_what_flips_deviate_by(groups: int) -> None:
    data, method = make_unfair(groups), OneReleaseLocal(LINEAR, response_epsilon=1.0)
    score = fit_score(LINEAR, data, seed=0)
    decided = score.held_out > 0.5
    sums = np.stack([np.bincount(data.group, data.y == label, groups) for label in range(2)], axis=1)
    counted, stated, told = [], [], []
    for seed in _SEEDS:
        training = Training(notions()["demographic_parity"], 0, RecordingMechanism(seed=seed), Watcher())
        estimate = read_answers(method, data, training, score=score.held_out, epsilon=1.0).estimate
        counted.append(estimate.sizes())
        told.append(estimate.gaps(decided))
        stated.append(estimate.gap_errors(decided))
    off = np.std(counted, axis=0, ddof=1) / np.sqrt(len(_SEEDS))
    assert (np.abs(np.mean(counted, axis=0) - sums) < 4 * off).all()
    place = list(notions_of_means()).index("demographic_parity")
    ratio = np.std(told, axis=0, ddof=1)[place] / np.mean(stated, axis=0)[place]
    assert 0.7 < ratio < 1.4, "the deviation of 60 draws is off by a tenth"


def test_the_deviation_before_launch_is_that_of_the_counts() -> None:
    groups, rows, draw = 4, 4000, np.random.default_rng(0)
    group, decided = np.arange(rows) % groups, draw.random(rows) < 0.5
    data = make_unfair(groups, rows)
    shares = []
    for seed in _SEEDS:
        training = Training(notions()["demographic_parity"], 0, RecordingMechanism(seed=seed), Watcher())
        given = dataclasses.replace(data, group=group)
        responses = release_responses(given, training, 1.0)
        shares.append(responses.estimate(decided)[0, 0] / (rows / groups))
    assert np.std(shares, ddof=1) == pytest.approx(find_deviation(groups, 1.0, rows), rel=0.3)


def test_what_answers_cannot_tell_is_refused_before_anybody_answers() -> None:
    parity = notions()["demographic_parity"]
    method = OneReleaseLocal(response_epsilon=0.1)
    with pytest.raises(BadInput, match=r"at ε = 0.1 answers of 1,000 people .* about ± 90 points"):
        method.require_possible(parity, n_train=1_000, groups=2)
    method.require_possible(parity, n_train=1_000_000, groups=2)
    with pytest.raises(BadInput, match="takes tables, not images"):
        train(OneReleaseLocal(LINEAR, response_epsilon=2.0), [make_images(labels=2)], [RecordingMechanism(seed=1)])


def test_a_budget_beyond_every_answer_is_met_by_the_largest() -> None:
    method = OneReleaseLocal().calibrated(epsilon=1000.0, delta=1e-5, n_train=1000)
    method.require_possible(notions()["demographic_parity"], n_train=1000, groups=2)
    assert method.response_epsilon == 100.0
