"""DP-SGD with regularisers on what makes it cost groups unlike amounts (Tran, Dinh and Fioretto, 2021).

The objective is the loss + sum_a (gamma_1 |<g_a - g, g - g_C>| + gamma_2 |b_a - b|): g_a and g are the mean gradients
of group a and of everyone, g_C the mean of clipped gradients, b the mean of 1 - sum_k f_k^2, which stands in for the
trace of the Hessian. docs/methods/dp_sgd_family.md says what of this could not be checked against the paper.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from fairpriv_core import checks
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.training import Fitted, Training
from fairpriv_core.methods import fields
from fairpriv_core.methods.base import MethodInfo, parameter
from fairpriv_core.methods.noisy_sums import NoisySums
from fairpriv_core.notions.catalog import notions
from fairpriv_core.privacy.calibrate import gaussian_mu
from fairpriv_core.privacy.event import Events, Gaussian


@dataclass(frozen=True)
class FairLens(NoisySums):
    """Every record's gradient of loss and regularisers is clipped as one.

    Proved: group statistics come from sums over all rows, noised and paid for after each epoch but the last, and serve
    the epoch that follows; the first one has none. Published: they are the sample's own, without noise.
    """

    info: ClassVar[MethodInfo] = MethodInfo(
        name="fairlens",
        title="Tran et al. (FairLens)",
        summary="DP-SGD that holds what clipping and noise cost alike for every group; protects whole records.",
        citation="Tran, Dinh and Fioretto (2021), Differentially private empirical risk minimization under the "
        "fairness lens",
        threat_model="record",
        notions=tuple(notions()),
        variants=fields.VARIANTS,
        calibrates="noise_primal",
        pursues_notion=False,
    )

    variant: str = fields.variant()
    multiplier_gradient: float = parameter(
        0.3,
        "Multiplier γ₁, clipping",
        "How hard groups are held alike in what clipping cuts off.",
        low=0.0,
        high=100.0,
    )
    multiplier_boundary: float = parameter(
        0.3,
        "Multiplier γ₂, noise",
        "How hard groups are held alike in how close they are to the decision boundary, where noise costs most.",
        low=0.0,
        high=100.0,
        fairer="more",
    )
    reach: float = parameter(
        3.0,
        "Reach of the statistics",
        "Up to how many C beyond C a gradient counts in the group statistics (proved variant).",
        low=0.1,
        high=100.0,
        log=True,
        expert=True,
    )
    share_statistics: float = parameter(
        0.1,
        "Budget share, statistics",
        "Share of the budget for the group statistics.",
        low=0.01,
        high=0.9,
        expert=True,
    )
    noise_statistics: float | None = fields.noise_multiplier("Statistics noise σ_s", "the statistics' shift 1")

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.one_of(fields.VARIANTS, variant=self.variant)
        checks.not_negative(multiplier_gradient=self.multiplier_gradient, multiplier_boundary=self.multiplier_boundary)
        checks.positive(reach=self.reach)
        checks.open_unit(share_statistics=self.share_statistics)
        if self.noise_statistics is not None:
            checks.not_negative(noise_statistics=self.noise_statistics)

    @property
    def proved(self) -> bool:
        """Whether this is the proved variant."""
        return self.variant == "proved"

    @property
    def regularises(self) -> bool:
        """Whether any regulariser is in force; otherwise the method is DP-SGD."""
        return self.multiplier_gradient > 0 or self.multiplier_boundary > 0

    @property
    def releases(self) -> int:
        """How often group statistics are released."""
        return self.epochs - 1 if self.proved and self.regularises else 0

    def idle_reason(self) -> str | None:
        """Why nothing is regularised; None where something is: the proved variant needs an epoch's statistics first."""
        weights = {"multiplier_gradient": self.multiplier_gradient, "multiplier_boundary": self.multiplier_boundary}
        return fields.say_idle(weights, self.epochs if self.proved else None)

    def statistics_noise(self) -> float:
        """The noise multiplier of the group statistics; BadInput before calibration."""
        return fields.known_noise(noise_statistics=self.noise_statistics)

    def event(self, n_train: int) -> Events:
        """Return the statistics' Gaussians, if any, and one sampled Gaussian a step."""
        statistics = (Gaussian(self.statistics_noise(), self.releases),) if self.releases else ()
        return (*statistics, *super().event(n_train))

    def published_event(self, n_train: int) -> Events:
        """Return the steps alone: the paper's accounting is DP-SGD's."""
        return super().event(n_train)

    def sensitivities(self, n_train: int, groups: int) -> dict[str, float]:
        """Return C for a step, and 1 for the group statistics, which are scaled to it."""
        return {"gradients": self.clip_primal, "statistics": 1.0}

    def calibrated(self, *, epsilon: float, delta: float, n_train: int) -> Self:
        """Return a copy whose noise multipliers together meet `epsilon`."""
        if self.noise_statistics is not None or not self.releases:
            return super().calibrated(epsilon=epsilon, delta=delta, n_train=n_train)
        noise = math.sqrt(self.releases / self.share_statistics) / gaussian_mu(epsilon, delta)
        return replace(self, noise_statistics=noise).calibrated(epsilon=epsilon, delta=delta, n_train=n_train)

    def unproved_reason(self) -> str | None:
        """Why the published variant has no epsilon; None for the proved variant."""
        if self.proved or not self.regularises:
            return None
        return (
            "The published accounting does not hold: each record's clipped gradient depends, by way of group "
            "statistics without noise, on all other records of the sample."
        )

    def assumptions(self) -> tuple[str, ...]:
        """What epsilon takes as given."""
        return (*super().assumptions(), fields.chosen_on("Adult"))

    @classmethod
    def fit_many(
        cls, methods: Sequence[Self], trains: Sequence[Dataset], trainings: Sequence[Training]
    ) -> list[Fitted]:
        """Train K models in one loop."""
        from fairpriv_core.methods.rules.fairlens_trainers import train_fairlens

        return train_fairlens(methods, trains, trainings)
