"""Arrays against dp_accounting's loops: the same distributions, the same epsilon, and so the same noise for a run."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from functools import reduce
from typing import Any

import dp_accounting
import numpy as np
import pytest
from dp_accounting.pld import privacy_loss_distribution as pld
from dp_accounting.pld.common import DifferentialPrivacyParameters
from dp_accounting.pld.pld_pmf import DensePLDPmf
from dp_accounting.rdp import RdpAccountant
from hypothesis import example, given, settings
from hypothesis import strategies as some

from fairpriv_core.privacy import accountants
from fairpriv_core.privacy import calibrate as calibration
from fairpriv_core.privacy.accountants import COARSE, FINE, epsilon, rdp_epsilon
from fairpriv_core.privacy.calibrate import calibrate
from fairpriv_core.privacy.event import Events, Gaussian, Laplace, Relation, SampledGaussian
from fairpriv_core.privacy.pld import (
    LossDistribution,
    Sides,
    compose,
    find_epsilon,
    gaussian_distribution,
    laplace_distribution,
    repeat,
    response_distribution,
)

SAME = 1e-6  # relative: rounding in other orders of summation, and nothing else
RELATIONS = {
    "add_remove": dp_accounting.NeighboringRelation.ADD_OR_REMOVE_ONE,
    "replace": dp_accounting.NeighboringRelation.REPLACE_ONE,
}
relations = some.sampled_from(["replace", "add_remove"])
noises = some.floats(-0.7, 3.0).map(math.exp)
rates = some.floats(-7.0, 0.0).map(math.exp)
counts = some.floats(0.0, 8.0).map(lambda power: int(math.exp(power)))
quick = settings(max_examples=20, deadline=None)


def slow_losses(noise: float, interval: float, *, rate: float = 1.0, relation: Relation = "add_remove") -> Any:
    return pld.from_gaussian_mechanism(
        noise, sampling_prob=rate, neighboring_relation=RELATIONS[relation], value_discretization_interval=interval
    )


def slow_laplace(scale: float, interval: float) -> Any:
    return pld.from_laplace_mechanism(scale, value_discretization_interval=interval)


def to_ours(theirs: Any) -> Sides:
    """Return dp_accounting's losses as ours; it has no public reader of them."""
    found = [theirs._pmf_remove] if theirs._symmetric else [theirs._pmf_remove, theirs._pmf_add]
    dense = [side.to_dense_pmf() for side in found]
    return tuple(
        LossDistribution(each._discretization, each._lower_loss, each._probs, each._infinity_mass) for each in dense
    )


def to_theirs(ours: Sides) -> Any:
    sides = (DensePLDPmf(side.width, side.lowest, side.masses, side.infinite, True) for side in ours)
    return pld.PrivacyLossDistribution(*sides)


def assert_alike(ours: Sides, theirs: Any) -> None:
    for one, other in zip(ours, to_ours(theirs), strict=True):
        assert (one.width, one.lowest, len(one.masses)) == (other.width, other.lowest, len(other.masses))
        assert one.infinite == pytest.approx(other.infinite, rel=1e-9, abs=1e-15)
        np.testing.assert_allclose(one.masses, other.masses, rtol=1e-9, atol=1e-9)
        assert one.masses.sum() == pytest.approx(other.masses.sum(), abs=1e-7)  # rounding of either is cut off at 0


@quick
@given(noises, rates, relations, some.sampled_from([1e-2, 2e-3]))
@example(2.0, 1.0, "add_remove", 1e-4)
@example(2.0, 1.0, "replace", 1e-3)
@example(0.4, 1e-7, "add_remove", 1e-3)
@example(0.4, 0.9999, "replace", 1e-3)
@example(500.0, 0.01, "replace", 1e-5)
@example(0.03, 0.5, "add_remove", 0.05)
def test_one_release_has_dp_accountings_distribution(
    noise: float, rate: float, relation: Relation, interval: float
) -> None:
    ours = gaussian_distribution(noise, interval, rate=rate, relation=relation)
    assert_alike(ours, slow_losses(noise, interval, rate=rate, relation=relation))


