"""The constraint terms of F-LD and of PF-LD as published: |mu(B_P) - mu(B_G)| on one public batch."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairpriv_core.engine.records import Records
from fairpriv_core.notions.cells import LABELS, NO_CELL, Cells

_LEAST = 2  # a group with fewer members in a batch gives no term in that step


@dataclass(frozen=True)
class CellTable:
    """A notion's cells as a 0/1 matrix: which codes (group * 2 + label) are in each G_i, then in each P_i."""

    inside: np.ndarray

    @staticmethod
    def of(cells: Cells) -> CellTable:
        """Return the matrix of `cells`: (2 cells, codes)."""
        codes = cells.of.reshape(-1)
        members = codes == np.arange(cells.count)[:, None]
        label = np.arange(len(codes)) % LABELS
        people = (cells.label[:, None] == NO_CELL) | (cells.label[:, None] == label)
        return CellTable(np.concatenate([members, people]).astype(np.float64))


@dataclass(frozen=True)
class BatchTerms:
    """Per code and model (K, codes): `group` and `population` are the factors of dh in the gradient of the penalty.

    `smallest`, (K,) or (1,) of shared rows, is the smallest number of members among the groups that give a term,
    `_LEAST` if none does.
    """

    group: np.ndarray
    population: np.ndarray
    smallest: np.ndarray


def batch_terms(table: CellTable, *, multipliers: np.ndarray, records: Records, values: np.ndarray) -> BatchTerms:
    """Return the terms of sum_i lambda_i |mu(B_P,i) - mu(B_G,i)| for h = `values` (K, B); `multipliers` (K, cells)."""
    inside, cells = table.inside, multipliers.shape[1]
    sizes = records.count_codes(inside.shape[1]) @ inside.T
    people = np.maximum(sizes, 1.0)
    means = records.sum_by_code(values, inside.shape[1]) @ inside.T
    means /= people
    members = sizes[:, :cells]
    counted = members >= _LEAST
    signed = np.sign(means[:, cells:] - means[:, :cells])
    signed *= multipliers
    signed *= counted
    smallest = np.where(counted, members, np.inf).min(axis=1)
    smallest[smallest == np.inf] = _LEAST
    return BatchTerms(
        group=((signed / people[:, :cells]) @ inside[:cells]).astype(np.float32),
        population=((signed / people[:, cells:]) @ inside[cells:]).astype(np.float32),
        smallest=smallest,
    )
