"""Group thresholds for whole records at the mechanism during the real fit, and the choice of thresholds.

A run is recorded, then replayed on other data: all models see the same releases and take the same course.
"""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from fairpriv_core.engine.predict import predict_proba
from fairpriv_core.errors import BadInput, RunFailed
from fairpriv_core.methods.group_thresholds import (
    PLACES,
    GroupThresholdsRecord,
    count_ones,
    count_scores,
    place_thresholds,
)
from fairpriv_core.notions.catalog import notions
from tests.methods.harness import RecordingMechanism, make_data, with_group
from tests.methods.test_pf_ld_record import ordinary, train

METHOD = GroupThresholdsRecord(
    epochs=4, sampling_rate=0.2, clip_primal=0.3, gap_target=0.01, noise_primal=0.5, noise_counts=0.2
)


@pytest.mark.parametrize("n", [256, 8_192, 65_536, 500_000])
def test_a_row_is_in_one_place_whatever_its_score_is(n: int) -> None:
    data = make_data(n=n)
    score = np.random.default_rng(1).random(n)
    whole = count_scores(score, data)
    assert whole.sum() == n
    for value in (0.0, 1e-300, 0.5, 1.0 - 1e-16, 1.0, np.nan, np.inf):
        other = score.copy()
        other[n // 3] = value
        moved = whole - count_scores(other, data)
        assert np.abs(moved).sum() in ((1.0,) if not np.isfinite(value) else (0.0, 2.0))


@pytest.mark.parametrize("notion", GroupThresholdsRecord.info.notions)
def test_decisions_are_those_that_were_counted(notion: str) -> None:
    data = ordinary(3)
    quiet = dataclasses.replace(METHOD, noise_counts=0.0, gap_target=0.05)
    (fitted,) = train(quiet, [data], [RecordingMechanism()], notion)
    assert fitted.network.needs_group
    decided = predict_proba(fitted.network, fitted.parameters, data.X, data.group)[:, 1] > 0.5
    base = predict_proba(fitted.network.score, fitted.parameters, data.X)[:, 1]
    assert (decided == (base > np.asarray(fitted.network.thresholds)[data.group])).mean() >= 0.998
    h = decided != (data.y == 1) if notions()[notion].target == "loss" else decided
    for labels in notions()[notion].populations:
        means = [h[(data.group == group) & np.isin(data.y, labels)].mean() for group in range(3)]
        assert np.ptp(means) <= 0.055
    assert any("need the group of every person" in sentence for sentence in quiet.assumptions())
    with pytest.raises(BadInput, match="needs the sensitive attribute of every row"):
        predict_proba(fitted.network, fitted.parameters, data.X)


def test_without_a_bound_each_group_has_the_threshold_of_fewest_errors() -> None:
    data = make_data(n=4000)
    chance = 1.0 / (1.0 + np.exp(-4.0 * data.X[:, 0]))
    below = count_scores(chance, data).cumsum(axis=1).reshape(2, 2, PLACES)
    places = place_thresholds(below, notions()["demographic_parity"], gap=1.0)
    for group, place in enumerate(places):
        own = data.group == group
        wrong = [((chance[own] > at / PLACES) != (data.y[own] == 1)).sum() for at in range(PLACES + 1)]
        assert wrong[place] == min(wrong)


@pytest.mark.parametrize("gap", [0.0, 0.02, 0.1])
@pytest.mark.parametrize("notion", GroupThresholdsRecord.info.notions)
def test_no_other_thresholds_within_the_gap_are_right_more_often(notion: str, gap: float) -> None:
    """Against every pair of places, up to the step at which bands are tried."""
    data = make_data(n=1500, seed=3)
    chance = np.clip(0.5 + 0.3 * data.X[:, 0] - 0.2 * data.group, 0.001, 0.999)
    coarse = count_scores(chance, data).reshape(2, 2, 20, -1).sum(axis=3).cumsum(axis=2)
    places = place_thresholds(coarse, notions()[notion], gap=gap)
    ones, totals = count_ones(coarse)
    own = notions()[notion]
    h = ones.copy()
    if own.target == "loss":
        h[:, 1] = totals[:, 1, None] - ones[:, 1]
    right = ones[:, 1] + totals[:, 0, None] - ones[:, 0]

    def measure(pair: tuple[int, int]) -> tuple[float, float]:
        gaps = []
        for labels in own.populations:
            means = [h[g, list(labels), pair[g]].sum() / totals[g, list(labels)].sum() for g in range(2)]
            gaps.append(abs(means[0] - means[1]))
        return max(gaps), right[0, pair[0]] + right[1, pair[1]]

    reached, score = measure((int(places[0]), int(places[1])))
    every = [measure((a, b)) for a in range(21) for b in range(21)]
    assert reached <= max(gap, min(one[0] for one in every) + 0.005) + 1e-6
    assert score >= max((one[1] for one in every if one[0] <= gap - 0.005), default=-np.inf)


def test_noisy_counts_are_made_to_rise() -> None:
    noisy = np.random.default_rng(0).normal(scale=30.0, size=(3, 2, PLACES)) + np.linspace(0, 200, PLACES)
    ones, totals = count_ones(noisy)
    assert (np.diff(ones, axis=2) <= 1e-9).all() and (ones >= -1e-9).all()
    assert np.allclose(ones[..., 0], totals) and np.allclose(ones[..., -1], 0.0)


def test_a_group_that_is_too_small_ends_the_run_and_is_paid_for() -> None:
    mechanism = RecordingMechanism()
    with pytest.raises(RunFailed, match=r"group 'B' has about \d+ training rows .*; at least 30"):
        train(METHOD, [with_group(make_data(), np.arange(200) < 3)], [mechanism])
    assert mechanism.events == METHOD.event(200)
