"""FairDP with certificates: what reaches the mechanism, one step by hand, and certificates that hold."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from itertools import product

import numpy as np
import pytest

from fairpriv_core.data.dataset import Dataset, split_dataset
from fairpriv_core.engine.predict import decisions
from fairpriv_core.engine.training import Fitted, Training, Unwatched
from fairpriv_core.errors import BadInput, RunFailed
from fairpriv_core.methods.fairdp_certified import FairDpCertified
from fairpriv_core.methods.shared.certificates import positive_probabilities, worst_case_bound
from fairpriv_core.notions.catalog import notions
from fairpriv_core.notions.rates import count_cells
from fairpriv_core.privacy.accountants import epsilon
from fairpriv_core.privacy.event import Gaussian, Parallel, SampledGaussian
from fairpriv_core.privacy.mechanism import Mechanism
from fairpriv_core.privacy.sums import sensitivity
from fairpriv_core.runs.certificate import certify_exported
from fairpriv_core.runs.execute import evaluate_privately
from tests.methods.harness import RecordingMechanism, Release, Watcher, make_data, train, with_group

MODELS = 8
METHOD = FairDpCertified(
    epochs=3,
    batch_size=100,
    clip_primal=0.2,
    ensemble=5,
    hidden_layers=1,
    width=5,
    weight_bound=2.0,
    noise_primal=1.0,
    noise_counts=1.0,
)
LINEAR = dataclasses.replace(METHOD, hidden_layers=0, weight_bound=100.0)


def _huge(groups: int) -> Dataset:
    data = make_data(n=400, groups=groups)
    sign = np.where(np.arange(400) % 2, 1.0, -1.0).astype(np.float32)
    return dataclasses.replace(data, X=data.X * 0 + 60.0 * sign[:, None], group=np.arange(400) % groups)


def _sums_of_single_records(method: FairDpCertified, data: Dataset) -> list[tuple[int, Release]]:
    """Replay a run with samples of one record: what reaches the mechanism is that record, relative to its absence."""
    base = RecordingMechanism()
    train(method, [data], [base])
    order = np.random.default_rng(2).permutation(data.n)
    found: list[tuple[int, Release]] = []
    for start in range(0, 3 * MODELS, MODELS):

        def row(epoch: int, step: int, k: int, start: int = start) -> np.ndarray:
            return order[[(start + k + 24 * (epoch * 4 + step)) % data.n]]

        mechanisms = [
            RecordingMechanism(forced=lambda epoch, step, k=k: row(epoch, step, k), replayed=base.releases)
            for k in range(MODELS)
        ]
        train(method, [data] * MODELS, mechanisms)
        for k, mechanism in enumerate(mechanisms):
            for release in mechanism.releases:
                if release.kind == "sum":
                    found.append((int(row(*divmod(release.index[1], 4), k)[0]), release))
    return found


@pytest.mark.parametrize("method", [METHOD, LINEAR], ids=["deep", "linear"])
@pytest.mark.parametrize("data", [make_data(n=400, groups=3), _huge(2)], ids=["three groups", "huge"])
def test_a_record_adds_at_most_c_and_only_to_its_own_group(method: FairDpCertified, data: Dataset) -> None:
    found = _sums_of_single_records(method, data)
    assert len(found) == 3 * MODELS * 12 * data.groups
    largest = 0.0
    for row, release in found:
        size = float(np.linalg.norm(release.value))
        assert release.bound == sensitivity(method.clip_primal)
        assert size <= release.bound
        assert (size > 0) <= (release.index[0] == str(data.group[row]))
        largest = max(largest, size)
    assert largest > 0.99 * method.clip_primal


def test_one_step_is_the_mean_of_the_groups_mean_gradients() -> None:
    """Everyone sampled, no noise, no clipping: theta_1 = -eta / K sum_k mean of group k's gradients at 0."""
    data = make_data(n=300, groups=3)
    method = dataclasses.replace(
        LINEAR, epochs=1, batch_size=300, clip_primal=100.0, noise_primal=0.0, noise_counts=0.0, learning_rate=0.7
    )
    (fitted,) = train(method, [data], [RecordingMechanism()])
    rows = np.column_stack([data.X, np.ones(data.n)])
    gradients = (0.5 - data.y)[:, None] * rows
    means = np.stack([gradients[data.group == g].mean(axis=0) for g in range(3)])
    assert np.allclose(fitted.parameters, -0.7 * means.mean(axis=0), atol=1e-5)


