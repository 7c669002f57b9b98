"""DPSGD-Global-Adapt: gradients are scaled alike up to a bound that adapts, not clipped (Esipova et al., 2023)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from fairpriv_core import checks
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.training import Fitted, Training
from fairpriv_core.methods import fields
from fairpriv_core.methods.base import MethodInfo, parameter
from fairpriv_core.methods.noisy_sums import SumsWithCounts
from fairpriv_core.notions.catalog import notions


@dataclass(frozen=True)
class DpsgdGlobalAdapt(SumsWithCounts):
    """A gradient g becomes g C / Z where |g| <= Z and is clipped to C beyond: g C / max(Z, |g|).

    Z <- Z exp(-s_Z + b), b the noisy share of norms above threshold Z. The published variant divides by the sample's
    own size and counts with noise 10 sigma; the proved one by the expected size, in one Gaussian with the gradients.
    """

    info: ClassVar[MethodInfo] = MethodInfo(
        name="dpsgd_global_adapt",
        title="DPSGD-Global-Adapt",
        summary="DP-SGD that scales gradients alike, so that clipping does not turn them; protects whole records.",
        citation="Esipova et al. (2023), Disparate impact in differential privacy from gradient misalignment",
        threat_model="record",
        notions=tuple(notions()),
        variants=fields.VARIANTS,
        calibrates="noise_primal",
        max_labels=None,
        pursues_notion=False,
        uses_groups=False,
    )
    COUNT_NOISE: ClassVar[float | None] = 10.0
    UNPROVED: ClassVar[str] = (
        "The published accounting does not hold: counts and gradients are taken from one sample but counted as if each "
        "had a sample of its own, and the count is divided by that sample's exact size."
    )

    network: str = fields.network()
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
    def fit_many(
        cls, methods: Sequence[Self], trains: Sequence[Dataset], trainings: Sequence[Training]
    ) -> list[Fitted]:
        """Train K models in one loop."""
        from fairpriv_core.methods.rules.dpsgd_global_adapt import train_global_adapt

        return train_global_adapt(methods, trains, trainings)
