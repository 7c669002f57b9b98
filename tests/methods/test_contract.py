"""What every method in the catalogue must do, run over the catalogue and the networks that each method takes."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator, Mapping
from itertools import pairwise

import numpy as np
import pytest
from _pytest.mark import ParameterSet

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.layers import LAYERED_KIND, LayeredShape
from fairpriv_core.engine.predict import needs_group, predict_proba
from fairpriv_core.engine.training import Fitted, Training, Unwatched
from fairpriv_core.errors import BadInput
from fairpriv_core.methods.base import Method, parameters
from fairpriv_core.methods.catalog import methods
from fairpriv_core.notions.catalog import notions
from fairpriv_core.privacy.accountants import epsilon
from fairpriv_core.privacy.event import merge
from fairpriv_core.privacy.mechanism import Mechanism
from fairpriv_core.privacy.randomness import Randomness
from fairpriv_core.privacy.sums import sensitivity
from fairpriv_core.report.styles import COLORS, DASHES, MARKERS
from tests.methods.examples.catalog import EXAMPLES, Make, cases, trains_network
from tests.methods.harness import RecordingMechanism, Watcher, make_data, make_three, shrink_network, train, with_group

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
    """Yield every case with every notion that its method takes of so many labels, off tables those that it pursues."""
    for case in cases:
        method, make = case.values
        taken = [name for name in method.info.notions if make(n=50).labels == 2 or not notions()[name].needs_positive]
        if make is not make_data and not method.info.pursues_notion:
            taken = taken[:1]
        yield from (pytest.param(method, make, notion, id=f"{case.id}-{notion}") for notion in taken)


def test_every_method_has_an_example() -> None:
    assert set(EXAMPLES) == set(methods())


@pytest.mark.parametrize(("method", "make", "notion"), list(_with_notions(NETWORKS)))
def test_fit_releases_what_was_announced_and_predicts_each_label(method: Method, make: Make, notion: str) -> None:
    data = make(n=300)  # of three labels and two groups each cell has the rows that it needs
    (fitted,) = train(method, [data], [RecordingMechanism()], notion=notion)
    assert set(merge(fitted.events)) == set(merge(method.event(data.n)))
    assert fitted.steps > 0
    assert np.isfinite(fitted.parameters).all()
    assert method.info.needs_group_at_prediction or not needs_group(fitted.network)
    probabilities = predict_proba(fitted.network, fitted.parameters, data.X, data.group)
    assert probabilities.shape == (data.n, data.labels) and np.allclose(probabilities.sum(axis=1), 1.0)
    if fitted.network["kind"] == LAYERED_KIND:
        shape = LayeredShape.from_json(fitted.network)
        assert (shape.outputs, shape.labels) == (1 if method.info.max_labels == 2 else data.labels, data.labels)


@pytest.mark.parametrize("method", [case for case in PRIVATE if "epochs" in parameters(case.values[0])])
def test_a_budget_suffices_for_a_single_epoch(method: Method) -> None:
    data = make_data()
    noises = {name: None for name in parameters(method) if name.startswith("noise_") or name == method.info.calibrates}
    once = dataclasses.replace(method, epochs=1, **noises).calibrated(epsilon=5.0, delta=1e-5, n_train=data.n)
    (fitted,) = train(once, [data], [RecordingMechanism()], notion=method.info.notions[0])
    assert set(merge(fitted.events)) == set(merge(once.event(data.n)))


@pytest.mark.parametrize("method", ALL)
def test_settings_are_checked_and_declared(method: Method) -> None:
    declared = parameters(method)
    assert set(declared) == {item.name for item in dataclasses.fields(method)}
    for name, (shown, item) in declared.items():
        assert shown.title
        assert shown.help.endswith(".")
        if shown.low is not None and item.default is not None:
            assert shown.low <= item.default <= (shown.high or item.default), name
    for bad in (-1, float("nan"), 0) if "learning_rate" in declared else ():
        with pytest.raises(BadInput, match=rf"learning_rate must be .*, got {bad}"):
            dataclasses.replace(method, learning_rate=bad)


@pytest.mark.parametrize("method", PRIVATE)
@pytest.mark.parametrize("target", [0.5, 3.0])
def test_calibration_meets_its_target(method: Method, target: float) -> None:
    blank = {name: None for name in parameters(method) if name.startswith("noise_") or name == method.info.calibrates}
    calibrated = dataclasses.replace(method, **blank).calibrated(epsilon=target, delta=1e-5, n_train=2000)
    if method.unproved_reason() is None:
        assert 0.99 * target <= epsilon(calibrated.event(2000), 1e-5) <= target
    else:
        claimed = calibrated.published_epsilon(2000, 1e-5)
        assert claimed == pytest.approx(target, rel=1e-3)
        assert claimed <= target


@pytest.mark.parametrize("method", ALL)
def test_sensitivities_are_stated_where_something_is_hidden(method: Method) -> None:
    stated = method.sensitivities(10_000, 2)
    assert bool(stated) == bool(method.info.threat_model)
    assert all(np.isfinite(sensitivity) and sensitivity > 0 for sensitivity in stated.values())


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
    large = dataclasses.replace(method, batch_size=1000)
    with pytest.raises(BadInput, match=r"batch_size must be at most the 200 training rows, got 1000\."):
        train(large, [make_data()], [RecordingMechanism()])


@pytest.mark.parametrize("name", OF_TWO_LABELS)
def test_more_labels_than_it_takes_are_refused(name: str) -> None:
    with pytest.raises(BadInput, match=rf"method '{name}' takes at most 2 labels, and 'small' has 3\."):
        train(EXAMPLES[name][0], [make_three()], [RecordingMechanism()])


@on_every_network
def test_k_models_equal_one_at_a_time(method: Method, make: Make) -> None:
    datasets = [make(n=200, seed=seed) for seed in (0, 1, 2)]
    together = train(method, datasets, [RecordingMechanism(seed=seed) for seed in (0, 1, 2)])
    for seed, (data, joint) in enumerate(zip(datasets, together, strict=True)):
        (alone,) = train(method, [data], [RecordingMechanism(seed=seed)])
        assert _distance(alone, joint) <= 1e-4
        assert alone.events == joint.events


@on_every_network
def test_a_resumed_fit_gives_the_same_bits(method: Method, make: Make) -> None:
    """From every checkpoint to the next one, and from every fifth and the last to the end, which nobody watches."""
    data, watcher = make(n=200), Watcher(frozenset(range(method.steps(200) + 1)))
    whole = _fit(method, data, Mechanism(Randomness.replay(5)), watcher)
    checkpoints = watcher.checkpoints
    for step, following in pairwise(checkpoints):
        resumed = Watcher(frozenset({following}), stop_at=following)
        with pytest.raises(InterruptedError):
            _fit(method, data, Mechanism.from_state(checkpoints[step]), resumed, checkpoints[step])
        for name, value in checkpoints[following].items():
            assert resumed.checkpoints[following][name].tobytes() == value.tobytes(), (step, name)
    for step in {*list(checkpoints)[::5], max(checkpoints)}:
        mechanism = Mechanism.from_state(checkpoints[step])
        ended = _fit(method, data, mechanism, Unwatched(), checkpoints[step])
        assert np.array_equal(ended.parameters, whole.parameters), step
        assert _described(ended) == _described(whole), step


@pytest.mark.parametrize("method", PRIVATE)
def test_the_same_public_seed_gives_different_noise(method: Method) -> None:
    data = make_data()
    first, second = (RecordingMechanism(), RecordingMechanism())
    train(method, [data, data], [first, second])
    pairs = zip(first.releases, second.releases, strict=True)
    assert not any(np.array_equal(one.out, other.out) for one, other in pairs)
    noise = [_added_noise(mechanism) for mechanism in (first, second)]
    if noise[0].size:
        assert abs(np.corrcoef(noise[0], noise[1])[0, 1]) < 5 / np.sqrt(len(noise[0]))


@pytest.mark.parametrize(("method", "make", "notion"), list(_with_notions(PROVES_FOR_GROUPS)))
def test_all_that_leaves_follows_from_the_releases(method: Method, make: Make, notion: str) -> None:
    """Record all mechanism outputs, replace the sensitive column by garbage, replay: the same bits come out."""
    data = make(groups=3, n=900)
    recorder = RecordingMechanism()
    (honest,) = train(method, [data], [recorder], notion=notion)
    garbage = with_group(data, np.random.default_rng(1).integers(0, 3, data.n))
    (replayed,) = train(method, [garbage], [RecordingMechanism(replayed=recorder.releases)], notion=notion)
    assert np.array_equal(honest.parameters, replayed.parameters)
    assert _described(honest) == _described(replayed)


@pytest.mark.parametrize(("method", "make"), PROVES_FOR_RECORDS)
def test_nothing_of_the_records_leaves_but_the_releases(method: Method, make: Make) -> None:
    """As above for whole records: every feature, label and group is garbage, the number of rows is not."""
    data, recorder = make(n=200), RecordingMechanism()
    (honest,) = train(method, [data], [recorder])
    garbage = make(n=200, seed=9)
    assert not np.array_equal(data.X, garbage.X)
    (replayed,) = train(method, [garbage], [RecordingMechanism(replayed=recorder.releases)])
    assert np.array_equal(honest.parameters, replayed.parameters)
    assert _described(honest) == _described(replayed)


@pytest.mark.parametrize("name", list(EXAMPLES))
def test_groups_matter_where_that_is_declared_and_nowhere_else(name: str) -> None:
    data = make_data()
    other = with_group(data, np.random.default_rng(1).integers(0, 2, data.n))
    matter = [
        _described(one) != _described(another) or not np.array_equal(one.parameters, another.parameters)
        for method in EXAMPLES[name]
        for one, another in zip(
            *(train(method, [each], [RecordingMechanism(seed=3)]) for each in (data, other)), strict=True
        )
    ]
    assert any(matter) == methods()[name].info.uses_groups


@pytest.mark.parametrize("name", list(methods()))
def test_figures_can_draw_it_and_tell_it_from_others(name: str) -> None:
    own = methods()[name].info.style
    assert own.color in COLORS and own.dash in DASHES and own.marker in MARKERS, "their names are in report/styles.py"
    others = {kind.info.style for other, kind in methods().items() if other != name}
    taken = {(other.dash, other.marker) for other in others}
    assert (own.dash, own.marker) not in taken, "another method has this dash and marker"


def _fit(
    method: Method,
    data: Dataset,
    mechanism: Mechanism,
    watcher: Watcher | Unwatched,
    checkpoint: Mapping[str, np.ndarray] | None = None,
) -> Fitted:
    notion = notions()[method.info.notions[0]]
    return method.fit(data, Training(notion, 0, mechanism, watcher, checkpoint))


def _described(fitted: Fitted) -> tuple[object, ...]:
    """Return what leaves a fit beside its parameters."""
    return fitted.network, fitted.notes, fitted.events, fitted.steps


def _added_noise(mechanism: RecordingMechanism) -> np.ndarray:
    """Return what was added to each release, over its bound; randomised response has no bound and adds nothing."""
    added = [(release.out - release.value) / release.bound for release in mechanism.releases if release.bound]
    return np.concatenate(added) if added else np.empty(0)


def _distance(one: Fitted, other: Fitted) -> float:
    return float(np.linalg.norm(one.parameters - other.parameters) / np.linalg.norm(one.parameters))


def test_every_release_of_a_mechanism_is_recorded() -> None:
    verbs = {name for name, verb in vars(Mechanism).items() if inspect.isfunction(verb) and not name.startswith("_")}
    assert verbs <= set(vars(RecordingMechanism)) and "noisy_max" in verbs
