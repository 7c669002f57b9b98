"""Noisy sizes of a notion's cells, and the least that they may be."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from fairpriv_core.errors import RunFailed
from fairpriv_core.methods.setting import Setting
from fairpriv_core.notions.cells import NO_CELL, build_cells
from fairpriv_core.notions.notion import Notion

FLOOR = 30.0  # noisy records that a cell must have


MOVED = math.sqrt(2.0)  # how far a person who moves from one cell to another moves their sizes, in L2


def release_counts(setting: Setting[Any], k: int, *, sensitivity: float = MOVED) -> np.ndarray:
    """Release the cells' sizes of model k, (cells,): one person moves them by at most `sensitivity` in L2.

    Raises RunFailed, naming the cell and its noisy size, where one is below FLOOR; that release is paid for too.
    """
    train, cells = setting.trains[k], setting.cells
    noisy = setting.trainings[k].mechanism.gaussian(
        cells.sizes(train.group, train.y),
        sensitivity=sensitivity,
        noise_multiplier=setting.methods[k].noise("noise_counts"),
        purpose="counts",
        index=0,
    )
    check_sizes(cells.names, noisy)
    return noisy


def check_sizes(
    names: Sequence[str], sizes: np.ndarray, *, floor: float = FLOOR, known_as: str = "a noisy count"
) -> None:
    """Raise RunFailed, naming the smallest of the cells `names` and its size (cells,), where that is below `floor`."""
    least = int(sizes.argmin())
    if sizes[least] < floor:
        raise RunFailed(
            f"group '{names[least]}' has about {max(sizes[least], 0.0):.0f} training rows ({known_as}); "
            f"at least {floor:.0f} are needed: take a larger epsilon, or merge the group with another one."
        )


def chance_of_refusal(size: float, deviation: float) -> float:
    """Return how likely noise of standard deviation `deviation` takes a cell of `size` rows below FLOOR."""
    return 0.5 * math.erfc((size - FLOOR) / (math.sqrt(2.0) * deviation)) if deviation > 0 else float(size < FLOOR)


def best_chance(rows: int, cells: int, deviation: float) -> float:
    """Return the chance that no noisy count falls below FLOOR where `rows` fall into `cells` as well as they can.

    That is evenly: the logarithm of the normal distribution function is concave, so no other sizes do better.
    """
    return (1.0 - chance_of_refusal(rows / cells, deviation)) ** cells


def require_rows(table: np.ndarray, notion: Notion, group_names: Sequence[str], *, floor: float = FLOOR) -> np.ndarray:
    """Return the sizes (cells,) of the notion's cells out of a noisy `table` (k, 2) of rows by group and label.

    Raises RunFailed, naming the cell and its size, where one is below `floor`.
    """
    cells = build_cells(notion, group_names)
    inside = cells.of != NO_CELL
    sizes = np.bincount(cells.of[inside], weights=table[inside], minlength=cells.count)
    check_sizes(cells.names, sizes, floor=floor, known_as="an estimate from what was released with noise")
    return sizes
