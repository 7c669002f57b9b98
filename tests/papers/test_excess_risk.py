"""Theorem 6 of FairDP with certificates: its bound by hand, its second moment as steps have it, and the least loss."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest
from scipy.optimize import minimize

from fairpriv_core.errors import BadInput
from fairpriv_core.methods.fairdp_certified import FairDpCertified
from fairpriv_core.papers.excess_risk import GroupLoss, bound_excess, find_excess_risk, project, second_moment
from tests.methods.harness import RecordingMechanism, make_data, train, with_group

METHOD = FairDpCertified(
    variant="published",
    epochs=1,
    batch_size=100,
    hidden_layers=0,
    schedule="inverse_sqrt",
    learning_rate=0.5,
    weight_bound=1.0,
    clip_primal=10.0,
    ensemble=2,
    noise_primal=1.0,
    noise_certificate=1.0,
)


def test_the_bound_is_the_one_by_hand() -> None:
    assert bound_excess(2.0, 1.0, 4.0, 1) == 16.0  # (4 + 4) (2 + 0) / 1
    assert bound_excess(2.0, 0.5, 4.0, 100) == pytest.approx(10.0 * (2.0 + 4.605170) / 10.0)


def test_the_second_moment_is_the_one_by_hand_where_everyone_is_sampled() -> None:
    noise = 5.0**2 * 7 * (2 / 40.0**2 + 2 / 60.0**2)  # (sigma C / K)^2 d, micro-batches of 20 and of 30 rows
    assert second_moment(METHOD, [40, 60], n=100, d=7) == pytest.approx(100.0 + noise)


def test_the_second_moment_is_the_one_of_drawn_samples() -> None:
    method, draw = dataclasses.replace(METHOD, batch_size=10, ensemble=3), np.random.default_rng(0)
    inverse, counts = [], np.bincount(draw.binomial(60, 0.1, 200_000))
    for rows in range(len(counts)):
        parts = np.array([len(range(part, rows, 3)) for part in range(3)]).clip(1)
        inverse.append((1.0 / parts**2).sum() / 9.0)
    expected = 100.0 + 10.0**2 * 7 * np.average(inverse, weights=counts)
    assert second_moment(method, [60], n=100, d=7) == pytest.approx(expected, rel=0.01)


def test_steps_of_training_have_that_second_moment() -> None:
    """One step from 0 that samples everyone: how steps differ is noise alone, of which G^2 has all beside C^2."""
    data, models = with_group(make_data(n=100), np.arange(100) % 2), 400
    fits = train(METHOD, [data] * models, [RecordingMechanism() for _ in range(models)])
    steps = np.stack([fitted.parameters for fitted in fits]).astype(np.float64) / -0.5
    moment = second_moment(METHOD, [50, 50], n=100, d=5)
    assert steps.var(axis=0).sum() == pytest.approx(moment - 100.0, rel=0.1)
    assert (steps**2).sum(axis=1).mean() <= moment


@pytest.mark.parametrize("radius", [0.3, 50.0])
def test_the_least_loss_is_what_a_solver_finds(radius: float) -> None:
    data = make_data(n=200)
    loss = GroupLoss(np.column_stack([data.X.astype(float), np.ones(200)]), data.y, np.full(200, 1 / 200))
    inside = {"type": "ineq", "fun": lambda point: radius**2 - point @ point}
    found = minimize(lambda point: loss.at(point)[0], np.zeros(5), method="SLSQP", constraints=[inside], tol=1e-12)
    assert (np.linalg.norm(found.x) > 0.29) and (radius == 0.3) == (np.linalg.norm(found.x) < 0.31)
    assert found.fun - 1e-5 <= loss.bound_least(radius) <= found.fun + 1e-9


def test_the_loss_is_the_mean_over_groups_of_their_means_at_the_projected_model() -> None:
    data = with_group(make_data(n=100), np.arange(100) < 20)
    rows = np.column_stack([data.X.astype(float), np.ones(100)])
    far = np.array([3.0, 0.0, 0.0, 0.0, 4.0])
    losses = np.logaddexp(0.0, (1.0 - 2.0 * data.y) * (rows @ (far / 5.0)))
    expected = (losses[:20].mean() + losses[20:].mean()) / 2.0
    found = find_excess_risk(METHOD, far, data)
    assert found["found"] - found["untrained"] == pytest.approx(expected - np.log(2.0))
    assert found == find_excess_risk(METHOD, project(far, 1.0), data)
    moment = second_moment(METHOD, [80, 20], n=100, d=5)
    assert found["bound"] == pytest.approx(bound_excess(2.0, 0.5, moment, 1))


@pytest.mark.parametrize(
    ("other", "says"),
    [
        ({"variant": "proved"}, "variant must be published for Theorem 6, got proved"),
        ({"hidden_layers": 1}, "hidden_layers must be 0 for Theorem 6, got 1"),
        ({"optimizer": "adam"}, "optimizer must be sgd for Theorem 6, got adam"),
        ({"schedule": "constant"}, "schedule must be inverse_sqrt for Theorem 6, got constant"),
        ({"clip_primal": 1.0}, r"clip_primal must be at least \d.\d+, the longest row, for Theorem 6, got 1.0"),
    ],
)
def test_settings_that_are_not_the_theorems_are_refused(other: dict[str, Any], says: str) -> None:
    with pytest.raises(BadInput, match=says):
        find_excess_risk(dataclasses.replace(METHOD, **other), np.zeros(5), make_data(n=100))
