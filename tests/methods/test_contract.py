"""What every method in the catalogue must do, run over the catalogue and the networks that each method takes.

The parts are those that `fairpriv check-plugin` asks of other packages' methods: fairpriv_core/audit/contract.py.
"""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator

import numpy as np
import pytest
from _pytest.mark import ParameterSet

from fairpriv_core.audit import contract, observe
from fairpriv_core.engine.networks import MLP
from fairpriv_core.methods.base import Method, parameters
from fairpriv_core.methods.catalog import methods
from fairpriv_core.methods.declaration import check_declaration
from fairpriv_core.methods.fields import network_of
from fairpriv_core.privacy.mechanism import Mechanism
from fairpriv_core.privacy.sums import sensitivity
from tests.methods.examples.catalog import EXAMPLES, Make, cases, trains_network
from tests.methods.harness import RecordingMechanism, make_data, shrink_network, train, with_group

ALL = [pytest.param(method, id=f"{name}-{i}") for name, each in EXAMPLES.items() for i, method in enumerate(each)]
PRIVATE = [case for case in ALL if case.values[0].info.threat_model]
NETWORKS = list(cases())
PROVED = [case for case in NETWORKS if case.values[0].unproved_reason() is None]
PROVES_FOR_GROUPS = [case for case in PROVED if case.values[0].info.threat_model == "attribute"]
PROVES_FOR_RECORDS = [case for case in PROVED if case.values[0].info.threat_model == "record"]
OF_TWO_LABELS = [name for name, kind in methods().items() if kind.info.max_labels is not None]
on_every_network = pytest.mark.parametrize(("method", "make"), NETWORKS)


@pytest.fixture(autouse=True)
def small_network(monkeypatch: pytest.MonkeyPatch) -> None:
    """Train small convolutional networks."""
    shrink_network(monkeypatch)


def _with_notions(cases: list[ParameterSet]) -> Iterator[ParameterSet]:
    """Yield every case with every notion that it is to be tried with; other networks than an mlp with one at first."""
    for case in cases:
        method, make = case.values
        for place, notion in enumerate(contract.list_notions(method, make)):
            marks = pytest.mark.long if place and network_of(method) != MLP else ()
            yield pytest.param(method, make, notion, id=f"{case.id}-{notion}", marks=marks)


def test_every_method_has_an_example() -> None:
    assert set(EXAMPLES) == set(methods())


@pytest.mark.parametrize("name", list(methods()))
def test_every_method_declares_itself(name: str) -> None:
    check_declaration(name, methods()[name])


@pytest.mark.parametrize(("method", "make", "notion"), list(_with_notions(NETWORKS)))
def test_fit_releases_what_was_announced_and_predicts_each_label(method: Method, make: Make, notion: str) -> None:
    contract.check_releases(method, make, notion)


@pytest.mark.parametrize("method", [case for case in PRIVATE if "epochs" in parameters(case.values[0])])
def test_a_budget_suffices_for_a_single_epoch(method: Method) -> None:
    contract.check_single_epoch(method)


@pytest.mark.parametrize("method", ALL)
def test_settings_are_checked_and_declared(method: Method) -> None:
    contract.check_settings(method)


@pytest.mark.parametrize("method", PRIVATE)
@pytest.mark.parametrize("target", contract.TARGETS)
def test_calibration_meets_its_target(method: Method, target: float) -> None:
    contract.check_calibration(method, target)


@pytest.mark.parametrize("method", ALL)
def test_sensitivities_are_stated_where_something_is_hidden(method: Method) -> None:
    contract.check_sensitivities_stated(method)


def test_the_stated_sensitivity_is_what_the_mechanism_is_told() -> None:
    """With two groups of one size, multipliers at +-lambda_max and no count noise to speak of."""
    quiet = {"noise_counts": 0.01, "noise_dual": 0.001}
    method = dataclasses.replace(EXAMPLES["pf_ld"][0], epochs=3, dual_step=1e6, multiplier_max=1.5, **quiet)
    data = make_data()
    half = with_group(data, np.argsort(np.argsort(data.X[:, 0])) >= data.n // 2)
    recorder = RecordingMechanism()
    train(method, [half], [recorder])
    told = {release.kind: release.bound for release in recorder.releases}
    stated = method.sensitivities(data.n, 2)
    assert told == {
        "sum": pytest.approx(sensitivity(stated["primal"]), rel=1e-3),
        "gaussian": pytest.approx(stated["dual"], rel=1e-3),
    }


@pytest.mark.parametrize(
    "method", [case for case in ALL if "batch_size" in parameters(case.values[0]) and trains_network(case.values[0])]
)
def test_a_batch_larger_than_the_data_is_refused(method: Method) -> None:
    contract.check_large_batch(method)


@pytest.mark.parametrize("name", OF_TWO_LABELS)
def test_more_labels_than_it_takes_are_refused(name: str) -> None:
    contract.check_many_labels(EXAMPLES[name][0])


@on_every_network
def test_k_models_equal_one_at_a_time(method: Method, make: Make) -> None:
    contract.check_together(method, make)


@on_every_network
def test_a_resumed_fit_gives_the_same_bits(method: Method, make: Make) -> None:
    contract.check_resume(method, make)


@pytest.mark.parametrize("method", PRIVATE)
def test_the_same_public_seed_gives_different_noise(method: Method) -> None:
    contract.check_fresh_noise(method)


@pytest.mark.parametrize(("method", "make", "notion"), list(_with_notions(PROVES_FOR_GROUPS)))
def test_all_that_leaves_follows_from_the_releases(method: Method, make: Make, notion: str) -> None:
    contract.check_replay(method, make, notion)


@pytest.mark.parametrize(("method", "make"), PROVES_FOR_RECORDS)
def test_nothing_of_the_records_leaves_but_the_releases(method: Method, make: Make) -> None:
    contract.check_replay(method, make, method.info.notions[0])


@pytest.mark.parametrize("name", list(EXAMPLES))
def test_groups_matter_where_that_is_declared_and_nowhere_else(name: str) -> None:
    contract.check_groups(EXAMPLES[name])


@pytest.mark.parametrize("name", list(methods()))
def test_figures_can_tell_it_from_others(name: str) -> None:
    contract.check_style(methods()[name].info, [kind.info for kind in methods().values()])


@pytest.mark.parametrize("recording", [RecordingMechanism, observe.RecordingMechanism, observe.ReplayingMechanism])
def test_every_release_of_a_mechanism_is_recorded(recording: type[Mechanism]) -> None:
    verbs = {name for name, verb in vars(Mechanism).items() if inspect.isfunction(verb) and not name.startswith("_")}
    assert verbs <= set(vars(recording)) and "noisy_max" in verbs
