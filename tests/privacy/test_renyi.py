"""Rényi divergences against Google's accountant, direct integration and closed forms."""

import math

import dp_accounting
import numpy as np
import pytest
from dp_accounting.rdp import RdpAccountant
from scipy.integrate import quad

from fairpriv_core.errors import BadInput, Unsupported
from fairpriv_core.privacy.event import Event, Gaussian, Laplace, Parallel, RandomizedResponse, SampledGaussian
from fairpriv_core.privacy.rdp import divergence

ORDERS = (1.5, 3.0, 8.0, 40.0)


def test_add_remove_matches_google() -> None:
    for noise, rate in [(2.0, 0.0057), (0.7, 0.001), (1.0, 0.3), (30.0, 0.05), (4.0, 1.0)]:
        accountant = RdpAccountant(ORDERS, dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE)
        accountant.compose(dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(noise)))
        theirs = np.asarray(accountant._rdp)
        ours = divergence((SampledGaussian(noise, rate),), ORDERS)
        # theirs bounds fractional orders from above; at whole ones it is exact
        assert ours[1:] == pytest.approx(theirs[1:], rel=1e-5, abs=1e-12)
        assert ours[0] <= theirs[0] * (1 + 1e-5)


@pytest.mark.parametrize(("noise", "rate"), [(2.0, 0.05), (0.7, 0.2), (1.0, 0.9)])
@pytest.mark.parametrize("order", [1.5, 3.0, 8.0])
def test_replacement_is_the_integral_of_its_pair(noise: float, rate: float, order: float) -> None:
    def density(x: float, mean: float) -> float:
        """The logarithm of (1 - rate) N(0) + rate N(mean)."""
        parts = [-((x - at) ** 2) / (2 * noise**2) + math.log(share) for at, share in ((0, 1 - rate), (mean, rate))]
        return float(np.logaddexp(*parts)) - math.log(noise * math.sqrt(2 * math.pi))

    def integrand(x: float) -> float:
        return math.exp(order * density(x, 1) + (1 - order) * density(x, -1))

    reach = 2 * order + 12 * noise
    value, _ = quad(integrand, -reach, reach, limit=400, epsrel=1e-10)
    ours = divergence((SampledGaussian(noise, rate, 3, "replace"),), (order,))
    assert ours[0] == pytest.approx(3 * math.log(value) / (order - 1), rel=1e-6)


def test_closed_forms() -> None:
    orders = np.array(ORDERS)
    assert divergence((Gaussian(3.0, 5),), ORDERS) == pytest.approx(5 * orders / 18)
    assert divergence((SampledGaussian(3.0, 1.0, 1, "replace"),), ORDERS) == pytest.approx(4 * orders / 18)
    tail = 60.0
    for order in ORDERS[:3]:
        value, _ = quad(
            lambda x, order=order: 0.25 * math.exp(-order * abs(x) / 2 - (1 - order) * abs(x - 1) / 2),
            -tail,
            tail,
            points=[0, 1],
        )
        assert divergence((Laplace(2.0),), (order,))[0] == pytest.approx(math.log(value) / (order - 1), rel=1e-6)
        yes, no = math.e**0.7 / (1 + math.e**0.7), 1 / (1 + math.e**0.7)
        exact = math.log(yes**order * no ** (1 - order) + no**order * yes ** (1 - order)) / (order - 1)
        assert divergence((RandomizedResponse(0.7),), (order,))[0] == pytest.approx(exact)


def test_each_order_counts_its_worst_branch() -> None:
    """Which branch is worse depends on the order: pure epsilon at high ones, Gaussians at low ones."""
    pure, gaussian = RandomizedResponse(1.5), Gaussian(1.2)
    both = divergence((Parallel(((pure,), (gaussian,)), fixed=True), Gaussian(9.0)), (1.2, 40.0))
    alone = [divergence((event, Gaussian(9.0)), (1.2, 40.0)) for event in (pure, gaussian)]
    assert both == pytest.approx(np.maximum(*alone)) and (alone[0] > alone[1]).tolist() == [True, False]
    assert divergence((Parallel(()),), (2.0,))[0] == 0


def test_no_noise_is_infinite_and_no_count_is_nothing() -> None:
    releases: tuple[Event, ...] = (SampledGaussian(0.0, 0.5), Gaussian(0.0), Laplace(1e-9))
    for event in releases:
        assert divergence((event,), (2.0,))[0] == math.inf
    assert divergence((SampledGaussian(0.0, 0.5, 0), Gaussian(0.0, 0)), (2.0,))[0] == 0
    assert divergence((SampledGaussian(0.002, 0.5),), (5000.0,))[0] == pytest.approx(5000 / (2 * 0.002**2))


def test_what_is_not_known_is_refused() -> None:
    with pytest.raises(Unsupported, match="object"):
        divergence((object(),), (2.0,))  # type: ignore[arg-type]
    with pytest.raises(BadInput, match="order"):
        divergence((Gaussian(1.0),), (1.0,))
