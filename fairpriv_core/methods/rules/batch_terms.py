"""The constraint terms of F-LD and of PF-LD as published: |mu(B_P) - mu(B_G)| on one public batch."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from fairpriv_core.notions.cells import LABELS, Cells

_LEAST = 2  # a group with fewer members in a batch gives no term in that step


@dataclass(frozen=True)
class CellTable:
    """A notion's cells as tensors: `code_to_cell` (k * 2,), the number of cells for "none"; `condition` (cells, 2)."""

    code_to_cell: Tensor
    condition: Tensor

    @staticmethod
    def of(cells: Cells) -> CellTable:
        """Return the tables of `cells`; `condition[i, y]` is 1 where label y belongs to the population of cell i."""
        code_to_cell = torch.from_numpy(cells.of.reshape(-1)).clone()
        code_to_cell[code_to_cell < 0] = cells.count
        return CellTable(code_to_cell, torch.from_numpy(cells.conditions))


@dataclass(frozen=True)
class BatchTerms:
    """Per record and model (K, B): `group` and `population` are the factors of dh in the gradient of the penalty.

    `smallest` (K,) is the smallest number of members among the groups that give a term, `_LEAST` if none does.
    """

    group: Tensor
    population: Tensor
    smallest: Tensor


def batch_terms(table: CellTable, *, multipliers: Tensor, code: Tensor, values: Tensor) -> BatchTerms:
    """Return the terms of sum_i lambda_i |mu(B_P,i) - mu(B_G,i)| for h = `values` (K, B); `multipliers` (K, cells)."""
    k, cells = multipliers.shape
    cell = table.code_to_cell[code]
    label = code % LABELS
    size = _sum_by(cell, torch.ones_like(values), cells + 1)[:, :cells]
    group_mean = _sum_by(cell, values, cells + 1)[:, :cells] / size.clamp(min=1.0)
    by_label = _sum_by(label, torch.ones_like(values), LABELS)
    people = by_label @ table.condition.T
    population_mean = (_sum_by(label, values, LABELS) @ table.condition.T) / people.clamp(min=1.0)
    counted = size >= _LEAST
    signed = multipliers * torch.sign(population_mean - group_mean) * counted
    per_member = torch.cat([signed / size.clamp(min=1.0), torch.zeros(k, 1)], dim=1)
    per_person = (signed / people.clamp(min=1.0)) @ table.condition
    smallest = torch.where(counted, size, torch.inf).amin(dim=1)
    return BatchTerms(
        group=per_member.gather(1, cell),
        population=per_person.gather(1, label),
        smallest=torch.where(torch.isfinite(smallest), smallest, float(_LEAST)),
    )


def _sum_by(index: Tensor, values: Tensor, bins: int) -> Tensor:
    return torch.zeros(values.shape[0], bins).scatter_add_(1, index, values)
