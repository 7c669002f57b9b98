"""FairDP's minimiser is exact, and its bounds are those of eq. 5. Its Table 1 is in test_results.py."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from fairpriv_core.methods import fairdp_adaptive
from fairpriv_core.methods.fairdp_adaptive import FairDpAdaptive, bias_variance, minimise_bias_variance
from tests.methods.harness import RecordingMechanism, make_data, train


def test_the_minimiser_is_exact() -> None:
    """Against a fine grid, with ties, zero norms, zero weights, and terms of very different size."""
    for seed in range(20):
        draw = np.random.default_rng(seed)
        norms = draw.lognormal(size=draw.integers(1, 40)) * 10.0 ** draw.integers(-2, 3)
        norms[draw.random(norms.size) < 0.2] = norms[0]
        norms[draw.random(norms.size) < 0.1] = 0.0
        weights = draw.random(norms.size) * (draw.random(norms.size) < 0.9) / norms.size
        slope, noise = 10.0 ** draw.uniform(-2, 3), 10.0 ** draw.uniform(-4, 2)
        found = minimise_bias_variance(norms, weights, slope=slope, noise=noise)
        grid = np.linspace(0.0, norms.max(initial=0.0), 50_001)
        best = bias_variance(grid, norms, weights, slope=slope, noise=noise)
        (own,) = bias_variance(np.array([found]), norms, weights, slope=slope, noise=noise)
        assert own <= best.min() * (1.0 + 1e-12)
        assert abs(found - grid[best.argmin()]) <= grid[1] + 1e-12


def test_without_noise_nothing_is_clipped() -> None:
    norms = np.array([3.0, 1.0, 2.0])
    assert minimise_bias_variance(norms, np.ones(3), slope=1.0, noise=0.0) == 3.0


def test_no_norms_give_0() -> None:
    assert minimise_bias_variance(np.empty(0), np.empty(0), slope=1.0, noise=1.0) == 0.0


def test_published_bounds_are_those_of_equation_5(monkeypatch: pytest.MonkeyPatch) -> None:
    """At the start of logistic regression on a forced sample, written out: |g| = |x, 1| / 2."""
    data, rows = make_data(), np.arange(0, 200, 3)
    asked: list[tuple[np.ndarray, np.ndarray, float, float]] = []

    def record(norms: np.ndarray, weights: np.ndarray, *, slope: float, noise: float) -> float:
        asked.append((norms, weights, slope, noise))
        return minimise_bias_variance(norms, weights, slope=slope, noise=noise)

    monkeypatch.setattr(fairdp_adaptive, "minimise_bias_variance", record)
    method = FairDpAdaptive(variant="published", epochs=1, batch_size=50, noise_primal=0.7, lipschitz=2.0)
    train(method, [data], [RecordingMechanism(forced=lambda epoch, step: rows)])
    gradients = (0.5 - data.y[rows, None]) * np.concatenate([data.X[rows], np.ones((len(rows), 1))], axis=1)
    norms, whole = np.linalg.norm(gradients, axis=1), np.linalg.norm(gradients.mean(axis=0))
    for kind in (0, 1):
        own = data.y[rows] == kind
        asked_norms, weights, slope, noise = asked[kind]
        assert np.allclose(np.sort(asked_norms), np.sort(norms[own]), rtol=1e-5)
        assert np.allclose(weights, 1.0 / len(rows))
        assert slope == pytest.approx(2.0 * (1.0 + 1.0 / (0.01 * 2.0)) * whole, rel=1e-5)
        assert noise == pytest.approx((own.sum() / len(rows)) ** 2 * 0.7**2 * (data.d + 1), rel=1e-9)


def test_proved_bounds_come_near_those_of_the_raw_norms() -> None:
    """With next to no noise, on the same samples: the histogram's resolution is half an octave."""
    shared = {"epochs": 2, "batch_size": 100, "learning_rate": 0.05, "optimizer": "sgd", "lipschitz": 0.5}
    method = FairDpAdaptive(**shared, noise_primal=0.05, share_counts=0.5)
    (proved,) = train(method, [make_data()], [RecordingMechanism(seed=2)])
    published = dataclasses.replace(method, variant="published", noise_primal=method.gradient_noise())
    (raw,) = train(published, [make_data()], [RecordingMechanism(seed=2)])
    for name, bound in raw.notes.items():
        assert bound / 2.0 <= proved.notes[name] <= 2.0 * bound
