"""Epsilon at many points of a plan: never below the accountant's, close to it, right where a closed form is known."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
from scipy.optimize import brentq

from fairpriv_core.errors import BadInput, Unsupported
from fairpriv_core.privacy import curve
from fairpriv_core.privacy.accountants import epsilon
from fairpriv_core.privacy.curve import epsilon_curve
from fairpriv_core.privacy.event import (
    Counted,
    Events,
    Gaussian,
    Laplace,
    Parallel,
    RandomizedResponse,
    SampledGaussian,
)
from fairpriv_core.privacy.gaussian import gaussian_delta

PLANS: dict[str, Events] = {
    "attribute": (Gaussian(5.0), Gaussian(5.0, 19), SampledGaussian(2.0, 0.0057, 3363, "replace")),
    "attribute, little": (Gaussian(26.0), Gaussian(25.0, 19), SampledGaussian(9.0, 0.0057, 3363, "replace")),
    "record": (SampledGaussian(2.0, 0.0057, 3540, "add_remove"),),
    "record, strong": (SampledGaussian(0.7, 0.05, 400, "add_remove"), Gaussian(30.0)),
    "kinds": (Laplace(3.0, 4), SampledGaussian(1.0, 0.01, 100, "add_remove"), RandomizedResponse(0.2)),
    "parts": (
        Gaussian(26.0),
        Parallel(((SampledGaussian(3.0, 0.03, 600, "add_remove"),), (SampledGaussian(2.0, 0.03, 60, "add_remove"),))),
    ),
    "hardly anything": (SampledGaussian(300.0, 0.001, 10, "add_remove"),),
}


def part(events: Events, share: float) -> Events:
    """What is released at `share` of a plan."""
    return tuple(
        replace(event, count=math.ceil(share * event.count)) if isinstance(event, Counted) else event
        for event in events
    )


@pytest.mark.parametrize("delta", [1e-5, 1e-8])
@pytest.mark.parametrize("name", PLANS)
def test_a_curve_is_never_below_the_accountant_and_close_to_it(name: str, delta: float) -> None:
    points = [part(PLANS[name], share) for share in (0.01, 0.2, 0.6, 1.0)]
    values = epsilon_curve(points, delta)
    for events, value in zip(points, values, strict=True):
        proved = epsilon(events, delta)
        assert proved <= value <= 1.01 * proved + 1e-3
    assert values == sorted(values)


@pytest.mark.parametrize(("mu", "count", "delta"), [(0.02, 1000, 1e-5), (0.02, 1000, 1e-9), (0.5, 64, 1e-9)])
def test_many_gaussians_are_one(mu: float, count: int, delta: float) -> None:
    exact = brentq(lambda value: gaussian_delta(mu * math.sqrt(count), value) - delta, 0.0, 100.0)
    (value,) = epsilon_curve([(Gaussian(1.0 / mu, count),)], delta)
    assert exact <= value <= 1.005 * exact


def test_the_accountant_is_asked_only_where_it_must_be(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[Events] = []

    def answer(events: Events, delta: float) -> float:
        asked.append(events)
        return 7.0

    monkeypatch.setattr(curve, "coarse_epsilon", answer)
    assert epsilon_curve([PLANS["record"]], 1e-5)[0] < 1.0
    assert not asked
    for odd, delta in (((Gaussian(0.0),), 1e-5), (PLANS["record"], 1e-12), ((Gaussian(0.02),), 1e-5), ((), 1e-5)):
        assert epsilon_curve([odd], delta) == [7.0]
    assert len(asked) == 4


def test_a_release_without_noise_has_no_epsilon() -> None:
    assert epsilon_curve([(Gaussian(0.0),), (Gaussian(1.0),)], 1e-5)[0] == math.inf


def test_what_an_accountant_refuses_is_refused() -> None:
    with pytest.raises(Unsupported):
        epsilon_curve([(SampledGaussian(1, 0.1, 1, "replace"), SampledGaussian(1, 0.1, 1, "add_remove"))], 1e-5)
    with pytest.raises(BadInput):
        epsilon_curve([(Gaussian(1.0),)], 1.5)
