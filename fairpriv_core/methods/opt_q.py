"""Opt-Q: the clipping bound follows a quantile of the gradients' norms (after Amin et al., 2019).

With noise sigma C the sum's error in one direction is sqrt(2 / pi) sigma C from the noise, and what clipping takes off.
It is least where sqrt(2 / pi) sigma records of the batch are clipped: at the (1 - sqrt(2 / pi) sigma / |B|)-quantile.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from fairpriv_core import checks
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.training import Fitted, Training
from fairpriv_core.methods import fields
from fairpriv_core.methods.base import MethodInfo, parameter
from fairpriv_core.methods.noisy_sums import AdaptiveBounds
from fairpriv_core.notions.catalog import notions

_LEAST, _MOST = 0.05, 0.999  # a quantile beyond these would leave next to nobody, or nothing to count


@dataclass(frozen=True)
class OptQ(AdaptiveBounds):
    """The published variant takes the quantile of the very sample; the proved one tracks it by noisy counts.

    Tracking is geometric (Andrew et al., 2021): C <- C exp(s (b - (1 - quantile))), b the noisy share of norms above C.
    """

    info: ClassVar[MethodInfo] = MethodInfo(
        name="opt_q",
        title="Opt-Q",
        summary="DP-SGD that clips at the quantile with the least error; protects whole records.",
        citation="Amin et al. (2019), Bounding user contributions, as used by FairDP (2021, Appendix C)",
        threat_model="record",
        notions=tuple(notions()),
        variants=fields.VARIANTS,
        calibrates="noise_primal",
        max_labels=None,
        pursues_notion=False,
        uses_groups=False,
    )
    UNPROVED: ClassVar[str] = (
        "The published accounting does not hold: the clipping bound, and with it the noise, is a quantile of the "
        "sample's own gradients, taken without noise."
    )

    network: str = fields.network()
    quantile: float | None = parameter(
        None,
        "Quantile",
        "Share of a sample's gradients that is not clipped; empty: 1 - sqrt(2/π) σ / batch size.",
        low=0.05,
        high=0.999,
        expert=True,
    )
    clip_step: float = parameter(
        0.2,
        "Step of the bound",
        "How fast the bound follows the quantile (proved variant); 0 keeps it.",
        low=0.0,
        high=1.0,
        expert=True,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.not_negative(clip_step=self.clip_step)
        if self.quantile is not None:
            checks.open_unit(quantile=self.quantile)

    def target(self) -> float:
        """The quantile that the bound is to be at; BadInput before calibration where it depends on the noise."""
        if self.quantile is not None:
            return self.quantile
        clipped = math.sqrt(2.0 / math.pi) * self.gradient_noise() / self.batch_size
        return min(max(1.0 - clipped, _LEAST), _MOST)

    @classmethod
    def fit_many(
        cls, methods: Sequence[Self], trains: Sequence[Dataset], trainings: Sequence[Training]
    ) -> list[Fitted]:
        """Train K models in one loop."""
        from fairpriv_core.methods.rules.opt_q import train_opt_q

        return train_opt_q(methods, trains, trainings)
