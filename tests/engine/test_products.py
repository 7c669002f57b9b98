"""Products of K models' matrices, of rows that each has or that streams share."""

from __future__ import annotations

import numpy as np
import pytest

from fairpriv_core.engine.products import expand, multiply, split, turn

DRAW = np.random.default_rng(0)


def test_rows_are_multiplied_by_their_own_models_matrix() -> None:
    for rows in [0, 1, 127, 128, 129, 300]:
        for streams, models in [(1, 1), (1, 4), (2, 4), (4, 4)]:
            left, right = DRAW.normal(size=(streams, rows, 5)), DRAW.normal(size=(models, 5, 3))
            held = np.full((models, rows + 7, 3), np.nan)  # results lie in the first rows of a larger block
            multiply(left, right, held[:, :rows])
            assert np.allclose(held[:, :rows], expand(left, models) @ right)
            assert np.isnan(held[:, rows:]).all()


@pytest.mark.parametrize("rows", [3, 200])
def test_sums_over_rows_that_streams_share(rows: int) -> None:
    weighted, fed = DRAW.normal(size=(4, rows, 5)), DRAW.normal(size=(2, rows, 3))
    out = np.empty((4, 5, 3))
    multiply(weighted.transpose(0, 2, 1), fed, out)
    assert np.allclose(out, np.einsum("kbn,kbm->knm", weighted, expand(fed, 4)))


def test_turned_weights_lie_in_the_memory_that_is_given() -> None:
    weights, memory = DRAW.normal(size=(2, 3, 4)), np.empty((2, 20))
    turned = turn(weights, memory)
    assert np.array_equal(turned, weights.transpose(0, 2, 1))
    assert np.shares_memory(turned, memory)
    assert turned[0].flags.c_contiguous


def test_rows_are_split_into_whole_blocks_and_the_rest() -> None:
    for rows in [0, 1, 128, 300]:
        held = DRAW.normal(size=(2, rows + 7, 3))
        parts = split(held[:, :rows])
        assert [part.shape[1:3] for part in parts] == [
            shape for shape in ((rows // 128, 128), (1, rows % 128)) if 0 not in shape
        ]
        assert all(np.shares_memory(part, held) for part in parts)
        whole = np.concatenate([part.reshape(2, -1, 3) for part in parts], axis=1) if parts else held[:, :0]
        assert np.array_equal(whole, held[:, :rows])
