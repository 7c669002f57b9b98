"""Several models' mechanisms: samples that they share, and releases of one step at once."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from fairpriv_core.errors import FairprivError, RunFailed
from fairpriv_core.privacy.event import SampledGaussian
from fairpriv_core.privacy.mechanism import Mechanism
from fairpriv_core.privacy.randomness import Randomness


def test_models_that_name_a_stream_have_the_same_samples_and_unlike_noise() -> None:
    randomness = Randomness.replay(5)
    first, second = (Mechanism(randomness, model=k, stream=2) for k in range(2))
    other = Mechanism(randomness, model=2, stream=3)
    drawn = [each.sample(n=500, rate=0.1, epoch=0, steps=4) for each in (first, second, other)]
    assert drawn[0] is drawn[1]
    assert any(not np.array_equal(a, b) for a, b in zip(drawn[0], drawn[2], strict=True))
    assert first.stream_name == second.stream_name != other.stream_name
    assert Mechanism(Randomness.replay(6), stream=2).stream_name != first.stream_name
    assert Mechanism(Randomness.replay(6)).stream_name is None
    how: dict[str, Any] = {"radius": 1.0, "noise_multiplier": 1.0, "sampling_rate": 0.1, "relation": "replace"}
    noise = [each.sampled_gaussian(np.zeros(400), step=0, **how) for each in (first, second)]
    assert abs(np.corrcoef(*noise)[0, 1]) < 0.3


def test_mechanisms_that_share_samples_share_them_again_after_a_resume() -> None:
    randomness = Randomness.fresh()
    both = [Mechanism(randomness, model=k, stream=2) for k in range(2)]
    before = [each.sample(n=500, rate=0.1, epoch=0, steps=4) for each in both]
    restored = Mechanism.from_states([each.state() for each in both])
    after = [each.sample(n=500, rate=0.1, epoch=0, steps=4) for each in restored]
    assert after[0] is after[1]
    assert all(np.array_equal(a, b) for a, b in zip(before[0], after[0], strict=True))
    assert [each.stream_name for each in restored] == [each.stream_name for each in both]


def test_sums_that_are_released_together_are_as_each_alone() -> None:
    totals, radii, noises = np.arange(12.0).reshape(3, 4), [1.0, 0.0, 2.0], [1.0, 1.0, 3.0]
    how: dict[str, Any] = {"sampling_rates": [0.1] * 3, "relation": "replace", "step": 0}

    def models() -> list[Mechanism]:
        return [Mechanism(Randomness.replay(5), model=k) for k in range(3)]

    together, alone = models(), models()
    released = Mechanism.sum_together(together, totals, radii=radii, noise_multipliers=noises, **how)
    assert not released[1].any() and together[1].events == ()
    for k in (0, 2):
        single = alone[k].sampled_gaussian(
            totals[k], radius=radii[k], noise_multiplier=noises[k], sampling_rate=0.1, relation="replace", step=0
        )
        assert np.array_equal(released[k], single)
        assert together[k].events == alone[k].events == (SampledGaussian(noises[k], 0.1, 1, "replace"),)
    with pytest.raises(FairprivError, match="its noise may be used only once"):
        Mechanism.sum_together(together, totals, radii=radii, noise_multipliers=noises, **how)
    spoiled = np.where(np.arange(12).reshape(3, 4) == 5, np.nan, totals)
    with pytest.raises(RunFailed, match="not finite"):
        Mechanism.sum_together(models(), spoiled, radii=[1.0] * 3, noise_multipliers=noises, **how)
