"""OneRelease on a public score: the best rule that the estimate allows, one release, errors that are what they say."""

from __future__ import annotations

import dataclasses
from itertools import cycle, product

import numpy as np
import pytest

from fairpriv_core.engine.corrected import Corrected, correct
from fairpriv_core.engine.predict import evaluate, predict_proba
from fairpriv_core.engine.training import Fitted, Training
from fairpriv_core.errors import BadInput
from fairpriv_core.methods.one_release import OneRelease
from fairpriv_core.methods.shared import corrected_score
from fairpriv_core.methods.shared.group_estimate import Estimate, Redraws, known_statistic, read_groups
from fairpriv_core.methods.shared.public_score import BOOSTED, LINEAR, fit_score
from fairpriv_core.notions.catalog import notions, notions_of_means
from fairpriv_core.notions.cells import build_cells
from fairpriv_core.records.model import Model
from tests.methods.harness import RecordingMechanism, Watcher, make_images, make_unfair, train, with_group

LEARNERS = (LINEAR, BOOSTED)


def _method(learner: str, **settings: float) -> OneRelease:
    return OneRelease(**{"learner": learner, "gap_target": 0.02, "noise_statistic": 0.5, **settings})  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("learner", "notion", "groups"),
    [
        *((learner, name, 2) for name, learner in zip(OneRelease.info.notions, cycle(LEARNERS))),
        (BOOSTED, "demographic_parity", 3),
    ],
)
def test_the_gap_of_the_chosen_notion_closes(learner: str, notion: str, groups: int) -> None:
    data, metric, gaps = make_unfair(groups), notions()[notion].metric, []
    for multiplier_max in (0.0, 5.0):
        method = _method(learner, multiplier_max=multiplier_max)
        (fitted,) = train(method, [data], [RecordingMechanism(seed=1)], notion=notion)
        gaps.append(evaluate(fitted.network, fitted.parameters, data)[metric])
    assert fitted.notes["released_gaps"][metric] <= 0.04
    assert gaps[0] > 0.1
    assert gaps[1] < gaps[0] / 2


def _few_kinds(notion: str) -> tuple[corrected_score._Search, np.ndarray, np.ndarray]:
    """Return a search on rows of 9 kinds whose chances are known exactly, those kinds (n,), and true labels (n,)."""
    draw, kinds = np.random.default_rng(3), 9
    score, told = draw.uniform(0.1, 0.9, kinds), draw.dirichlet((2.0, 2.0), (2, kinds))
    many = np.repeat(np.arange(kinds), draw.integers(300, 900, kinds))
    y = (np.random.default_rng(4).random(len(many)) < score[many]).astype(np.int64)
    probabilities = told[y, many]
    nothing = Redraws(np.arange(len(y)), np.tile(probabilities.T.astype(np.float32), (3, 1, 1)))
    estimate = Estimate(np.zeros(1), probabilities, y, lambda: nothing)
    training = Training(notions()[notion], 0, RecordingMechanism(), Watcher())
    cells = build_cells(training.notion, ("A", "B"))
    search = corrected_score._Search.of(score[many], told[:, many], estimate, cells, training)
    return search, many, y


@pytest.mark.parametrize("notion", OneRelease.info.notions)
def test_no_rule_within_the_gap_is_better(notion: str) -> None:
    """All 512 rules of 9 kinds are tried: those that prices can give are among them."""
    search, kinds, y = _few_kinds(notion)
    place = list(notions_of_means()).index(notion)
    method = OneRelease(learner=LINEAR, gap_target=0.12, noise_statistic=1.0)
    found = search.aim(method, notions()[notion])
    decided = correct(search.score, search.chances, search.price(found)) > 0.5
    assert found.aimed == pytest.approx(0.12)
    assert search.estimate.gaps(decided)[place] <= 0.12 + 1e-9
    rules = [np.array(rule)[kinds] for rule in product((False, True), repeat=9)]
    allowed = [rule for rule in rules if search.estimate.gaps(rule)[place] <= 0.12]
    best = max(float((rule == (y == 1)).mean()) for rule in allowed)
    # a row of a kind decides as its kind does: prices give the corners of the region, and may miss what lies between
    assert float((decided == (y == 1)).mean()) >= best - 0.04


@pytest.mark.parametrize("notion", OneRelease.info.notions)
def test_prices_say_what_multipliers_decide(notion: str) -> None:
    search, _, _ = _few_kinds(notion)
    multipliers = np.random.default_rng(5).normal(size=search.cells.count) * 0.1
    by_costs = 2.0 * search.score - 1.0 - search.costs @ multipliers - 0.2
    found = corrected_score._Found(multipliers, 0.0, common=0.2)
    corrected = correct(search.score, search.chances, search.price(found))
    assert np.allclose(np.clip(0.5 + 0.5 * by_costs, 0.0, 1.0), corrected)


