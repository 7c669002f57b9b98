"""Models made of models: mixtures, and decisions derived from a group and a base decision."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fairpriv_core.engine.models import Derived, Mixture
from fairpriv_core.engine.networks import NetworkShape
from fairpriv_core.engine.predict import (
    decision_thresholds,
    decisions,
    evaluate,
    predict_proba,
    toss_coins,
)
from fairpriv_core.errors import BadInput
from tests.methods.harness import make_data

LINEAR = NetworkShape(4, 0, 1)
DEEP = NetworkShape(4, 1, 3)
WEIGHTS = (0.2, 0.5, 0.3)
ROWS = np.random.default_rng(0).normal(size=(20_000, 4)).astype(np.float32)


def parameters() -> np.ndarray:
    return np.random.default_rng(1).normal(size=2 * 5 + 19).astype(np.float32)


def mixture(*, randomised: bool) -> Mixture:
    return Mixture((LINEAR, DEEP, LINEAR), WEIGHTS, randomised=randomised)


def members(rows: np.ndarray) -> list[np.ndarray]:
    parts = np.split(parameters(), [5, 24])
    return [
        predict_proba(network, part, rows)[:, 1] for network, part in zip((LINEAR, DEEP, LINEAR), parts, strict=True)
    ]


def test_a_mixture_is_the_mean_of_its_members() -> None:
    network = mixture(randomised=False)
    assert network.size == 29
    expected = np.average(members(ROWS), axis=0, weights=WEIGHTS)
    assert np.allclose(predict_proba(network, parameters(), ROWS)[:, 1], expected, atol=1e-12)
    assert decision_thresholds(network, ROWS) == 0.5


def test_a_randomised_mixture_decides_as_often_as_its_members() -> None:
    network = mixture(randomised=True)
    chance = predict_proba(network, parameters(), ROWS)[:, 1]
    assert np.allclose(chance, np.average(np.array(members(ROWS)) > 0.5, axis=0, weights=WEIGHTS))
    decided = chance > decision_thresholds(network, ROWS)
    for share in np.unique(chance.round(6)):
        among = decided[np.isclose(chance, share)]
        assert abs(among.mean() - share) <= 5.5 * math.sqrt(share * (1 - share) / len(among)) + 1e-12
    assert 0.05 < np.mean(decided != (chance > 0.5)) < 0.5


def test_coins_are_even_fixed_by_the_row_and_independent_of_its_order() -> None:
    coins = toss_coins(ROWS)
    assert coins.min() >= 0.0
    assert coins.max() < 1.0
    assert np.abs(np.histogram(coins, bins=10, range=(0, 1))[0] / len(ROWS) - 0.1).max() < 6 * math.sqrt(0.09 / 20_000)
    order = np.random.default_rng(2).permutation(len(ROWS))
    assert np.array_equal(toss_coins(ROWS[order]), coins[order])
    zero = np.zeros((1, 4), dtype=np.float32)
    assert toss_coins(zero) == toss_coins(-zero)
    onehot = np.eye(60, dtype=np.float32)
    assert len(np.unique(toss_coins(onehot))) == 60


def test_a_derived_model_decides_by_group() -> None:
    network = Derived(LINEAR, ((0.0, 1.0), (0.25, 0.5)))
    flat, group = parameters()[:5], np.arange(len(ROWS)) % 2
    base = predict_proba(LINEAR, flat, ROWS)[:, 1] > 0.5
    chance = predict_proba(network, flat, ROWS, group)[:, 1]
    assert np.array_equal(chance, np.where(group == 0, base, np.where(base, 0.5, 0.25)))
    decided = chance > decision_thresholds(network, ROWS)
    assert np.array_equal(decided[group == 0], base[group == 0])
    assert abs(decided[(group == 1) & base].mean() - 0.5) < 6 * math.sqrt(0.25 / 4000)
    assert network.needs_group
    assert not LINEAR.needs_group
    with pytest.raises(BadInput, match="needs the sensitive attribute of every row"):
        predict_proba(network, flat, ROWS)


@pytest.mark.parametrize("randomised", [False, True])
def test_rows_are_scored_chunk_by_chunk(monkeypatch: pytest.MonkeyPatch, *, randomised: bool) -> None:
    network = Derived(mixture(randomised=randomised), ((0.1, 1.0), (0.25, 0.5)))
    rows, group = ROWS[:100], np.arange(100) % 2
    chance, coins = predict_proba(network, parameters(), rows, group), toss_coins(rows)
    monkeypatch.setattr("fairpriv_core.engine.predict._CHUNK", 7)
    assert np.allclose(predict_proba(network, parameters(), rows, group), chance, atol=1e-6)
    assert np.array_equal(toss_coins(rows), coins)
    assert predict_proba(network, parameters(), rows[:0], group[:0]).shape == (0, 2)
    with pytest.raises(BadInput, match="takes 4 encoded columns, got 3"):
        predict_proba(LINEAR, parameters()[:5], np.zeros((0, 3), dtype=np.float32))


def test_metrics_are_those_of_the_decisions() -> None:
    data = make_data(n=2000)
    network = mixture(randomised=True)
    decided = decisions(network, parameters(), data)
    metrics = evaluate(network, parameters(), data)
    assert metrics["accuracy"] == np.mean(decided == data.y)
    rates = [decided[data.group == g].mean() for g in range(2)]
    assert metrics["demographic_parity_gap"] == pytest.approx(abs(rates[0] - rates[1]))
