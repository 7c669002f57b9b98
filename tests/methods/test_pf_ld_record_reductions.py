"""PF-LD for whole records: what is left without multipliers or without noise."""

from __future__ import annotations

import dataclasses
from typing import Any

import numpy as np
import pytest

from fairpriv_core.methods.dp_sgd import DpSgd
from fairpriv_core.methods.pf_ld_record import PfLdRecord
from tests.methods.harness import RecordingMechanism, make_data
from tests.methods.test_pf_ld_record import METHOD, train
from tests.methods.test_reductions import write_out


@pytest.mark.parametrize("hidden_layers", [0, 2])
def test_without_multipliers_the_method_is_dp_sgd_bit_for_bit(hidden_layers: int) -> None:
    data = make_data()
    size: dict[str, Any] = {"epochs": 6, "hidden_layers": hidden_layers, "width": 5}
    noise: dict[str, Any] = {"clip_primal": 0.3, "noise_primal": 0.8, "learning_rate": 0.02}
    (plain,) = train(DpSgd(**size, **noise, batch_size=50), [data], [RecordingMechanism(seed=1)])
    without = PfLdRecord(**size, **noise, sampling_rate=0.25, multiplier_max=0.0, gap_target=None)
    (fair,) = train(without, [data], [RecordingMechanism(seed=1)])
    assert np.array_equal(plain.parameters, fair.parameters)
    assert (plain.events, plain.notes) == (fair.events, fair.notes)


@pytest.mark.parametrize("notion", PfLdRecord.info.notions)
def test_without_noise_the_method_follows_the_exact_gradient(notion: str) -> None:
    """A sample of everyone, no clipping, no noise, one step an epoch: as the written-out Lagrangian."""
    method = dataclasses.replace(
        METHOD,
        epochs=4,
        sampling_rate=1.0,
        learning_rate=0.3,
        optimizer="sgd",
        clip_primal=1e6,
        clip_dual=10.0,
        dual_step=4.0,
        multiplier_max=0.8,
        noise_primal=0.0,
        noise_dual=0.0,
        noise_counts=0.0,
    )
    data = make_data(n=600, groups=3)
    (fitted,) = train(method, [data], [RecordingMechanism()], notion)
    assert np.allclose(fitted.parameters, write_out(data, method, notion, in_proportion=True), rtol=1e-4, atol=1e-6)
