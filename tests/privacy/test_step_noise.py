"""A step's normals: the same whichever steps came before, never the same for two steps, whole at every size."""

from __future__ import annotations

import numpy as np
import pytest

from fairpriv_core.privacy.noise import AT_ONCE, StepNoise
from fairpriv_core.privacy.randomness import Randomness

SIZES = [1, 103, 1000, 7361, AT_ONCE // 2 + 1, AT_ONCE, AT_ONCE + 1, 3 * AT_ONCE - 5]
STEPS = [0, 1, 2, 62, 63, 64, 65, 130]


def noise(size: int, seed: int = 1) -> StepNoise:
    randomness = Randomness.replay(seed)
    return StepNoise(size, lambda block: randomness.stream("noise", block, size))


def step_of(source: StepNoise, step: int) -> np.ndarray:
    return np.concatenate([piece.copy() for piece in source.pieces(step)])


@pytest.mark.parametrize("size", SIZES)
def test_a_step_has_the_same_normals_whichever_came_before_and_shares_none(size: int) -> None:
    rising = noise(size)
    drawn = {step: step_of(rising, step) for step in STEPS}
    for step in (0, 63, 130):
        assert np.array_equal(step_of(noise(size), step), drawn[step])
        assert np.array_equal(step_of(rising, step), drawn[step])
    assert all(len(values) == size for values in drawn.values())
    values = np.concatenate(list(drawn.values()))
    assert len(np.unique(values)) == len(values)
    assert abs(values.std() - 1.0) < 5 / np.sqrt(2 * len(values))


def test_a_step_of_nothing_has_no_pieces() -> None:
    assert list(noise(0).pieces(3)) == []


def test_what_lies_in_a_held_piece_may_be_used_up() -> None:
    """Releases are made in the noise's own place: the next step's normals are untouched."""
    expected = step_of(noise(500), 1)
    source = noise(500)
    (piece,) = source.pieces(0)
    piece[:] = 0.0
    assert np.array_equal(step_of(source, 1), expected)
