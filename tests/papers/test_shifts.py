"""The gaps under a shift of groups and labels: against all joint distributions on a grid, and against weighted rows."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest

from fairpriv_core.papers.shifts import even_parity_gap, worst_parity_gap

SHIFTS = [0.0, 0.05, 0.1, 0.25, 0.5, 0.8]
_RANDOM = np.random.default_rng(5)
TWO = [_RANDOM.integers(1, 60, (2, 2, 2)) for _ in range(8)]
SPARSE = [
    np.array([[[0, 0], [3, 9]], [[20, 4], [1, 6]]]),  # no row of a label in a group
    np.array([[[5, 5], [10, 10]], [[30, 10], [9, 3]]]),  # labels that decide nothing
    np.array([[[0, 9], [7, 0]], [[12, 0], [0, 2]]]),  # all or none
]
THREE = [_RANDOM.integers(1, 40, (3, 2, 2)) for _ in range(3)]


def list_joints(cells: int, parts: int) -> np.ndarray:
    """Return all ways to give `parts` equal shares to cells, (ways, cells)."""
    bars = np.array(list(combinations(range(parts + cells - 1), cells - 1)))
    edges = np.pad(bars, ((0, 0), (1, 1)), constant_values=((0, 0), (-1, parts + cells - 1)))
    return (np.diff(edges, axis=1) - 1) / parts


def search(counts: np.ndarray, moved: float, parts: int) -> float:
    """Return the largest gap of the joint distributions of a grid that are as near, and keep every group and hole."""
    rows = counts.sum(axis=2)
    own, rates = rows / rows.sum(), counts[:, :, 1] / np.maximum(rows, 1)
    joints = list_joints(rows.size, parts).reshape(-1, *rows.shape)
    # the grid is around the rows' own distribution: each of its points is moved there where it is too far
    away = np.abs(joints - own).sum(axis=(1, 2)) / 2.0
    step = np.minimum(1.0, moved / np.maximum(away, 1e-12))[:, None, None]
    near = own + step * (joints - own)
    kept = (near.sum(axis=2) > 1e-9).all(axis=1) & (near[:, rows == 0] == 0).all(axis=1)
    mixed = (near * rates).sum(axis=2)[kept] / near.sum(axis=2)[kept]
    return float((mixed.max(axis=1) - mixed.min(axis=1)).max())


@pytest.mark.parametrize("moved", SHIFTS)
@pytest.mark.parametrize(("tables", "parts"), [(TWO, 40), (SPARSE, 40), (THREE, 14)])
def test_the_worst_shift_is_the_worst_of_all_joint_distributions(
    tables: list[np.ndarray], parts: int, moved: float
) -> None:
    for counts in tables:
        worst, found = worst_parity_gap(counts, moved), search(counts, moved, parts)
        assert worst is not None and found <= worst + 1e-9
        assert worst <= found + 0.03, "no joint distribution of the grid comes near"


@pytest.mark.parametrize("gap", [worst_parity_gap, even_parity_gap])
def test_no_shift_leaves_the_rows_own_gap(gap: object) -> None:
    assert callable(gap)
    for counts in [*TWO, *SPARSE, *THREE]:
        rates = counts[:, :, 1].sum(axis=1) / counts.sum(axis=(1, 2))
        assert gap(counts, 0.0) == pytest.approx(rates.max() - rates.min(), abs=1e-12)


def test_a_shift_moves_no_rate_within_a_label_and_demographic_parity_no_further_than_the_worst() -> None:
    counts = TWO[0]
    group, label, decision = (np.repeat(place.ravel(), counts.ravel()) for place in np.indices(counts.shape))
    own, cell = counts.sum(axis=2) / counts.sum(), 2 * group + label
    for _ in range(20):
        other = _RANDOM.dirichlet(np.ones(4)).reshape(2, 2)
        weights = (other / own).ravel()[cell]
        moved = float(np.abs(other - own).sum() / 2.0)

        def rate(of: int, among: np.ndarray, weights: np.ndarray = weights) -> float:
            chosen = (group == of) & among
            return float(np.average(decision[chosen], weights=weights[chosen]))

        everyone = np.ones(len(group), dtype=bool)
        for y in (0, 1):
            gap = rate(0, label == y) - rate(1, label == y)
            plain = rate(0, label == y, np.ones(len(group))) - rate(1, label == y, np.ones(len(group)))
            assert gap == pytest.approx(plain)
        worst = worst_parity_gap(counts, moved)
        assert worst is not None and abs(rate(0, everyone) - rate(1, everyone)) <= worst + 1e-12


def test_a_shift_to_equal_cells_ends_where_all_are_equal() -> None:
    counts = TWO[1]
    rates = (counts[:, :, 1] / counts.sum(axis=2)).mean(axis=1)
    assert even_parity_gap(counts, 1.0) == pytest.approx(abs(rates[0] - rates[1]))
    for moved in SHIFTS:
        even, worst = even_parity_gap(counts, moved), worst_parity_gap(counts, moved)
        assert even is not None and worst is not None and even <= worst + 1e-12


@pytest.mark.parametrize("gap", [worst_parity_gap, even_parity_gap])
def test_a_group_without_rows_has_no_gap(gap: object) -> None:
    assert callable(gap) and gap(np.array([[[1, 2], [3, 4]], [[0, 0], [0, 0]]]), 0.1) is None
