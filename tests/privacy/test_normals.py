"""Normals by inversion: their distribution, also far out, and how fine they are there."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import kstest, norm

from fairpriv_core.privacy.normals import TAIL, fill_normals
from fairpriv_core.privacy.randomness import Randomness

SIZE = 4_000_000


def draw(seed: int, size: int) -> np.ndarray:
    values = np.empty(size)
    fill_normals(Randomness.replay(seed).stream("normals"), values)
    return values


@pytest.fixture(scope="module")
def drawn() -> np.ndarray:
    return draw(11, SIZE)


def test_they_are_normal(drawn: np.ndarray) -> None:
    assert kstest(drawn[:500_000], "norm").pvalue > 1e-4
    assert abs(drawn.mean()) * SIZE**0.5 < 4.5
    assert abs(drawn.var() - 1.0) * (SIZE / 2) ** 0.5 < 4.5


@pytest.mark.parametrize("distance", [0.5, 2.0, 2.999, TAIL, 3.001, 3.5, 4.0, 4.5])
def test_each_distance_is_passed_as_often_as_it_should_be(drawn: np.ndarray, distance: float) -> None:
    for side in (drawn, -drawn):
        expected = norm.sf(distance) * SIZE
        assert abs((side > distance).sum() - expected) < 4.5 * np.sqrt(expected)


def test_they_go_further_than_53_bits_reach() -> None:
    """The tail follows the exponential that it is drawn from, at any depth, and neighbours are close there."""

    class Deep:
        def random(self, out: np.ndarray) -> None:
            out[:] = 1.0 - 2.0**-53

        def standard_exponential(self, size: int) -> np.ndarray:
            return np.array([1.0, 40.0, 40.0 + 2.0**-40, 700.0])[:size]

    found = np.empty(4)
    fill_normals(Deep(), found)  # type: ignore[arg-type]
    probabilities = norm.sf(found)[:2]
    assert np.allclose(np.log(probabilities), norm.logsf(TAIL) - [1.0, 40.0], rtol=1e-12)
    assert 0.0 < found[2] - found[1] < 2.0**-40
    assert 37.0 < found[3] < 38.0


def test_one_stream_gives_one_row_of_numbers() -> None:
    first, second, other = (draw(seed, 70_000) for seed in (3, 3, 4))
    assert np.array_equal(first, second)
    assert abs(np.corrcoef(first, other)[0, 1]) < 0.02
    assert abs(np.corrcoef(first[1:], first[:-1])[0, 1]) < 0.02
