"""A bound on a gap: it holds over draws of rows and of noise, and is what it is found to be before the release."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from fairpriv_core.engine.predict import predict_proba
from fairpriv_core.engine.training import Training
from fairpriv_core.errors import BadInput
from fairpriv_core.methods.base import LeastGap
from fairpriv_core.methods.one_release import OneRelease
from fairpriv_core.methods.shared import gap_bound
from fairpriv_core.methods.shared.gap_bound import bound_gap, least_bound
from fairpriv_core.methods.shared.group_estimate import REDRAWS, Estimate, Redraws, read_groups
from fairpriv_core.notions.catalog import notions, notions_of_means
from tests.methods.harness import RecordingMechanism, Watcher, make_unfair, train

PARITY = notions()["demographic_parity"]
_METHOD = OneRelease(learner="linear", aim="bound", gap_target=0.1, noise_statistic=3.0)


def _gap(decided: np.ndarray, group: np.ndarray) -> float:
    return float(np.ptp([decided[group == each].mean() for each in np.unique(group)]))


@pytest.mark.parametrize("groups", [2, 4])
def test_the_bound_holds_on_other_rows(groups: int) -> None:
    everybody, held = make_unfair(groups, rows=50_000), 0
    others = everybody.take(np.arange(30_000, 50_000))
    for seed in range(10):
        data = everybody.take(np.arange(3_000 * seed, 3_000 * (seed + 1)))
        (fitted,) = train(_METHOD, [data], [RecordingMechanism(seed=seed)])
        bound = fitted.notes["released_gap_bounds"][PARITY.metric]
        assert fitted.notes["released_gaps"][PARITY.metric] < bound < 0.15
        decided = predict_proba(fitted.network, fitted.parameters, others.X)[:, 1] > 0.5
        held += _gap(decided, others.group) <= bound
    assert held >= 8


def test_a_bound_counts_the_noise_and_the_rows() -> None:
    """Of given decisions the bound comes nearer to the gap with less noise and, where there is none, with more rows."""
    bounds = {}
    for rows, noise in ((3_000, 6.0), (3_000, 0.01), (12_000, 0.01)):
        data = make_unfair(3, rows=rows)
        training = Training(PARITY, 0, RecordingMechanism(seed=1), Watcher())
        estimate = read_groups(replace(_METHOD, noise_statistic=noise), data, training).estimate
        decided = data.X[:, 0] > 0.8
        bounds[rows, noise] = bound_gap(estimate, PARITY, decided)
        bounds[rows, noise] -= estimate.gaps(decided)[list(notions_of_means()).index(PARITY.name)]
    noisy, few, many = bounds.values()
    assert noisy > 1.3 * few and many < 0.6 * few


def test_a_target_that_only_one_answer_can_show_gives_one_answer() -> None:
    data = make_unfair(4, rows=400)
    method = replace(_METHOD, gap_target=0.001, noise_statistic=4.0)
    (fitted,) = train(method, [data], [RecordingMechanism(seed=2)])
    decided = predict_proba(fitted.network, fitted.parameters, data.X)[:, 1] > 0.5
    assert len(np.unique(decided)) == 1 and fitted.notes["released_gap_bounds"][PARITY.metric] == 0.0


@pytest.mark.parametrize("rows", [300, 1_000, 3_000])
def test_beyond_twice_the_target_a_fit_is_no_worse_than_lots_with_a_gap_as_large_as_the_bound(rows: int) -> None:
    data = make_unfair(4, rows=rows)
    plain, own = (
        train(replace(_METHOD, gap_target=0.02, **how), [data], [RecordingMechanism(seed=3)])[0]
        for how in ({"multiplier_max": 0.0, "aim": "gap"}, {})
    )
    bound = own.notes["released_gap_bounds"][PARITY.metric]
    constant = max(data.y.mean(), 1 - data.y.mean())
    accuracies = [
        ((predict_proba(each.network, each.parameters, data.X)[:, 1] > 0.5) == data.y).mean() for each in (plain, own)
    ]
    along = min(bound / plain.notes["released_gaps"][PARITY.metric], 1.0) if bound > 0.04 else 0.0
    # decisions were set on scores of models that had not seen the row
    assert accuracies[1] >= constant + along * (accuracies[0] - constant) - 0.02


def test_where_the_noise_may_hide_a_group_the_bound_is_1_and_all_have_one_answer() -> None:
    data = make_unfair(4, rows=400)
    (fitted,) = train(replace(_METHOD, noise_statistic=25.0), [data], [RecordingMechanism(seed=2)])
    decided = predict_proba(fitted.network, fitted.parameters, data.X)[:, 1] > 0.5
    assert fitted.notes["released_gap_bounds"] == {PARITY.metric: 1.0} and len(np.unique(decided)) == 1


def test_a_network_keeps_no_bound() -> None:
    with pytest.raises(BadInput, match="aim must be gap for learner network"):
        OneRelease(aim="bound")


def test_the_least_gap_falls_with_rows_and_grows_with_groups_and_noise() -> None:
    data = make_unfair(4, rows=3_000)

    def find(noise: float = 3.0, n_train: int = 3_000) -> LeastGap:
        found = replace(_METHOD, noise_statistic=noise).least_gap(PARITY, data, n_train)
        assert found is not None
        return found

    assert 0.0 < find().even < 0.8 * find().uneven
    assert find(n_train=30_000).even < find().even / 3
    assert find(noise=30.0).even > 2 * find().even
    few, many = (_least(data.y, 3_000, groups).even for groups in (2, 18))
    assert few < many / 3


def _least(labels: np.ndarray, n_train: int, groups: int) -> LeastGap:
    return least_bound(PARITY, labels=labels, n_train=n_train, groups=groups, rows_of_noise=0.0)


def test_without_noise_the_least_gap_is_a_quantile_of_the_range_of_sampled_rates() -> None:
    least, draw = _least(np.arange(4_000) % 2, 4_000, 4), np.random.default_rng(0)
    for told, sizes in ((least.even, (1_000,) * 4), (least.uneven, (308, 1_231, 1_231, 1_231))):
        ranges = np.ptp(draw.binomial(sizes, 0.5, size=(4_000, 4)) / sizes, axis=1)
        assert told == pytest.approx(float(np.quantile(ranges, gap_bound.CONFIDENCE)), rel=0.1)


def test_a_small_group_with_a_rate_of_its_own_has_its_own_error() -> None:
    """Without noise the bound exceeds the gap as quantiles of sampled rates do, though nearly all others decide 0."""
    group = np.repeat([0, 1, 2], [5_000, 5_000, 100])
    decided = np.concatenate([np.arange(10_000) % 50 == 0, np.arange(100) % 2 == 0])
    chances = np.eye(3)[group]
    told = Redraws(np.arange(len(group)), np.tile(chances.T.astype(np.float32), (REDRAWS, 1, 1)))
    estimate = Estimate(np.zeros(1), chances, np.zeros(len(group), dtype=np.int64), lambda: told)
    drawn = np.random.default_rng(0).binomial(100, 0.5, size=4_000) / 100
    expected = float(np.quantile(drawn, gap_bound.CONFIDENCE)) - 0.5
    assert bound_gap(estimate, PARITY, decided) - _gap(decided, group) == pytest.approx(expected, rel=0.15)
