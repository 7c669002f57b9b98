"""Calibration: within the budget, nearly all of it used, found once, and a sentence where it cannot be."""

import math

import pytest

from fairpriv_core.errors import BadInput
from fairpriv_core.privacy import calibrate as module
from fairpriv_core.privacy.accountants import epsilon, rdp_epsilon
from fairpriv_core.privacy.calibrate import calibrate, gaussian_mu
from fairpriv_core.privacy.event import Events, Gaussian, SampledGaussian

DELTA = 1e-5


def pf_ld(noise: float) -> Events:
    """Counts and dual steps fixed beforehand for a budget of 1, the primal steps calibrated."""
    mu = gaussian_mu(1.0, DELTA)
    fixed = (Gaussian(1 / (mu * math.sqrt(0.05))), Gaussian(math.sqrt(30 / 0.2) / mu, 30))
    return (*fixed, SampledGaussian(noise, 0.03, 3000, "replace"))


def dp_sgd(noise: float) -> Events:
    return (SampledGaussian(noise, 256 / 45211, 8850),)


def scaled(noise: float) -> Events:
    """Every release scales along."""
    return (Gaussian(3 * noise, 30), SampledGaussian(noise, 0.3, 3000, "replace"), Gaussian(5 * noise))


@pytest.mark.parametrize(
    ("events_for", "target"),
    [(pf_ld, 1.0), (pf_ld, 3.0), (dp_sgd, 0.1), (dp_sgd, 1.0), (scaled, 0.01), (scaled, 0.5), (scaled, 9.0)],
)
def test_the_budget_is_kept_and_used(events_for: type[Events], target: float) -> None:
    noise = calibrate(events_for, epsilon=target, delta=DELTA)
    assert target * (1 - 1e-3) <= epsilon(events_for(noise), DELTA) <= target
    assert epsilon(events_for(noise * 0.99), DELTA) > target * 0.999


def test_a_single_gaussian_comes_out_at_the_closed_form() -> None:
    noise = calibrate(lambda m: (Gaussian(m),), epsilon=1.0, delta=DELTA)
    assert noise == pytest.approx(1 / gaussian_mu(1.0, DELTA), rel=1e-3)


def test_from_a_start_few_noises_are_tried() -> None:
    tried = list[float]()

    def events_for(noise: float) -> Events:
        tried.append(noise)
        return (Gaussian(noise, 7),)

    for start in (0.05, 2.0, 5000.0):
        tried.clear()
        noise = calibrate(events_for, epsilon=1.7, delta=DELTA, start=start)
        assert 1.7 * (1 - 1e-3) <= epsilon(events_for(noise), DELTA) <= 1.7
        assert len(tried) < 20, start


def test_published_figures_are_calibrated_by_their_own_accounting() -> None:
    noise = calibrate(dp_sgd, epsilon=1.0, delta=DELTA, accountant="rdp")
    assert 1 - 1e-3 <= rdp_epsilon(dp_sgd(noise), DELTA) <= 1.0
    assert noise > calibrate(dp_sgd, epsilon=1.0, delta=DELTA)
    with pytest.raises(BadInput, match="pld, rdp"):
        calibrate(dp_sgd, epsilon=1.0, delta=DELTA, accountant="guess")


def test_one_composition_is_searched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    first = calibrate(lambda m: (Gaussian(m, 7),), epsilon=0.7, delta=DELTA)
    monkeypatch.setattr(module, "_solve", None)
    assert calibrate(lambda m: (Gaussian(m, 7),), epsilon=0.7, delta=DELTA) == first
    with pytest.raises(TypeError):
        calibrate(lambda m: (Gaussian(m, 8),), epsilon=0.7, delta=DELTA)


def test_a_composition_that_agrees_only_at_the_probes_is_searched_again() -> None:
    def kinked(noise: float) -> Events:
        return (Gaussian(noise, 1 if noise in module._PROBES else 2),)

    plain = calibrate(lambda m: (Gaussian(m),), epsilon=1.3, delta=DELTA)
    twice = calibrate(kinked, epsilon=1.3, delta=DELTA)
    assert twice == pytest.approx(plain * math.sqrt(2), rel=2e-3)
    assert epsilon(kinked(twice), DELTA) <= 1.3


@pytest.mark.parametrize("target", [0.01, 0.2])
def test_a_budget_that_other_releases_exceed_is_a_sentence(target: float) -> None:
    with pytest.raises(BadInput, match=r"epsilon must be > 0\.280 for this run, got") as caught:
        calibrate(lambda m: (Gaussian(12.0), SampledGaussian(m, 0.03, 3000, "replace")), epsilon=target, delta=DELTA)
    assert caught.value.field == "epsilon"


def test_a_budget_just_above_the_fixed_cost_is_reached() -> None:
    fixed = epsilon((Gaussian(12.0),), DELTA)

    def events_for(noise: float) -> Events:
        return (Gaussian(12.0), SampledGaussian(noise, 0.03, 3000, "replace"))

    noise = calibrate(events_for, epsilon=1.01 * fixed, delta=DELTA)
    assert epsilon(events_for(noise), DELTA) <= 1.01 * fixed


def test_an_enormous_budget_ends_at_the_least_noise() -> None:
    assert calibrate(lambda m: (Gaussian(m),), epsilon=1e6, delta=DELTA) == 0.01


def test_budgets_out_of_range_are_refused() -> None:
    for bad in [0.0, -1.0, math.nan, math.inf]:
        with pytest.raises(BadInput, match="epsilon must be a finite number > 0"):
            calibrate(dp_sgd, epsilon=bad, delta=DELTA)
        with pytest.raises(BadInput, match="delta"):
            calibrate(dp_sgd, epsilon=1.0, delta=bad)
