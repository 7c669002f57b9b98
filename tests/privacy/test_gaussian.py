"""The Gaussian mechanism in closed form, against its definition and tables."""

import math

import pytest
from scipy.stats import norm

from fairpriv_core.errors import BadInput
from fairpriv_core.privacy.event import Gaussian, Laplace, Parallel, RandomizedResponse, SampledGaussian
from fairpriv_core.privacy.gaussian import approximate_mu, gaussian_delta, gaussian_epsilon, gaussian_mu


def test_delta_is_the_formula() -> None:
    """Balle and Wang (2018), equation 6, as printed."""
    for mu, epsilon in [(0.5, 0.0), (1.0, 1.0), (2.0, 0.3), (3.0, 8.0)]:
        printed = norm.cdf(mu / 2 - epsilon / mu) - math.exp(epsilon) * norm.cdf(-mu / 2 - epsilon / mu)
        assert gaussian_delta(mu, epsilon) == pytest.approx(printed, rel=1e-9)


def test_delta_survives_where_the_formula_overflows() -> None:
    assert gaussian_delta(0.0, 1.0) == 0.0
    assert 0 < gaussian_delta(40.0, 1000.0) < 1e-5
    assert gaussian_delta(1e-3, 5.0) == 0.0
    assert gaussian_delta(100.0, 0.0) == pytest.approx(1.0)


def test_mu_and_epsilon_are_inverse() -> None:
    for delta in [1e-2, 1e-5, 1e-12]:
        for epsilon in [0.01, 0.1, 1.0, 9.0, 100.0]:
            mu = gaussian_mu(epsilon, delta)
            assert gaussian_delta(mu, epsilon) == pytest.approx(delta, rel=1e-6)
            assert gaussian_epsilon(mu, delta) == pytest.approx(epsilon, rel=1e-8)


def test_a_budget_beyond_all_sense_has_a_mu() -> None:
    for epsilon in [1e100, 1e200, 1e308]:
        assert gaussian_mu(epsilon, 1e-5) == pytest.approx(math.sqrt(2) * math.sqrt(epsilon), rel=1e-3)


def test_known_values() -> None:
    """The noise of the analytic Gaussian for (1, 1e-5) is 3.7306 (the authors' own code)."""
    assert 1 / gaussian_mu(1.0, 1e-5) == pytest.approx(3.730631634816464, rel=1e-7)
    assert gaussian_epsilon(0.0, 1e-5) == gaussian_epsilon(1e-6, 1e-5) == 0.0


def test_epsilon_out_of_range_is_refused() -> None:
    for bad in [0.0, -1.0, math.nan, math.inf]:
        with pytest.raises(BadInput, match="epsilon"):
            gaussian_mu(bad, 1e-5)
        with pytest.raises(BadInput, match="delta"):
            gaussian_mu(1.0, bad)


def test_the_approximation_is_exact_for_gaussians_and_never_fails() -> None:
    assert approximate_mu((Gaussian(2.0, 8), Gaussian(1.0, 2))) == pytest.approx(2.0)
    assert approximate_mu((SampledGaussian(2.0, 1.0, 4),)) <= 1.0
    assert approximate_mu((SampledGaussian(2.0, 0.0075, 6600),)) == pytest.approx(0.325, abs=0.001)
    worst = Parallel(((Gaussian(2.0),), (Gaussian(0.5),), ()))
    assert approximate_mu((worst, RandomizedResponse(0.0))) == 2.0
    assert approximate_mu((Gaussian(0.0), Laplace(1.0))) == math.inf
    assert approximate_mu((SampledGaussian(0.0, 0.5), Laplace(1e-200))) == math.inf
    assert approximate_mu((Gaussian(0.0, 0), SampledGaussian(0.0, 0.5, 0), Laplace(0.0, 0))) == 0.0