def _descend(data: Dataset, rates: Sequence[float], optimizer: str) -> np.ndarray:
    """Return by hand what full batches without noise or clipping come to: one step a rate, the last one plain."""
    rows = np.column_stack([data.X.astype(np.float64), np.ones(data.n)])
    theta, mean, square = np.zeros(rows.shape[1]), 0.0, 0.0
    for t, rate in enumerate(rates, 1):
        residuals = (1.0 / (1.0 + np.exp(-rows @ theta)) - data.y)[:, None] * rows
        gradient = np.stack([residuals[data.group == g].mean(axis=0) for g in range(data.groups)])
        if optimizer != "adam_by_group":
            gradient = gradient.mean(axis=0, keepdims=True)
        mean, square = 0.9 * mean + 0.1 * gradient, 0.999 * square + 0.001 * gradient**2
        moved = mean / (1.0 - 0.9**t) / (np.sqrt(square / (1.0 - 0.999**t)) + 1e-8)
        theta = theta - rate * (gradient if optimizer == "sgd" or t == len(rates) else moved).mean(axis=0)
    return np.asarray(theta)


def test_steps_are_those_by_hand_and_the_last_one_is_plain() -> None:
    for optimizer in FairDpCertified.OPTIMIZERS:
        for schedule, factors in [
            ("constant", [1.0] * 5),
            ("halved", [1.0, 1.0, 1.0, 0.5, 0.5]),
            ("inverse_sqrt", [1.0, 2**-0.5, 3**-0.5, 0.5, 5**-0.5]),
        ]:
            data = make_data(n=300, groups=3)
            exact = {"clip_primal": 100.0, "noise_primal": 0.0, "noise_counts": 0.0, "learning_rate": 0.3}
            method = dataclasses.replace(
                LINEAR, epochs=5, batch_size=300, optimizer=optimizer, schedule=schedule, **exact
            )
            (fitted,) = train(method, [data], [RecordingMechanism()])
            expected = _descend(data, [0.3 * factor for factor in factors], optimizer)
            assert fitted.parameters == pytest.approx(expected, abs=1e-4)
            assert method.last_rate(300) == 0.3 * factors[-1]


@pytest.mark.parametrize("optimizer", ["adam", "adam_by_group"])
def test_under_adam_the_last_step_moves_the_scoring_layer_alone(optimizer: str) -> None:
    """Adam's moments would move the features on, which the paper's argument takes as fixed."""
    method = dataclasses.replace(METHOD, optimizer=optimizer)
    notion, watcher = notions()[method.info.notions[0]], Watcher(commits=frozenset({10, 11}))
    fitted = method.fit(make_data(n=400), Training(notion, 0, RecordingMechanism(), watcher))
    before, earlier = (watcher.checkpoints[step]["parameters"] for step in (11, 10))
    assert fitted.steps == 12 and not np.array_equal(before[:-6], earlier[:-6])
    assert np.array_equal(fitted.parameters[:-6], before[:-6])
    assert not np.array_equal(fitted.parameters[-6:], before[-6:])


@pytest.mark.parametrize("step", [5, 10])
def test_adams_of_groups_go_on_from_a_checkpoint_to_the_same_bits(step: int) -> None:
    method = dataclasses.replace(METHOD, optimizer="adam_by_group")
    data, notion = make_data(n=400, groups=3), notions()[method.info.notions[0]]
    watcher = Watcher(commits=frozenset({step}))
    whole = method.fit(data, Training(notion, 0, RecordingMechanism(seed=3), watcher))
    checkpoint = watcher.checkpoints[step]
    again = method.fit(data, Training(notion, 0, Mechanism.from_state(checkpoint), Unwatched(), checkpoint))
    assert np.array_equal(whole.parameters, again.parameters) and whole.events == again.events


@pytest.mark.parametrize("variant", ["proved", "published"])
@pytest.mark.parametrize(
    ("optimizer", "schedule"), [("adam", "halved"), ("adam_by_group", "halved"), ("sgd", "inverse_sqrt")]
)
def test_no_optimizer_or_schedule_changes_what_is_released(variant: str, optimizer: str, schedule: str) -> None:
    blank = dataclasses.replace(METHOD, variant=variant, noise_primal=None, noise_counts=None)
    plain = blank.calibrated(epsilon=1.0, delta=1e-5, n_train=400)
    other = dataclasses.replace(blank, optimizer=optimizer, schedule=schedule)
    other = other.calibrated(epsilon=1.0, delta=1e-5, n_train=400)
    assert other.event(400) == plain.event(400)
    assert other.published_epsilon(400, 1e-5) == plain.published_epsilon(400, 1e-5)
    models = [train(method, [make_data(n=400)], [RecordingMechanism()])[0] for method in (plain, other)]
    assert models[0].events == models[1].events
    assert not np.allclose(models[0].parameters, models[1].parameters)


