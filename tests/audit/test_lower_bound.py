"""From counts to a lower bound: exact values, coverage, and what a private mechanism can never be convicted of."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import beta, binom, norm

from fairpriv_core.audit.lower_bound import Test as Counted
from fairpriv_core.audit.lower_bound import (
    build_tests,
    is_tuning,
    lower_bound,
    noise_bound,
    one_run_bound,
    one_run_p_value,
    with_noise,
)
from fairpriv_core.errors import BadInput
from fairpriv_core.privacy.accountants import epsilon
from fairpriv_core.privacy.event import Events, Gaussian, Laplace, Parallel, RandomizedResponse, SampledGaussian


def gaussian_epsilon(mu: float, delta: float) -> float:
    """Return epsilon of two normals that are `mu` deviations apart, by bisection of the closed form."""
    low, high = 0.0, 50.0
    for _ in range(80):
        middle = (low + high) / 2
        found = norm.cdf(mu / 2 - middle / mu) - math.exp(middle) * norm.cdf(-mu / 2 - middle / mu)
        low, high = (middle, high) if found > delta else (low, middle)
    return high


def test_a_perfect_attack_is_limited_by_its_runs_alone() -> None:
    test = Counted("releases", 0.0, hits=750, seconds=750, alarms=0, firsts=750)
    high = beta.ppf(1 - 0.005, 1, 750)
    expected = math.log((1 - high - 1e-5) / high)
    assert lower_bound([test], 1e-5, confidence=0.99, among=1) == pytest.approx(expected, rel=1e-9)
    assert lower_bound([test], 1e-5, confidence=0.99, among=4) < expected


def test_a_coin_shows_nothing() -> None:
    test = Counted("releases", 0.0, hits=380, seconds=750, alarms=372, firsts=750)
    assert lower_bound([test], 1e-5, confidence=0.99, among=1) == 0.0


def test_both_directions_count() -> None:
    """An attack that is sure of the first data set alone refutes as well as one that is sure of the second."""
    sure_of_second = Counted("releases", 0.0, hits=300, seconds=1000, alarms=0, firsts=1000)
    sure_of_first = Counted("releases", 0.0, hits=1000, seconds=1000, alarms=700, firsts=1000)
    bounds = [lower_bound([one], 1e-5, confidence=0.99, among=1) for one in (sure_of_second, sure_of_first)]
    assert bounds[0] == pytest.approx(bounds[1])
    assert bounds[0] > 3.5


@pytest.mark.parametrize("mu", [0.5, 1.5, 3.0])
def test_bounds_on_a_gaussian_hold_and_come_near(mu: float) -> None:
    """At confidence 0.9 for four deltas together, at most one in ten of 50 audits may be wrong (3 deviations: 11)."""
    deltas = (1e-5, 1e-3, 1e-2, 1e-1)
    true = {delta: gaussian_epsilon(mu, delta) for delta in deltas}
    draw = np.random.default_rng(round(10 * mu))
    wrong, shares = 0, []
    for _ in range(50):
        scores = {"releases": draw.normal(size=(2, 1000)) + np.array([[0.0], [mu]])}
        tests = build_tests(scores, deltas, alpha=0.1 / 4)
        found = {delta: lower_bound(tests, delta, confidence=0.9, among=4) for delta in deltas}
        wrong += any(found[delta] > true[delta] for delta in deltas)
        shares.append(max(found[delta] / true[delta] for delta in deltas))
    assert wrong <= 11
    assert np.mean(shares) > 1 / 3


def test_runs_that_choose_a_threshold_are_not_counted() -> None:
    scores = {"releases": np.vstack([np.zeros(400), np.ones(400)])}
    (test,) = build_tests(scores, (1e-5,), alpha=0.01)
    assert (test.seconds, test.firsts, int(is_tuning(400).sum())) == (300, 300, 100)
    assert (test.hits, test.alarms) == (300, 0)


def test_overfitted_scores_convict_nobody() -> None:
    """Scores that were fitted on the runs that choose, and are noise on the others."""
    draw = np.random.default_rng(3)
    scores = draw.normal(size=(2, 1000))
    scores[1, is_tuning(1000)] += 100.0
    tests = build_tests({"releases": scores}, (1e-5,), alpha=0.01)
    assert lower_bound(tests, 1e-5, confidence=0.99, among=1) == 0.0


def test_the_better_attack_is_chosen() -> None:
    draw = np.random.default_rng(4)
    noise = draw.normal(size=(2, 400))
    scores = {"releases": noise, "exported": noise + np.array([[0.0], [5.0]])}
    assert {test.attack for test in build_tests(scores, (1e-5,), alpha=0.01)} == {"exported"}


def test_one_run_without_delta_is_the_binomial() -> None:
    """Theorem of Steinke et al. at delta 0: guesses of coins are right at most like e^eps/(1 + e^eps) coins."""
    chance = 1 / (1 + math.exp(-1.5))
    told = {"canaries": 100, "guesses": 60, "correct": 55}
    assert one_run_p_value(**told, epsilon=1.5, delta=0.0) == pytest.approx(binom.sf(54, 60, chance))
    assert one_run_p_value(**told, epsilon=1.5, delta=1e-4) > one_run_p_value(**told, epsilon=1.5, delta=0.0)


def test_one_run_bounds_on_randomised_response_hold() -> None:
    """Each coin is told rightly with chance e^2/(1 + e^2): the bound may exceed 2 once in 20 (3 sd: 19 of 200)."""
    draw = np.random.default_rng(5)
    correct = draw.binomial(200, 1 / (1 + math.exp(-2.0)), size=200)
    known = {
        one: one_run_bound(canaries=200, guesses=200, correct=one, delta=1e-6, confidence=0.95)
        for one in set(correct.tolist())
    }
    found = [known[one] for one in correct.tolist()]
    assert sum(bound > 2.0 for bound in found) <= 19
    assert np.median(found) > 1.3


@pytest.mark.parametrize("values", [{"confidence": 1.0}, {"confidence": 0.0}])
def test_a_confidence_outside_is_refused(values: dict[str, float]) -> None:
    with pytest.raises(BadInput, match="confidence"):
        lower_bound([], 1e-5, **values, among=1)


def test_more_guesses_than_canaries_are_refused() -> None:
    with pytest.raises(BadInput, match="guesses"):
        one_run_bound(canaries=5, guesses=6, correct=5, delta=1e-5, confidence=0.95)


@pytest.mark.parametrize("mu", [0.5, 1.0, 2.5])
def test_the_whole_curve_of_a_gaussian_shows_most_of_its_epsilon_and_never_more(mu: float) -> None:
    """At confidence 0.9, at most one in ten of 25 audits may be wrong (3 deviations: 7); a threshold shows a third."""
    deltas = (1e-5, 1e-3, 1e-2, 1e-1)
    events, true = (Gaussian(1 / mu),), gaussian_epsilon(mu, 1e-5)
    draw = np.random.default_rng(round(10 * mu))
    wrong, shares = 0, []
    for _ in range(25):
        scores = {"releases": draw.normal(size=(2, 1000)) + np.array([[0.0], [mu]])}
        tests = build_tests(scores, deltas, alpha=0.1 / 5)
        noise = noise_bound(tests, events, confidence=0.9, among=5)
        wrong += noise is not None and noise < 1.0
        shares.append(0.0 if noise is None else epsilon(with_noise(events, noise), 1e-5) / true)
    assert wrong <= 7
    assert np.mean(shares) > (0.4 if mu < 1 else 0.65)


def test_the_curve_of_a_sampled_sum_is_not_taken_for_a_gaussians() -> None:
    """Someone is in a step with chance 0.1: the tail of what their releases tell is not a Gaussian's."""
    rate, sigma, runs = 0.1, 0.7, 40_000
    draw = np.random.default_rng(0)
    second = draw.normal(size=runs) * sigma + (draw.random(runs) < rate)
    scores = {"releases": np.stack([draw.normal(size=runs) * sigma, second])}
    tests = build_tests(scores, (1e-5, 1e-3, 1e-2), alpha=0.01 / 4)
    noise = noise_bound(tests, (SampledGaussian(sigma, rate),), confidence=0.99, among=4)
    assert noise is not None and 1.0 <= noise < 1.25
    same = Gaussian(1 / 0.17)  # mu of a Gaussian whose curve lies near in the middle
    wrong = noise_bound(tests, (same,), confidence=0.99, among=4)
    assert wrong is not None and wrong < 0.8, "its tail lies above that Gaussian's curve"


