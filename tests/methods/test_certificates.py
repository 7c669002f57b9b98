"""The paper's certificates: eq. 7, Theorem 2 and Proposition 3 against simulation."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fairpriv_core.methods.shared.certificates import (
    CellSums,
    empirical_bound,
    monte_carlo_error,
    positive_probabilities,
    spread,
    worst_case_bound,
)
from fairpriv_core.notions.catalog import notions

DRAW = np.random.default_rng(0)


def test_eq_7_is_the_share_of_gaussian_weights_that_say_yes() -> None:
    mean, embeddings = DRAW.normal(size=5), DRAW.normal(size=(6, 5)) * 3
    weights = mean + 0.8 * DRAW.normal(size=(200_000, 5))
    share = (weights @ embeddings.T >= 0).mean(axis=0)
    probabilities = positive_probabilities(embeddings @ mean, np.linalg.norm(embeddings, axis=1), 0.8)
    assert np.abs(share - probabilities).max() < 5 * math.sqrt(0.25 / 200_000)


def test_the_spread_is_that_of_averaged_noisy_group_updates() -> None:
    divisors, rate, noise = [30.0, 80.0, 12.0], 0.4, 1.5
    updates = sum(noise * DRAW.normal(size=100_000) / size for size in divisors) / len(divisors)
    assert np.std(rate * updates) == pytest.approx(spread(learning_rate=rate, noise=noise, divisors=divisors), rel=0.02)


def test_theorem_2_bounds_every_pair_of_records() -> None:
    """No two embeddings' chances differ by more, whatever the mean weights of that norm."""
    norm, deviation = 1.2, 0.9
    limit = worst_case_bound(norm, deviation)
    for _ in range(200):
        mean = DRAW.normal(size=4)
        mean *= norm / np.linalg.norm(mean)
        embeddings = DRAW.normal(size=(50, 4))
        probabilities = positive_probabilities(embeddings @ mean, np.linalg.norm(embeddings, axis=1), deviation)
        assert np.ptp(probabilities) <= limit
    along = np.stack([mean, -mean])
    assert np.ptp(positive_probabilities(along @ mean, np.linalg.norm(along, axis=1), deviation)) == pytest.approx(
        limit
    )
    assert worst_case_bound(norm, 0.0) == 1.0


@pytest.mark.parametrize("notion", ["demographic_parity", "equal_opportunity", "equalized_odds"])
def test_proposition_3_holds_as_often_as_it_says(notion: str) -> None:
    """Groups whose chances have known means: the bound must cover their gap but for a chance of k beta."""
    means = np.array([[0.2, 0.7], [0.35, 0.55], [0.3, 0.9]])  # by group and label
    labelled = np.array([[300, 200], [150, 90], [400, 120]])
    gaps = {
        "demographic_parity": np.ptp((means * labelled).sum(axis=1) / labelled.sum(axis=1)),
        "equal_opportunity": np.ptp(means[:, 1]),
        "equalized_odds": max(np.ptp(means[:, 0]), np.ptp(means[:, 1])),
    }
    held, failure, rounds = 0, 0.05, 400
    for _ in range(rounds):
        cells = CellSums(DRAW.binomial(labelled, means).astype(float), labelled.astype(float))
        bound = empirical_bound(cells, notions()[notion], failure=failure, samples=10**12)
        assert bound is not None
        held += bound >= gaps[notion]
        assert bound <= 1.0
    assert held >= rounds * (1 - 3 * failure) - 5 * math.sqrt(rounds * 0.15 * 0.85)


def test_fewer_models_widen_a_certificate_and_an_empty_group_has_none() -> None:
    sums, counts = np.array([[30.0, 60.0], [20.0, 80.0]]), np.array([[300.0, 100.0], [200.0, 150.0]])

    def bound(samples: int) -> float:
        value = empirical_bound(CellSums(sums, counts), notions()["demographic_parity"], failure=0.05, samples=samples)
        assert value is not None
        return value

    assert bound(100) == pytest.approx(bound(10_000) + 0.1 - 0.01)
    assert monte_carlo_error(100) == 0.1
    empty = CellSums(np.array([[5.0, 0.0], [50.0, 60.0]]), np.array([[90.0, 0.0], [100.0, 90.0]]))
    assert empirical_bound(empty, notions()["equal_opportunity"], failure=0.05, samples=100) is None
    assert empirical_bound(empty, notions()["demographic_parity"], failure=0.05, samples=100) is not None
