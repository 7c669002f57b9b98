"""Theorems 4 and 5: the curves, their minimiser, and the automatic C_p that comes from public values alone."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from fairpriv_core.methods.clipping_choice import Warmup, best_bound, build_curve, quantiles
from fairpriv_core.methods.pf_ld import PfLd
from tests.methods.harness import RecordingMechanism, make_data, train, with_group

VALUES = np.random.default_rng(0).gamma(2.0, 1.0, 4000)


@given(st.floats(0.02, 0.9), st.floats(0.1, 10.0))
def test_the_minimiser_minimises(share: float, weight: float) -> None:
    noise = share * weight

    def error(bound: float) -> float:
        return noise * bound + weight * float(np.maximum(VALUES - bound, 0.0).mean())

    best = best_bound(VALUES, noise=noise, weight=weight)
    assert all(error(best) <= error(other) + 1e-6 for other in np.linspace(0.0, 15.0, 300))


def test_the_curve_is_convex_and_its_parts_go_opposite_ways() -> None:
    curve = build_curve(quantiles(VALUES), noise=0.3, weight=1.0)
    bounds, bias, variance = (np.array(part) for part in (curve.bounds, curve.bias, curve.variance))
    derivatives = np.diff(bias + variance) / np.diff(bounds)
    assert (np.diff(derivatives) >= -1e-9).all()
    assert (np.diff(bias) <= 0).all()
    assert (np.diff(variance) > 0).all()
    assert bounds[0] < curve.minimiser < bounds[-1]


def test_more_noise_asks_for_a_smaller_bound() -> None:
    chosen = [best_bound(VALUES, noise=noise, weight=1.0) for noise in (0.01, 0.1, 0.5, 2.0)]
    assert chosen == sorted(chosen, reverse=True)
    assert chosen[-1] > 0


@pytest.mark.parametrize("variant", ["proved", "published"])
def test_curves_of_a_method_follow_its_noise(variant: str) -> None:
    warmup = Warmup(quantiles(VALUES), quantiles(np.linspace(0, 1, 100)), parameters=100, rows=30000, groups=2)
    method = PfLd(variant=variant, noise_primal=2.0, noise_dual=20.0, noise_counts=5.0, gap_target=None)
    quiet, loud = (
        dataclasses.replace(method, noise_primal=noise).clipping_curves(warmup)["clip_primal"] for noise in (0.5, 5.0)
    )
    assert loud.variance[10] == pytest.approx(10 * quiet.variance[10])
    assert loud.bias == quiet.bias
    assert loud.minimiser < quiet.minimiser


def test_the_automatic_bound_does_not_look_at_the_sensitive_column() -> None:
    method = PfLd(
        epochs=3,
        batch_size=25,
        sampling_rate=0.5,
        clip_primal=None,
        noise_primal=1.0,
        noise_dual=1.0,
        noise_counts=1.0,
        gap_target=None,
    )
    data = make_data(n=1000)
    base = RecordingMechanism()
    (fitted,) = train(method, [data], [base])
    other = with_group(data, 1 - data.group)
    (same,) = train(method, [other], [RecordingMechanism(replayed=base.releases)])
    assert fitted.notes["clip_primal"] > 0
    assert fitted.notes["clip_primal"] == same.notes["clip_primal"]
    radii = {release.bound for release in base.releases if release.kind == "sum"}
    assert all(np.isfinite(list(radii)))


def test_rows_too_large_for_their_gradients_leave_the_automatic_bound_a_number() -> None:
    data = make_data(n=200)
    data = dataclasses.replace(data, X=data.X * np.where(np.arange(200) % 2, 1.0, 1e30).astype(np.float32)[:, None])
    noises = {"noise_primal": 1.0, "noise_dual": 1.0, "noise_counts": 1.0}
    method = PfLd(epochs=3, batch_size=25, sampling_rate=0.5, clip_primal=None, **noises, gap_target=None)
    (fitted,) = train(method, [data], [RecordingMechanism()])
    assert 0 < fitted.notes["clip_primal"] < np.inf
