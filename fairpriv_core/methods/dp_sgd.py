"""DP-SGD: whole records are protected by clipping each one's gradient and adding noise (Abadi et al., 2016)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from fairpriv_core.engine.loop import Rule
from fairpriv_core.methods import fields
from fairpriv_core.methods.base import MethodInfo, Style
from fairpriv_core.methods.shared.noisy_sums import NoisySums, NoisySumsRule
from fairpriv_core.methods.shared.setting import Setting


@dataclass(frozen=True)
class DpSgd(NoisySums):
    """Poisson samples at rate q = batch_size / n, clip C, noise multiplier sigma over C under add/remove."""

    info: ClassVar[MethodInfo] = MethodInfo(
        name="dp_sgd",
        title="DP-SGD",
        style=Style("grey", "longdash", "triangle-up"),
        summary="Protects whole records; does not pursue fairness.",
        citation="Abadi et al. (2016), Deep learning with differential privacy",
        threat_model="record",
        variants=("proved",),
        calibrates="noise_primal",
        max_labels=None,
        uses_groups=False,
        weighs_rows=True,
    )

    network: str = fields.shared("network")

    @classmethod
    def rule(cls, setting: Setting[Any]) -> Rule:
        return NoisySumsRule(setting)
