"""Releases on disjoint parts of the data, Laplace noise and randomised response."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from scipy import stats

from fairpriv_core.errors import BadInput, FairprivError
from fairpriv_core.privacy.accountants import epsilon
from fairpriv_core.privacy.event import (
    Event,
    Gaussian,
    Laplace,
    Parallel,
    RandomizedResponse,
    SampledGaussian,
    merge,
)
from fairpriv_core.privacy.mechanism import Mechanism, ReleaseCounter
from fairpriv_core.privacy.randomness import Randomness

RATE = 0.1


def release(mechanism: Mechanism, step: int, part: str = "", size: int = 50) -> np.ndarray:
    return mechanism.sampled_gaussian(
        np.zeros(size),
        radius=1.0,
        noise_multiplier=2.0,
        sampling_rate=RATE,
        relation="add_remove",
        step=step,
        part=part,
    )


def test_parts_are_counted_in_parallel_and_the_rest_in_sequence() -> None:
    mechanism = Mechanism(Randomness.fresh())
    mechanism.gaussian(np.zeros(2), sensitivity=1.0, noise_multiplier=4.0, purpose="counts", index=0)
    for step in range(3):
        release(mechanism, step, "b")
        release(mechanism, step, "a")
    release(mechanism, 3, "a")
    branches = ((SampledGaussian(2.0, RATE, 4),), (SampledGaussian(2.0, RATE, 3),))
    assert mechanism.events == (Gaussian(4.0), Parallel(branches))
    assert epsilon(mechanism.events, 1e-5) == epsilon((Gaussian(4.0), SampledGaussian(2.0, RATE, 4)), 1e-5)


def test_one_sample_serves_each_part_once() -> None:
    mechanism = Mechanism(Randomness.fresh())
    mechanism.sample(n=100, rate=RATE, epoch=0, steps=1)
    release(mechanism, 0, "a")
    release(mechanism, 0, "b")
    for part in ("a", ""):
        with pytest.raises(FairprivError, match="every sample of this epoch is used"):
            release(mechanism, 1, part)
    mechanism.sample(n=100, rate=RATE, epoch=1, steps=1)
    release(mechanism, 1)
    with pytest.raises(FairprivError, match="every sample of this epoch is used"):
        release(mechanism, 2, "a")


def test_parts_have_their_own_noise_and_resume_with_it() -> None:
    whole = Mechanism(Randomness.replay(1))
    noise = {part: [release(whole, step, part, 4000) for step in range(3)] for part in ("", "a", "b")}
    flat = [values for each in noise.values() for values in each]
    assert np.abs(np.corrcoef(flat) - np.eye(len(flat))).max() < 6 / math.sqrt(4000)
    first = Mechanism(Randomness.replay(1))
    release(first, 0, "a", 4000)
    resumed = Mechanism.from_state(first.state())
    assert np.array_equal(release(resumed, 1, "a", 4000), noise["a"][1])
    assert resumed.events == (Parallel(((SampledGaussian(2.0, RATE, 2),),)),)
    with pytest.raises(FairprivError, match="comes after step"):
        release(resumed, 1, "a", 4000)


def test_laplace_noise_has_its_scale_and_tails() -> None:
    mechanism = Mechanism(Randomness.fresh())
    noise = mechanism.laplace(np.zeros(200_000), sensitivity=2.0, scale=1.5, purpose="counts", index=0)
    assert stats.kstest(noise, "laplace", args=(0.0, 3.0)).pvalue > 1e-7
    assert np.abs(noise).max() > 3.0 * 9.0
    assert mechanism.events == (Laplace(1.5),)
    assert epsilon(mechanism.events, 1e-9) == pytest.approx(1 / 1.5, abs=1e-3)
    with pytest.raises(FairprivError, match="comes after step 0"):
        mechanism.laplace(np.zeros(1), sensitivity=2.0, scale=1.5, purpose="counts", index=0)


@pytest.mark.parametrize(("k", "budget"), [(2, 0.5), (2, 3.0), (4, 1.0)])
def test_randomised_response_keeps_and_moves_as_often_as_it_says(k: int, budget: float) -> None:
    mechanism, n = Mechanism(Randomness.fresh()), 200_000
    truth = np.full(n, 1)
    answers = mechanism.randomized_response(truth, k=k, epsilon=budget, purpose="group", index=0)
    keep = math.exp(budget) / (math.exp(budget) + k - 1)
    expected = np.array([keep if value == 1 else (1 - keep) / (k - 1) for value in range(k)])
    assert np.abs(np.bincount(answers, minlength=k) / n - expected).max() < 6 * math.sqrt(0.25 / n)
    assert mechanism.events == (RandomizedResponse(budget),)
    assert np.array_equal(truth, np.full(n, 1))


def test_randomised_response_refuses_what_it_cannot_protect() -> None:
    mechanism = Mechanism(Randomness.fresh())
    with pytest.raises(BadInput, match=r"values must lie in 0\.\.1, got 0 to 2\."):
        mechanism.randomized_response(np.array([0, 2]), k=2, epsilon=1.0, purpose="group", index=0)
    with pytest.raises(BadInput, match=r"epsilon must be .*, got 0"):
        mechanism.randomized_response(np.array([0, 1]), k=2, epsilon=0.0, purpose="group", index=0)
    assert mechanism.events == ()


def test_a_counter_survives_its_json() -> None:
    counter = ReleaseCounter((Laplace(2.0, 3),))
    each: list[tuple[Event, str]] = [(Gaussian(1.0), ""), (SampledGaussian(2.0, 0.5), "part/x"), (Gaussian(1.0), "")]
    for event, part in [*each, (RandomizedResponse(1.0), ""), (RandomizedResponse(1.0), "")]:
        counter.add(event, part)
    again = ReleaseCounter.from_json(json.loads(json.dumps(counter.to_json())))
    assert again.events == counter.events
    again.add(SampledGaussian(2.0, 0.5), "part/x")
    assert Parallel(((SampledGaussian(2.0, 0.5, 2),),)) in again.events
    assert merge(again.events) == again.events
