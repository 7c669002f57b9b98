"""Noisy sizes of a notion's cells, and the least that they may be."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.errors import BadInput, RunFailed
from fairpriv_core.methods.base import Method
from fairpriv_core.methods.shared.setting import Setting
from fairpriv_core.notions.cells import NO_CELL, Cells, build_cells
from fairpriv_core.notions.notion import Notion
from fairpriv_core.text import epsilon_text

FLOOR = 30.0  # noisy records that a cell must have
_HOPELESS = 0.5  # a chance at best that is not worth the epsilon of a run
_UNLIKELY = 0.005  # a chance that is not worth a warning


MOVED = math.sqrt(2.0)  # how far a person who moves from one cell to another moves their sizes, in L2


def release_counts(setting: Setting[Any], k: int) -> np.ndarray:
    """Release the cells' sizes of model k, (cells,), as its method declares its "counts".

    Raises RunFailed, naming the cell and its noisy size, where one is below FLOOR; that release is paid for too.
    """
    train, cells = setting.trains[k], setting.cells
    noisy = setting.release(k, "counts", cells.sizes(*train.members))
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


def name_noise(cells: Cells, counts: np.ndarray, deviation: float) -> dict[str, float]:
    """Return the curve of the noise on a dual step's means, under the cell with the least of the noisy `counts`.

    `deviation` is its standard deviation there, as a share of the range of h: public once the counts are released.
    """
    return {f"noise/{cells.names[int(counts.argmin())]}": deviation}


def chance_of_refusal(size: float, deviation: float) -> float:
    """Return how likely noise of standard deviation `deviation` takes a cell of `size` rows below FLOOR."""
    return 0.5 * math.erfc((size - FLOOR) / (math.sqrt(2.0) * deviation)) if deviation > 0 else float(size < FLOOR)


@dataclass(frozen=True)
class Counts:
    """The sizes that a run has to find large enough, beside noise of standard deviation `deviation`.

    `sizes` (cells,) are raw. `even` (cells,) are those where public numbers allow the best chance: rows fall into cells
    evenly, and the logarithm of the normal distribution function is concave, so no other sizes do better. `among` has
    the public number of rows that a cell shares with so many others, and what these rows are.
    """

    names: tuple[str, ...]
    sizes: np.ndarray
    even: np.ndarray
    among: tuple[tuple[int, int, str], ...]
    deviation: float

    def require_possible(self) -> None:
        """Raise BadInput where public numbers alone show that most runs would end at these sizes, paid for in vain."""
        if _pass(self.even, self.deviation) >= _HOPELESS:
            return
        rows, cells, what = min(self.among, key=lambda each: each[0] / each[1])
        beside = f", beside noise of about {self.deviation:,.0f} rows" if self.deviation else ""
        merge, more = "merge groups, or " * (cells > 2), "a larger epsilon" if rows >= FLOOR * cells else "more rows"
        raise BadInput(
            f"{rows:,} training rows{what} are too few for {cells} counts: each must reach {FLOOR:.0f}{beside}. Most "
            f"runs would stop there, with their ε spent; {merge}take {more}.",
            field="epsilon",
        )

    def format_risk(self, epsilon: float | None) -> str | None:
        """Return how likely a run of `epsilon` is to end at these sizes; None where unlikely, or not known. Raw."""
        chance = 1.0 - _pass(self.sizes, self.deviation)
        if not self.deviation or chance < _UNLIKELY:
            return None
        least = int(self.sizes.argmin())
        spent = "its ε" if epsilon is None else f"ε = {epsilon_text(epsilon)}"
        often = "most runs" if chance > _HOPELESS else f"about 1 of {round(1 / chance):,} runs"
        return (
            f"Group '{self.names[least]}' is small ({self.sizes[least]:,.0f} training rows; their count gets noise of "
            f"about {self.deviation:,.0f}). So {often} will fail at the count, with {spent} spent. Merge small groups, "
            "or choose a larger ε."
        )


def count_needed(method: Method, notion: Notion, train: Dataset) -> Counts | None:
    """Return the sizes that a fit of `method` (calibrated) on `train` needs; None where it needs none."""
    deviation = method.count_deviation()
    if deviation is None:
        return None
    if method.info.counts_groups:
        names, label = train.group_names, np.full(train.groups, NO_CELL)
        sizes = train.group_sizes
    else:
        cells = build_cells(notion, train.group_names, train.labels)
        names, label, sizes = cells.names, cells.label, cells.sizes(*train.members)
    public = method.info.threat_model == "attribute"  # how many rows have a label is public then
    among = {}
    for label_code in np.unique(label).tolist():
        labelled = public and label_code != NO_CELL
        rows = int((train.y == label_code).sum()) if labelled else train.n
        own = int((label == label_code).sum()) if public else len(label)
        among[label_code] = rows, own, f" of label '{train.label_names[label_code]}'" if labelled else ""
    even = np.array([among[label_code][0] / among[label_code][1] for label_code in label.tolist()])
    return Counts(tuple(names), sizes, even, tuple(among.values()), deviation)


def _pass(sizes: np.ndarray, deviation: float) -> float:
    """Return the chance that no noisy count of cells of these `sizes` falls below FLOOR."""
    return math.prod(1.0 - chance_of_refusal(float(size), deviation) for size in sizes)


def require_rows(table: np.ndarray, notion: Notion, group_names: Sequence[str], *, floor: float = FLOOR) -> np.ndarray:
    """Return the sizes (cells,) of the notion's cells out of a noisy `table` (k, 2) of rows by group and label.

    Raises RunFailed, naming the cell and its size, where one is below `floor`.
    """
    cells = build_cells(notion, group_names)
    inside = cells.of != NO_CELL
    sizes = np.bincount(cells.of[inside], weights=table[inside], minlength=cells.count)
    check_sizes(cells.names, sizes, floor=floor, known_as="an estimate from what was released with noise")
    return sizes
