"""The groups G_i that a notion constrains (PF-LD eq. 1), as a table from (group, label) to cell."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from fairpriv_core.notions.notion import Notion

NO_CELL = -1
LABELS = 2  # of the methods that tell the positive label from the other


@dataclass(frozen=True)
class Cells:
    """The cells of a notion for k groups and l labels.

    `of` (k, l) gives the cell of (group, label), or NO_CELL; `label` (cells,) the label that a cell is among, -1 for
    everyone; `names` (cells,) what a person reads.
    """

    of: np.ndarray
    label: np.ndarray
    names: tuple[str, ...]

    @property
    def count(self) -> int:
        """The number of cells."""
        return len(self.names)

    @property
    def conditions(self) -> np.ndarray:
        """(cells, l) float32: 1 where a label belongs to the population of a cell."""
        labels = range(self.of.shape[1])
        return np.stack([(self.label == y) | (self.label == NO_CELL) for y in labels], axis=1).astype(np.float32)

    def sizes(self, group: np.ndarray, y: np.ndarray) -> np.ndarray:
        """Return each cell's number of rows (cells,), exact: sensitive, to be released only with noise."""
        inside = self.of[group, y]
        return np.bincount(inside[inside != NO_CELL], minlength=self.count).astype(np.float64)

    def name_curves(self, **curves: np.ndarray) -> dict[str, float]:
        """Return each curve's values (cells,) as an analyst sees them: "multiplier/Female", and so on."""
        return {
            f"{curve}/{name}": float(value)
            for curve, values in curves.items()
            for name, value in zip(self.names, values, strict=True)
        }


def build_decided_cells(group_names: Sequence[str]) -> Cells:
    """Return the cells of those who are decided 1: each group once, whatever the label."""
    groups = len(group_names)
    of = np.repeat(np.arange(groups)[:, None], LABELS, axis=1)
    return Cells(of, np.full(groups, NO_CELL), tuple(f"{name}, decided 1" for name in group_names))


def build_positive_cells(group_names: Sequence[str]) -> Cells:
    """Return the cells of those whose label is 1: each group once."""
    groups = len(group_names)
    of = np.column_stack([np.full(groups, NO_CELL), np.arange(groups)])
    return Cells(of, np.ones(groups, dtype=np.int64), tuple(f"{name}, label 1" for name in group_names))


def build_cells(notion: Notion, group_names: Sequence[str], labels: int = LABELS) -> Cells:
    """Return the cells of `notion`: each group once for each label that the notion is conditioned on.

    BadInput where it does not compare means of a row's h among the people of a label.
    """
    notion.require_means()
    groups = len(group_names)
    of = np.full((groups, labels), NO_CELL, dtype=np.int64)
    names: list[str] = []
    among_label: list[int] = []
    for condition in notion.conditions_among(labels):
        among = slice(None) if condition is None else slice(condition, condition + 1)
        for group, name in enumerate(group_names):
            of[group, among] = len(names)
            names.append(name if condition is None else f"{name}, label {condition}")
            among_label.append(NO_CELL if condition is None else condition)
    return Cells(of, np.array(among_label), tuple(names))
