"""FairDP's looks: what they release, when training ends, what leaves then, and that the planned length is paid for."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from fairpriv_core.engine.predict import decisions
from fairpriv_core.engine.training import Fitted, Training, Unwatched
from fairpriv_core.errors import BadInput
from fairpriv_core.methods.fairdp_certified import FairDpCertified
from fairpriv_core.methods.shared.certificate_looks import list_looks
from fairpriv_core.notions.catalog import notions
from fairpriv_core.notions.certified import certify_gaps
from fairpriv_core.notions.rates import count_cells
from fairpriv_core.privacy.accountants import epsilon
from fairpriv_core.privacy.event import Gaussian
from fairpriv_core.privacy.mechanism import Mechanism
from fairpriv_core.records.config import build_config
from fairpriv_core.records.plan import DatasetCache, plan_run
from tests.methods.harness import RecordingMechanism, Watcher, make_data, train

DATA = make_data(n=400)
PLAIN = FairDpCertified(
    epochs=6,
    batch_size=100,
    clip_primal=1.0,
    ensemble=4,
    hidden_layers=0,
    weight_bound=5.0,
    learning_rate=2.0,
    noise_primal=0.2,
    noise_counts=1.0,
)
LOOKING = dataclasses.replace(PLAIN, certificate_target=0.99, looks=2, noise_looks=0.8)
STEPS = 4  # an epoch


def run(method: FairDpCertified, **how: Any) -> tuple[Any, RecordingMechanism]:
    mechanism = RecordingMechanism(seed=3, **how)
    (fitted,) = train(method, [DATA], [mechanism])
    return fitted, mechanism


def looked(mechanism: RecordingMechanism) -> list[Any]:
    return [release for release in mechanism.releases if release.index[0] == "looks"]


def ending_at(place: int) -> FairDpCertified:
    """Return a method whose first look with too large a bound is at `place`."""
    bounds = run(LOOKING)[0].notes["looks"]["bounds"]
    target = bounds[place] - 1e-6
    assert all(bound <= target for bound in bounds[:place]), "the data make no such run"
    return dataclasses.replace(LOOKING, certificate_target=target)


def test_looks_divide_the_epochs_evenly_and_none_is_at_the_end() -> None:
    assert list_looks(PLAIN) == ()
    assert list_looks(LOOKING) == (2, 4)
    for looks in (5, 6, 100):
        many = dataclasses.replace(LOOKING, looks=looks)
        assert list_looks(many) == (1, 2, 3, 4, 5) and Gaussian(0.8, 5) in many.event(400)
    assert list_looks(dataclasses.replace(LOOKING, epochs=1)) == ()


def test_a_look_releases_the_models_decisions_by_group_and_label() -> None:
    fitted, mechanism = run(LOOKING)
    first, second = looked(mechanism)
    assert [first.index, second.index] == [("looks", 0), ("looks", 1)] and first.bound == 1.0
    assert first.value.sum() == second.value.sum() == DATA.n
    early = ending_at(0)
    model, _ = run(early)
    made = decisions(model.network, model.parameters, DATA)
    assert np.array_equal(first.value, count_cells(made, DATA.y, DATA.group, DATA.groups).ravel())
    bound = certify_gaps(first.out.reshape(-1, 2, 2), 0.8, failure=PLAIN.failure)["bounds"]["demographic_parity"]
    assert fitted.notes["looks"]["bounds"][0] == bound


def test_a_record_moves_one_count_of_a_look_by_one() -> None:
    _, base = run(LOOKING)
    for row in (0, 7, 300):
        group, y = DATA.group.copy(), DATA.y.copy()
        group[row], y[row] = 1 - group[row], 1 - y[row]
        other = dataclasses.replace(DATA, group=group, y=y)
        mechanism = RecordingMechanism(replayed=base.releases)
        train(LOOKING, [other], [mechanism])
        for whole, release in zip(looked(base), looked(mechanism), strict=True):
            moved = release.value - whole.value
            assert sorted(moved[moved != 0].tolist()) == [-1.0, 1.0]  # its own contribution, before and after


def test_when_training_ends_follows_from_what_was_released_alone() -> None:
    """The same releases on other people's data: the run ends at the same look with the same model."""
    method = ending_at(1)
    fitted, base = run(method)
    garbage = dataclasses.replace(DATA, group=(np.arange(DATA.n) % 3 == 0).astype(DATA.group.dtype), y=1 - DATA.y)
    mechanism = RecordingMechanism(replayed=base.releases)
    (other,) = train(method, [garbage], [mechanism])
    assert other.notes["looks"] == fitted.notes["looks"] and other.steps == fitted.steps
    assert np.array_equal(other.parameters, fitted.parameters)


@pytest.mark.parametrize("place", [0, 1])
def test_training_ends_at_the_first_look_with_too_large_a_bound(place: int) -> None:
    method = ending_at(place)
    fitted, mechanism = run(method)
    notes = fitted.notes["looks"]
    after = (2, 4)[place]
    assert (notes["ended_after"], notes["exported_after"]) == (after, 2) and fitted.steps == after * STEPS
    assert len(looked(mechanism)) == place + 1 and "randomised" not in fitted.notes
    sums = [release for release in mechanism.releases if release.kind == "sum"]
    assert len(sums) == after * STEPS * DATA.groups, "no step is taken after the end"


