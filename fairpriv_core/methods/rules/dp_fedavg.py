"""The rule of DP-FedAvg's clipping: a weight for each layer of each record."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.clipping import clip_weights
from fairpriv_core.engine.loop import Sampled
from fairpriv_core.engine.training import Fitted, Training
from fairpriv_core.methods.dp_fedavg import DpFedAvg
from fairpriv_core.methods.rules.noisy_sums import NoisySumsRule
from fairpriv_core.methods.rules.setting import Setting


class DpFedAvgRule(NoisySumsRule):
    """L layers, weights and biases together, each clipped to C / sqrt(L): a record adds at most C."""

    def weights(self, sampled: Sampled) -> np.ndarray:
        records, norms = sampled.records, sampled.passed.layer_norms[:, :, sampled.rows]
        bounds = self.column_of(self.bounds()).astype(np.float32) / np.float32(math.sqrt(len(norms)))
        return records.keep(clip_weights(records.deviation, norms, bounds))


def train_dp_fedavg(
    methods: Sequence[DpFedAvg], trains: Sequence[Dataset], trainings: Sequence[Training]
) -> list[Fitted]:
    """Train K models by DP-SGD with DP-FedAvg's clipping."""
    setting = Setting(methods, trains, trainings)
    return setting.run(DpFedAvgRule(setting))
