"""Secret samples of a fit are Poisson and independent of the public batches; what is not so is caught."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fairpriv_core.engine.loop import public_batches
from fairpriv_core.methods.pf_ld import PfLd
from fairpriv_core.privacy import mechanism
from tests.methods.harness import RecordingMechanism, make_data, train

METHOD = PfLd(
    epochs=21,
    batch_size=20,
    sampling_rate=0.2,
    multiplier_max=1.0,
    noise_primal=2.0,
    noise_dual=2.0,
    noise_counts=1.0,
    gap_target=None,
)
STEPS = 200  # of the 20 epochs whose multipliers are not 0


class SampleRecorder(RecordingMechanism):
    """Keeps the samples too."""

    def __init__(self) -> None:
        super().__init__()
        self.samples: list[np.ndarray] = []

    def sample(self, *, epoch: int, steps: int, **how: Any) -> list[np.ndarray]:
        drawn = super().sample(epoch=epoch, steps=steps, **how)
        self.samples += drawn
        return drawn


def _samples() -> list[np.ndarray]:
    recorder = SampleRecorder()
    train(METHOD, [make_data()], [recorder])
    return recorder.samples


def _size_spread(samples: list[np.ndarray]) -> float:
    """Return the variance of |S| over that of a binomial: 1 for a Poisson sample."""
    return float(np.var([len(sample) for sample in samples]) / (200 * 0.2 * 0.8))


def _overlap(samples: list[np.ndarray]) -> float:
    """Return the mean share of the step's public batch that is in its sample: q for an independent sample."""
    batches = [batch for epoch in range(1, 21) for batch in public_batches(0, n=200, batch_size=20, epoch=epoch)]
    return float(np.mean([np.isin(b, s).mean() for b, s in zip(batches, samples, strict=True)]))


def test_samples_are_poisson_and_independent_of_the_batches() -> None:
    samples = _samples()
    assert len(samples) == STEPS
    assert np.mean([len(sample) for sample in samples]) == pytest.approx(40, abs=2)
    assert 0.6 < _size_spread(samples) < 1.5
    assert _overlap(samples) == pytest.approx(0.2, abs=0.03)


def test_a_fixed_size_sample_is_caught(monkeypatch: pytest.MonkeyPatch) -> None:
    def fixed(stream: np.random.Generator, *, n: int, rate: float, steps: int) -> list[np.ndarray]:
        return [np.sort(stream.permutation(n)[: round(rate * n)]) for _ in range(steps)]

    monkeypatch.setattr(mechanism, "draw_poisson_samples", fixed)
    assert _size_spread(_samples()) < 0.01