def test_a_gaussian_in_closed_form_is_the_same_curve(monkeypatch: pytest.MonkeyPatch) -> None:
    test = Counted("releases", 0.0, hits=600, seconds=750, alarms=150, firsts=750)
    for events in ((Gaussian(1.0, 2),), (SampledGaussian(2.0, 1.0, 4, "replace"),), (SampledGaussian(1.0, 1.0),)):
        exact = noise_bound([test], events, confidence=0.99, among=1)
        with monkeypatch.context() as patch:
            patch.setattr("fairpriv_core.audit.lower_bound._find_mu", lambda events: None)
            by_curve = noise_bound([test], events, confidence=0.99, among=1)
        assert exact is not None and by_curve == pytest.approx(exact, rel=0.02) and by_curve >= exact


def test_a_coin_and_a_release_without_noise_leave_every_curve_standing() -> None:
    coin = Counted("releases", 0.0, hits=380, seconds=750, alarms=372, firsts=750)
    sure = Counted("releases", 0.0, hits=750, seconds=750, alarms=0, firsts=750)
    assert noise_bound([coin], (Gaussian(1.0),), confidence=0.99, among=1) is None
    assert noise_bound([sure], (Gaussian(0.0),), confidence=0.99, among=1) is None
    assert noise_bound([], (Gaussian(1.0),), confidence=0.99, among=1) is None


def test_all_noise_is_scaled() -> None:
    leaves: Events = (Gaussian(1.0, 3), SampledGaussian(2.0, 0.5), Laplace(4.0))
    scaled = with_noise((*leaves, RandomizedResponse(3.0), Parallel((leaves[:1],))), 2.0)
    assert scaled[:3] == (Gaussian(2.0, 3), SampledGaussian(4.0, 0.5), Laplace(8.0))
    assert scaled[3:] == (RandomizedResponse(1.5), Parallel(((Gaussian(2.0, 3),),)))
