"""The rules of FairLens: DP-SGD on loss and regularisers, as a function of group statistics.

H of a record is p (1 - p) J J^T, J the logit's gradient; for a network that leaves out the logit's own curvature. Then
all parts of a record's gradient are multiples of J:

    p - y + p (1 - p) (gamma_1 (k_a J.r + [|g| > C] J.u) + gamma_2 l_a 2 (1 - 2 p)),

r the mean of what clipping cuts off, u = sum_a s_a (g_a - g), k_a and l_a from signs and shares of the groups.
"""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np

from fairpriv_core.engine.clipping import clip_weights
from fairpriv_core.engine.kernel import Kernel
from fairpriv_core.engine.loop import Sampled
from fairpriv_core.engine.records import Feed
from fairpriv_core.methods.rules.fairlens_statistics import (
    GroupSums,
    derive_factors,
    directional,
    sum_everyone,
    sum_sample,
)
from fairpriv_core.methods.rules.noisy_sums import NoisySumsRule
from fairpriv_core.methods.rules.setting import Setting
from fairpriv_core.privacy.sums import sensitivity


class FairLensRule(NoisySumsRule):
    """Proved: noisy sums over all rows, released after each epoch but the last, set the regularisers' factors."""

    LEAST: ClassVar[float] = 30.0  # a group of fewer records, by the noisy count, is left out of the regularisers

    def __init__(self, setting: Setting[Any]) -> None:
        super().__init__(setting)
        models, groups, size = len(setting.methods), setting.trains[0].groups, setting.shape.size
        for name in ("gradient_factors", "boundary_factors", "clipping", "boundary"):
            self.kept[name] = np.zeros((models, groups))
        for name in ("excess", "pull"):
            self.kept[name] = np.zeros((models, size))

    def weights(self, sampled: Sampled) -> np.ndarray:
        records = sampled.records
        weights = self.slopes(sampled)
        return records.keep(clip_weights(weights, records.norms, self.column_of(self.bounds()).astype(np.float32)))

    def slopes(self, sampled: Sampled) -> np.ndarray:
        """Return each record's derivative of loss and regularisers with respect to the logit (K, S)."""
        records, group = sampled.records, sampled.records.group
        deviation = records.deviation
        curvature = records.probability * (1.0 - records.probability)
        along = self._of_group("gradient_factors", group) * self._along(sampled, "excess")
        clipped = np.abs(deviation) * records.norms > self.setting.column("clip_primal")
        along += np.where(clipped, self._along(sampled, "pull"), 0.0)
        boundary = self._of_group("boundary_factors", group) * 2.0 * (1.0 - 2.0 * records.probability)
        regulariser = self.setting.column("multiplier_gradient") * along
        regulariser += self.setting.column("multiplier_boundary") * boundary
        slopes: np.ndarray = deviation + curvature * regulariser
        return slopes

    def end_epoch(self, epoch: int, kernel: Kernel, feed: Feed) -> None:
        for k, method in enumerate(self.setting.methods):
            if epoch < method.releases:
                self.set_factors(k, self._release_sums(k, epoch, kernel, feed))

    def set_factors(self, model: int, sums: GroupSums) -> None:
        """Take what the regularisers of one model need from `sums`."""
        for name, value in vars(derive_factors(sums, least=self.LEAST)).items():
            self.kept[name][model] = value

    def scalars(self, model: int) -> dict[str, float]:
        names = self.setting.trains[model].group_names
        return {
            f"{kind}/{name}": float(value)
            for kind in ("clipping", "boundary")
            for name, value in zip(names, self.kept[kind][model], strict=True)
        }

    def notes(self, model: int) -> dict[str, object]:
        return dict(self.scalars(model))

    def _of_group(self, name: str, group: np.ndarray) -> np.ndarray:
        own = np.broadcast_to(group, (len(self.kept[name]), group.shape[1]))
        return np.take_along_axis(self.kept[name].astype(np.float32), own, axis=1)

    def _along(self, sampled: Sampled, name: str) -> np.ndarray:
        return directional(sampled.kernel, sampled.passed, sampled.rows, self.kept[name])

    def _release_sums(self, k: int, epoch: int, kernel: Kernel, feed: Feed) -> GroupSums:
        method, groups = self.setting.methods[k], self.setting.trains[k].groups
        sums = sum_everyone(k, kernel=kernel, feed=feed, groups=groups, bound=method.clip_primal, reach=method.reach)
        noisy = self.setting.trainings[k].mechanism.gaussian(
            sums.pack(method.clip_primal, method.reach),
            shift=sensitivity(1.0),
            noise_multiplier=method.statistics_noise(),
            purpose="statistics",
            index=epoch,
        )
        return GroupSums.unpack(noisy, method.clip_primal, method.reach, groups)


class FairLensPublishedRule(FairLensRule):
    """Published: the statistics are those of the step's own sample, without noise."""

    LEAST: ClassVar[float] = 1.0

    def look(self, sampled: Sampled) -> None:
        for k, method in enumerate(self.setting.methods):
            sums = sum_sample(
                sampled.passed,
                sampled.records,
                sampled.rows,
                model=k,
                groups=self.setting.trains[k].groups,
                bound=method.clip_primal,
            )
            self.set_factors(k, sums)
