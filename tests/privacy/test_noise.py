"""The noise itself, measured at the mechanism: its scale, shape and tails, and that no two draws are related."""

import os
from collections.abc import Iterator

import numpy as np
import pytest
from randomgen import AESCounter
from scipy import stats

from fairpriv_core.privacy.mechanism import Mechanism
from fairpriv_core.privacy.randomness import Randomness
from fairpriv_core.seeds import public_generator
from tests.privacy.test_randomness import run_in_child

SIZE = 4000


def draw(mechanism: Mechanism, step: int, size: int = SIZE) -> np.ndarray:
    """Return the noise of one step at standard deviation 1."""
    return mechanism.sampled_gaussian(
        np.zeros(size), radius=0.5, noise_multiplier=2.0, sampling_rate=0.5, relation="replace", step=step
    )


def assert_unrelated(*rows: np.ndarray) -> None:
    """No correlation beyond 6 standard errors, of the values or of their magnitudes, aligned or shifted by one."""
    table = np.array(rows)
    for values in (table, np.abs(table) - np.abs(table).mean()):
        correlations = np.corrcoef(values) - np.eye(len(rows))
        assert np.abs(correlations).max() < 6 / np.sqrt(table.shape[1])
        shifted = np.corrcoef(values[:, 1:], values[:, :-1])[: len(rows), len(rows) :]
        assert np.abs(shifted).max() < 6 / np.sqrt(table.shape[1])


@pytest.fixture(scope="module")
def pooled() -> np.ndarray:
    """Noise of 3,000 steps of 400 coordinates."""
    mechanism = Mechanism(Randomness.replay(41))
    return np.array([draw(mechanism, step, 400) for step in range(3000)])


def test_the_pooled_standard_deviation_is_right(pooled: np.ndarray) -> None:
    assert pooled.std() == pytest.approx(1.0, rel=0.005)
    assert abs(pooled.mean()) < 5 / np.sqrt(pooled.size)
    assert np.abs(pooled.std(axis=0) - 1).max() < 6 / np.sqrt(2 * 3000)
    assert np.abs(pooled.std(axis=1) - 1).max() < 6 / np.sqrt(2 * 400)


def test_the_noise_is_normal(pooled: np.ndarray) -> None:
    assert stats.kstest(pooled.ravel()[:200_000], "norm").pvalue > 1e-4
    for threshold in (2.0, 3.0, 4.0, 4.5):
        expected = 2 * stats.norm.sf(threshold) * pooled.size
        assert abs((np.abs(pooled) > threshold).sum() - expected) < 5 * np.sqrt(expected) + 1


def test_plain_releases_have_the_same_noise() -> None:
    mechanism = Mechanism(Randomness.replay(42))
    noise = np.array(
        [
            mechanism.gaussian(np.zeros(400), sensitivity=0.5, noise_multiplier=2.0, purpose="dual", index=index)
            for index in range(1000)
        ]
    )
    assert noise.std() == pytest.approx(1.0, rel=0.005)
    assert_unrelated(*noise[:20])
    assert abs((noise[:-1] * noise[1:]).mean()) < 5 / np.sqrt(noise.size)


def test_steps_are_unrelated_within_and_across_blocks(pooled: np.ndarray) -> None:
    for lag in (1, 2, 63, 64, 65, 128):
        assert abs((pooled[:-lag] * pooled[lag:]).mean()) < 5 / np.sqrt(pooled[lag:].size)
    assert abs((pooled[:, :-1] * pooled[:, 1:]).mean()) < 5 / np.sqrt(pooled.size)


def test_models_runs_and_purposes_are_unrelated() -> None:
    """Runs with one public seed too: nothing of the noise comes from it."""
    randomness = Randomness.fresh()
    one = Mechanism(randomness)
    dual = one.gaussian(np.zeros(SIZE), sensitivity=1.0, noise_multiplier=1.0, purpose="dual", index=0)
    count = one.gaussian(np.zeros(SIZE), sensitivity=1.0, noise_multiplier=1.0, purpose="counts", index=0)
    others = (Mechanism(randomness, model=1), Mechanism(Randomness.fresh()), Mechanism(Randomness.replay(0)))
    public = public_generator(0, "sampled_gaussian", 0).standard_normal(SIZE)
    assert_unrelated(draw(one, 0), *(draw(other, 0) for other in others), dual, count, public)


