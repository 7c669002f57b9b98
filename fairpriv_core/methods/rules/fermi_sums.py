"""Sums of predicted probabilities by group and label, of networks with an output a label: for DP-FERMI."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from fairpriv_core.engine.clipping import MARGIN
from fairpriv_core.engine.records import Records
from fairpriv_core.methods.rules.fermi_terms import Averages, CodeSums, Conditions
from fairpriv_core.privacy.sums import on_grid


@dataclass(frozen=True)
class ClassConditions(Conditions):
    """Conditions on l labels, with F (l,) of an output a label: `CodeSums.positive` is (K, codes, l) here."""

    @property
    def labels(self) -> int:
        """The number of labels l."""
        return int(self.cells.of.shape[1])

    def count_rows(self, records: Records) -> CodeSums:
        return self._count(records, records.chances, records.count_codes(self.groups * self.labels))

    def count_labels(self, records: Records) -> CodeSums:
        """Return what `average` needs by label alone: the order of a sum's terms does not depend on groups either."""
        own = (records.label[..., None] == np.arange(self.labels)).astype(np.float64)
        return CodeSums(np.matmul(own.transpose(0, 2, 1), records.chances), own.sum(axis=1), records.count)

    def average(self, sums: CodeSums) -> Averages:
        member = (self.of_label[None, :] == np.arange(self.count)[:, None]).astype(np.float64)
        people = sums.rows.reshape(len(sums.rows), -1, self.labels).sum(axis=1) @ member.T
        chances = sums.positive.reshape(len(sums.positive), -1, self.labels, self.labels).sum(axis=1)
        known = people[..., None]
        means = np.where(known > 0, np.matmul(member, chances) / np.maximum(known, 1.0), 1.0 / self.labels)
        return Averages(means, np.broadcast_to(people / sums.count, means.shape[:2]))

    def total(self, sums: CodeSums) -> np.ndarray:
        return np.stack([self._by_cell(sums.positive[..., label]) for label in range(self.labels)], axis=-1)

    def group_sums(self, records: Records, *, centre: np.ndarray) -> np.ndarray:
        """Return the sums of F - u over the records of each group: (K, conditions, k, l); u = `centre`, (K, .., l).

        Each is shortened a little, for what rounding adds. What adds nothing is as for two labels.
        """
        known = np.isfinite(records.chances).all(axis=-1)
        rows = records.sum_by_code(known.astype(np.float64), self.groups * self.labels)
        sums = self._count(records, np.where(known[..., None], records.chances, 0.0), rows)
        centred: np.ndarray = self.total(sums) - self._by_cell(rows)[..., None] * centre[:, :, None]
        return centred * (1.0 - MARGIN)

    def spread_labels(self, values: np.ndarray) -> np.ndarray:
        """Return values of conditions (K, conditions, l) for each code (K, codes, l), 0 for none: alike for groups."""
        spread = [np.tile(self.by_label(values[..., label]), self.groups) for label in range(self.labels)]
        return np.stack(spread, axis=-1)

    def spread_groups(self, values: np.ndarray) -> np.ndarray:
        """Return values of conditions and groups (K, conditions, k, l) for each code (K, codes, l), 0 for none."""
        return np.stack([self.by_code(values[..., label]) for label in range(self.labels)], axis=-1)

    def _count(self, records: Records, chances: np.ndarray, rows: np.ndarray) -> CodeSums:
        codes = self.groups * self.labels
        exact = on_grid(chances, 1.0)
        each = [records.sum_by_code(exact[..., label], codes) for label in range(self.labels)]
        return CodeSums(np.stack(each, axis=-1), rows, records.count)
