"""OneRelease for whole records at the mechanism during the real fit, and what follows from its one release.

A run is recorded, then replayed on other data: all models see the same releases and take the same course.
"""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.predict import predict_proba
from fairpriv_core.engine.training import Fitted, Training, Unwatched
from fairpriv_core.errors import BadInput
from fairpriv_core.methods.one_release_record import (
    PLACES,
    OneReleaseRecord,
    Told,
    directions,
    find_flips,
    list_numbers,
    weigh,
)
from fairpriv_core.methods.shared.cumulative import release_cumulative, running_deviation
from fairpriv_core.notions.catalog import notions
from fairpriv_core.privacy.mechanism import Mechanism
from fairpriv_core.privacy.randomness import Randomness
from tests.methods.harness import RecordingMechanism, make_data
from tests.methods.test_pf_ld_record import of_kind, ordinary, train

METHOD = OneReleaseRecord(
    epochs=4, sampling_rate=0.2, clip_primal=0.3, gap_target=0.01, noise_primal=0.5, noise_counts=1.0, noise_flips=1.0
)


def test_the_shift_of_flips_is_met() -> None:
    """By rows that turn at the first place."""
    counts = np.zeros((4, PLACES))
    counts[2, 0] = 1.0
    recorder = RecordingMechanism()
    release_cumulative(recorder, counts, noise_multiplier=1.0, purpose="flips")
    (release,) = of_kind(recorder, "flips")
    assert 0.999999 <= np.linalg.norm(release.value) / release.bound <= 1.0


def test_one_row_moves_running_sums_of_many_rows_within_their_shift() -> None:
    for n in [256, 8_192, 65_536, 500_000]:
        draw = np.random.default_rng(n)
        counts = draw.multinomial(n, np.full(4 * PLACES, 0.25 / PLACES)).reshape(4, PLACES).astype(np.float64)
        whole = RecordingMechanism()
        release_cumulative(whole, counts, noise_multiplier=1.0, purpose="flips")
        for place in (0, 1, 63, PLACES - 1):
            one = counts.copy()
            one[1, place] -= 1.0
            rest = RecordingMechanism()
            release_cumulative(rest, one, noise_multiplier=1.0, purpose="flips")
            moved = np.linalg.norm(of_kind(whole, "flips")[0].value - of_kind(rest, "flips")[0].value)
            assert moved <= of_kind(whole, "flips")[0].bound


def test_running_sums_are_those_of_the_counts_with_less_noise_than_adding_up_gives() -> None:
    counts = np.random.default_rng(0).integers(0, 9, (3, PLACES)).astype(np.float64)
    exact = release_cumulative(RecordingMechanism(), counts, noise_multiplier=0.0, purpose="flips")
    assert np.allclose(exact, counts.cumsum(axis=1), atol=1e-3)
    noisy = [
        release_cumulative(Mechanism(Randomness.replay(seed)), counts, noise_multiplier=1.0, purpose="flips")
        for seed in range(200)
    ]
    spread = (np.array(noisy) - exact).std(axis=(0, 1))
    told = [running_deviation(PLACES, place) for place in (1, 20, PLACES)]
    assert [spread[place - 1] for place in (1, 20, PLACES)] == pytest.approx(told, rel=0.15)
    assert spread.max() < np.sqrt(PLACES) / 2


@pytest.mark.parametrize("notion", OneReleaseRecord.info.notions)
def test_flips_are_where_the_model_that_leaves_changes_its_decisions(notion: str) -> None:
    """Each row's decision at every place, from its flip, is that of the network with that place's weights."""
    data = ordinary(3)
    (fitted,) = train(METHOD, [data], [RecordingMechanism()], notion)
    counts = np.asarray(fitted.notes["counts"]).reshape(3, 2, 2)
    line = directions(counts, notions()[notion])
    assert line.any()
    chances = predict_proba(fitted.network.base, fitted.parameters, data.X)
    places, ones = find_flips(chances, line, METHOD.multiplier_max)
    assert (places < PLACES).any()
    for place in (0, 1, 20, 64, PLACES):
        weights = weigh(line, METHOD.multiplier_max * (place / PLACES) ** 2)
        network = dataclasses.replace(fitted.network, weights=tuple(weights.ravel().tolist()))
        decided = predict_proba(network, fitted.parameters, data.X)[:, 1] > 0.5
        told = np.where(places < place, ~ones, ones)
        assert (decided != told).mean() <= 0.002  # rounding where a chance is all but at the threshold


