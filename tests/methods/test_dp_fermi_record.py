"""DP-FERMI for whole records at the mechanism during the real fit: who is counted, and what it reduces to."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
import torch

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.loop import Sampled
from fairpriv_core.errors import FairprivError
from fairpriv_core.methods.dp_fermi_record import DpFermiRecord, DpFermiRecordRule
from fairpriv_core.methods.dp_sgd import DpSgd
from fairpriv_core.notions.catalog import notions
from tests.methods.harness import RecordingMechanism, Release, make_data, train, with_group

METHOD = DpFermiRecord(
    epochs=8,
    batch_size=80,
    clip_primal=0.3,
    multiplier=10.0,
    dual_step=2.0,
    dual_norm=4.0,
    share_dual=0.3,
    noise_primal=1.0,
    noise_counts=1.0,
    gap_target=None,
)
DEEP = dataclasses.replace(METHOD, hidden_layers=2, width=5, optimizer="sgd", learning_rate=0.2)
NOTIONS = METHOD.info.notions


def _ordinary(groups: int) -> Dataset:
    data = make_data(n=150 * groups + 100, groups=groups)
    return with_group(data, np.random.default_rng(5).integers(0, groups, data.n))


def _sums(*mechanisms: RecordingMechanism) -> list[Release]:
    return [release for mechanism in mechanisms for release in mechanism.releases if release.kind == "sum"]


def test_a_record_is_counted_once() -> None:
    data, brief = _ordinary(3), dataclasses.replace(METHOD, epochs=1)
    sizes = []
    for each in (data, data.take(np.arange(data.n) != 0)):
        recorder = RecordingMechanism()
        train(brief, [each], [recorder], notion="equalized_odds")
        sizes.append(recorder.releases[0])
    assert [float(np.abs(sizes[0].value - sizes[1].value).sum()), sizes[0].bound] == [1.0, 1.0]


def test_two_events_on_one_sample_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    honest = DpFermiRecordRule.secret_update

    def twice(rule: DpFermiRecordRule, sampled: Sampled) -> np.ndarray:
        honest(rule, dataclasses.replace(sampled, step=2 * sampled.step))
        return honest(rule, dataclasses.replace(sampled, step=2 * sampled.step + 1))

    monkeypatch.setattr(DpFermiRecordRule, "secret_update", twice)
    with pytest.raises(FairprivError, match="every sample of this epoch is used"):
        train(METHOD, [_ordinary(2)], [RecordingMechanism()])


@pytest.mark.parametrize("hidden_layers", [0, 2])
def test_without_lambda_the_method_is_dp_sgd_bit_for_bit(hidden_layers: int) -> None:
    same: dict[str, Any] = {"epochs": 6, "batch_size": 50, "hidden_layers": hidden_layers, "width": 5}
    same |= {"clip_primal": 0.3, "noise_primal": 0.8, "learning_rate": 0.02}
    (plain,) = train(DpSgd(**same), [make_data()], [RecordingMechanism(seed=1)])
    (fair,) = train(DpFermiRecord(**same, multiplier=0.0, gap_target=None), [make_data()], [RecordingMechanism(seed=1)])
    assert np.array_equal(plain.parameters, fair.parameters)
    assert (plain.events, plain.notes) == (fair.events, fair.notes)


@pytest.mark.parametrize("notion", NOTIONS)
def test_without_noise_w_rises_to_the_written_out_maximiser(notion: str) -> None:
    """A sample of everyone and a classifier that stands still: W_rj = P(r, j | c) / (sqrt(p_r) P(j | c))."""
    data = make_data(n=600, groups=3)
    quiet: dict[str, Any] = {"noise_primal": 0.0, "noise_counts": 0.0, "learning_rate": 1e-5}
    still = dataclasses.replace(METHOD, **quiet, epochs=200, batch_size=600, dual_step=0.5, dual_norm=10.0)
    (fitted,) = train(still, [data], [RecordingMechanism()], notion=notion)
    positive = _probability(data, fitted.parameters)
    for label, w in zip(notions()[notion].conditions, np.array(fitted.notes["adversary"]), strict=True):
        inside = np.ones(data.n, dtype=bool) if label is None else data.y == label
        one_hot, f = np.eye(3)[data.group[inside]], np.stack([1 - positive[inside], positive[inside]], axis=1)
        joint = one_hot.T @ f / inside.sum()
        best = joint / np.sqrt(one_hot.mean(axis=0))[:, None] / joint.sum(axis=0)
        assert np.allclose(w, best, atol=2e-3)


def test_without_noise_theta_follows_the_gradient_of_the_written_out_objective() -> None:
    """A sample of everyone and no clipping, one step at a W that is not the start's."""
    data = make_data(n=600, groups=3)
    free: dict[str, Any] = {"noise_primal": 0.0, "noise_counts": 0.0, "clip_primal": 1e6, "optimizer": "sgd"}
    method = dataclasses.replace(METHOD, **free, batch_size=600, learning_rate=0.3, dual_step=0.5, multiplier=2.0)
    models = [train(dataclasses.replace(method, epochs=epochs), [data], [RecordingMechanism()])[0] for epochs in (4, 5)]
    before = torch.from_numpy(models[0].parameters).double().requires_grad_()
    w = torch.from_numpy(np.array(models[0].notes["adversary"][0]))
    one_hot = torch.from_numpy(np.eye(3)[data.group])
    score = torch.from_numpy(data.X).double() @ before[:-1] + before[-1]
    f = torch.stack([torch.sigmoid(-score), torch.sigmoid(score)], dim=1)
    psi = -torch.einsum("rj,nj,rj->n", w, f, w)
    psi = psi + 2.0 * torch.einsum("rj,nj,nr,r->n", w, f, one_hot, one_hot.mean(dim=0).rsqrt())
    loss = torch.nn.functional.binary_cross_entropy_with_logits(score, torch.from_numpy(data.y).double())
    (gradient,) = torch.autograd.grad(loss + 2.0 * psi.mean(), before)
    moved = models[0].parameters - models[1].parameters
    assert np.allclose(moved, 0.3 * gradient.numpy(), rtol=1e-3, atol=1e-6)


def _probability(data: Dataset, parameters: np.ndarray) -> np.ndarray:
    score: np.ndarray = data.X.astype(np.float64) @ parameters[:-1] + parameters[-1]
    return 1.0 / (1.0 + np.exp(-score))


def test_a_row_that_is_not_finite_adds_nothing() -> None:
    data, rows = _ordinary(2), np.arange(40)
    spoilt = data.X.copy()
    spoilt[7] = np.nan
    base = RecordingMechanism(forced=lambda epoch, step: rows)
    train(METHOD, [dataclasses.replace(data, X=spoilt)], [base])
    without = RecordingMechanism(forced=lambda epoch, step: rows[rows != 7], replayed=base.releases)
    train(METHOD, [data], [without])
    pairs = zip(_sums(base), _sums(without), strict=True)
    assert all(np.allclose(one.value, two.value, atol=1e-5) for one, two in pairs)
