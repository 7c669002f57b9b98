"""Attacks on a model's answers: one that remembers is caught, one that does not is not accused."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fairpriv_core.audit.inference import advantage_limit, infer_attribute, infer_membership, stack_answers


def test_a_model_that_remembers_is_caught_by_all_four() -> None:
    draw = np.random.default_rng(0)
    y = draw.integers(0, 2, 1200)
    sure = np.where(y == 1, 0.99, 0.01) + draw.uniform(-0.005, 0.005, 1200)
    inside = stack_answers(sure, y)
    outside = stack_answers(draw.uniform(0.0, 1.0, 1200), draw.integers(0, 2, 1200))
    found = infer_membership(inside, outside, limit=1000, seed=0)
    assert [one.attacker for one in found.attackers] == ["LR", "MLP", "RF", "KNN"]
    assert all(one.auc > 0.9 and one.advantage > 0.8 for one in found.attackers)
    assert found.judged == 500


def test_a_model_that_answers_all_alike_gives_chance() -> None:
    draw = np.random.default_rng(1)
    parts = [stack_answers(draw.uniform(0.0, 1.0, 1000), draw.integers(0, 2, 1000)) for _ in range(2)]
    found = infer_membership(*parts, limit=1000, seed=0)
    assert found.chance == pytest.approx(1.358 * math.sqrt(4 / 1000), rel=1e-3)
    assert all(abs(one.auc - 0.5) < 0.08 for one in found.attackers)
    assert sum(one.advantage > found.chance for one in found.attackers) <= 1


def test_an_answer_that_tells_the_group_shows_as_a_gain_over_the_columns() -> None:
    draw = np.random.default_rng(2)
    group = draw.integers(0, 2, 1500)
    known = draw.normal(size=(1500, 3))
    telling = (group + 0.1 * draw.normal(size=1500))[:, None]
    found = infer_attribute(known, telling, group, seed=0)
    assert found.majority == pytest.approx(0.5, abs=0.05)
    assert all(one.accuracy > 0.95 and one.baseline < 0.6 for one in found.attackers)


def test_certain_answers_stay_finite() -> None:
    assert np.isfinite(stack_answers(np.array([0.0, 1.0]), np.array([1, 0]))).all()


def test_the_limit_is_what_epsilon_allows() -> None:
    assert advantage_limit(0.0, 0.0) == 0.0
    assert advantage_limit(1.0, 1e-5) == pytest.approx(math.tanh(0.5), abs=1e-4)
    assert advantage_limit(50.0, 0.1) == 1.0


def test_of_many_labels_every_probability_is_seen_and_the_loss_is_the_own_labels() -> None:
    score = np.array([[0.7, 0.2, 0.1], [0.0, 0.0, 1.0]])
    seen = stack_answers(score, np.array([1, 2]))
    assert seen.shape == (2, 10) and np.isfinite(seen).all()
    assert np.allclose(seen[0, :3], score[0]) and np.allclose(seen[0, 3:6], np.log(score[0] / (1 - score[0])))
    assert seen[:, 6:9].tolist() == [[0, 1, 0], [0, 0, 1]]
    assert seen[0, 9] == pytest.approx(-np.log(0.2)) and seen[1, 9] == pytest.approx(0.0, abs=1e-6)
