"""What PF-LD's proved variant and PF-LD for records release beside their steps; and the automatic C_p."""

from __future__ import annotations

import math
from typing import Any

import numpy as np

from fairpriv_core.engine.clipping import MARGIN
from fairpriv_core.engine.kernel import Kernel
from fairpriv_core.engine.records import Feed
from fairpriv_core.errors import RunFailed
from fairpriv_core.methods.clipping_choice import best_bound, proved_noise
from fairpriv_core.methods.pf_ld import PfLd
from fairpriv_core.methods.rules.setting import Setting
from fairpriv_core.methods.rules.violations import cell_means, constraint_norms, finite, outputs
from fairpriv_core.notions.cells import NO_CELL
from fairpriv_core.privacy.sums import on_grid

FLOOR = 30.0  # noisy records that a cell must have
MOVED = math.sqrt(2.0)  # how far a person who moves from one cell to another moves their sizes, in L2


def release_counts(setting: Setting[Any], k: int, *, shift: float = MOVED) -> np.ndarray:
    """Release the cells' sizes of model k, (cells,): one person moves them by at most `shift` in L2.

    Raises RunFailed, naming the cell and its noisy size, where one is below FLOOR; that release is paid for too.
    """
    train, cells = setting.trains[k], setting.cells
    noisy = setting.trainings[k].mechanism.gaussian(
        cells.sizes(train.group, train.y),
        shift=shift,
        noise_multiplier=setting.methods[k].noise("noise_counts"),
        purpose="counts",
        index=0,
    )
    least = int(noisy.argmin())
    if noisy[least] < FLOOR:
        raise RunFailed(
            f"group '{cells.names[least]}' has about {max(noisy[least], 0.0):.0f} training rows (a noisy count); "
            f"at least {FLOOR:.0f} are needed: take a larger epsilon, or merge the group with another one."
        )
    return noisy


def release_violations(
    setting: Setting[PfLd], k: int, *, counts: np.ndarray, epoch: int, kernel: Kernel, feed: Feed
) -> np.ndarray:
    """Release mu(P_i) - mu(G_i) of model k, (cells,): h clipped to C_d, and centred, which halves the shift."""
    method, cells = setting.methods[k], setting.cells
    values = finite(outputs(k, target=setting.target, kernel=kernel, feed=feed))
    half = method.clip_dual / 2.0
    centred = on_grid(values.clip(method.clip_dual * MARGIN, method.clip_dual * (1.0 - MARGIN)) - half, half)
    means = cell_means(k, cells=cells, values=values, group_values=centred, feed=feed)
    released = setting.trainings[k].mechanism.gaussian(
        means.sum / counts,
        shift=half * _largest_move(counts, cells.label),
        noise_multiplier=method.noise("noise_dual"),
        purpose="dual",
        index=epoch,
    )
    violations: np.ndarray = means.population - (released + half)
    return violations


def release_deviations(
    setting: Setting[Any], k: int, *, centres: np.ndarray, epoch: int, kernel: Kernel, feed: Feed
) -> np.ndarray:
    """Release the cells' sums of h - m_i of model k, (cells,), h clipped to C_d and m_i the public `centres`.

    A record that is absent adds nothing; one that is present at most max(m_i, C_d - m_i), to one cell.
    """
    method, cells = setting.methods[k], setting.cells
    bound = method.clip_dual
    cell = cells.of.reshape(-1)[feed.columns[k].codes]
    inside = cell != NO_CELL
    values = outputs(k, target=setting.target, kernel=kernel, feed=feed)[inside]
    deviations = finite(values.clip(bound * MARGIN, bound * (1.0 - MARGIN)) - centres[cell[inside]])
    return setting.trainings[k].mechanism.gaussian(
        np.bincount(cell[inside], weights=on_grid(deviations, bound), minlength=cells.count),
        shift=float(np.maximum(centres, bound - centres).max()),
        noise_multiplier=method.noise("noise_dual"),
        purpose="dual",
        index=epoch,
    )


def choose_clip(setting: Setting[PfLd], k: int, *, counts: np.ndarray, kernel: Kernel, feed: Feed) -> float:
    """Return C_p of model k: Theorem 4's minimiser over all records and noisy counts, all public by now."""
    method = setting.methods[k]
    noise = proved_noise(
        size=kernel.shape.size,
        noise_multiplier=method.noise("noise_primal"),
        rate=method.rate(setting.n),
        counts=counts,
    )
    norms = constraint_norms(k, target=setting.target, kernel=kernel, feed=feed)
    return best_bound(norms, noise=noise, weight=float(len(counts)))


def _largest_move(counts: np.ndarray, label: np.ndarray) -> float:
    """Return max sqrt(1/d_i^2 + 1/d_j^2) over two cells that a person may move between: those among the same people."""
    squares = []
    for among in np.unique(label):
        inverse = np.sort(1.0 / counts[label == among])
        squares.append(float((inverse[-2:] ** 2).sum()))
    return math.sqrt(max(squares))
