"""How the weight lambda of DP-FERMI's penalty follows a gap that is aimed at, from decisions released with noise.

lambda grows while the largest difference between two groups' decisions exceeds the target and shrinks while it is
below. It reads what was released, public sizes and itself alone, so it costs nothing beyond the release.

A cell's decisions are counted as sums over its rows of l e_d - 1, d the decision and l the number of labels: whole
numbers, which no order of summation changes, of length sqrt(l (l - 1)) for each row. A cell's sums add up to 0, so the
mean of their noise is taken off. The shares that follow are averaged over epochs, since noise is as large as the gap
where groups are small, and what noise alone would add to a squared difference is deducted.
"""

from __future__ import annotations

import math
from typing import Any, Protocol

import numpy as np

from fairpriv_core.engine.kernel import Kernel
from fairpriv_core.engine.rows import Feed
from fairpriv_core.methods.shared.releases import Release
from fairpriv_core.methods.shared.setting import Setting
from fairpriv_core.notions.cells import LABELS, NO_CELL

CHOSEN_ON = "Adult, Bank, COMPAS and synthetic data"  # what the numbers below, and DP-FERMI's other defaults, fit
LARGEST = 50.0  # of lambda: more than any setting that was of use where groups are small
_REACH = 500.0  # a gap that stays 0.1 beyond the target moves lambda by 50 in all
_MEMORY = 0.5  # weight of the past in the shares


class PenaltyWeights:
    """Lambda of K models (K,), and of each the shares of decisions (cells, l) that were released, with their variances.

    They stand in the rule's `arrays`. `cells_moved` is how many cells one person's change touches: 2 where a value is
    replaced, 1 where a row is zeroed out.
    """

    def __init__(self, setting: Setting[Any], arrays: dict[str, np.ndarray], *, cells_moved: int) -> None:
        self._setting, self._moved = setting, cells_moved
        models, labels = len(setting.methods), setting.cells.of.shape[1]
        self.values = np.array([method.multiplier for method in setting.methods], dtype=np.float64)
        self._shares = np.zeros((models, setting.cells.count, labels))
        self._variances = np.full((models, setting.cells.count), np.inf)
        arrays |= {"penalty_weight": self.values, "decided": self._shares, "decided_variance": self._variances}

    @property
    def column(self) -> np.ndarray:
        """Lambda as (K, 1) float32."""
        return self.values[:, None].astype(np.float32)

    def follow(self, k: int, *, sizes: np.ndarray, epoch: int, kernel: Kernel, feed: Feed) -> None:
        """Release what model k decides of its training rows and move its lambda; `sizes` (cells,) are no secret."""
        method = self._setting.methods[k]
        sums, deviation = self._release(k, epoch, kernel, feed)
        labels = sums.shape[1]
        shares, variances = (sums / sizes[:, None] + 1.0) / labels, (deviation / (labels * sizes)) ** 2
        past = _MEMORY if np.isfinite(self._variances[k]).all() else 0.0
        self._shares[k] = past * self._shares[k] + (1.0 - past) * shares
        carried = past**2 * self._variances[k] if past else 0.0
        self._variances[k] = carried + (1.0 - past) ** 2 * variances
        gap = largest_difference(self._shares[k], self._variances[k], self._setting.cells.label)
        moved = self.values[k] + _REACH / method.epochs * (gap - method.gap_target)
        self.values[k] = min(max(moved, 0.0), LARGEST)

    def _release(self, k: int, epoch: int, kernel: Kernel, feed: Feed) -> tuple[np.ndarray, float]:
        """Return the cells' noisy sums of l e_d - 1, (cells, l), and the deviation of the noise in each.

        A row whose outputs are not numbers, or that has no group, decides nothing.
        """
        cells, columns, method = self._setting.cells, feed.columns[k], self._setting.methods[k]
        labels = cells.of.shape[1]
        outputs = kernel.score(slice(k, k + 1), columns.features)[0]
        decided = outputs.argmax(axis=1) if outputs.ndim > 1 else (outputs > 0).astype(np.int64)
        mask = ~np.isnan(outputs.reshape(len(outputs), -1)).any(axis=1)
        cell = cells.of.reshape(-1)[columns.codes]
        inside = mask & (cell != NO_CELL) & columns.present
        table = np.bincount(cell[inside] * labels + decided[inside], minlength=cells.count * labels)
        table = table.reshape(cells.count, labels)
        shift, noise = shift_of_decisions(labels, self._moved), method.noise("noise_gap")
        sums = (labels * table - table.sum(axis=1, keepdims=True)).ravel().astype(np.float64)
        released = self._setting.release(k, "decisions", sums, sensitivity=shift, index=epoch).reshape(table.shape)
        centred = released - released.mean(axis=1, keepdims=True)
        return centred, shift * noise * math.sqrt(1.0 - 1.0 / labels)


def shift_of_decisions(labels: int, cells_moved: int) -> float:
    """Return how far one person moves the sums of l e_d - 1 in L2, in each of the cells that change sqrt(l (l - 1))."""
    return math.sqrt(cells_moved * labels * (labels - 1.0))


def largest_difference(shares: np.ndarray, variances: np.ndarray, among: np.ndarray) -> float:
    """Return the largest difference of a share (cells, l) between two cells among the same people, less its noise.

    From each squared difference the variance of its noise, of `variances` (cells,), is deducted, which makes its mean
    the square of the exact one. `among` (cells,) says which people a cell is among.
    """
    squares = (shares[:, None] - shares[None]) ** 2 - (variances[:, None] + variances[None])[..., None]
    alike = among[:, None] == among[None]
    return math.sqrt(max(float(squares[alike].max()), 0.0))


class AimsAtGap(Protocol):
    """The hyper-parameters that say whether decisions are released, and how often."""

    @property
    def epochs(self) -> int: ...
    @property
    def multiplier(self) -> float: ...
    @property
    def gap_target(self) -> float | None: ...


def releases_of_decisions(method: AimsAtGap, cells_moved: int) -> tuple[Release, ...]:
    """Return the releases of decisions, after each epoch but the last; () where no gap is aimed at.

    How far one person moves them is told of two labels.
    """
    if method.gap_target is None:
        return ()
    moved, needed = shift_of_decisions(LABELS, cells_moved), method.multiplier > 0
    return (Release("decisions", moved, "noise_gap", "epoch", method.epochs - 1, "share_gap", needed),)
