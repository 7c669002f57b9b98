"""How far apart groups' rates of positive decisions can move when test people's groups and labels become others.

A shift gives (group, label) another joint distribution and leaves the decisions among people of one group and label as
they are. So it moves no true and no false positive rate: equality of opportunity and of odds stay, and demographic
parity, whose rates mix those of the labels, does not. Exact: rows are reweighted, none is drawn.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import permutations

import numpy as np


@dataclass(frozen=True)
class _Group:
    """One of two groups that a shift drives apart, by the decisions that it is to get more of.

    `high` and `low` are shares of all rows: of the group's with the label under which those decisions are more frequent
    (> 0), and of its others. `most` and `least` are how frequent they are there.
    """

    high: float
    low: float
    most: float
    least: float

    def rate(self, lost: float, won: float) -> float:
        """Return how frequent the decisions are in the group when it has `lost` of `low`, and `won` onto `high`."""
        left = self.low - lost
        return self.most - (self.most - self.least) * left / (self.high + left + won)


def worst_parity_gap(counts: np.ndarray, moved: float) -> float | None:
    """Return the largest demographic parity gap within a total variation of `moved` in [0, 1]; None for an empty group.

    `counts` (k, 2, 2) are over group, label and decision. The gap, in [0, 1], is the supremum over the joint
    distributions of group and label that keep every group; labels that a group has no rows of stay without. It is the
    gap of the rows themselves at 0.
    """
    if not counts.sum(axis=(1, 2)).all():
        return None
    shares, rates = _split(counts)
    raised = [_order(*group) for group in zip(shares, rates, strict=True)]
    lowered = [_order(*group) for group in zip(shares, 1.0 - rates, strict=True)]
    pairs = permutations(range(len(counts)), 2)
    return max((_drive_apart(raised[one], lowered[other], moved) for one, other in pairs), default=0.0)


def even_parity_gap(counts: np.ndarray, moved: float) -> float | None:
    """Return the demographic parity gap, in [0, 1], a total variation of `moved` towards equal cells; None as above.

    Equal are the shares of the groups and labels that have rows. Where these are nearer than `moved`, it is the gap
    there.
    """
    if not counts.sum(axis=(1, 2)).all():
        return None
    shares, rates = _split(counts)
    target = (shares > 0) / np.count_nonzero(shares)
    away = np.abs(target - shares).sum() / 2.0
    shares = shares + min(moved / away, 1.0) * (target - shares) if away else shares
    mixed = (shares * rates).sum(axis=1) / shares.sum(axis=1)
    return float(mixed.max() - mixed.min())


def _split(counts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return each group and label's share of all rows (k, 2), and how many of them are decided positively (k, 2)."""
    rows = counts.sum(axis=2)
    return rows / rows.sum(), counts[:, :, 1] / np.maximum(rows, 1)


def _order(shares: np.ndarray, rates: np.ndarray) -> _Group:
    """Return a group by its shares and rates (2,) at each label."""
    present = np.flatnonzero(shares)
    high, low = present[np.argmax(rates[present])], present[np.argmin(rates[present])]
    return _Group(
        float(shares[high]), float(shares[low]) if high != low else 0.0, float(rates[high]), float(rates[low])
    )


def _drive_apart(one: _Group, other: _Group, moved: float) -> float:
    """Return the supremum of the gap between two groups, whose sides are positive and negative decisions.

    All that moves leaves the groups' `low` and comes to their `high`, from either to either: of `moved`, `lost` and
    `won` are those of `one`. With lost - won fixed the gap is linear in `won`, so that it is largest on the edge of
    what may be. There it is convex in `lost`, and concave in `won`: at the ends of `lost`.
    """
    ends = (max(0.0, moved - other.low), min(moved, one.low))
    if ends[0] > ends[1]:  # enough to leave both groups with `high` alone
        return one.most + other.most - 1.0
    shifts = []
    for lost in ends:
        won = _split_won(one, other, moved, lost)
        shifts.append(one.rate(lost, won) + other.rate(moved - lost, moved - won) - 1.0)
    return max(shifts)


def _split_won(one: _Group, other: _Group, moved: float, lost: float) -> float:
    """Return how much of `moved` comes to `one`, where the gap, concave in it, is largest: its derivative is 0."""
    left = (one.low - lost, other.low - (moved - lost))
    pulls = [
        math.sqrt(max((group.most - group.least) * rest, 0.0)) for group, rest in zip((one, other), left, strict=True)
    ]
    if not sum(pulls):
        return moved
    sizes = (one.high + left[0], other.high + left[1] + moved)
    return min(max((sizes[1] * pulls[0] - sizes[0] * pulls[1]) / sum(pulls), 0.0), moved)
