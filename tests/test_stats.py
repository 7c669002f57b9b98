"""The intervals that are shown are Wilson's and Student's."""

from __future__ import annotations

import math

import pytest
from scipy import stats

from fairpriv_core.stats import mean_interval, wilson_interval


@pytest.mark.parametrize(
    ("successes", "trials"), [(0, 1), (1, 1), (0, 10), (3, 10), (10, 10), (50, 100), (1, 11_000), (10_999, 11_000)]
)
def test_wilson_agrees_with_scipy(successes: int, trials: int) -> None:
    expected = stats.binomtest(successes, trials).proportion_ci(0.95, method="wilson")
    assert wilson_interval(successes, trials) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_no_trials_no_interval() -> None:
    assert all(math.isnan(end) for end in wilson_interval(0, 0))


def test_mean_interval_agrees_with_scipy() -> None:
    values = [0.81, 0.83, 0.82, 0.84, 0.84]
    found = mean_interval(values)
    low, high = stats.t.interval(0.95, 4, loc=found.mean, scale=stats.sem(values))
    assert (found.mean, found.low, found.high, found.n) == pytest.approx((0.828, low, high, 5))
    assert found.half == pytest.approx((high - low) / 2)


def test_one_value_has_no_interval_and_none_no_mean() -> None:
    one = mean_interval([0.5, None, math.nan])
    assert (one.mean, one.low, one.half, one.n) == (0.5, None, None, 1)
    assert mean_interval([None]).mean is None
