"""What a method declares that it releases: what follows from it, and what is refused."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from fairpriv_core.engine.training import Training, Unwatched
from fairpriv_core.errors import BadInput, FairprivError
from fairpriv_core.methods.catalog import methods
from fairpriv_core.methods.dp_fermi_record import DpFermiRecord
from fairpriv_core.methods.dp_is_sgd import DpIsSgd
from fairpriv_core.methods.dp_sgd import DpSgd
from fairpriv_core.methods.fairdp_certified import FairDpCertified
from fairpriv_core.methods.fairlens import FairLens
from fairpriv_core.methods.pf_ld import PfLd
from fairpriv_core.methods.shared.releases import Private, Release
from fairpriv_core.notions.catalog import notions
from fairpriv_core.privacy.event import Gaussian, Laplace, Parallel, SampledGaussian
from fairpriv_core.privacy.gaussian import gaussian_mu
from fairpriv_core.privacy.mechanism import Mechanism
from fairpriv_core.privacy.randomness import Randomness
from fairpriv_core.privacy.sums import sensitivity
from tests.methods.harness import RecordingMechanism, make_data, train

PF_LD = PfLd(epochs=4, batch_size=50, noise_primal=2.0, noise_dual=3.0, noise_counts=5.0)
OF_PRIVATE = [name for name, kind in methods().items() if issubclass(kind, Private)]


def training_with(mechanism: Mechanism) -> Training:
    return Training(notions()["demographic_parity"], 0, mechanism, Unwatched())


def test_each_release_is_an_event_of_its_kind_in_order() -> None:
    steps = SampledGaussian(2.0, PF_LD.rate(2000), PF_LD.steps(2000) // 4 * 3, "replace")
    assert PF_LD.event(2000) == (Gaussian(5.0), Gaussian(3.0, 3), steps)
    published = FairDpCertified(variant="published", batch_size=50, noise_primal=1.5, noise_certificate=2.0)
    of_a_part, certificate = published.event(5000)
    assert isinstance(of_a_part, Parallel) and certificate == Laplace(2.0)


def test_what_settings_do_not_need_is_no_event_and_cannot_be_released() -> None:
    idle, data = dataclasses.replace(PF_LD, multiplier_max=0.0), make_data()
    assert idle.event(2000) == (Gaussian(5.0),)
    mechanism = Mechanism(Randomness.replay(0))
    with pytest.raises(FairprivError, match="pf_ld has not declared that it releases 'dual'"):
        idle.release("dual", np.zeros(2), data, training_with(mechanism), sensitivity=1.0)
    assert mechanism.events == ()


@pytest.mark.parametrize(("name", "how"), [("groups", {"sensitivity": 1.0}), ("primal", {"sensitivity": 1.0})])
def test_what_is_not_declared_as_a_function_of_all_rows_is_refused(name: str, how: dict[str, Any]) -> None:
    with pytest.raises(FairprivError, match=f"has not declared that it releases '{name}'"):
        PF_LD.release(name, np.zeros(2), make_data(), training_with(Mechanism(Randomness.replay(0))), **how)


def test_a_release_of_which_no_sensitivity_is_declared_needs_one() -> None:
    method = FairDpCertified(variant="published", batch_size=50, noise_primal=1.5, noise_certificate=2.0)
    with pytest.raises(FairprivError, match="how far one moves it"):
        method.release("certificate", np.zeros(2), make_data(), training_with(Mechanism(Randomness.replay(0))))


def test_the_mechanism_is_told_what_is_declared() -> None:
    recorder, data = RecordingMechanism(), make_data()
    PF_LD.release("counts", np.array([90.0, 110.0]), data, training_with(recorder))
    assert recorder.events == (Gaussian(5.0),)
    assert recorder.releases[0].bound == PF_LD.sensitivities(data.n, data.groups)["counts"] == np.sqrt(2.0)


def test_a_step_is_clipped_and_noised_as_declared() -> None:
    class Shorter(DpSgd):
        def releases(self, n_train: int, groups: int) -> tuple[Release, ...]:
            return (self.step_sum(n_train, 0.25),)

    recorder = RecordingMechanism()
    train(Shorter(epochs=1, batch_size=50, noise_primal=1.0, clip_primal=2.0), [make_data()], [recorder])
    assert {release.bound for release in recorder.releases} == {sensitivity(0.25)}


@pytest.mark.parametrize("name", OF_PRIVATE)
def test_shares_of_the_budget_are_spent_as_declared(name: str) -> None:
    """Each release that has a share has it of mu^2; what is set by hand stays."""
    method: Any = methods()[name]()
    ready, mu = method.calibrated(epsilon=1.0, delta=1e-5, n_train=20_000), gaussian_mu(1.0, 1e-5)
    for each in ready.releases(20_000, 2):
        if each.share is not None and each.made:
            spent = each.times / getattr(ready, each.noise) ** 2
            assert spent == pytest.approx(getattr(ready, each.share) * mu**2), each.name
            kept = dataclasses.replace(method, **{each.noise: 77.0})
            assert getattr(kept.calibrated(epsilon=1.0, delta=1e-5, n_train=20_000), each.noise) == 77.0


@pytest.mark.parametrize("name", OF_PRIVATE)
def test_how_many_groups_there_are_changes_no_event(name: str) -> None:
    method: Any = methods()[name]()
    ready = method.calibrated(epsilon=1.0, delta=1e-5, n_train=20_000)
    of_five = tuple(each.event(ready) for each in ready.releases(20_000, 5) if each.made)
    assert of_five == ready.event(20_000)


def test_noise_of_what_is_never_released_is_not_set() -> None:
    once = FairLens(epochs=1).calibrated(epsilon=1.0, delta=1e-5, n_train=20_000)
    assert once.noise_statistics is None and len(once.event(20_000)) == 1


def test_what_is_never_released_has_no_sensitivity() -> None:
    assert set(DpIsSgd().sensitivities(20_000, 2)) == {"gradients", "counts"}
    assert set(DpIsSgd(variant="published").sensitivities(20_000, 2)) == {"gradients"}, "sizes are read in clear"
    assert set(DpFermiRecord(multiplier=0.0).sensitivities(20_000, 2)) == {"primal"}
    assert PfLd(multiplier_max=0.0).sensitivities(20_000, 2).keys() <= {"counts"}


def test_noise_that_is_set_by_hand_and_costs_more_than_epsilon_is_refused_where_no_other_noise_is_left_to_set() -> None:
    idle = PfLd(multiplier_max=0.0, gap_target=None, noise_counts=2.0)
    with pytest.raises(BadInput, match="already costs that much"):
        idle.calibrated(epsilon=1.0, delta=1e-5, n_train=20_000)
    assert idle.calibrated(epsilon=2.5, delta=1e-5, n_train=20_000).noise_primal is None
