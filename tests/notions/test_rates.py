"""Rates, intervals and inequality indices, against closed forms and other implementations."""

from __future__ import annotations

import math

import numpy as np
import pytest

from fairpriv_core.notions import metrics
from fairpriv_core.notions.rates import among, correct, count_cells, divide, positive, sum_rate


def test_a_rate_from_counts_is_the_mean_over_rows() -> None:
    generator = np.random.default_rng(3)
    decision, label, group = generator.integers(0, 2, 500), generator.integers(0, 2, 500), generator.integers(0, 4, 500)
    counts = count_cells(decision, label, group, 5)
    assert counts.sum() == 500
    found = divide(*sum_rate(among(positive, 1), counts))
    for index in range(4):
        assert found[index] == pytest.approx(decision[(group == index) & (label == 1)].mean())
    assert math.isnan(found[4]), "a rate over an empty group is undefined, not 0"
    right = divide(*sum_rate(correct, counts))
    assert right[2] == pytest.approx((decision == label)[group == 2].mean())


def test_indices_of_two_values_in_closed_form() -> None:
    values = np.array([0.6, 0.9])
    share = values / 0.75
    assert metrics.gini(values) == pytest.approx(0.3 / (2 * 1.5))
    assert metrics.mean_log_deviation(values) == pytest.approx(-np.log(share).mean())
    assert metrics.theil(values) == pytest.approx((share * np.log(share)).mean())
    assert metrics.atkinson(values) == pytest.approx(1 - math.sqrt(0.6 * 0.9) / 0.75)
    assert metrics.atkinson(values, 0.5) == pytest.approx(1 - ((0.6**0.5 + 0.9**0.5) / 2) ** 2 / 0.75)
    assert metrics.atkinson(values, 2.0) == pytest.approx(1 - (2 / (1 / 0.6 + 1 / 0.9)) / 0.75)


@pytest.mark.parametrize("name", ["atkinson", "gini", "mean_log_deviation", "theil"])
def test_index_properties(name: str) -> None:
    index = getattr(metrics, name)
    values = np.array([0.5, 0.8, 0.9])
    assert index(np.full(4, 0.7)) == pytest.approx(0.0, abs=1e-12)
    assert index(values) == pytest.approx(index(values[::-1] * 3)), "scale and order do not matter"
    assert index(values) == pytest.approx(index(np.repeat(values, 5))), "copies of the population do not matter"
    assert index(np.array([0.4, 0.9, 0.9])) > index(values)
    assert math.isnan(index(np.array([])))
    assert math.isnan(index(np.array([0.5, math.nan])))
    assert math.isnan(index(np.zeros(3)))


def test_a_group_at_zero() -> None:
    values = np.array([0.0, 1.0])
    assert metrics.atkinson(values) == 1.0
    assert metrics.gini(values) == pytest.approx(0.5)
    assert metrics.theil(values) == pytest.approx(math.log(2))
    assert math.isnan(metrics.mean_log_deviation(values)), "infinite, so not a number that can be stored"
