"""The rules of Opt-Q: one bound a model, which follows a quantile of the norms."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.loop import Sampled
from fairpriv_core.engine.records import Records
from fairpriv_core.engine.training import Fitted, Training
from fairpriv_core.methods.opt_q import OptQ
from fairpriv_core.methods.rules.noisy_sums import NoisySumsRule, as_published, raw_norms, within_reach
from fairpriv_core.methods.rules.plain import loss_gradient_norms
from fairpriv_core.methods.rules.setting import Setting


class OptQRule(NoisySumsRule):
    """Proved: counts norms above C beside the gradients; the noisy count moves the next step's C."""

    def __init__(self, setting: Setting[OptQ]) -> None:
        super().__init__(setting)
        self.kept["clip"] = super().bounds()

    def bounds(self) -> np.ndarray:
        return self.kept["clip"].copy()

    def statistics(self, records: Records) -> np.ndarray | None:
        above = loss_gradient_norms(records).astype(np.float64) > self.column_of(self.kept["clip"])
        above_clip: np.ndarray = (above * records.present).sum(axis=1, keepdims=True, dtype=np.float64)
        return above_clip

    def learn(self, model: int, statistics: np.ndarray, gradient: np.ndarray) -> None:
        method = self.setting.methods[model]
        excess = float(statistics[0]) / self.divisor(model) - (1.0 - method.target())
        moved = self.kept["clip"][model] * math.exp(min(method.clip_step * excess, 1.0))
        self.kept["clip"][model] = within_reach(moved, method.clip_primal)

    def scalars(self, model: int) -> dict[str, float]:
        return {"clip": float(self.kept["clip"][model])}

    def notes(self, model: int) -> dict[str, object]:
        return {"clip": float(self.kept["clip"][model])}


class OptQPublishedRule(OptQRule):
    """Published: C is the quantile of the sample's own norms; nothing is counted."""

    def noise_bounds(self) -> np.ndarray:
        return as_published(self.setting.methods, self.bounds())

    def look(self, sampled: Sampled) -> None:
        for k, norms in enumerate(raw_norms(sampled.records)):
            if norms.size:
                method = self.setting.methods[k]
                self.kept["clip"][k] = within_reach(float(np.quantile(norms, method.target())), method.clip_primal)

    def statistics(self, records: Records) -> np.ndarray | None:
        return None

    def learn(self, model: int, statistics: np.ndarray, gradient: np.ndarray) -> None:
        return None


def train_opt_q(methods: Sequence[OptQ], trains: Sequence[Dataset], trainings: Sequence[Training]) -> list[Fitted]:
    """Train K models by one variant of Opt-Q."""
    setting = Setting(methods, trains, trainings)
    return setting.run(OptQRule(setting) if methods[0].proved else OptQPublishedRule(setting))
