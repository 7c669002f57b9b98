"""RaCO-DP at the mechanism during the real fit: what a record adds, and what follows from what.

A run is recorded, then replayed on other data: all models see the same releases and take the same course.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.predict import evaluate
from fairpriv_core.engine.training import Fitted
from fairpriv_core.methods.dp_sgd import DpSgd
from fairpriv_core.methods.raco_dp import DecidedRule, RacoDp, RacoDpRule
from fairpriv_core.notions.catalog import notions
from fairpriv_core.privacy.event import SampledGaussian
from fairpriv_core.privacy.sums import sensitivity
from tests.methods.harness import RecordingMechanism, Release, make_data, with_group
from tests.methods.test_pf_ld_record import huge, of_kind, ordinary, train

METHOD = RacoDp(epochs=9, sampling_rate=0.2, clip_primal=0.3, gap_target=0.001, multiplier_max=50.0, noise_primal=1.0)
DEEP = dataclasses.replace(METHOD, hidden_layers=2, width=5, optimizer="sgd", learning_rate=0.2)


def _histograms(releases: list[Release], method: RacoDp, places: int) -> np.ndarray:
    """Return the counts that went into the sums (steps, places)."""
    share = method.share_counts
    scale = sensitivity(method.clip_primal) * np.sqrt(share / (1.0 - share))
    return np.array([release.value[-places:] / scale for release in releases])


OF_MEANS = [name for name in RacoDp.info.notions if notions()[name].is_of_means]


@pytest.mark.parametrize("notion", OF_MEANS)
def test_a_row_is_counted_once_in_its_cell_by_its_decision(notion: str) -> None:
    data = ordinary(3)
    base = RecordingMechanism()
    train(METHOD, [data], [base], notion)
    row = 17
    alone = RecordingMechanism(forced=lambda epoch, step: np.array([row]), replayed=base.releases)
    train(METHOD, [data], [alone], notion)
    among = notions()[notion].conditions
    counts = _histograms(of_kind(alone, ""), METHOD, 2 * 3 * len(among))
    inside = among == (None,) or data.y[row] in among
    place = data.group[row] + (3 * among.index(data.y[row]) if inside and among != (None,) else 0)
    assert np.allclose(counts.sum(axis=1), float(inside))
    assert np.allclose(counts[:, 2 * place : 2 * place + 2].sum(axis=1), float(inside))


@pytest.mark.parametrize("row", [17, 18, 19, 20])
def test_where_labels_are_compared_a_row_is_counted_once_by_group_label_and_decision(row: int) -> None:
    data, base = ordinary(3), RecordingMechanism()
    train(METHOD, [data], [base], "predictive_parity")
    alone = RecordingMechanism(forced=lambda epoch, step: np.array([row]), replayed=base.releases)
    train(METHOD, [data], [alone], "predictive_parity")
    counts = _histograms(of_kind(alone, ""), METHOD, 2 * 2 * 3)
    place = 2 * (2 * data.group[row] + data.y[row])
    assert np.allclose(np.linalg.norm(counts, axis=1), 1.0)
    assert np.allclose(counts[:, place : place + 2].sum(axis=1), 1.0)


def test_a_row_without_an_output_is_not_counted() -> None:
    data, base = ordinary(2), RecordingMechanism()
    train(METHOD, [data], [base])
    rows = data.X.copy()
    rows[3] = np.nan
    alone = RecordingMechanism(forced=lambda epoch, step: np.array([3]), replayed=base.releases)
    train(METHOD, [dataclasses.replace(data, X=rows)], [alone])
    assert not any(release.value.any() for release in of_kind(alone, ""))


def test_a_step_is_one_event_whatever_is_in_it() -> None:
    recorder = RecordingMechanism()
    (fitted,) = train(METHOD, [ordinary(2)], [recorder])
    assert fitted.events == METHOD.event(400) == (SampledGaussian(1.0, 0.2, 45, "add_remove"),)


@pytest.mark.parametrize("hidden_layers", [0, 2])
def test_without_multipliers_and_noise_the_method_is_dp_sgd_bit_for_bit(hidden_layers: int) -> None:
    data = make_data()
    size: dict[str, Any] = {"epochs": 6, "hidden_layers": hidden_layers, "width": 5}
    noise: dict[str, Any] = {"clip_primal": 0.3, "noise_primal": 0.0, "learning_rate": 0.02}
    (plain,) = train(DpSgd(**size, **noise, batch_size=50), [data], [RecordingMechanism(seed=1)])
    without = RacoDp(**size, **noise, sampling_rate=0.25, multiplier_max=0.0, averaged=0.0)
    (fair,) = train(without, [data], [RecordingMechanism(seed=1)])
    assert np.array_equal(plain.parameters, fair.parameters)
    assert plain.events == fair.events


Told = list[list[np.ndarray]]


def follow(
    method: RacoDp, notion: str, rule: type[RacoDpRule], patch: pytest.MonkeyPatch, *names: str
) -> tuple[Dataset, Fitted, Told]:
    """Train with all rows in each step, without noise and clipping; return which arrays each step begins with too."""
    data, told, set_factors = ordinary(2), Told(), rule._set_factors
    quiet = dataclasses.replace(method, sampling_rate=1.0, clip_primal=1e6, noise_primal=0.0, share_counts=0.5)
    quiet = dataclasses.replace(quiet, optimizer="sgd", learning_rate=0.1, averaged=0.0, epochs=5)

    def watch(own: RacoDpRule) -> None:
        told.append([own.arrays[name][0].copy() for name in names])
        set_factors(own)

    patch.setattr(rule, "_set_factors", watch)
    recorder = RecordingMechanism(forced=lambda epoch, step: np.arange(data.n))
    (fitted,) = train(quiet, [data], [recorder], notion)
    return data, fitted, told[:5]


def descend(data: Dataset, told: Told, penalize: Callable[..., Any]) -> np.ndarray:
    """Return where steps of 0.1 end that go down the mean loss and what `penalize` makes of logits and arrays."""
    theta = torch.zeros(data.d + 1, dtype=torch.float64)
    rows, y = (torch.tensor(each, dtype=torch.float64) for each in (data.X, data.y))
    for arrays in told:
        theta = theta.detach().requires_grad_()
        logit = rows @ theta[:-1] + theta[-1]
        value = torch.nn.functional.binary_cross_entropy_with_logits(logit, y) + penalize(logit, *arrays)
        value.backward()
        theta = theta.detach() - 0.1 * theta.grad
    return theta.numpy()


@pytest.mark.parametrize("notion", OF_MEANS)
def test_without_noise_and_clipping_a_step_follows_the_written_out_lagrangian(
    notion: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """J - sum_i lambda_i mean(h over cell i), with the multipliers that the step before left."""
    data, fitted, told = follow(METHOD, notion, RacoDpRule, monkeypatch, "multipliers")
    y, pursued = torch.tensor(data.y, dtype=torch.float64), notions()[notion]

    def penalize(logit: Any, multipliers: np.ndarray) -> Any:
        chance = torch.sigmoid(logit)
        h = torch.abs(chance - y) if pursued.target == "loss" else chance
        cells = [(data.group == g) & ((c is None) | (data.y == c)) for c in pursued.conditions for g in range(2)]
        means = [h[torch.tensor(inside)].mean() for inside in cells]
        return -sum(float(each) * mean for each, mean in zip(multipliers, means, strict=True))

    assert any(multipliers.any() for [multipliers] in told)
    assert np.allclose(fitted.parameters, descend(data, told, penalize), atol=2e-4)


def test_where_labels_are_compared_a_step_follows_the_written_out_lagrangian(monkeypatch: pytest.MonkeyPatch) -> None:
    """J - sum_g lambda_g (sum of y h over g - r_g sum of h over g) / d_g: what the share of label 1 is, to first order.

    d_g is how many of group g were decided 1 in the steps before, r_g their share of label 1.
    """
    data, fitted, told = follow(METHOD, "predictive_parity", DecidedRule, monkeypatch, "multipliers", "recent")
    y, groups = torch.tensor(data.y, dtype=torch.float64), [torch.tensor(data.group == group) for group in range(2)]

    def penalize(logit: Any, multipliers: np.ndarray, recent: np.ndarray) -> Any:
        total = 0.0
        for group, (zero, one) in enumerate(np.nan_to_num(data.n * recent).reshape(2, 2, 2)[:, :, 1]):
            size, h, mine = max(zero + one, 30.0), torch.sigmoid(logit)[groups[group]], y[groups[group]]
            total = total - float(multipliers[group]) * ((mine * h).sum() - one / size * h.sum()) / size
        return total

    assert any(multipliers.any() for multipliers, _ in told)
    assert np.allclose(fitted.parameters, descend(data, told, penalize), atol=2e-4)


def test_predictive_parity_comes_nearer_where_features_tell_the_groups() -> None:
    """Chances of group 0 are spread widely and of group 1 narrowly, so that positive decisions differ in precision."""
    draw = np.random.default_rng(3)
    data = with_group(make_data(4000), draw.integers(0, 2, 4000))
    known = draw.normal(size=4000) * np.where(data.group == 1, 0.6, 3.0)
    rows = np.column_stack([known, 2.0 * data.group - 1.0, draw.normal(size=4000)]).astype(np.float32)
    data = dataclasses.replace(data, X=rows, y=(draw.random(4000) < 1.0 / (1.0 + np.exp(-known))).astype(np.int64))
    gaps = {}
    for limit in (0.0, 5.0):
        method = RacoDp(gap_target=0.02, multiplier_max=limit, noise_primal=2.0)
        (fitted,) = train(method, [data], [RecordingMechanism(seed=1)], "predictive_parity")
        found = evaluate(fitted.network, fitted.parameters, data)
        gaps[limit] = found["predictive_parity_gap"]
        assert all(group["selected"] > 50 for group in found["groups"])
    assert gaps[0.0] > 0.2 and gaps[5.0] < gaps[0.0] / 2


@pytest.mark.parametrize("case", ["nobody positive", "one group", "six groups", "one label", "huge"])
def test_predictive_parity_survives_what_leaves_nothing_to_compare(case: str) -> None:
    data = ordinary({"one group": 1, "six groups": 6}.get(case, 2))
    if case == "nobody positive":
        data = dataclasses.replace(data, y=np.where(np.arange(data.n) % 97 == 0, 1, 0))
    if case == "one label":
        data = dataclasses.replace(data, y=np.zeros_like(data.y))
    if case == "huge":
        data = huge()
    (fitted,) = train(METHOD, [data], [RecordingMechanism(seed=1)], "predictive_parity")
    assert np.isfinite(fitted.parameters).all()
    assert np.isfinite([*fitted.notes["multipliers"].values(), *fitted.notes["noisy_counts"].values()]).all()
    found = evaluate(fitted.network, fitted.parameters, data)
    gap, empty = found["predictive_parity_gap"], [each["name"] for each in found["groups"] if not each["selected"]]
    assert (gap is None) == bool(empty)
    if empty:
        said = f"group '{empty[0]}' has no rows predicted positive."
        assert found["reasons"]["predictive_parity_gap"] == said


MISSES = dataclasses.replace(METHOD, constraint="false_negatives", false_negative_bound=0.1)


@pytest.mark.parametrize("notion", RacoDp.info.notions)
def test_where_false_negatives_are_bounded_positives_alone_are_counted_once(notion: str) -> None:
    data, base = ordinary(3), RecordingMechanism()
    train(MISSES, [data], [base], notion)
    for row in range(17, 21):
        alone = RecordingMechanism(forced=lambda epoch, step, row=row: np.array([row]), replayed=base.releases)
        train(MISSES, [data], [alone], notion)
        counts = _histograms(of_kind(alone, ""), MISSES, 2 * 3)
        assert np.allclose(counts.sum(axis=1), data.y[row])
        place = 2 * data.group[row]
        assert np.allclose(counts[:, place : place + 2].sum(axis=1), data.y[row])


def test_where_false_negatives_are_bounded_a_step_follows_the_written_out_lagrangian(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """J + sum_g lambda_g (1 - mean of h over the positives of g - bound), lambda_g by the shares that were missed."""
    data, fitted, told = follow(MISSES, "demographic_parity", RacoDpRule, monkeypatch, "multipliers")
    inside = [(data.group == group) & (data.y == 1) for group in range(2)]
    sizes, expected, recent = np.array([each.sum() for each in inside]), [np.zeros(2)], list[np.ndarray]()

    def penalize(logit: Any, multipliers: np.ndarray) -> Any:
        assert np.allclose(multipliers, expected[-1], atol=1e-6)
        missed = np.array([1.0 - (logit.detach().numpy()[each] > 0).mean() for each in inside])
        recent.append(0.9 * recent[-1] + 0.1 * missed if recent else missed)
        step = 30.0 / 5 * sizes / sizes.mean() * (recent[-1] - 0.1)
        expected.append((expected[-1] + step).clip(0.0, 50.0))
        return -sum(float(multipliers[g]) * torch.sigmoid(logit)[torch.tensor(inside[g])].mean() for g in range(2))

    assert np.allclose(fitted.parameters, descend(data, told, penalize), atol=2e-4)


def test_false_negatives_come_down_to_their_bound_in_every_group() -> None:
    data = make_data(4000)
    missed = {}
    for bound in (1.0, 0.1):
        method = dataclasses.replace(RacoDp(noise_primal=1.0), constraint="false_negatives", false_negative_bound=bound)
        (fitted,) = train(method, [data], [RecordingMechanism(seed=1)])
        groups = evaluate(fitted.network, fitted.parameters, data)["groups"]
        missed[bound] = [1.0 - group["true_positive_rate"] for group in groups]
        assert "the gap of the chosen notion is not pursued" in str(method.idle_reason())
    assert max(missed[1.0]) > 0.16 and max(missed[0.1]) <= 0.125
