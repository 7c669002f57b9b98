"""DP-SGD with automatic clipping: gradients are scaled to one length instead of cut at it (Bu et al., 2023).

A record's gradient g becomes C g / (|g| + gamma), which is shorter than C whatever g is: it adds less than C to a
step's sum, as in DP-SGD, so noise and accounting are DP-SGD's. No gradient is left alone for being short, so C only
scales the learning rate and need not be tuned.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fairpriv_core import checks
from fairpriv_core.engine.clipping import clip_weights
from fairpriv_core.engine.loop import Rule, Sampled
from fairpriv_core.methods import fields
from fairpriv_core.methods.base import MethodInfo, Style, parameter
from fairpriv_core.methods.shared.noisy_sums import NoisySums, NoisySumsRule
from fairpriv_core.methods.shared.setting import Setting


@dataclass(frozen=True)
class AutomaticClipping(NoisySums):
    """AUTO-S: Poisson samples at rate q = batch_size / n, C g / (|g| + gamma), noise multiplier sigma over C."""

    info: ClassVar[MethodInfo] = MethodInfo(
        name="automatic_clipping",
        title="Automatic clipping",
        style=Style("grey", "dot", "triangle-up"),
        summary="Protects whole records; does not pursue fairness. Needs no choice of a clipping bound.",
        citation="Bu et al. (2023), Automatic clipping: differentially private deep learning made easier and stronger",
        threat_model="record",
        variants=("proved",),
        calibrates="noise_primal",
        max_labels=None,
        uses_groups=False,
    )

    network: str = fields.shared("network")
    stability: float = parameter(
        0.01, "Stability γ", "What is added to a gradient's length before dividing by it.", low=1e-6, high=1.0, log=True
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.positive(stability=self.stability)

    @classmethod
    def rule(cls, setting: Setting[Any]) -> Rule:
        """Return what the models are trained by."""
        return AutomaticClippingRule(setting)


class AutomaticClippingRule(NoisySumsRule):
    """Bu et al. (2023), equation 4: each gradient has the weight C / (|g| + gamma)."""

    def weights(self, sampled: Sampled) -> np.ndarray:
        """Return each record's weight on the gradient of its logit (K, S); rounding is kept within C too."""
        records = sampled.records
        bounds = self.column_of(self.bounds()).astype(np.float32)
        gammas = self.column_of(np.array([each.stability for each in self.setting.methods], dtype=np.float32))
        lengths = np.abs(records.deviation) * records.norms
        weights = np.nan_to_num(bounds * records.deviation / (lengths + gammas))
        return records.keep(clip_weights(weights, records.norms, bounds))
