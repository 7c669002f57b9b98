"""K training sets as tensors, and the records of one step as rules see them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.kernel import Pass

Indices = Sequence[np.ndarray]  # one array of row numbers a model


@dataclass(frozen=True)
class Records:
    """What a rule may look at for each record of a step; every field is (K, B).

    `code` is group * 2 + label. `present` is 0 for rows that only pad K samples of unlike size, else 1.
    """

    logits: Tensor
    probability: Tensor
    norms: Tensor
    label: Tensor
    code: Tensor
    present: Tensor

    @staticmethod
    def of(passed: Pass, drawn: Drawn) -> Records:
        """Return the records of a pass over what was drawn."""
        return Records(
            passed.logits, torch.sigmoid(passed.logits), passed.norms, drawn.label, drawn.code, drawn.present
        )

    def part(self, rows: slice) -> Records:
        """Return the records in `rows`."""
        return Records(
            self.logits[:, rows],
            self.probability[:, rows],
            self.norms[:, rows],
            self.label[:, rows],
            self.code[:, rows],
            self.present[:, rows],
        )


@dataclass(frozen=True)
class Drawn:
    """Rows gathered for K models: features (K, B, d), labels, codes and presence (K, B)."""

    features: Tensor
    label: Tensor
    code: Tensor
    present: Tensor


class Feed:
    """K training sets of one size; gathers the rows of each model's own indices."""

    def __init__(self, trains: Sequence[Dataset]) -> None:
        self.n = trains[0].n
        self.features = [torch.from_numpy(np.ascontiguousarray(train.X)) for train in trains]
        self.labels = [torch.from_numpy(train.y.astype(np.float32)) for train in trains]
        self.group_names = [train.group_names for train in trains]
        self.codes = [torch.from_numpy(train.group * 2 + train.y) for train in trains]

    def draw(self, indices: Indices) -> Drawn:
        """Return the rows at `indices[k]` of model k; shorter index lists are padded and marked as not present."""
        longest = max(len(index) for index in indices)
        present = torch.ones(len(indices), longest)
        rows = []
        for k, index in enumerate(indices):
            present[k, len(index) :] = 0.0
            rows.append(torch.from_numpy(_padded(index, longest)))
        return Drawn(_gather(self.features, rows), _gather(self.labels, rows), _gather(self.codes, rows), present)


def _padded(index: np.ndarray, length: int) -> np.ndarray:
    return index if len(index) == length else np.concatenate([index, np.zeros(length - len(index), dtype=np.int64)])


def _gather(columns: Sequence[Tensor], rows: Sequence[Tensor]) -> Tensor:
    if len(columns) == 1:
        return columns[0].index_select(0, rows[0]).unsqueeze(0)
    return torch.stack([column.index_select(0, row) for column, row in zip(columns, rows, strict=True)])