@pytest.mark.parametrize("learner", LEARNERS)
def test_the_gap_aimed_at_is_the_target_less_one_error(learner: str) -> None:
    data = make_unfair(2)
    (fitted,) = train(_method(learner, gap_target=0.1, noise_statistic=8.0), [data], [RecordingMechanism()])
    error = fitted.notes["released_gap_errors"]["demographic_parity_gap"]
    assert 0.003 < error < 0.1
    assert fitted.notes["gap_aimed_at"] == pytest.approx(0.1 - error, abs=error / 2)
    assert fitted.notes["released_gaps"]["demographic_parity_gap"] <= fitted.notes["gap_aimed_at"] + 1e-9


@pytest.mark.parametrize("groups", [2, 3])
def test_standard_errors_are_what_further_releases_deviate_by(groups: int) -> None:
    data, method = make_unfair(groups), _method(LINEAR, noise_statistic=6.0)
    score = fit_score(LINEAR, data, seed=0)
    decided = score.held_out > 0.5
    found, stated = [], []
    for seed in range(20):
        training = Training(notions()["demographic_parity"], 0, RecordingMechanism(seed=seed), Watcher())
        estimate = read_groups(method, data, training, score.held_out).estimate
        found.append(estimate.gaps(decided))
        stated.append(estimate.gap_errors(decided))
    deviation = np.std(found, axis=0, ddof=1)
    ratio = np.mean(stated, axis=0) / deviation
    assert (ratio > 0.6).all() and (ratio < 1.9).all(), ratio  # of several differences the largest deviates less


def test_errors_follow_the_noise() -> None:
    data = make_unfair(2)
    errors = [
        train(_method(LINEAR, noise_statistic=noise), [data], [RecordingMechanism(seed=1)])[0].notes[
            "released_gap_errors"
        ]["demographic_parity_gap"]
        for noise in (1.0, 4.0)
    ]
    assert 2.0 < errors[1] / errors[0] < 6.0


@pytest.mark.parametrize("learner", LEARNERS)
def test_what_is_exported_decides_as_what_was_trained(learner: str) -> None:
    data = make_unfair(3)
    (fitted,) = train(_method(learner), [data], [RecordingMechanism()], notion="equalized_odds")
    assert fitted.network.size == len(fitted.parameters)
    files = Model.of(fitted, dataclasses.replace(data, encoder="")).write()
    read = Model.read(files.__getitem__)
    rows = make_unfair(3, rows=700)
    scores = predict_proba(fitted.network, fitted.parameters, rows.X)
    assert np.array_equal(read.score(rows), scores)
    assert ((scores >= 0.0) & (scores <= 1.0)).all()


@pytest.mark.parametrize("learner", LEARNERS)
def test_another_notion_on_the_release_costs_nothing(learner: str) -> None:
    data = make_unfair(2)
    (first,) = train(_method(learner), [data], [RecordingMechanism()])
    garbage, told = with_group(data, 1 - data.group), "demographic_parity_gap"
    for notion in OneRelease.info.notions:
        recorder = RecordingMechanism()
        training = Training(notions()[notion], 0, recorder, Watcher(), given=first.notes)
        again: Fitted = _method(learner).fit(garbage, training)
        assert recorder.releases == [] and again.events == ()
        metric = notions()[notion].metric
        before, after = (one.notes["released_gaps"][metric] for one in (first, again))
        assert after < before or after <= _method(learner).gap_target or metric in told
        assert np.array_equal(known_statistic(training), first.notes["statistic"])


def test_learners_of_one_data_set_may_be_mixed() -> None:
    data = make_unfair(2)
    methods = [_method(learner, epochs=2) for learner in ("network", LINEAR, "network")]
    mechanisms = [RecordingMechanism(seed=seed) for seed in range(3)]
    trainings = [Training(notions()["demographic_parity"], 0, each, Watcher()) for each in mechanisms]
    found = OneRelease.fit_many(methods, [data] * 3, trainings)
    assert [each.network.kind for each in found] == ["mlp", "corrected", "mlp"]


def test_a_correction_without_prices_leaves_the_score() -> None:
    data = make_unfair(2)
    score = fit_score(LINEAR, data, seed=0)
    weights = np.random.default_rng(0).normal(size=(2, 2, data.d + 1))
    moved = Corrected(score.network, 1, data.d + 1, 2, 1.0, ((0.0, 0.0), (0.0, 0.0)))
    parameters = np.concatenate([score.parameters, weights.ravel()])
    assert np.allclose(predict_proba(moved, parameters, data.X)[:, 1], score.of(data.X))


def test_networks_for_images_take_no_score() -> None:
    with pytest.raises(BadInput, match="learner must be network for network cnn_small, got boosted"):
        OneRelease(learner=BOOSTED, network="cnn_small")
    with pytest.raises(BadInput, match="learner must be network where rows are images"):
        train(_method(BOOSTED), [make_images(labels=2)], [RecordingMechanism()])
    with pytest.raises(BadInput, match="learner must be one of network, linear, boosted, automatic, got 'forest'"):
        OneRelease(learner="forest")