@quick
@given(some.floats(-1.0, 4.0).map(math.exp))
def test_one_laplace_release_has_dp_accountings_distribution(scale: float) -> None:
    assert_alike(laplace_distribution(scale, 1e-3), slow_laplace(scale, 1e-3))


@quick
@given(some.floats(-4.0, 4.0).map(math.exp))
def test_randomised_response_has_dp_accountings_distribution(pure: float) -> None:
    theirs = pld.from_privacy_parameters(DifferentialPrivacyParameters(pure, 0), 1e-3)
    assert_alike(response_distribution(pure, 1e-3), theirs)


@quick
@given(noises, rates, counts, relations, noises, some.floats(1e-8, 1e-2))
def test_compositions_cost_what_they_do_in_dp_accounting(
    noise: float, rate: float, count: int, relation: Relation, other: float, delta: float
) -> None:
    interval = 2e-3 * math.ceil(1 / noise + 1 / other)
    ours = compose(
        repeat(gaussian_distribution(noise, interval, rate=rate, relation=relation), count),
        repeat(gaussian_distribution(2 * other, interval), 3),
    )
    theirs = slow_losses(noise, interval, rate=rate, relation=relation).self_compose(count)
    theirs = theirs.compose(slow_losses(2 * other, interval).self_compose(3))
    with np.errstate(over="ignore"):  # of its own, where masses are tiny
        wanted = theirs.get_epsilon_for_delta(delta)
    for found in (find_epsilon(ours, delta), find_epsilon(to_ours(theirs), delta)):
        assert found == pytest.approx(wanted, rel=SAME, abs=1e-7)


def slow_composed(event: Any, interval: float) -> Any:
    once = replace(event, count=1)
    match once:
        case SampledGaussian(noise, rate, _, relation):
            losses = slow_losses(noise, interval, rate=rate, relation=relation)
        case Gaussian(noise):
            losses = slow_losses(noise, interval)
        case Laplace(scale):
            losses = slow_laplace(scale, interval)
    return losses.self_compose(event.count) if event.count > 1 else losses


