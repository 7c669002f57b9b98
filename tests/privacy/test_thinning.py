"""Secret samples with a rate for each record: thinned from the largest rate, which is the one that is counted."""

from __future__ import annotations

import numpy as np
import pytest

from fairpriv_core.errors import BadInput, FairprivError
from fairpriv_core.privacy.mechanism import Mechanism
from fairpriv_core.privacy.randomness import Randomness

N, STEPS, RATE = 200, 4000, 0.3
KEEP = np.linspace(0.0, 1.0, N)


def _inside(mechanism: Mechanism, **how: np.ndarray) -> np.ndarray:
    inside = np.zeros((STEPS, N), dtype=bool)
    for row, sample in zip(inside, mechanism.sample(n=N, rate=RATE, epoch=0, steps=STEPS, **how), strict=True):
        assert (np.diff(sample) > 0).all()
        row[sample] = True
    return inside


def test_each_record_has_its_own_rate_and_no_more() -> None:
    """Within 6 standard deviations each; never in with keep 0."""
    shares, rates = _inside(Mechanism(Randomness.replay(3)), keep=KEEP).mean(axis=0), RATE * KEEP
    assert (np.abs(shares - rates) <= 6.0 * np.sqrt(rates * (1.0 - rates) / STEPS)).all()
    assert shares[0] == 0.0


def test_records_and_steps_stay_independent() -> None:
    inside = _inside(Mechanism(Randomness.replay(3)), keep=np.full(N, 0.5)).astype(float) - RATE / 2
    spread = RATE / 2 * (1 - RATE / 2)
    assert abs((inside[:, :-1] * inside[:, 1:]).mean() / spread) < 6.0 / np.sqrt(STEPS * N)
    assert abs((inside[:-1] * inside[1:]).mean() / spread) < 6.0 / np.sqrt(STEPS * N)
    assert inside.sum(axis=1).var() == pytest.approx(N * spread, rel=0.15)


def test_keeping_everyone_is_the_plain_sample() -> None:
    plain, kept = (_inside(Mechanism(Randomness.replay(3)), **how) for how in ({}, {"keep": np.ones(N)}))
    assert np.array_equal(plain, kept)


def test_it_is_counted_at_the_largest_rate() -> None:
    mechanism = Mechanism(Randomness.replay(3))
    mechanism.sample(n=N, rate=RATE, epoch=0, steps=1, keep=np.full(N, 0.1))
    with pytest.raises(FairprivError, match=r"drawn at rate 0\.3, so it cannot be counted at 0\.03"):
        mechanism.sampled_gaussian(
            np.zeros(2), radius=1.0, noise_multiplier=1.0, sampling_rate=0.03, relation="add_remove", step=0
        )


def test_chances_out_of_range_are_refused() -> None:
    for keep in [np.full(N, 1.1), np.full(N, -0.1), np.full(N, np.nan), np.ones(N - 1)]:
        with pytest.raises(BadInput, match="keep must be 200 chances from 0 to 1"):
            Mechanism(Randomness.replay(3)).sample(n=N, rate=RATE, epoch=0, steps=1, keep=keep)