def test_replays_of_neighbouring_seeds_are_unrelated() -> None:
    assert_unrelated(*(draw(Mechanism(Randomness.replay(seed)), 0) for seed in range(8)))


def test_forked_children_are_unrelated() -> None:
    """As a forkserver makes them: each child starts from the same memory."""
    parent = draw(Mechanism(Randomness.fresh()), 0)
    children = [np.frombuffer(run_in_child(lambda: draw(Mechanism(Randomness.fresh()), 0).tobytes())) for _ in range(3)]
    assert_unrelated(parent, *children)


def test_a_forked_child_may_not_use_its_parents_mechanism() -> None:
    """Not even noise that the parent had drawn in advance."""
    mechanism = Mechanism(Randomness.fresh())
    draw(mechanism, 0, 10)
    assert run_in_child(lambda: draw(mechanism, 1, 10).tobytes()) == b"FairprivError"
    assert run_in_child(lambda: mechanism.sample(n=9, rate=0.5, epoch=0, steps=1)[0].tobytes()) == b"FairprivError"
    assert run_in_child(lambda: repr(mechanism.state()).encode()) == b"FairprivError"
    assert os.getpid() and draw(mechanism, 1, 10).size == 10


def test_what_follows_a_resume_is_unrelated_to_what_came_before() -> None:
    mechanism = Mechanism(Randomness.fresh())
    before = [draw(mechanism, step) for step in range(3)]
    resumed = Mechanism.from_state(mechanism.state())
    assert_unrelated(*before, *(draw(resumed, step) for step in range(3, 6)))


def test_another_size_in_the_same_block_is_other_noise() -> None:
    mechanism = Mechanism(Randomness.fresh())
    first, second = draw(mechanism, 0, 2000), draw(mechanism, 1, 1000)
    assert_unrelated(first[:1000], first[1000:], second)  # a row of a shared block would be the first one's end


def test_tails_beyond_six_standard_deviations_occur() -> None:
    """Key 1820 is the first with one among its first 10**6 normals; two keys in a thousand are expected to have one.

    A float32 normal made from 24 bits ends at 5.77, and delta is then false.
    """
    noise = np.random.Generator(AESCounter(key=1820)).standard_normal(10**6)
    assert np.abs(noise).max() > 6.0
    assert (np.abs(noise) > 4.5).sum() == pytest.approx(2 * stats.norm.sf(4.5) * 10**6, abs=14)


def far_steps() -> list[bytes]:
    """Return the noise of steps at all distances that a counter of 8 to 48 bits would wrap at, by every release."""
    steps = sorted({0, 1, 63, *(2**bits + more for bits in (8, 10, 16, 22, 31, 32, 48) for more in (0, 1, 64))})
    mechanism, drawn = Mechanism(Randomness.replay(5)), []
    for step in steps:
        drawn.append(draw(mechanism, step, 8))
        drawn.append(
            mechanism.gaussian(np.zeros(8), sensitivity=1.0, noise_multiplier=1.0, purpose="far", index=step),
        )
        drawn.append(mechanism.laplace(np.zeros(8), sensitivity=1.0, scale=1.0, purpose="far", index=step))
    return [values.tobytes() for values in drawn]


def test_no_step_however_late_has_the_noise_of_another() -> None:
    noise = far_steps()
    assert len(set(noise)) == len(noise)


@pytest.mark.parametrize("period", [2**8, 2**16, 2**32])
def test_a_stream_that_repeats_is_caught(period: int, monkeypatch: pytest.MonkeyPatch) -> None:
    honest = Mechanism._step_noise

    def wrap(self: Mechanism, name: str, step: int, size: int) -> Iterator[np.ndarray]:
        return honest(self, name, step % period, size)

    monkeypatch.setattr(Mechanism, "_step_noise", wrap)
    noise = far_steps()
    assert len(set(noise)) < len(noise)


def test_a_name_that_forgets_high_bits_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    """As of an index packed into 16 bits: streams of blocks and of plain releases come again."""
    honest = Randomness.stream
    monkeypatch.setattr(
        Randomness, "stream", lambda self, purpose, *index: honest(self, purpose, *(each % 2**16 for each in index))
    )
    noise = far_steps()
    assert len(set(noise)) < len(noise)
