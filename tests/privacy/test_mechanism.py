"""The mechanism: noise of the stated scale, every release counted, no noise used twice, exact resume."""

import copy
import math
import pickle
from collections.abc import Callable
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as some

from fairpriv_core.errors import BadInput, FairprivError, RunFailed
from fairpriv_core.privacy.event import Gaussian, Laplace, Relation, SampledGaussian
from fairpriv_core.privacy.mechanism import Mechanism
from fairpriv_core.privacy.randomness import Randomness


def release(
    mechanism: Mechanism,
    step: int,
    total: np.ndarray | None = None,
    *,
    radius: float = 1.0,
    noise: float = 1.0,
    relation: Relation = "replace",
) -> np.ndarray:
    return mechanism.sampled_gaussian(
        np.zeros(50) if total is None else total,
        radius=radius,
        noise_multiplier=noise,
        sampling_rate=0.1,
        relation=relation,
        step=step,
    )


def release_plain(mechanism: Mechanism, index: int, purpose: str = "dual", noise: float = 1.0) -> np.ndarray:
    return mechanism.gaussian(np.zeros(50), sensitivity=1.0, noise_multiplier=noise, purpose=purpose, index=index)


def test_every_release_is_counted_by_its_own_parameters() -> None:
    mechanism = Mechanism(Randomness.fresh(), released=(Laplace(3.0), Gaussian(5.0)))
    release_plain(mechanism, 0, noise=5.0)
    for step in range(4):
        release(mechanism, step, noise=2.0)
    release(mechanism, 9, noise=2.0, relation="add_remove")
    release_plain(mechanism, 1)
    assert mechanism.events == (
        Laplace(3.0),
        Gaussian(5.0, 2),
        SampledGaussian(2.0, 0.1, 4, "replace"),
        SampledGaussian(2.0, 0.1, 1, "add_remove"),
        Gaussian(1.0),
    )


def test_nothing_released_is_nothing_counted() -> None:
    mechanism = Mechanism(Randomness.fresh())
    mechanism.sample(n=10, rate=0.5, epoch=0, steps=3)
    assert mechanism.events == ()


def test_the_noise_scales_with_radius_times_multiplier() -> None:
    unit = release(Mechanism(Randomness.replay(1)), 0, np.zeros(20_000))
    wide = release(Mechanism(Randomness.replay(1)), 0, np.full(20_000, 7.0), radius=3.0, noise=4.0)
    assert unit.std() == pytest.approx(1.0, abs=0.03)
    assert wide - 7.0 == pytest.approx(12.0 * unit, abs=1e-4)
    plain = Mechanism(Randomness.replay(1)).gaussian(
        np.zeros(20_000), sensitivity=3.0, noise_multiplier=4.0, purpose="x", index=0
    )
    assert plain.std() == pytest.approx(12.0, rel=0.03)


def test_the_value_is_left_alone_and_the_release_is_new() -> None:
    total = np.arange(50.0)
    released = release(Mechanism(Randomness.fresh()), 0, total)
    assert (total == np.arange(50.0)).all()
    assert not np.shares_memory(released, total)
    assert released.dtype == np.float64
    counts = np.zeros(50, dtype=np.int64)
    assert release(Mechanism(Randomness.fresh()), 0, counts).dtype == np.float64


@pytest.mark.parametrize("size", [50, 70_000])
def test_a_float32_sum_comes_back_as_float32_and_else_the_same(size: int) -> None:
    total = np.linspace(-1.0, 1.0, size, dtype=np.float32)
    single = release(Mechanism(Randomness.replay(3)), 0, total)
    double = release(Mechanism(Randomness.replay(3)), 0, total.astype(np.float64))
    assert single.dtype == np.float32
    assert np.array_equal(single, double.astype(np.float32))


@pytest.mark.parametrize("call", [release, release_plain])
def test_a_step_that_repeats_or_goes_back_is_refused(call: Callable[..., np.ndarray]) -> None:
    mechanism = Mechanism(Randomness.fresh())
    call(mechanism, 3)
    for step in (3, 2, 0):
        with pytest.raises(FairprivError, match="only once"):
            call(mechanism, step)
    call(mechanism, 4)
    with pytest.raises(BadInput, match="step"):
        call(Mechanism(Randomness.fresh()), -1)
    assert sum(event.count for event in mechanism.events) == 2  # type: ignore[union-attr]


