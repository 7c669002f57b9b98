"""DP-FERMI's regulariser (Lowy, Gupta and Razaviyayn, 2023): psi of Theorem C.1, its derivatives (Lemma D.1), and W.

psi(F, r; W) = -sum_rj W_rj^2 F_j + 2 sum_j W_rj F_j / sqrt(p_r) - 1 for a record of group r with predicted
probabilities F (l,). There is one W (k, l) for each condition of the notion (Appendix F.2.4): for everyone, or for each
label. Arrays here are (K, conditions, k, l) and (K, conditions, k), float64.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairpriv_core.engine.clipping import MARGIN, clip_positive
from fairpriv_core.engine.rows import Records
from fairpriv_core.notions.cells import LABELS, NO_CELL, Cells
from fairpriv_core.notions.surrogates import derivative
from fairpriv_core.privacy.sums import on_grid

_SMALL = 1e-300


@dataclass(frozen=True)
class Averages:
    """Of a public batch: `means` of F (K, conditions, l) and the share of rows `weights` (K, conditions)."""

    means: np.ndarray
    weights: np.ndarray


@dataclass(frozen=True)
class CodeSums:
    """Of `count` records, by code or by label (K, codes): the sums of their `positive`, and how many `rows`."""

    positive: np.ndarray
    rows: np.ndarray
    count: int


class Conditions:
    """The cells of a notion as k groups under each condition; the last index of a table stands for none."""

    def __init__(self, cells: Cells) -> None:
        of = cells.of
        self.cells, self.groups, self.count = cells, len(of), cells.count // len(of)
        first = of[0] // len(of)  # cells are numbered condition by condition, group by group
        self.of_label = np.where(of[0] == NO_CELL, self.count, first)
        self._members = (of.reshape(-1)[:, None] == np.arange(cells.count)).astype(np.float64)  # (codes, cells)

    def shares(self, counts: np.ndarray) -> np.ndarray:
        """Return p_r within each condition (K, conditions, k) from the cells' `counts` (K, cells)."""
        shaped = counts.reshape(len(counts), self.count, self.groups)
        shares: np.ndarray = shaped / shaped.sum(axis=2, keepdims=True)
        return shares

    def count_rows(self, records: Records) -> CodeSums:
        """Return the sums of the records' probabilities, and how many records there are, by code."""
        codes = self.groups * LABELS
        return CodeSums(records.sum_by_code(records.probability, codes), records.count_codes(codes), records.count)

    def count_labels(self, records: Records) -> CodeSums:
        """Return what `average` needs, by label alone: a sum's last bits depend on its order, which groups must not."""
        own = (records.label[..., None] == np.arange(LABELS)).astype(np.float64)
        positive = np.matmul(own.transpose(0, 2, 1), records.probability[..., None].astype(np.float64))
        return CodeSums(positive[..., 0], own.sum(axis=1), records.count)

    def average(self, sums: CodeSums) -> Averages:
        """Return the public batch's mean of F and share of rows under each condition; uniform where there is none."""
        member = self.of_label[None, :] == np.arange(self.count)[:, None]
        positive, people = (values @ member.T for values in (sums.positive, sums.rows))
        mean = np.where(people > 0, positive / np.maximum(people, 1.0), 0.5).clip(0.0, 1.0)
        weights = np.broadcast_to(people / sums.count, mean.shape)
        return Averages(np.stack([1.0 - mean, mean], axis=-1), weights)

    def total(self, sums: CodeSums) -> np.ndarray:
        """Return the sums of F over the records of each group: (K, conditions, k, l)."""
        positive, rows = (self._by_cell(values) for values in (sums.positive, sums.rows))
        return np.stack([rows - positive, positive], axis=-1)

    def group_sums(self, records: Records, *, centre: np.ndarray) -> np.ndarray:
        """Return the sums of F - u over the records of each group: (K, conditions, k, l); u = `centre`, (K, .., l).

        Records that are not present, under no condition, or whose prediction is not a number add nothing.
        """
        codes = self.groups * LABELS
        positive = on_grid(records.probability.clip(MARGIN, 1.0 - MARGIN), 1.0)
        counts = records.count_codes(codes)
        sums = records.sum_by_code(positive, codes)
        if not np.isfinite(sums).all():
            known = ~np.isnan(positive)
            sums = records.sum_by_code(np.where(known, positive, 0.0), codes)
            counts = records.sum_by_code(known.astype(positive.dtype), codes)
        totals = self.total(CodeSums(sums, counts, records.count))
        centred: np.ndarray = totals - self._by_cell(counts)[..., None] * centre[:, :, None]
        return centred

    def _by_cell(self, by_code: np.ndarray) -> np.ndarray:
        cells: np.ndarray = (by_code @ self._members).reshape(len(by_code), self.count, self.groups)
        return cells

    def by_label(self, values: np.ndarray) -> np.ndarray:
        """Return values of conditions (K, conditions) for each label (K, 2), 0 where a label is under none."""
        return np.append(values, np.zeros((len(values), 1)), axis=1)[:, self.of_label]

    def by_code(self, values: np.ndarray) -> np.ndarray:
        """Return values of conditions and groups (K, conditions, k) for each code (K, k * LABELS), 0 for none."""
        padded = np.append(values, np.zeros((len(values), 1, self.groups)), axis=1)
        return padded[:, self.of_label].transpose(0, 2, 1).reshape(len(values), -1)