def test_the_papers_certificates_have_the_last_steps_rate() -> None:
    data = with_group(make_data(n=400), np.arange(400) % 2)
    exact = dataclasses.replace(METHOD, noise_counts=0.0, noise_certificate=1.0, noise_primal=50.0, weight_bound=0.01)
    method = dataclasses.replace(exact, learning_rate=0.2, schedule="halved")
    (fitted,) = train(method, [data], [RecordingMechanism()])
    deviation = 0.1 * 50.0 * method.clip_primal / 2 * np.sqrt(2 / 10.0**2)  # micro-batches of 100 / 2 / 5 rows
    assert fitted.notes["randomised"]["spread"] == pytest.approx(deviation, rel=0.005)
    (fitted,) = train(dataclasses.replace(method, variant="published"), [data], [RecordingMechanism()])
    bound = worst_case_bound(0.01 + 0.1 * method.clip_primal, deviation) + 1 / np.sqrt(5)
    assert fitted.notes["certificates"]["theorem_2"] == pytest.approx(bound) and bound < 1.0


def test_under_adam_the_papers_certificates_say_that_the_last_step_was_plain() -> None:
    cases = product((("certificates", "published"), ("randomised", "proved")), ("adam", "adam_by_group"))
    for (name, variant), optimizer in cases:
        method = dataclasses.replace(METHOD, variant=variant, optimizer=optimizer, noise_certificate=1.0)
        (fitted,) = train(method, [make_data(n=400)], [RecordingMechanism()])
        assert "all steps were Adam's but for a plain last one" in fitted.notes[name]["about"]


def test_the_scoring_layer_is_bounded_before_each_step() -> None:
    data = make_data(n=400)
    method = dataclasses.replace(METHOD, weight_bound=0.05, learning_rate=0.01, noise_primal=0.0)
    (fitted,) = train(method, [data], [RecordingMechanism()])
    last_step = 0.01 * method.clip_primal * 2  # no mean gradient is longer than C, sampling apart
    assert np.linalg.norm(fitted.parameters[-6:]) <= 0.05 + last_step


def test_groups_are_counted_in_parallel_and_epsilon_is_one_group_s() -> None:
    blank = dataclasses.replace(METHOD, noise_primal=None, noise_counts=None)
    method = blank.calibrated(epsilon=1.0, delta=1e-5, n_train=5000)
    counts, steps = method.event(5000)
    assert isinstance(counts, Gaussian)
    assert isinstance(steps, Parallel)
    ((one,),) = steps.branches
    assert isinstance(one, SampledGaussian)
    assert epsilon((counts, one), 1e-5) == epsilon(method.event(5000), 1e-5)


def test_a_vanishing_group_ends_the_run_with_its_name() -> None:
    data = with_group(make_data(n=400), np.arange(400) < 5)
    with pytest.raises(RunFailed, match=r"group 'B' has about -?\d+ training rows \(a noisy count\)"):
        train(METHOD, [data], [RecordingMechanism()])
    with pytest.raises(BadInput, match=r"share_counts must .*got 1\.1"):
        dataclasses.replace(METHOD, share_counts=1.1)
    with pytest.raises(BadInput, match="optimizer must be one of sgd, adam, adam_by_group, got 'rmsprop'"):
        dataclasses.replace(METHOD, optimizer="rmsprop")
    with pytest.raises(BadInput, match="schedule must be one of constant, halved, inverse_sqrt, got 'cosine'"):
        dataclasses.replace(METHOD, schedule="cosine")