def slow_account(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let epsilons come from dp_accounting's loops alone."""
    monkeypatch.setattr(accountants, "_composed", slow_composed)
    monkeypatch.setattr(accountants, "compose", lambda left, right: left.compose(right))
    monkeypatch.setattr(accountants, "find_epsilon", lambda losses, delta: losses.get_epsilon_for_delta(delta))
    forget()


def forget() -> None:
    """Drop every epsilon and noise that is remembered."""
    accountants._case_epsilon.cache_clear()
    accountants._case_distribution.cache_clear()
    calibration._search_cached.cache_clear()


def steps_alone(rate: float, steps: int) -> Callable[[float], Events]:
    return lambda noise: (SampledGaussian(noise, rate, steps),)


def attribute(rate: float, steps: int) -> Callable[[float], Events]:
    """As PF-LD: counts and violations beside the steps."""
    return lambda noise: (Gaussian(40.0), Gaussian(60.0, 19), SampledGaussian(noise, rate, steps, "replace"))


@pytest.mark.parametrize("family", [steps_alone, attribute])
@pytest.mark.parametrize(
    ("rate", "steps", "target", "delta"),
    [
        (0.028, 720, 0.37, 1e-5),
        pytest.param(0.028, 720, 2.83, 1e-6, marks=pytest.mark.long),
        pytest.param(0.0071, 2840, 1.13, 1e-5, marks=pytest.mark.long),
        pytest.param(0.0071, 2840, 9.1, 1e-8, marks=pytest.mark.long),
        pytest.param(0.3, 60, 5.0, 1e-3, marks=pytest.mark.long),
        pytest.param(1.0, 30, 2.0, 1e-5, marks=pytest.mark.long),
    ],
)
def test_calibration_finds_the_noise_that_it_found_with_dp_accounting(
    monkeypatch: pytest.MonkeyPatch, *, family: Any, rate: float, steps: int, target: float, delta: float
) -> None:
    """Over sampling rates, steps, budgets and deltas; and dp_accounting's own number for it keeps the budget."""
    events_for = family(rate, steps)
    forget()
    noise = calibrate(events_for, epsilon=target, delta=delta)
    with monkeypatch.context() as patched:
        slow_account(patched)
        assert noise == pytest.approx(calibrate(events_for, epsilon=target, delta=delta), rel=SAME)
        assert target * (1 - 1e-3 - SAME) <= epsilon(events_for(noise), delta) <= target * (1 + SAME)
    forget()


@pytest.mark.parametrize("interval", [FINE, COARSE])
def test_losses_whose_exponential_underflows_end_with_a_number(interval: float) -> None:
    """As dp_accounting's walk down the tail does: at the loss where the masses reach delta."""
    losses = gaussian_distribution(0.02, 0.02 * interval / FINE)
    assert find_epsilon(losses, 1e-5) == pytest.approx(to_theirs(losses).get_epsilon_for_delta(1e-5), rel=1e-9)


@pytest.mark.long
@settings(max_examples=40, deadline=None)
@given(noises, rates, counts, some.none() | noises, some.floats(-20.0, -3.0).map(math.exp))
@example(4.199292807228817, 0.31423087583699794, 5000, 45.0, 4.2e-9)  # where series at broken orders are far too large
@example(0.25, 0.003, 500, None, 1e-5)  # where they do not converge
def test_the_best_order_is_the_best_of_all(
    noise: float, rate: float, count: int, other: float | None, delta: float
) -> None:
    """The published figures are what all orders gave, bit by bit."""
    orders = np.concatenate([np.arange(1.01, 2, 0.01), np.arange(2, 12, 0.1), np.arange(12, 64), 2 ** np.arange(6, 15)])
    events: Events = (SampledGaussian(noise, rate, count),)
    accountant = RdpAccountant(orders)
    once = dp_accounting.PoissonSampledDpEvent(rate, dp_accounting.GaussianDpEvent(noise))
    accountant.compose(dp_accounting.SelfComposedDpEvent(once, count))
    if other is not None:
        events = (*events, Gaussian(other, 7))
        accountant.compose(dp_accounting.SelfComposedDpEvent(dp_accounting.GaussianDpEvent(other), 7))
    expected = float(np.min(np.asarray(accountant.rdp) + math.log(1 / delta) / (orders - 1)))
    assert rdp_epsilon(events, delta) == max(expected, 0.0)


def test_the_direction_that_costs_more_is_counted_whichever_it_is() -> None:
    """As a record leaves costs more, of every mechanism here; turned round, it costs as much."""
    sampled, rest = gaussian_distribution(1.0, 1e-3, rate=0.1), gaussian_distribution(2.0, 1e-3)
    leaves, comes = (find_epsilon((side,), 1e-5) for side in sampled)
    assert leaves > comes + 0.05
    for build in (lambda sides: sides, lambda sides: repeat(sides, 5), lambda sides: compose(sides, rest)):
        assert find_epsilon(build(sampled[::-1]), 1e-5) == find_epsilon(build(sampled), 1e-5)
    both = [compose(sampled[::-1], rest), compose(rest, sampled[::-1])]
    assert [find_epsilon(each, 1e-5) for each in both] == pytest.approx(
        [find_epsilon(compose(sampled, rest), 1e-5)] * 2
    )


def test_all_parts_of_a_composition_are_counted() -> None:
    parts = [
        gaussian_distribution(3.0, 1e-3),
        laplace_distribution(4.0, 1e-3),
        gaussian_distribution(2.0, 1e-3, rate=0.1),
    ]
    theirs = reduce(lambda left, right: left.compose(right), map(to_theirs, parts))
    assert find_epsilon(reduce(compose, parts), 1e-5) == pytest.approx(theirs.get_epsilon_for_delta(1e-5), rel=SAME)
