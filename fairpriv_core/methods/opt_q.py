"""Opt-Q: the clipping bound follows a quantile of the gradients' norms (after Amin et al., 2019).

With noise sigma C the sum's error in one direction is sqrt(2 / pi) sigma C from the noise, and what clipping takes off.
It is least where sqrt(2 / pi) sigma records of the batch are clipped: at the (1 - sqrt(2 / pi) sigma / |B|)-quantile.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fairpriv_core import checks
from fairpriv_core.engine.loop import Rule, Sampled
from fairpriv_core.engine.rows import Records
from fairpriv_core.methods import fields
from fairpriv_core.methods.base import MethodInfo, Style, parameter
from fairpriv_core.methods.none import loss_gradient_norms
from fairpriv_core.methods.shared.noisy_sums import (
    AdaptiveBounds,
    ExportedCurvesRule,
    as_published,
    raw_norms,
    within_reach,
)
from fairpriv_core.methods.shared.setting import Setting

_LEAST, _MOST = 0.05, 0.999  # a quantile beyond these would leave next to nobody, or nothing to count


@dataclass(frozen=True)
class OptQ(AdaptiveBounds):
    """The published variant takes the quantile of the very sample; the proved one tracks it by noisy counts.

    Tracking is geometric (Andrew et al., 2021): C <- C exp(s (b - (1 - quantile))), b the noisy share of norms above C.
    """

    info: ClassVar[MethodInfo] = MethodInfo(
        name="opt_q",
        title="Opt-Q",
        style=Style("orange", "longdashdot", "hexagon"),
        summary="DP-SGD that clips at the quantile with the least error; protects whole records.",
        citation="Amin et al. (2019), Bounding user contributions, as used by FairDP (2021, Appendix C)",
        threat_model="record",
        variants=fields.VARIANTS,
        calibrates="noise_primal",
        max_labels=None,
        uses_groups=False,
    )
    UNPROVED: ClassVar[str] = (
        "The published accounting does not hold: the clipping bound, and with it the noise, is a quantile of the "
        "sample's own gradients, taken without noise."
    )

    network: str = fields.shared("network")
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

    def target(self, n_train: int) -> float:
        """The quantile that the bound is to be at; BadInput before calibration where it depends on the noise."""
        if self.quantile is not None:
            return self.quantile
        clipped = math.sqrt(2.0 / math.pi) * self.gradient_noise() / fields.count_batch(self, n_train)
        return min(max(1.0 - clipped, _LEAST), _MOST)

    @classmethod
    def rule(cls, setting: Setting[Any]) -> Rule:
        return OptQRule(setting) if setting.methods[0].proved else OptQPublishedRule(setting)


class OptQRule(ExportedCurvesRule):
    """Proved: counts norms above C beside the gradients; the noisy count moves the next step's C."""

    def __init__(self, setting: Setting[OptQ]) -> None:
        super().__init__(setting)
        self.arrays["clip"] = super().bounds()

    def bounds(self) -> np.ndarray:
        return self.arrays["clip"].copy()

    def statistics(self, records: Records) -> np.ndarray | None:
        above = loss_gradient_norms(records).astype(np.float64) > self.column_of(self.arrays["clip"])
        above_clip: np.ndarray = (above * records.present).sum(axis=1, keepdims=True, dtype=np.float64)
        return above_clip

    def learn(self, model: int, statistics: np.ndarray, gradient: np.ndarray) -> None:
        method = self.setting.methods[model]
        excess = float(statistics[0]) / self.divisor(model) - (1.0 - method.target(self.setting.n))
        moved = self.arrays["clip"][model] * math.exp(min(method.clip_step * excess, 1.0))
        self.arrays["clip"][model] = within_reach(moved, method.clip_primal)

    def scalars(self, model: int) -> dict[str, float]:
        return {"clip": float(self.arrays["clip"][model])}


class OptQPublishedRule(OptQRule):
    """Published: C is the quantile of the sample's own norms; nothing is counted."""

    def noise_bounds(self) -> np.ndarray:
        return as_published(self.setting.methods, self.bounds())

    def read_sample(self, sampled: Sampled) -> None:
        for k, norms in enumerate(raw_norms(sampled.records)):
            if norms.size:
                method = self.setting.methods[k]
                quantile = float(np.quantile(norms, method.target(self.setting.n)))
                self.arrays["clip"][k] = within_reach(quantile, method.clip_primal)

    def statistics(self, records: Records) -> np.ndarray | None:
        return None