def test_theorem_2_bounds_what_two_inputs_can_be_told_and_m_plus_eta_c_does_not() -> None:
    """The chances around the released mean, at the two inputs where they differ most, of 12 fits in one loop."""
    draw = np.random.default_rng(0)
    method = dataclasses.replace(LINEAR, epochs=2, ensemble=1000, weight_bound=0.1, learning_rate=0.5, noise_primal=1.2)
    rows = dataclasses.replace(make_data(n=400), X=draw.normal(size=(400, 100)).astype(np.float32))
    fits = train(method, [rows] * 12, [RecordingMechanism() for _ in range(12)])
    violated = 0
    for fitted in fits:
        found = fitted.notes["randomised"]
        weights, deviation = fitted.parameters.astype(np.float64), found["spread"]
        far = 1e6 * weights[:-1] / np.linalg.norm(weights[:-1])
        inputs = np.column_stack([np.stack([far, -far]), np.ones(2)])
        probabilities = positive_probabilities(inputs @ weights, np.linalg.norm(inputs, axis=1), deviation)
        assert (
            np.ptp(probabilities) <= found["theorem_2"] == pytest.approx(np.ptp(probabilities), rel=0.05)
        )  # but for the bias
        assert "not the one exported" in found["about"] and "certificates" not in fitted.notes
        violated += np.ptp(probabilities) > worst_case_bound(0.1 + 0.5 * method.clip_primal, deviation)
    assert violated == 12


def test_as_published_the_certificates_are_the_papers_and_say_so() -> None:
    method = dataclasses.replace(METHOD, variant="published", noise_certificate=1.0)
    (fitted,) = train(method, [make_data(n=400)], [RecordingMechanism()])
    found = fitted.notes["certificates"]
    assert found["of"] == "paper" and "not the one exported" in found["about"] and "randomised" not in fitted.notes
    assert method.certified_failure is None and METHOD.certified_failure == 0.05


def make_people(n: int, draw: np.random.Generator) -> Dataset:
    """Return people of two groups that differ in one feature, which the label follows."""
    group = (draw.random(n) < 0.3).astype(np.int64)
    rows = draw.normal(size=(n, 3))
    rows[:, 0] += 1.2 * group
    y = (rows[:, 0] + 0.5 * rows[:, 1] + 0.5 * draw.normal(size=n) > 0.6).astype(np.int64)
    return dataclasses.replace(make_data(n=n, d=3), X=rows.astype(np.float32), y=y, group=group)


def measure(fitted: Fitted, people: Dataset) -> dict[str, float]:
    """Return the exported model's gaps and accuracy on `people`."""
    counts = count_cells(decisions(fitted.network, fitted.parameters, people), people.y, people.group, 2)
    by_label = np.abs(np.diff(counts[:, :, 1] / counts.sum(axis=2), axis=0))[0]
    overall = counts[:, :, 1].sum(axis=1) / counts.sum(axis=(1, 2))
    return {
        "demographic_parity": float(np.ptp(overall)),
        "equal_opportunity": float(by_label[1]),
        "predictive_equality": float(by_label[0]),
        "equalized_odds": float(by_label.max()),
        "accuracy": float(np.trace(counts.sum(axis=0)) / people.n),
    }


@pytest.mark.parametrize("ensemble", [10, pytest.param(100, marks=pytest.mark.long), 1000])
def test_the_exported_model_keeps_to_its_certificate(ensemble: int) -> None:
    """70 fits at each size of the ensemble, 210 in all; the truth is the gap on many more people of the same kind."""
    draw, fits = np.random.default_rng(ensemble), 70
    parts = [split_dataset(make_people(800, draw), seed=seed) for seed in range(fits)]
    method = dataclasses.replace(LINEAR, epochs=2, ensemble=ensemble, learning_rate=0.5, clip_primal=1.0)
    method = dataclasses.replace(method, noise_primal=None, noise_counts=None)
    method = method.calibrated(epsilon=4.0, delta=1e-5, n_train=parts[0][0].n)
    mechanisms = [RecordingMechanism() for _ in range(fits)]
    models = train(method, [rows for rows, _ in parts], mechanisms)
    everyone = make_people(20_000, draw)
    broken, above = 0, 0
    for fitted, (_, test), mechanism in zip(models, parts, mechanisms, strict=True):
        _, private = evaluate_privately(
            fitted, test, planned=(Gaussian(1.0),), mechanism=mechanism, threat_model="record"
        )
        found = certify_exported(method, test, private, learned=False)["certificates"]
        true, seen = (measure(fitted, people) for people in (everyone, test))
        bounds = {notion: bound for notion, bound in found["bounds"].items() if bound is not None}
        assert bounds and found["failure"] == method.failure
        wrong = [true[notion] > bound for notion, bound in bounds.items()]
        broken += any(wrong) or true["accuracy"] < found["accuracy_at_least"]
        above += any(true[notion] > seen[notion] for notion in bounds)
    assert broken <= method.failure * fits
    assert above > method.failure * fits  # the gap on the test rows alone would be no bound
