"""DP2DP: what one record moves, the prices that follow from counts, and the decisions, written out."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.models import Priced, read_network, take_off
from fairpriv_core.engine.networks import build_mlp
from fairpriv_core.engine.predict import decisions, evaluate, predict_proba
from fairpriv_core.errors import BadInput
from fairpriv_core.methods.dp2dp import Dp2dp, count_decided, move, price
from tests.methods.harness import RecordingMechanism, make_three, train

METHOD = Dp2dp(epochs=3, sampling_rate=0.2, rounds=40, noise_primal=0.5, noise_counts=0.5)


def spread(n: int, groups: int, seed: int = 0) -> tuple[np.ndarray, Dataset]:
    """Return chances of three classes that differ by group, and rows with these groups."""
    draw = np.random.default_rng(seed)
    data = make_three(n=n, groups=groups)
    logits = draw.normal(size=(n, 3)) + 0.6 * data.group[:, None] * np.array([1.0, 0.0, -1.0])
    chances = np.exp(logits) / np.exp(logits).sum(axis=1, keepdims=True)
    return chances, data


def rates(counts: np.ndarray) -> np.ndarray:
    shares: np.ndarray = counts / counts.sum(axis=1, keepdims=True)
    return shares


@pytest.mark.parametrize("groups", [2, 3, 4])
@pytest.mark.parametrize("n", [256, 65_536])
def test_a_record_is_in_one_count_whatever_its_score_is(n: int, groups: int) -> None:
    chances, data = spread(n, groups)
    prices = np.random.default_rng(1).normal(scale=0.3, size=(groups, 3))
    whole = count_decided(chances, data, prices)
    assert whole.sum() == n
    for other, moved in (([1.0, 0.0, 0.0], 2.0), ([np.nan, 0.5, 0.5], 1.0), ([np.inf, 0.0, 0.0], 1.0)):
        changed = chances.copy()
        changed[n // 3] = other
        assert np.abs(count_decided(changed, data, prices) - whole).sum() in (0.0, moved)
    present = np.arange(n) != n // 3
    absent = whole - count_decided(chances, dataclasses.replace(data, present=present), prices)
    assert absent.sum() == 1.0 == absent.max()


@pytest.mark.parametrize("groups", [2, 4])
def test_what_is_counted_is_decided_by_most_chance_less_price(groups: int) -> None:
    chances, data = spread(500, groups)
    prices = np.random.default_rng(2).normal(scale=0.2, size=(groups, 3))
    expected = np.zeros((groups, 3))
    for row, group in zip(chances, data.group, strict=True):
        expected[group, max(range(3), key=lambda j: row[j] - prices[group, j])] += 1
    assert (count_decided(chances, data, prices) == expected).all()
    scores = take_off(chances, prices[data.group])
    assert np.allclose(scores.sum(axis=1), 1.0) and scores.min() >= 0.0


@pytest.mark.parametrize("gap", [0.0, 0.03, 0.1])
@pytest.mark.parametrize("groups", [2, 3])
def test_rounds_of_exact_counts_come_to_the_gap_at_the_least_cost(groups: int, gap: float) -> None:
    """Against a linear programme over the shares in which each row is decided each class."""
    from scipy.optimize import linprog

    chances, data = spread(240, groups, seed=groups)
    prices, multipliers, found = np.zeros((groups, 3)), np.zeros((groups, 3)), []
    sizes = np.bincount(data.group).astype(float)
    for index in range(600):
        counts = count_decided(chances, data, prices)
        multipliers = move(multipliers, counts, sizes=sizes, index=index, gap=gap)
        prices = price(multipliers, sizes)
        found.append(prices)
    counts = count_decided(chances, data, np.mean(found[300:], axis=0))
    reached = np.ptp(rates(counts), axis=0).max()
    rows = [
        [((data.group == a) / sizes[a] - (data.group == b) / sizes[b])[:, None] * (np.arange(3) == j)]
        for a in range(groups)
        for b in range(groups)
        if a != b
        for j in range(3)
    ]
    each_once = np.kron(np.eye(len(chances)), np.ones(3))
    best = linprog(
        -chances.ravel(),
        A_ub=np.reshape(rows, (len(rows), -1)),
        b_ub=np.full(len(rows), gap),
        A_eq=each_once,
        b_eq=np.ones(len(chances)),
        bounds=(0, 1),
    )
    own = take_off(chances, np.mean(found[300:], axis=0)[data.group]).argmax(axis=1)
    assert reached <= gap + 0.04  # of 240 rows one is more than a point of its group
    assert chances[np.arange(240), own].sum() >= -best.fun - 0.02 * 240


def test_a_fit_with_little_noise_comes_to_the_gap_for_many_labels_and_groups() -> None:
    for groups in (2, 3):
        data = make_three(n=3000, groups=groups)
        plain, fair = (
            train(dataclasses.replace(METHOD, gap_target=gap), [data], [RecordingMechanism()])[0] for gap in (1.0, 0.02)
        )
        gaps = [evaluate(one.network, one.parameters, data)["demographic_parity_gap"] for one in (plain, fair)]
        assert gaps[0] > 0.06 and gaps[1] <= 0.05
        base = predict_proba(fair.network.base, fair.parameters, data.X)
        left = base - np.array(fair.network.prices)[data.group]
        assert (decisions(fair.network, fair.parameters, data) == left.argmax(axis=1)).mean() >= 0.999
        assert set(fair.notes["prices"]) == set(data.group_names)


def test_each_round_is_released_once_with_its_share() -> None:
    mechanism = RecordingMechanism()
    train(METHOD, [make_three()], [mechanism])
    rounds = [one for one in mechanism.releases if one.kind == "gaussian"]
    assert [one.index for one in rounds] == [("counts", index) for index in range(METHOD.rounds)]
    assert {one.bound for one in rounds} == {1.0} and {one.value.size for one in rounds} == {6}
    calibrated = Dp2dp().calibrated(epsilon=1.0, delta=1e-5, n_train=10_000)
    counts = next(one for one in calibrated.releases(10_000, 2) if one.name == "counts")
    assert counts.event(calibrated) in calibrated.event(10_000)
    assert calibrated.published_epsilon(10_000, 1e-5) is None  # the paper's text was not at hand


def test_it_is_stored_and_read_and_needs_the_group() -> None:
    network = Priced(build_mlp(4, 0, 1, outputs=3), ((0.1, 0.0, -0.1), (0.0, 0.2, 0.0)))
    assert read_network(network.to_json()) == network and network.labels == 3 and network.needs_group
    with pytest.raises(BadInput, match="prices of the model must be 2 x 3 finite numbers"):
        dataclasses.replace(network, prices=((0.1, 0.0, np.nan), (0.0, 0.2, 0.0)))
    with pytest.raises(BadInput, match="needs the sensitive attribute of every row"):
        predict_proba(network, np.zeros(network.size, np.float32), np.zeros((2, 4), np.float32))
