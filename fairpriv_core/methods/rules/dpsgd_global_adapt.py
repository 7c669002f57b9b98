"""The rules of DPSGD-Global-Adapt: one scale for all gradients up to Z, which noisy counts move."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.clipping import MARGIN
from fairpriv_core.engine.loop import Sampled
from fairpriv_core.engine.records import Records
from fairpriv_core.engine.training import Fitted, Training
from fairpriv_core.methods.dpsgd_global_adapt import DpsgdGlobalAdapt
from fairpriv_core.methods.rules.noisy_sums import NoisySumsRule, within_reach
from fairpriv_core.methods.rules.plain import loss_gradient_norms
from fairpriv_core.methods.rules.setting import Setting


class GlobalAdaptRule(NoisySumsRule):
    """Proved: counts norms above threshold Z beside the gradients; the noisy count moves the next step's Z."""

    def __init__(self, setting: Setting[DpsgdGlobalAdapt]) -> None:
        super().__init__(setting)
        self.kept["strict_clip"] = np.array([method.strict_clip for method in setting.methods])

    def weights(self, sampled: Sampled) -> np.ndarray:
        records, strict = sampled.records, self.column_of(self.kept["strict_clip"]).astype(np.float32)
        reach = np.maximum(loss_gradient_norms(records), strict)
        scale = self.setting.column("clip_primal") * (1.0 - MARGIN) / reach
        return records.keep(records.deviation * scale)

    def statistics(self, records: Records) -> np.ndarray | None:
        limits = self.kept["strict_clip"] * [method.threshold for method in self.setting.methods]
        above = loss_gradient_norms(records).astype(np.float64) > self.column_of(limits)
        count: np.ndarray = (above * records.present).sum(axis=1, keepdims=True, dtype=np.float64)
        return count

    def learn(self, model: int, statistics: np.ndarray, gradient: np.ndarray) -> None:
        self.move(model, float(statistics[0]) / self.divisor(model))

    def move(self, model: int, share: float) -> None:
        """Let Z follow the noisy share of norms above it."""
        method, strict = self.setting.methods[model], self.kept["strict_clip"]
        moved = strict[model] * math.exp(min(share - method.strict_step, 1.0))
        strict[model] = within_reach(moved, method.strict_clip)

    def scalars(self, model: int) -> dict[str, float]:
        return {"strict_clip": float(self.kept["strict_clip"][model])}

    def notes(self, model: int) -> dict[str, object]:
        return dict(self.scalars(model))


class GlobalAdaptPublishedRule(GlobalAdaptRule):
    """Published: the count has noise of its own and is divided by the sample's own size."""

    def secret_update(self, sampled: Sampled) -> np.ndarray:
        counts = super().statistics(sampled.records)
        assert counts is not None
        update = super().secret_update(sampled)
        for k, (method, training) in enumerate(zip(self.setting.methods, self.setting.trainings, strict=True)):
            noisy = training.mechanism.gaussian(
                counts[k],
                shift=1.0,
                noise_multiplier=method.count_noise(),
                purpose="counts",
                index=sampled.step,
            )
            self.move(
                k,
                float(noisy[0])
                / max(float(np.broadcast_to(sampled.records.present, sampled.records.shape)[k].sum()), 1.0),
            )
        return update

    def statistics(self, records: Records) -> np.ndarray | None:
        return None

    def learn(self, model: int, statistics: np.ndarray, gradient: np.ndarray) -> None:
        return None


def train_global_adapt(
    methods: Sequence[DpsgdGlobalAdapt], trains: Sequence[Dataset], trainings: Sequence[Training]
) -> list[Fitted]:
    """Train K models by one variant of DPSGD-Global-Adapt."""
    setting = Setting(methods, trains, trainings)
    return setting.run(GlobalAdaptRule(setting) if methods[0].proved else GlobalAdaptPublishedRule(setting))