def test_purposes_have_their_own_noise_and_order() -> None:
    mechanism = Mechanism(Randomness.fresh())
    drawn = [release_plain(mechanism, 0, "dual"), release_plain(mechanism, 0, "counts"), release(mechanism, 0)]
    drawn.append(release_plain(mechanism, 1, "dual"))
    assert len({values.tobytes() for values in drawn}) == 4


def test_one_randomness_serves_one_mechanism_a_model() -> None:
    randomness = Randomness.fresh()
    first, second = Mechanism(randomness), Mechanism(randomness, model=1)
    assert not np.array_equal(release(first, 0), release(second, 0))
    with pytest.raises(FairprivError, match="already in use"):
        Mechanism(randomness)


def test_replay_repeats_bit_for_bit_and_fresh_does_not() -> None:
    def run(randomness: Randomness) -> bytes:
        mechanism = Mechanism(randomness)
        samples = mechanism.sample(n=100, rate=0.1, epoch=0, steps=3)
        return b"".join(part.tobytes() for part in (*samples, release(mechanism, 0), release_plain(mechanism, 0)))

    assert run(Randomness.replay(5)) == run(Randomness.replay(5))
    assert len({run(Randomness.replay(6)), run(Randomness.fresh()), run(Randomness.fresh())}) == 3
    assert not Mechanism(Randomness.replay(5)).secret
    assert Mechanism(Randomness.fresh()).secret


@pytest.mark.parametrize("size", [1, 50, 3000, 70_000])
@pytest.mark.parametrize("stop", [1, 2, 65])
def test_a_resumed_run_draws_what_an_unbroken_one_draws(size: int, stop: int) -> None:
    """Also in the middle of a block of noise, and of an epoch."""
    total, last = np.zeros(size), min(stop + 2, 70)
    unbroken = Mechanism(Randomness.replay(2))
    expected = [release(unbroken, step, total) for step in range(last)]

    broken = Mechanism(Randomness.replay(2))
    for step in range(stop):
        release(broken, step, total)
    resumed = Mechanism.from_state({"parameters": np.zeros(3), **broken.state()})
    for step in range(stop, last):
        assert np.array_equal(release(resumed, step, total), expected[step])
    assert resumed.events == unbroken.events


def test_a_resumed_run_may_draw_its_epoch_again_and_no_earlier_one() -> None:
    mechanism = Mechanism(Randomness.fresh(), model=3)
    mechanism.sample(n=100, rate=0.1, epoch=0, steps=4)
    under_way = mechanism.sample(n=100, rate=0.1, epoch=1, steps=4)
    release(mechanism, 5)
    release_plain(mechanism, 0)
    resumed = Mechanism.from_state(mechanism.state())
    with pytest.raises(FairprivError, match="only once"):
        resumed.sample(n=100, rate=0.1, epoch=0, steps=4)
    again = resumed.sample(n=100, rate=0.1, epoch=1, steps=4)
    assert all(np.array_equal(one, other) for one, other in zip(under_way, again, strict=True))
    for refused in (
        lambda: resumed.sample(n=100, rate=0.1, epoch=1, steps=4),
        lambda: resumed.sample(n=100, rate=0.1, epoch=0, steps=4),
        lambda: release(resumed, 5),
        lambda: release_plain(resumed, 0),
    ):
        with pytest.raises(FairprivError, match="only once"):
            refused()


def test_the_state_is_arrays_and_survives_a_round_trip() -> None:
    mechanism = Mechanism(Randomness.fresh(), model=2, released=(Gaussian(0.1 + 0.2, 3),))
    release_plain(mechanism, 7, "dual – second")
    state = mechanism.state()
    assert all(name.startswith("mechanism_") and not value.dtype.hasobject for name, value in state.items())
    again = Mechanism.from_state(state)
    assert {name: value.tolist() for name, value in again.state().items()} == {n: v.tolist() for n, v in state.items()}
    assert again.events == mechanism.events


def test_a_fresh_key_carries_the_count_and_no_noise() -> None:
    first = Mechanism(Randomness.fresh())
    before = release(first, 0)
    second = Mechanism(Randomness.fresh(), released=first.events)
    assert not np.array_equal(release(second, 0), before)
    assert second.events == (SampledGaussian(1.0, 0.1, 2, "replace"),)


