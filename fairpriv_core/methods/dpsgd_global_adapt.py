"""DPSGD-Global-Adapt: gradients are scaled alike up to a bound that adapts, not clipped (Esipova et al., 2023)."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from fairpriv_core import checks
from fairpriv_core.engine.clipping import MARGIN
from fairpriv_core.engine.loop import Rule, Sampled
from fairpriv_core.engine.rows import Records
from fairpriv_core.engine.watch import Bound
from fairpriv_core.methods import fields
from fairpriv_core.methods.base import MethodInfo, Style, parameter
from fairpriv_core.methods.none import loss_gradient_norms
from fairpriv_core.methods.shared.noisy_sums import ExportedCurvesRule, SumsWithCounts, within_reach
from fairpriv_core.methods.shared.setting import Setting


@dataclass(frozen=True)
class DpsgdGlobalAdapt(SumsWithCounts):
    """A gradient g becomes g C / Z where |g| <= Z and is clipped to C beyond: g C / max(Z, |g|).

    Z <- Z exp(-s_Z + b), b the noisy share of norms above threshold Z. The published variant divides by the sample's
    own size and counts with noise 10 sigma; the proved one by the expected size, in one Gaussian with the gradients.
    """

    info: ClassVar[MethodInfo] = MethodInfo(
        name="dpsgd_global_adapt",
        title="DPSGD-Global-Adapt",
        style=Style("sky", "dot", "x"),
        summary="DP-SGD that scales gradients alike, so that clipping does not turn them; protects whole records.",
        citation="Esipova et al. (2023), Disparate impact in differential privacy from gradient misalignment",
        threat_model="record",
        variants=fields.VARIANTS,
        calibrates="noise_primal",
        max_labels=None,
        uses_groups=False,
    )
    COUNT_NOISE: ClassVar[float | None] = 10.0
    UNPROVED: ClassVar[str] = (
        "The published accounting does not hold: counts and gradients are taken from one sample but counted as if each "
        "had a sample of its own, and the count is divided by that sample's exact size."
    )

    network: str = fields.shared("network")
    strict_clip: float = parameter(
        5.0,
        "Strict bound Z",
        "Norm up to which gradients are scaled alike, at the first step.",
        low=0.01,
        high=1000.0,
        log=True,
        paper="50",
    )
    strict_step: float = parameter(
        0.1,
        "Step of the strict bound",
        "How fast Z shrinks, and at rest the share of norms above it; 0 only lets it grow.",
        low=0.0,
        high=1.0,
        expert=True,
        paper="0.1",
    )
    threshold: float = parameter(
        1.0, "Threshold", "Norms above this many Z are counted.", low=0.1, high=10.0, expert=True, paper="1"
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.positive(strict_clip=self.strict_clip, threshold=self.threshold)
        checks.not_negative(strict_step=self.strict_step)

    @classmethod
    def rule(cls, setting: Setting[Any]) -> Rule:
        return GlobalAdaptRule(setting) if setting.methods[0].proved else GlobalAdaptPublishedRule(setting)


class GlobalAdaptRule(ExportedCurvesRule):
    """Proved: counts norms above threshold Z beside the gradients; the noisy count moves the next step's Z."""

    def __init__(self, setting: Setting[DpsgdGlobalAdapt]) -> None:
        super().__init__(setting)
        self.arrays["strict_clip"] = np.array([method.strict_clip for method in setting.methods])

    def weights(self, sampled: Sampled) -> np.ndarray:
        records, strict = sampled.records, self.column_of(self.arrays["strict_clip"]).astype(np.float32)
        reach = np.maximum(loss_gradient_norms(records), strict)
        scale = self.setting.column("clip_primal") * (1.0 - MARGIN) / reach
        return records.keep(records.deviation * scale)

    def statistics(self, records: Records) -> np.ndarray | None:
        limits = self.arrays["strict_clip"] * [method.threshold for method in self.setting.methods]
        above = loss_gradient_norms(records).astype(np.float64) > self.column_of(limits)
        count: np.ndarray = (above * records.present).sum(axis=1, keepdims=True, dtype=np.float64)
        return count

    def learn(self, model: int, statistics: np.ndarray, gradient: np.ndarray) -> None:
        self.move(model, float(statistics[0]) / self.divisor(model))

    def move(self, model: int, share: float) -> None:
        """Let Z follow the noisy share of norms above it."""
        method, strict = self.setting.methods[model], self.arrays["strict_clip"]
        moved = strict[model] * math.exp(min(share - method.strict_step, 1.0))
        strict[model] = within_reach(moved, method.strict_clip)

    def watched(self, records: Records) -> dict[str, tuple[np.ndarray, Bound]]:
        """Return norms with Z: those beyond it are cut, the others scaled by C / Z."""
        return {"gradient_norm": (loss_gradient_norms(records), self.column_of(self.arrays["strict_clip"]))}

    def scalars(self, model: int) -> dict[str, float]:
        return {"strict_clip": float(self.arrays["strict_clip"][model])}


class GlobalAdaptPublishedRule(GlobalAdaptRule):
    """Published: the count has noise of its own and is divided by the sample's own size."""

    def secret_update(self, sampled: Sampled) -> np.ndarray:
        counts = super().statistics(sampled.records)
        assert counts is not None
        update = super().secret_update(sampled)
        present = np.broadcast_to(sampled.records.present, sampled.records.shape)
        for k, own in enumerate(counts):
            noisy = self.setting.release(k, "counts", own, index=sampled.step)
            self.move(k, float(noisy[0]) / max(float(present[k].sum()), 1.0))
        return update

    def statistics(self, records: Records) -> np.ndarray | None:
        return None