def test_the_model_of_the_look_before_is_exported() -> None:
    """Both end, at the first and at the second look; the second goes back to the model that the first exports."""
    assert np.array_equal(run(ending_at(0))[0].parameters, run(ending_at(1))[0].parameters)


def test_a_run_that_ends_states_its_planned_length() -> None:
    for method in (ending_at(0), ending_at(1), LOOKING):
        fitted, _ = run(method)
        assert fitted.events == method.event(DATA.n) and Gaussian(0.8, 2) in fitted.events
        assert fitted.steps <= method.steps(DATA.n)


def test_a_model_that_ends_leaves_those_that_train_with_it_alone() -> None:
    methods = [ending_at(0), LOOKING, PLAIN]
    notion = notions()["demographic_parity"]

    def fit(methods: list[FairDpCertified]) -> list[Fitted]:
        each = [Training(notion, 0, RecordingMechanism(seed=3), Unwatched()) for _ in methods]
        return FairDpCertified.fit_many(methods, [DATA] * len(methods), each)

    for method, found in zip(methods, fit(methods), strict=True):
        (alone,) = fit([method])
        assert np.allclose(found.parameters, alone.parameters, atol=1e-5)
        assert (found.steps, found.notes, found.events) == (alone.steps, alone.notes, alone.events)


@pytest.mark.parametrize("place", [0, 1])
def test_a_resumed_run_ends_at_the_same_look_with_the_same_bits(place: int) -> None:
    method, notion = ending_at(place), notions()["demographic_parity"]
    watcher = Watcher(frozenset(range(1, 6 * STEPS)))
    whole = method.fit(DATA, Training(notion, 0, RecordingMechanism(seed=3), watcher))
    assert whole.notes["looks"]["ended_after"] == (2, 4)[place] and max(watcher.checkpoints) == whole.steps
    for checkpoint in watcher.checkpoints.values():
        again = Training(notion, 0, Mechanism.from_state(checkpoint), Unwatched(), checkpoint)
        resumed = method.fit(DATA, again)
        assert np.array_equal(resumed.parameters, whole.parameters)
        assert (resumed.notes, resumed.steps, resumed.events) == (whole.notes, whole.steps, whole.events)


def test_calibration_meets_epsilon_with_all_looks() -> None:
    asked = dataclasses.replace(LOOKING, noise_primal=None, noise_counts=None, noise_looks=None)
    ready = asked.calibrated(epsilon=1.0, delta=1e-5, n_train=400)
    assert epsilon(ready.event(400), 1e-5) == pytest.approx(1.0, rel=1e-3)
    plain = dataclasses.replace(asked, certificate_target=None).calibrated(epsilon=1.0, delta=1e-5, n_train=400)
    assert ready.noise() > plain.noise() and plain.noise_looks is None


def test_runs_without_a_target_look_at_nothing() -> None:
    fitted, mechanism = run(PLAIN)
    assert "looks" not in fitted.notes and not looked(mechanism)


def test_what_cannot_be_looked_at_is_refused() -> None:
    for setting, message in [
        ({"variant": "published"}, "needs variant=proved"),
        ({"looks": 0}, "looks"),
        ({"certificate_target": 0.0}, "certificate_target"),
        ({"share_looks": 1.0}, "share_looks"),
        ({"noise_looks": -1.0}, "noise_looks"),
    ]:
        with pytest.raises(BadInput, match=message):
            dataclasses.replace(LOOKING, **setting)


def test_a_target_that_no_look_can_be_below_is_refused_before_launch() -> None:
    """By public numbers alone; the best counts that there can be are just not refused."""
    for name, cells in (("demographic_parity", (0, 1)), ("equal_opportunity", (1,)), ("equalized_odds", (0, 1))):
        best = np.zeros((2, 2, 2))
        best[:, cells, 0] = 400 / (2 * len(cells))
        bound = certify_gaps(best, 0.8, failure=PLAIN.failure)["bounds"][name]
        notion, asked = notions()[name], {"n_train": 400, "groups": 2}
        dataclasses.replace(LOOKING, certificate_target=bound).require_possible(notion, **asked)
        with pytest.raises(BadInput, match=r"must be at least 0\.[0-9]+ here, got .* on 400 training rows in 2 groups"):
            dataclasses.replace(LOOKING, certificate_target=0.99 * bound).require_possible(notion, **asked)
    hopeless = {"data": {"dataset": "synthetic", "sensitive": "group"}, "notion": "demographic_parity", "epsilon": 1.0}
    config = build_config({**hopeless, "method": {"name": "fairdp_certified", "certificate_target": 0.001}})
    with pytest.raises(BadInput, match="no look on 6,000 training rows"):
        plan_run(config, "key", datasets=DatasetCache(), find_record=lambda key: {})
