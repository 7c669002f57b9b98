"""DP-FedAvg's clipping: each layer's gradient has a bound of its own (McMahan et al., 2018)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fairpriv_core.engine.clipping import clip_weights
from fairpriv_core.engine.loop import Rule, Sampled
from fairpriv_core.methods import fields
from fairpriv_core.methods.base import MethodInfo, Style
from fairpriv_core.methods.shared.noisy_sums import NoisySums, NoisySumsRule
from fairpriv_core.methods.shared.setting import Setting


@dataclass(frozen=True)
class DpFedAvg(NoisySums):
    """DP-SGD whose L layers are each clipped to C / sqrt(L), so that together no record's gradient exceeds C.

    With no hidden layer there is one layer, and the method is DP-SGD.
    """

    info: ClassVar[MethodInfo] = MethodInfo(
        name="dp_fedavg",
        title="DP-FedAvg",
        style=Style("grey", "longdashdot", "pentagon"),
        summary="DP-SGD that clips each layer on its own; protects whole records, does not pursue fairness.",
        citation="McMahan et al. (2018), Learning differentially private recurrent language models",
        threat_model="record",
        variants=("proved",),
        calibrates="noise_primal",
        max_labels=None,
        uses_groups=False,
    )

    network: str = fields.shared("network")

    @classmethod
    def rule(cls, setting: Setting[Any]) -> Rule:
        return DpFedAvgRule(setting)


class DpFedAvgRule(NoisySumsRule):
    """L layers, weights and biases together, each clipped to C / sqrt(L): a record adds at most C."""

    def weights(self, sampled: Sampled) -> np.ndarray:
        records, norms = sampled.records, sampled.passed.layer_norms[:, :, sampled.rows]
        bounds = self.column_of(self.bounds()).astype(np.float32) / np.float32(math.sqrt(len(norms)))
        return records.keep(clip_weights(records.deviation, norms, bounds))