def derivatives(records: Records) -> np.ndarray:
    """Return each record's dh/do (K, B), o the logit."""
    return derivative("score", records.probability, records.label)


def clipped_derivatives(records: Records, bound: np.ndarray) -> np.ndarray:
    """Return each record's dh/do (K, B), scaled down where its gradient of h is longer than `bound` (K, 1)."""
    return clip_positive(derivatives(records), records.norms, bound)


def independent(shares: np.ndarray, labels: int = LABELS) -> np.ndarray:
    """Return the maximiser of mean psi where predictions do not depend on the group: W_rj = sqrt(p_r)."""
    return np.repeat(np.sqrt(shares)[..., None], labels, axis=-1)


def project(w: np.ndarray, radius: float | np.ndarray) -> np.ndarray:
    """Return W scaled back, each condition's (..., k, l), to Frobenius norm `radius` where it is above."""
    norms = np.sqrt((w**2).sum(axis=(-2, -1), keepdims=True))
    scaled: np.ndarray = w * np.minimum(1.0, radius / np.maximum(norms, _SMALL))
    return scaled


def public_derivatives(w: np.ndarray) -> np.ndarray:
    """Return the derivative of -Tr(W diag(F) W^T) with respect to h, (..., conditions): F = (1 - h, h)."""
    squares = (w**2).sum(axis=-2)
    difference: np.ndarray = squares[..., 0] - squares[..., 1]
    return difference


