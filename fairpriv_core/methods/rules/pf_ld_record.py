"""The rule of PF-LD for whole records (docs/methods/pf_ld_record.md).

Notation. d_i are noisy cell sizes and m_i centres, constants once released; p_i is the size of cell i's population: n,
or the noisy number of rows with its label. To the gradient of its loss a record of cell i adds dh times the sum of
n lambda_j / p_j over the cells j of its population, less n lambda_i / d_i. Loss and constraints are multiples of one
gradient of the logit and are clipped as one.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fairpriv_core.engine.clipping import clip_weights
from fairpriv_core.engine.kernel import Kernel
from fairpriv_core.engine.loop import Sampled
from fairpriv_core.engine.records import Feed, Records
from fairpriv_core.methods.rules.noisy_sums import NoisySumsRule
from fairpriv_core.methods.rules.pf_ld_releases import release_counts, release_deviations
from fairpriv_core.methods.rules.setting import Setting
from fairpriv_core.notions.cells import NO_CELL
from fairpriv_core.notions.surrogates import output, slope


class PfLdRecordRule(NoisySumsRule):
    """DP-SGD on the Lagrangian; after each epoch but the last, noisy sums over the cells move its multipliers."""

    def __init__(self, setting: Setting[Any]) -> None:
        super().__init__(setting)
        self._cells = setting.cells
        self._alike = (self._cells.label[:, None] == self._cells.label).astype(
            np.float64
        )  # cells among the same people
        shape = (len(setting.methods), self._cells.count)
        self.kept["multipliers"], self.kept["violations"] = np.zeros(shape), np.zeros(shape)
        self.kept["noisy_counts"] = np.ones(shape)
        self.kept["centres"] = setting.column("clip_dual").astype(np.float64) / 2.0 * np.ones(shape)
        for k, (method, training) in enumerate(zip(setting.methods, setting.trainings, strict=True)):
            if method.pursues and training.checkpoint is None:
                self.kept["noisy_counts"][k] = release_counts(setting, k, shift=1.0)
        self._set_factors()

    def weights(self, sampled: Sampled) -> np.ndarray:
        records = sampled.records
        weights = self._slopes(records)
        return records.keep(clip_weights(weights, records.norms, self.column_of(self.bounds()).astype(np.float32)))

    def end_epoch(self, epoch: int, kernel: Kernel, feed: Feed) -> None:
        if epoch + 1 >= self.setting.methods[0].epochs:
            return  # multipliers after the last epoch would change nothing: not released
        for k, method in enumerate(self.setting.methods):
            if method.pursues:
                sums = release_deviations(
                    self.setting, k, centres=self.kept["centres"][k], epoch=epoch, kernel=kernel, feed=feed
                )
                self._take_dual_step(k, sums)
        self._set_factors()

    def watched(self, records: Records) -> dict[str, tuple[np.ndarray, float | None]]:
        first = self.setting.methods[0]
        return {
            "gradient_norm": (np.abs(self._slopes(records)) * records.norms, first.clip_primal),
            "output": (output(self.setting.target, records.logits, records.label), first.clip_dual),
        }

    def scalars(self, model: int) -> dict[str, float]:
        kept = self.kept
        return self._cells.name_curves(multiplier=kept["multipliers"][model], violation=kept["violations"][model])

    def notes(self, model: int) -> dict[str, object]:
        exported = ("multipliers", "noisy_counts") if self.setting.methods[model].pursues else ()
        return {name: dict(zip(self._cells.names, self.kept[name][model].tolist(), strict=True)) for name in exported}

    def load(self, model: int, state: Mapping[str, np.ndarray]) -> None:
        super().load(model, state)
        self._set_factors()

    def _slopes(self, records: Records) -> np.ndarray:
        """Return each record's derivative of its share of the Lagrangian with respect to the logit (K, B)."""
        slopes = slope(self.setting.target, records.probability, records.label)
        slopes_of_all: np.ndarray = records.deviation + slopes * records.look_up(self._factors)
        return slopes_of_all

    def _take_dual_step(self, k: int, sums: np.ndarray) -> None:
        """Move multipliers and centres of model k by noisy sums of h - m_i; a cell's step is s times d_i / p_i.

        That share makes the noise of a step the same for every cell, however small. Centring by the latest noisy mean
        leaves the error of the sizes d_i on the violation alone, not on h.
        """
        method, counts, people = self.setting.methods[k], self.kept["noisy_counts"][k], self._people(k)
        population = self._alike @ sums / people
        violations = population - sums / counts
        moved = self.kept["multipliers"][k] + method.dual_step * counts / people * violations
        self.kept["violations"][k] = violations
        self.kept["multipliers"][k] = moved.clip(-method.multiplier_max, method.multiplier_max)
        self.kept["centres"][k] = (self.kept["centres"][k] + population).clip(0.0, method.clip_dual)

    def _people(self, k: int) -> np.ndarray:
        """Return the sizes p_i of the cells' populations (cells,)."""
        return np.where(self._cells.label == NO_CELL, self.setting.n, self._alike @ self.kept["noisy_counts"][k])

    def _set_factors(self) -> None:
        """Derive each (group, label)'s factor of dh from multipliers and counts, both released.

        Where h is the loss, a factor stays above -1: below it training would seek a group's errors, without end.
        """
        rows = []
        for k, multipliers in enumerate(self.kept["multipliers"]):
            per_cell = self._alike @ (multipliers / self._people(k)) - multipliers / self.kept["noisy_counts"][k]
            rows.append(self.setting.n * np.append(per_cell, 0.0)[self._cells.of].reshape(-1))  # NO_CELL takes the 0
        lowest = -1.0 if self.setting.target == "loss" else -np.inf
        self._factors = np.stack(rows).clip(min=lowest).astype(np.float32)
