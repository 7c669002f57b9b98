"""DP-SGD: whole records are protected by clipping each one's gradient and adding noise (Abadi et al., 2016)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.training import Fitted, Training
from fairpriv_core.methods import fields
from fairpriv_core.methods.base import MethodInfo, Style
from fairpriv_core.methods.noisy_sums import NoisySums, NoisySumsRule
from fairpriv_core.methods.setting import Setting
from fairpriv_core.notions.catalog import notions


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
        notions=tuple(notions()),
        variants=("proved",),
        calibrates="noise_primal",
        max_labels=None,
        pursues_notion=False,
        uses_groups=False,
    )

    network: str = fields.network()

    @classmethod
    def fit_many(
        cls, methods: Sequence[Self], trains: Sequence[Dataset], trainings: Sequence[Training]
    ) -> list[Fitted]:
        """Train K models in one loop."""

        setting = Setting(methods, trains, trainings)
        return setting.run(NoisySumsRule(setting))
