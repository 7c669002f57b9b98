"""DP-FedAvg clips each layer on its own, and is DP-SGD where there is one layer."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np

from fairpriv_core.engine.networks import NetworkShape
from fairpriv_core.methods.dp_fedavg import DpFedAvg
from fairpriv_core.methods.dp_sgd import DpSgd
from fairpriv_core.privacy.sums import EXCESS
from tests.methods.harness import RecordingMechanism, Release, make_data, train
from tests.methods.test_dp_sgd_family import SHORT, replay_single_records

DEEP = DpFedAvg(**SHORT, hidden_layers=2, width=5)


def _layers(release: Release) -> list[float]:
    """Return the length of each layer's part of a sum, over the ball's radius."""
    flat = release.value[None]
    views = NetworkShape(4, DEEP.hidden_layers, DEEP.width).views(flat)
    return [float((weights**2).sum() + (biases**2).sum()) ** 0.5 / release.bound for weights, biases in views]


def _single_records() -> list[list[float]]:
    wide = dataclasses.replace(make_data(), X=make_data().X * 100)
    _, replays = replay_single_records(DEEP, wide)
    return [_layers(release) for sums in replays for release in sums]


def test_each_layer_has_its_share_of_the_bound() -> None:
    largest = np.array(_single_records()).max(axis=0)
    assert np.all(largest <= 1.0 / math.sqrt(3.0))
    assert np.all(largest >= 0.999 / (1.0 + EXCESS) / math.sqrt(3.0))


def test_one_layer_is_dp_sgd_bit_for_bit() -> None:
    plain, layered = (
        train(method(**SHORT), [make_data()], [RecordingMechanism(seed=3)])[0] for method in (DpSgd, DpFedAvg)
    )
    assert np.array_equal(plain.parameters, layered.parameters)
    assert plain.events == layered.events


def test_where_nothing_is_clipped_a_network_is_trained_as_by_dp_sgd() -> None:
    wide: dict[str, Any] = {**SHORT, "clip_primal": 1e3, "noise_primal": 0.0, "hidden_layers": 2, "width": 5}
    plain, layered = (
        train(method(**wide), [make_data()], [RecordingMechanism(seed=3)])[0] for method in (DpSgd, DpFedAvg)
    )
    assert np.allclose(plain.parameters, layered.parameters, rtol=1e-5, atol=1e-7)
