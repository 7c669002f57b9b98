"""The attacks on mechanisms whose epsilon is known: they stay below it, come near it, and catch what is broken."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict

import numpy as np
import pytest

from fairpriv_core.audit.attack import Pair, distinguish
from fairpriv_core.audit.canary import choose_pair, list_pairs, make_data, plant_canaries
from fairpriv_core.audit.lower_bound import build_tests, lower_bound, one_run_bound
from fairpriv_core.audit.observe import RecordingMechanism, ReplayingMechanism
from fairpriv_core.audit.one_run import guess_coins
from fairpriv_core.audit.sensitivity import measure_noise, measure_sensitivities, record_runs
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.errors import BadInput, FairprivError
from fairpriv_core.privacy.accountants import epsilon
from fairpriv_core.privacy.event import Gaussian, RandomizedResponse, SampledGaussian
from fairpriv_core.privacy.mechanism import Mechanism
from tests.audit.fakes import Fit, count_present, release_counts, sum_clipped, trainer
from tests.noise import scale_noise

DATA = make_data(rows=60, isolated=2, groups=2, seed=0)
DELTA = 1e-5
RUNS = 600


def attack(fit: Fit, *, nulled: bool, runs: int = RUNS) -> dict[str, np.ndarray]:
    train = trainer(fit)
    pair = choose_pair(train, list_pairs(DATA, nulled=nulled), seed=0)
    return distinguish(train, pair, runs=runs, seed=1, together=500)


def bound(scores: Mapping[str, np.ndarray], delta: float = DELTA) -> float:
    return lower_bound(build_tests(scores, (delta,), alpha=0.01 / 2), delta, confidence=0.99, among=2)


def test_a_gaussian_release_is_bounded_near_its_epsilon() -> None:
    found = bound(attack(release_counts(1.0), nulled=False, runs=2500))
    true = epsilon((Gaussian(1.0),), DELTA)
    assert true / 3 < found <= true


def test_counts_of_all_rows_are_attacked_where_a_record_may_be_null() -> None:
    found = bound(attack(count_present(1.0), nulled=True, runs=2500))
    true = epsilon((Gaussian(1.0),), DELTA)
    assert true / 3 < found <= true


def test_a_sampled_sum_is_bounded_near_its_epsilon() -> None:
    """The attacker does not know who was sampled; at delta 0.1, where its runs tell most."""
    event = (SampledGaussian(1.0, 0.5, 4, "add_remove"),)
    scores = attack(sum_clipped(1.0), nulled=True)
    assert bound(scores) <= epsilon(event, DELTA)
    assert epsilon(event, 0.1) / 3 < bound(scores, 0.1) <= epsilon(event, 0.1)


def test_laplace_and_response_are_bounded_near_their_epsilon() -> None:
    def laplace(data: Dataset, mechanism: Mechanism) -> dict[str, object]:
        sizes = np.bincount(data.group, minlength=2).astype(float)
        mechanism.laplace(sizes, sensitivity=2.0, scale=0.5, purpose="counts", index=0)
        return {}

    def response(data: Dataset, mechanism: Mechanism) -> dict[str, object]:
        mechanism.randomized_response(data.group, k=2, epsilon=2.0, purpose="group", index=0)
        return {}

    for fit in (laplace, response):
        assert 1.2 < bound(attack(fit, nulled=False, runs=600)) <= epsilon((RandomizedResponse(2.0),), DELTA)


def test_without_noise_the_attack_wins() -> None:
    for fit, nulled in ((release_counts(0.0), False), (sum_clipped(0.0, rate=1.0), True)):
        scores = attack(fit, nulled=nulled, runs=400)
        assert scores["releases"][1].min() > scores["releases"][0].max()
        assert bound(scores) > 3.5


def test_halved_noise_is_caught_by_the_attack_and_by_the_measurement(monkeypatch: pytest.MonkeyPatch) -> None:
    """The accountant believes in a multiplier of 2; the noise has half of that."""
    true = epsilon((SampledGaussian(2.0, 1.0, 4, "add_remove"),), 0.1)
    assert bound(attack(sum_clipped(2.0, rate=1.0), nulled=True), 0.1) <= true
    scale_noise(monkeypatch, 0.5)
    assert bound(attack(sum_clipped(2.0, rate=1.0), nulled=True), 0.1) > true
    noise = measure_noise(record_runs(trainer(sum_clipped(2.0)), DATA, runs=50, seed=0))
    assert noise is not None and noise.high < 0.6


def test_a_leak_beside_the_mechanism_is_caught() -> None:
    def leak(data: Dataset, mechanism: Mechanism) -> dict[str, object]:
        return {**release_counts(50.0)(data, mechanism), "sizes": np.bincount(data.group).tolist()}

    scores = attack(leak, nulled=False, runs=400)
    assert scores["exported"][1].min() > scores["exported"][0].max()
    assert bound(scores) > 3.5


def test_an_attack_without_releases_looks_at_exports_alone() -> None:
    scores = attack(lambda data, mechanism: {"rows": data.n}, nulled=False, runs=40)
    assert set(scores) == {"exported"}
    assert bound(scores) == 0.0


def test_the_pair_that_is_furthest_apart_is_chosen() -> None:
    pairs = list_pairs(DATA, nulled=True)
    train = trainer(sum_clipped(1.0, clip=30.0, told=30.0))
    chosen = choose_pair(train, pairs, seed=0)
    assert np.abs(chosen.first.X[-1]).max() == 40.0


def test_a_record_beyond_its_bound_shows() -> None:
    kept, broken = (
        measure_sensitivities(trainer(fit), DATA, changes=30, whole_record=True, seed=0)
        for fit in (sum_clipped(1.0), sum_clipped(1.0, clip=1.5))
    )
    assert kept[0].largest == pytest.approx(1.0)
    assert broken[0].largest == pytest.approx(1.5)
    assert kept[0].measured == 120


def test_a_forgotten_square_root_shows() -> None:
    """A person who changes groups moves two counts; a shift of 1 forgets that."""

    def forgetful(data: Dataset, mechanism: Mechanism) -> dict[str, object]:
        sizes = np.bincount(data.group, minlength=2).astype(float)
        mechanism.gaussian(sizes, sensitivity=1.0, noise_multiplier=1.0, purpose="counts", index=0)
        return {}

    (reach,) = measure_sensitivities(trainer(forgetful), DATA, changes=10, whole_record=False, seed=0)
    assert reach.largest == pytest.approx(math.sqrt(2))


def test_one_run_guesses_coins_within_epsilon_and_not_by_luck() -> None:
    data = plant_canaries(make_data(rows=200, isolated=80, groups=2, seed=0), 80)
    quiet = guess_coins(trainer(sum_clipped(0.01, rate=1.0)), data, 80, nulled=True, seed=3)
    assert (quiet.guesses, quiet.correct) == (40, 40)
    assert one_run_bound(**asdict(quiet), delta=DELTA, confidence=0.99) > 1.5
    counted = guess_coins(trainer(count_present(0.01)), data, 80, nulled=True, seed=3)
    assert counted.correct < 30, "how many there are tells little of who is there"
    loud = guess_coins(trainer(sum_clipped(30.0, rate=1.0)), data, 80, nulled=True, seed=3)
    assert one_run_bound(**asdict(loud), delta=DELTA, confidence=0.99) == 0.0


def test_a_replay_that_takes_another_course_is_refused() -> None:
    base = RecordingMechanism(0)
    release_counts(1.0)(DATA, base)
    with pytest.raises(FairprivError, match="replayed run releases sum"):
        sum_clipped(1.0)(DATA, ReplayingMechanism(base.releases, np.array([0])))


def test_models_that_train_one_by_one_are_replayed_up_to_their_last_release() -> None:
    """With the same result; a fit then goes to its end only where a run is recorded."""
    ended = 0

    def long(data: Dataset, mechanism: Mechanism) -> dict[str, object]:
        nonlocal ended
        release_counts(1.0)(data, mechanism)
        ended += 1
        return {}

    pair = list_pairs(DATA, nulled=False)[0]
    found = [
        distinguish(trainer(long, alone=alone), pair, runs=20, seed=1, together=10)["releases"]
        for alone in (True, False)
    ]
    assert np.array_equal(*found)
    assert ended == 2 * 20 + 2 * 20 * 3


def test_a_pair_differs_in_one_record_alone() -> None:
    pair = list_pairs(DATA, nulled=False)[0]
    assert isinstance(pair, Pair)
    assert np.array_equal(pair.first.X, pair.second.X) and np.array_equal(pair.first.y, pair.second.y)
    assert np.flatnonzero(pair.first.group != pair.second.group).tolist() == [pair.record]


def test_an_observed_choice_refuses_an_impossible_epsilon_as_the_mechanism_does() -> None:
    options = {"sensitivity": 1.0, "epsilon": 0.0, "purpose": "a", "index": 0}
    with pytest.raises(BadInput, match=r"epsilon must be a finite number > 0, got 0\.0"):
        RecordingMechanism(0).noisy_max(np.ones(3), **options)
