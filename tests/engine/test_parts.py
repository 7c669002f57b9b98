"""Clipping, optimisers, public batches and network shapes."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from fairpriv_core.engine.clipping import clip_factors, clip_weights, share_clipped
from fairpriv_core.engine.loop import public_batches, steps_per_epoch
from fairpriv_core.engine.networks import NetworkShape, logits
from fairpriv_core.engine.optimizers import build_optimizer
from fairpriv_core.engine.predict import predict_proba
from fairpriv_core.errors import BadInput
from fairpriv_core.notions.surrogates import sigmoid


@given(st.lists(st.floats(0, 2.0**100, width=32), min_size=1, max_size=30), st.floats(1e-6, 1e6))
def test_clipped_norms_stay_below_the_bound(norms: list[float], bound: float) -> None:
    values = np.array(norms, dtype=np.float32)
    with np.errstate(all="ignore"):
        factors = clip_factors(values, bound)
        weights = clip_weights(np.full_like(values, -2.0), values, bound)
    assert (values.astype(np.float64) * factors.astype(np.float64) <= bound).all()
    assert (factors[values <= bound * 0.999] == 1.0).all()
    assert (values.astype(np.float64) * np.abs(weights.astype(np.float64)) <= bound).all()
    assert (weights[2.0 * values <= bound * 0.999] == -2.0).all()


def test_clipping_drops_what_is_not_finite() -> None:
    with np.errstate(all="ignore"):
        factors = clip_factors(np.array([0.0, np.inf, np.nan, 2.0]), 1.0)
        assert clip_weights(np.ones(2), np.array([np.inf, 2.0]), 1.0).tolist() == [0.0, pytest.approx(0.5, rel=2e-5)]
    assert factors.tolist()[:3] == [1.0, 0.0, 0.0]
    assert factors[3] == pytest.approx(0.5, rel=2e-5)


def test_share_clipped_counts_what_is_above_the_bound() -> None:
    assert share_clipped(np.array([0.5, 1.0, 1.5, 2.0]), 1.0) == 0.5
    assert share_clipped(np.zeros(0), 1.0) == 0.0


@pytest.mark.parametrize("name", ["sgd", "adam"])
def test_optimizers_equal_torch(name: str) -> None:
    start, rate = np.linspace(-1, 1, 8, dtype=np.float32).reshape(2, 4), 0.05
    ours, reference = start.copy(), torch.nn.Parameter(torch.from_numpy(start.copy()))
    optimizer = build_optimizer(name, np.full((2, 1), rate, dtype=np.float32), ours)
    oracle = torch.optim.Adam([reference], lr=rate) if name == "adam" else torch.optim.SGD([reference], lr=rate)
    for step in range(20):
        gradient = np.sin(start + step)
        reference.grad = torch.from_numpy(gradient.copy())
        optimizer.update(ours, gradient)
        oracle.step()
    assert np.allclose(ours, reference.detach().numpy(), atol=1e-6)


def test_learning_rates_belong_to_their_models() -> None:
    parameters = np.zeros((2, 3))
    build_optimizer("sgd", np.array([[0.1], [0.2]]), parameters).update(parameters, np.ones((2, 3)))
    assert np.allclose(parameters, [[-0.1] * 3, [-0.2] * 3])


@given(st.integers(1, 200), st.integers(1, 200), st.integers(0, 5))
def test_batches_hold_each_row_once(n: int, batch_size: int, epoch: int) -> None:
    batches = public_batches(7, n=n, batch_size=batch_size, epoch=epoch)
    assert sorted(np.concatenate(batches).tolist()) == list(range(n))
    assert all(len(batch) == batch_size for batch in batches[:-1])
    if batch_size <= n:
        assert len(batches) == steps_per_epoch(n, batch_size)


def test_batches_follow_seed_and_epoch() -> None:
    def first(seed: int, epoch: int) -> list[int]:
        return public_batches(seed, n=50, batch_size=50, epoch=epoch)[0].tolist()

    assert first(0, 0) == first(0, 0)
    assert first(0, 0) != first(0, 1) != first(1, 1)


def test_a_batch_larger_than_the_data_is_refused() -> None:
    with pytest.raises(BadInput, match=r"batch_size must be at most the 10 training rows, got 11\."):
        steps_per_epoch(10, 11)


def test_initial_parameters_follow_the_seed_alone() -> None:
    shape = NetworkShape(6, hidden_layers=2, width=8)
    assert np.array_equal(shape.initial(1), shape.initial(1))
    assert not np.array_equal(shape.initial(1), shape.initial(2))
    assert len(shape.initial(1)) == shape.size == 6 * 8 + 8 + 8 * 8 + 8 + 8 + 1


def test_prediction_needs_the_encoded_columns() -> None:
    shape = NetworkShape(4)
    with pytest.raises(BadInput, match="takes 4 encoded columns, got 3"):
        predict_proba(shape, shape.initial(0), np.zeros((2, 3), dtype=np.float32))
    proba = predict_proba(shape, shape.initial(0), np.zeros((2, 4), dtype=np.float32))
    assert proba.tolist() == [[0.5, 0.5], [0.5, 0.5]]


@pytest.mark.parametrize("hidden_layers", [0, 2])
def test_prediction_equals_the_kernel(hidden_layers: int) -> None:
    shape = NetworkShape(7, hidden_layers, width=5)
    draw = np.random.default_rng(0)
    flat, rows = draw.normal(size=shape.size).astype(np.float32), draw.normal(size=(50, 7)).astype(np.float32)
    scores = logits(shape, flat.reshape(1, -1), rows)[0]
    predicted = predict_proba(shape, flat, rows)[:, 1]
    assert np.allclose(predicted, sigmoid(scores), rtol=0, atol=2e-6)