def test_without_noise_the_released_gap_is_that_of_the_training_rows() -> None:
    quiet = dataclasses.replace(METHOD, noise_counts=0.0, noise_flips=0.0, gap_target=0.05)
    data = make_data(n=2000)
    (fitted,) = train(quiet, [data], [RecordingMechanism()])
    decided = predict_proba(fitted.network, fitted.parameters, data.X)[:, 1] > 0.5
    rates = [decided[data.group == group].mean() for group in range(2)]
    (plain,) = train(dataclasses.replace(quiet, gap_target=1.0), [data], [RecordingMechanism()])
    first = predict_proba(plain.network, plain.parameters, data.X)[:, 1] > 0.5
    assert abs(rates[0] - rates[1]) == pytest.approx(fitted.notes["released_gaps"]["demographic_parity_gap"], abs=0.003)
    assert (decided == data.y).mean() == pytest.approx(fitted.notes["released_accuracy"]["accuracy"], abs=0.003)
    assert max(fitted.notes["released_gap_errors"].values()) < 1e-12, "without noise there is no error"
    assert abs(rates[0] - rates[1]) <= 0.053 < np.ptp([first[data.group == group].mean() for group in range(2)])


def test_released_numbers_have_the_errors_that_their_noise_gives_them() -> None:
    method = dataclasses.replace(METHOD, noise_counts=5.0, noise_flips=2.0)
    counts = np.array([[[300.0, 100.0], [90.0, 410.0]], [[260.0, 40.0], [200.0, 300.0]]])
    flips = np.zeros((2, 2, PLACES))
    flips[1, :, 20:] = 30.0
    draw, place = np.random.default_rng(3), 40
    found = []
    for _ in range(60):
        noisy = counts + draw.normal(scale=5.0, size=counts.shape)
        turned = flips + draw.normal(scale=2.0 * running_deviation(PLACES, place), size=(2, 2, 1))
        found.append(list_numbers(method, Told(np.zeros(1), noisy, turned), place, None))
    for number, error, name in (
        ("released_gaps", "released_gap_errors", "demographic_parity_gap"),
        ("released_accuracy", "released_accuracy_errors", "accuracy"),
    ):
        said = np.mean([each[error][name] for each in found])
        assert np.std([each[number][name] for each in found]) == pytest.approx(said, rel=0.35)


def test_a_constant_answer_that_is_right_more_often_is_the_model() -> None:
    data = make_data(n=600)
    lopsided = dataclasses.replace(data, y=(np.arange(600) % 10 > 0).astype(np.int64))  # labels that nothing tells
    hopeless = dataclasses.replace(METHOD, epochs=1, noise_primal=50.0, noise_counts=0.0, noise_flips=0.0)
    (fitted,) = train(hopeless, [lopsided], [RecordingMechanism()])
    assert fitted.notes["multiplier"] is None
    assert fitted.notes["released_gaps"]["demographic_parity_gap"] == 0.0
    assert fitted.notes["released_accuracy"]["accuracy"] == pytest.approx(lopsided.y.mean())
    assert (predict_proba(fitted.network, fitted.parameters, data.X)[:, 1] > 0.5).all()


def _fit(method: OneReleaseRecord, data: Dataset, mechanism: Mechanism, notion: str, given: Any = None) -> Fitted:
    return method.fit(data, Training(notions()[notion], 0, mechanism, Unwatched(), given=given))


def test_another_gap_is_free_on_the_release_of_an_earlier_run() -> None:
    data = ordinary(2)
    first = _fit(METHOD, data, RecordingMechanism(), "demographic_parity")
    other = dataclasses.replace(METHOD, gap_target=1.0)
    garbage, mechanism = make_data(n=data.n, seed=9), RecordingMechanism()
    again = _fit(other, garbage, mechanism, "demographic_parity", given=first.notes)
    assert not mechanism.releases and again.events == ()
    assert np.array_equal(again.parameters, first.parameters)
    assert again.notes["multiplier"] == 0.0 < first.notes["multiplier"]
    assert again.notes["shared_releases"] == first.notes["shared_releases"]
    with pytest.raises(BadInput, match="was made for demographic_parity, and says nothing about equalized_odds"):
        _fit(other, data, RecordingMechanism(), "equalized_odds", given=first.notes)
