"""DP-oracle-learner: its noise, the game written out, and what it refuses; what a person moves: test_contract.py."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.predict import predict_proba
from fairpriv_core.errors import BadInput, RunFailed
from fairpriv_core.methods.jagielski_in import JagielskiIn, LinearOracle
from fairpriv_core.notions.catalog import notions
from fairpriv_core.notions.cells import NO_CELL, build_cells
from tests.methods.harness import RecordingMechanism, make_data, train, with_group

METHOD = JagielskiIn(
    rounds=6,
    multiplier_max=3.0,
    dual_step=20.0,
    ridge=1.0,
    noise_primal=0.5,
    noise_dual=0.5,
    noise_counts=0.5,
    gap_target=None,
)
NOISELESS = dataclasses.replace(METHOD, dual_step=1.0, noise_primal=0.0, noise_dual=0.0, noise_counts=0.0)


def test_the_auditors_noise_is_centred_and_as_wide_as_announced() -> None:
    """Laplace of scale b has mean 0 and variance 2 b^2; a scale taken for a location would show as a mean."""
    mechanisms = [RecordingMechanism() for _ in range(100)]
    train(METHOD, [make_data(n=100)] * 100, mechanisms)
    noise = np.concatenate(
        [
            (release.out - release.value) / (METHOD.noise("noise_dual") * release.bound)
            for mechanism in mechanisms
            for release in mechanism.releases
            if release.index[0] == "auditor"
        ]
    )
    assert len(noise) == 1000
    assert abs(noise.mean()) < 5 * np.sqrt(2 / 1000)
    assert noise.var() == pytest.approx(2.0, rel=0.25)


@pytest.mark.parametrize("gap", [None, 0.05])
@pytest.mark.parametrize("notion", JagielskiIn.info.notions)
def test_without_noise_the_game_is_as_written_out(notion: str, gap: float | None) -> None:
    data = with_group(make_data(n=600, groups=3), np.random.default_rng(2).integers(0, 3, 600))
    method = dataclasses.replace(NOISELESS, gap_target=gap)
    (fitted,) = train(method, [data], [RecordingMechanism()], notion=notion)
    rules = fitted.parameters.reshape(NOISELESS.rounds, data.d + 1)
    assert np.allclose(rules, _written_out(data, notion, gap), rtol=1e-4, atol=1e-5)
    assert fitted.network.weights == pytest.approx([1 / NOISELESS.rounds] * NOISELESS.rounds)


def _written_out(data: Dataset, name: str, gap: float | None) -> np.ndarray:
    """Return the rules (rounds, d + 1) with every constraint and every row's cost in full.

    A constraint is that the mean over its first rows less that over its second is at most the bound.
    """
    notion, rows = notions()[name], np.column_stack([data.X, np.ones(data.n)]).astype(np.float64)
    lower = np.linalg.cholesky(rows.T @ rows + NOISELESS.ridge * np.eye(data.d + 1))
    whitened = np.linalg.solve(lower, rows.T).T
    lengths = np.linalg.norm(whitened, axis=1)
    short = whitened * np.minimum(1.0, np.quantile(lengths, 0.95) / lengths)[:, None]
    sign = 1.0 - 2.0 * data.y if notion.target == "loss" else np.ones(data.n)
    constraints, bound = _list_constraints(data, name, gap), NOISELESS.difference_bound if gap is None else gap
    logarithms, rules = np.zeros(len(constraints)), []
    for _ in range(NOISELESS.rounds):
        weights = np.exp(logarithms)
        prices = NOISELESS.multiplier_max * weights / (1.0 + weights.sum())
        group_cost, everyone = np.zeros(data.n), np.zeros(data.n)
        for price, parts in zip(prices, constraints, strict=True):
            smallest = min(members.mean() for members, _, is_group in parts if is_group)
            for members, side, is_group in parts:
                cost = group_cost if is_group else everyone
                cost += data.n * price * smallest * side * sign * members / members.sum()
        middle = np.zeros(data.n)
        for label in (0, 1):
            costs = [group_cost[(data.y == label) & (data.group == a)][0] for a in range(data.groups)]
            middle[data.y == label] = (min(costs) + max(costs)) / 2.0
        total = (1.0 - 2.0 * data.y + everyone + middle) @ whitened + (group_cost - middle) @ short
        rules.append(-np.linalg.solve(lower.T, total))
        said = (rows @ rules[-1] > 0).astype(float)
        value = np.abs(said - data.y) if notion.target == "loss" else said
        found = np.array([sum(side * value[members].mean() for members, side, _ in parts) for parts in constraints])
        logarithms = logarithms + NOISELESS.dual_step * (found - bound)
    return np.array(rules)


def _list_constraints(data: Dataset, name: str, gap: float | None) -> list[list[tuple[np.ndarray, float, bool]]]:
    """Return each constraint as (rows, sign, whether a group): groups with everyone, or two with each other."""
    found = []
    for label in notions()[name].conditions:
        inside = np.ones(data.n, bool) if label is None else data.y == label
        groups = [inside & (data.group == a) for a in range(data.groups)]
        if gap is None:
            found += [[(one, side, True), (inside, -side, False)] for one in groups for side in (1.0, -1.0)]
        else:
            found += [[(one, 1.0, True), (two, -1.0, True)] for one, two in itertools.permutations(groups, 2)]
    return found


def test_the_first_rule_is_least_squares_and_the_game_narrows_the_gap() -> None:
    data = make_data(n=2000)
    longer = dataclasses.replace(NOISELESS, rounds=30, dual_step=2.0)
    (fitted,) = train(longer, [data], [RecordingMechanism()])
    oracle, rules = LinearOracle(data, longer.ridge), fitted.parameters.reshape(30, -1)
    rows = np.column_stack([data.X, np.ones(data.n)]).astype(np.float64)
    plain = np.linalg.solve(rows.T @ rows + longer.ridge * np.eye(data.d + 1), rows.T @ (2.0 * data.y - 1.0))
    assert np.allclose(rules[0], plain, rtol=1e-4)
    means = [[oracle.decide(each)[data.group == a].mean() for a in (0, 1)] for each in (rules[0], *rules[15:])]
    gaps = [abs(one - other) for one, other in means]
    assert np.mean(gaps[1:]) < gaps[0] / 3


@pytest.mark.parametrize("label", [0, 1])
def test_where_noise_leaves_less_than_one_answer_for_all_that_answer_is_given(label: int) -> None:
    data = make_data(n=400)
    mostly = np.where(np.arange(400) % 10 == 0, 1 - label, label)
    drowned = dataclasses.replace(METHOD, noise_primal=1e4)
    (fitted,) = train(drowned, [dataclasses.replace(data, y=mostly)], [RecordingMechanism()])
    assert (predict_proba(fitted.network, fitted.parameters, data.X)[:, 1] > 0.5).tolist() == [bool(label)] * 400
    assert fitted.notes["gives_one_answer"]
    (usual,) = train(NOISELESS, [data], [RecordingMechanism()])
    assert not usual.notes["gives_one_answer"] and len(usual.network.weights) == NOISELESS.rounds


def test_cells_that_a_notion_leaves_out_cost_nothing() -> None:
    data = make_data(n=400)
    cells = build_cells(notions()["equal_opportunity"], data.group_names)
    assert (cells.of[:, 0] == NO_CELL).all()
    recorder = RecordingMechanism()
    train(METHOD, [data], [recorder], notion="equal_opportunity")
    negative = int(np.flatnonzero(data.y == 0)[0])
    group = data.group.copy()
    group[negative] = 1 - group[negative]
    other = RecordingMechanism(replayed=recorder.releases)
    train(METHOD, [with_group(data, group)], [other], notion="equal_opportunity")
    after_the_counts = zip(recorder.releases[1:], other.releases[1:], strict=True)
    assert all(np.allclose(own.value, new.value, atol=1e-12) for own, new in after_the_counts)


def test_what_cannot_be_used_is_said_in_a_sentence() -> None:
    with pytest.raises(BadInput, match=r"rounds must be a whole number from 2 to 1000, got 1\."):
        JagielskiIn(rounds=1, gap_target=None)
    with pytest.raises(BadInput, match=r"noise_counts is not set; give epsilon, or set noise_counts by hand\."):
        train(JagielskiIn(gap_target=None), [make_data()], [RecordingMechanism()])
    few = with_group(make_data(), np.zeros(200, dtype=np.int64))
    with pytest.raises(RunFailed, match=r"group 'B' has about \d+ training rows .* merge the group with another"):
        train(METHOD, [few], [RecordingMechanism()])


@pytest.mark.parametrize(("epsilon", "rounds"), [(1e-3, 2), (0.1, 10), (0.5, 26), (1.0, 40), (9.0, 40)])
def test_rounds_left_empty_follow_epsilon(epsilon: float, rounds: int) -> None:
    ready = JagielskiIn(gap_target=None).calibrated(epsilon=epsilon, delta=1e-5, n_train=5000)
    assert ready.rounds == ready.steps(5000) == rounds
    assert [each.count for each in ready.event(5000)] == [1, rounds - 1, rounds - 1]
    by_hand = JagielskiIn(rounds=7, gap_target=None).calibrated(epsilon=epsilon, delta=1e-5, n_train=5000)
    assert by_hand.rounds == 7
    assert JagielskiIn(noise_primal=1.0, noise_dual=1.0, noise_counts=1.0, gap_target=None).steps(5000) == 40