@settings(max_examples=60, deadline=None)
@given(std=some.floats(1e-30, 1e30), sensitivity=some.floats(-50, 50))
def test_releases_lie_on_a_grid_that_the_value_does_not_choose(std: float, sensitivity: float) -> None:
    """A grid of at most std / 2**20, a power of two, the same for every value: low bits tell nothing."""
    released = Mechanism(Randomness.fresh()).gaussian(
        np.full(60, sensitivity * std), sensitivity=std, noise_multiplier=1.0, purpose="x", index=0
    )
    grid = Fraction(2) ** math.floor(math.log2(std) - 20 + 1e-12)
    assert grid <= Fraction(std) / 2**20
    assert all((Fraction(float(value)) / grid).denominator == 1 for value in released)
    assert len({(Fraction(float(value)) / grid).numerator % 2 for value in released}) == 2  # no coarser either


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_a_value_that_is_not_finite_is_refused(bad: float) -> None:
    for call in (
        lambda m: release(m, 0, np.array([0.0, bad])),
        lambda m: m.gaussian(np.array([bad]), sensitivity=1.0, noise_multiplier=1.0, purpose="x", index=0),
    ):
        with pytest.raises(RunFailed, match="not finite"):
            call(Mechanism(Randomness.fresh()))


def test_a_value_that_drowns_the_noise_is_refused() -> None:
    """From 2**52 grid steps on, float64 itself is coarser than the grid and the noise would lose its low bits."""
    for size in (1, 70_000):
        release(Mechanism(Randomness.fresh()), 0, np.full(size, 2.0**29))
        with pytest.raises(RunFailed, match="too large"):
            release(Mechanism(Randomness.fresh()), 0, np.append(np.zeros(size - 1), -(2.0**30)))


@pytest.mark.parametrize(
    ("field", "bad"),
    [("radius", b) for b in (0.0, -1.0, math.nan, math.inf, 1e-300)]
    + [("noise_multiplier", b) for b in (-1.0, math.nan, math.inf)]
    + [("sampling_rate", b) for b in (0.0, 1.5, math.nan)]
    + [("relation", "swap")],
)
def test_parameters_out_of_range_are_refused(field: str, bad: Any) -> None:
    given = {"radius": 1.0, "noise_multiplier": 1.0, "sampling_rate": 0.1, "relation": "replace", field: bad}
    mechanism = Mechanism(Randomness.fresh())
    with pytest.raises(BadInput, match=field):
        mechanism.sampled_gaussian(np.zeros(2), step=0, **given)
    assert mechanism.events == ()


def test_no_noise_adds_nothing_and_is_counted() -> None:
    mechanism = Mechanism(Randomness.fresh())
    total = np.array([0.1, 1e-17, 3e20])
    assert (release(mechanism, 0, total, noise=0.0) == total).all()
    assert mechanism.events == (SampledGaussian(0.0, 0.1, 1, "replace"),)


def test_a_mechanism_is_not_copied_pickled_or_printed_with_its_key() -> None:
    mechanism = Mechanism(Randomness(b"0123456789abcdef", secret=True))
    assert "0123456789" not in repr(mechanism)
    assert "secret" in repr(mechanism)
    for leak in (pickle.dumps, copy.copy, copy.deepcopy):
        with pytest.raises(TypeError, match="cannot be copied"):
            leak(mechanism)


def test_subclasses_see_and_force_what_passes() -> None:
    """The hooks that contract tests stand on: public methods, called with keywords."""

    class Forcing(Mechanism):
        def sample(self, **asked: Any) -> list[np.ndarray]:
            return [np.array([1, 2])] * int(asked["steps"])

        def sampled_gaussian(self, total: np.ndarray, **told: Any) -> np.ndarray:
            return super().sampled_gaussian(total, **told) * 0 + total

    forcing = Forcing(Randomness.fresh())
    assert forcing.sample(n=5, rate=0.1, epoch=0, steps=2)[1].tolist() == [1, 2]
    assert (release(forcing, 0, np.array([4.0])) == 4.0).all()
    assert forcing.events == (SampledGaussian(1.0, 0.1, 1, "replace"),)