def group_derivatives(w: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return the derivative of 2 sum_j W_rj F_j / sqrt(p_r) with respect to h, (..., conditions, k)."""
    slopes: np.ndarray = 2.0 * (w[..., 1] - w[..., 0]) / np.sqrt(shares)
    return slopes


def multipliers(w: np.ndarray, shares: np.ndarray, multiplier: float) -> np.ndarray:
    """Return each cell's multiplier in the sense of PF-LD (cells,): what -d mu(G_i) is weighted with."""
    by_cell: np.ndarray = -multiplier * (group_derivatives(w, shares) * shares).ravel()
    return by_cell


def derivative_of_w(sums: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return what the records of `sums` (..., conditions, k, l) add to W's sum: 2 (e_s / sqrt(p_s) - c) (F - u)^T each.

    c_r = (1 / sqrt(p_r) + (2 - k) sqrt(p_r)) / 2 is equally far from all k points e_r / sqrt(p_r).
    """
    groups = shares.shape[-1]
    weights = (1.0 + (2.0 - groups) * shares)[..., None]
    total: np.ndarray = (2.0 * sums - weights * sums.sum(axis=-2, keepdims=True)) / np.sqrt(shares)[..., None]
    return total


def sensitivity_of_w(shares: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """Return the largest norm that one record's `derivative_of_w` can have, whatever its group and prediction: (K,).

    |e_r / sqrt(p_r) - c|^2 = (sum_r 1 / p_r - (k - 2)^2) / 4; |F - u| is largest at a corner of the simplex.
    """
    corners = np.eye(centre.shape[-1]) - centre[..., None, :]
    farthest = np.sqrt((corners**2).sum(axis=-1)).max(axis=-1)
    spread = (1.0 / shares).sum(axis=-1) - (shares.shape[-1] - 2) ** 2
    largest: np.ndarray = (farthest * np.sqrt(spread)).max(axis=-1)
    return largest


def without_excess(total: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return a noisy `derivative_of_w` less what can only be noise: sum_j and sum_r sqrt(p_r) of the exact are 0."""
    root = np.sqrt(shares)[..., None]
    across = total - total.mean(axis=-1, keepdims=True)
    tangent: np.ndarray = across - root * (root * across).sum(axis=-2, keepdims=True)
    return tangent


class ClassConditions(Conditions):
    """Conditions on l labels, with F (l,) of an output a label: `CodeSums.positive` is (K, codes, l) here."""

    @property
    def labels(self) -> int:
        """The number of labels l."""
        return int(self.cells.of.shape[1])

    def count_rows(self, records: Records) -> CodeSums:
        return self._count(records, records.probabilities, records.count_codes(self.groups * self.labels))

    def count_labels(self, records: Records) -> CodeSums:
        own = (records.label[..., None] == np.arange(self.labels)).astype(np.float64)
        return CodeSums(np.matmul(own.transpose(0, 2, 1), records.probabilities), own.sum(axis=1), records.count)

    def average(self, sums: CodeSums) -> Averages:
        member = (self.of_label[None, :] == np.arange(self.count)[:, None]).astype(np.float64)
        people = sums.rows.reshape(len(sums.rows), -1, self.labels).sum(axis=1) @ member.T
        probabilities = sums.positive.reshape(len(sums.positive), -1, self.labels, self.labels).sum(axis=1)
        known = people[..., None]
        means = np.where(known > 0, np.matmul(member, probabilities) / np.maximum(known, 1.0), 1.0 / self.labels)
        return Averages(means, np.broadcast_to(people / sums.count, means.shape[:2]))

    def total(self, sums: CodeSums) -> np.ndarray:
        return np.stack([self._by_cell(sums.positive[..., label]) for label in range(self.labels)], axis=-1)

    def group_sums(self, records: Records, *, centre: np.ndarray) -> np.ndarray:
        """Return the sums of F - u over the records of each group: (K, conditions, k, l); u = `centre`, (K, .., l).

        Each is shortened a little, for what rounding adds. What adds nothing is as for two labels.
        """
        known = np.isfinite(records.probabilities).all(axis=-1)
        rows = records.sum_by_code(known.astype(np.float64), self.groups * self.labels)
        sums = self._count(records, np.where(known[..., None], records.probabilities, 0.0), rows)
        centred: np.ndarray = self.total(sums) - self._by_cell(rows)[..., None] * centre[:, :, None]
        return centred * (1.0 - MARGIN)

    def spread_labels(self, values: np.ndarray) -> np.ndarray:
        """Return values of conditions (K, conditions, l) for each code (K, codes, l), 0 for none: alike for groups."""
        spread = [np.tile(self.by_label(values[..., label]), self.groups) for label in range(self.labels)]
        return np.stack(spread, axis=-1)

    def spread_groups(self, values: np.ndarray) -> np.ndarray:
        """Return values of conditions and groups (K, conditions, k, l) for each code (K, codes, l), 0 for none."""
        return np.stack([self.by_code(values[..., label]) for label in range(self.labels)], axis=-1)

    def _count(self, records: Records, probabilities: np.ndarray, rows: np.ndarray) -> CodeSums:
        codes = self.groups * self.labels
        exact = on_grid(probabilities, 1.0)
        sums = [records.sum_by_code(exact[..., label], codes) for label in range(self.labels)]
        return CodeSums(np.stack(sums, axis=-1), rows, records.count)


@dataclass(frozen=True)
class Directions:
    """For each code what u a record has: its direction (K, codes, l), of length 1 or 0, and its length (K, codes)."""

    directions: np.ndarray
    lengths: np.ndarray

    @staticmethod
    def of(directions: np.ndarray) -> Directions:
        """Return u of each code (K, codes, l) as directions and lengths."""
        lengths = np.sqrt((directions**2).sum(axis=-1))
        return Directions(directions / np.where(lengths > 0, lengths, 1.0)[..., None], lengths.astype(np.float32))

    def seeds(self, records: Records) -> np.ndarray:
        """Return the derivatives of u . F, u of length 1, with respect to the outputs of each record (K, B, l)."""
        probabilities = records.probabilities
        own = self.directions[np.arange(len(probabilities))[:, None], records.code]
        seeds: np.ndarray = probabilities * (own - (probabilities * own).sum(axis=-1, keepdims=True))
        return seeds


def group_directions(w: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """Return 2 W_r / sqrt(p_r) of each group, less its mean over labels: (..., conditions, k, l)."""
    return across(2.0 * w / np.sqrt(shares)[..., None])


def across(directions: np.ndarray) -> np.ndarray:
    """Return u less its mean over labels (..., l): F sums to 1, so that the mean does nothing."""
    centred: np.ndarray = directions - directions.mean(axis=-1, keepdims=True)
    return centred
