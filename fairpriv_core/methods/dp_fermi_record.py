"""DP-FERMI with all features protected: DP-SGD on Lowy et al.'s (2023) objective, every record's share clipped as one.

Group sizes are released once. A step releases clipped gradients and, of the same sample, the groups' sums of predicted
probabilities, from which W ascends. docs/methods/dp_fermi.md has algorithm and argument.
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
from fairpriv_core.methods.dp_fermi import DpFermi, claim_of_theorem
from fairpriv_core.methods.noisy_sums import NoisySums
from fairpriv_core.privacy.calibrate import calibrate, gaussian_mu
from fairpriv_core.privacy.event import Events, Gaussian


@dataclass(frozen=True)
class DpFermiRecord(NoisySums):
    """Hyper-parameters. `noise_primal` is the multiplier of a step's whole release.

    Gradients have noise_primal / sqrt(1 - share_dual) over C, the groups' sums noise_primal / sqrt(share_dual).
    `share_counts` is the share of mu^2 for the group sizes, mu the Gaussian mechanism with the run's (epsilon, delta).
    """

    info: ClassVar[MethodInfo] = MethodInfo(
        name="dp_fermi_record",
        title="DP-FERMI for whole records",
        summary="Penalises dependence between decision and group; protects whole records.",
        citation="Lowy, Gupta and Razaviyayn (2023), Stochastic differentially private and fair learning, Theorem 3.3",
        threat_model="record",
        notions=DpFermi.info.notions,
        variants=("proved",),
        calibrates="noise_primal",
    )

    learning_rate: float = fields.learning_rate(0.015)
    clip_primal: float = parameter(
        2.0,
        "Clipping bound C",
        "Largest L2 norm that one record's gradient of loss and penalty together may have.",
        low=0.01,
        high=100.0,
        log=True,
    )
    multiplier: float = fields.fixed_multiplier(5.0)
    dual_step: float = fields.adversary_step(0.1)
    dual_norm: float = fields.adversary_norm(5.0)
    noise_counts: float | None = fields.noise_multiplier("Count noise σ_c", "the counts' shift 1")
    share_dual: float = parameter(
        0.1,
        "Budget share, W",
        "Share of a step's budget for the groups' sums, which move W; gradients have the rest.",
        low=0.01,
        high=0.99,
        expert=True,
    )
    share_counts: float = parameter(
        0.02, "Budget share, counts", "Share of the budget for the group sizes.", low=0.001, high=0.5, expert=True
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.not_negative(multiplier=self.multiplier)
        checks.positive(dual_step=self.dual_step, dual_norm=self.dual_norm)
        checks.open_unit(share_dual=self.share_dual, share_counts=self.share_counts)
        if self.noise_counts is not None:
            checks.not_negative(noise_counts=self.noise_counts)

    @property
    def share_of_w(self) -> float:
        """The share of 1 / noise_primal^2 that the groups' sums have: none where there is no penalty."""
        return self.share_dual if self.multiplier > 0 else 0.0

    def noise(self, name: str = "noise_primal") -> float:
        """The noise multiplier `name`; BadInput before calibration."""
        return fields.known_noise(**{name: getattr(self, name)})

    def idle_reason(self) -> str | None:
        """Why there is no penalty; None where there is one."""
        return fields.say_idle({"multiplier": self.multiplier})

    def event(self, n_train: int) -> Events:
        """Return one sampled Gaussian a step; with a penalty also the group sizes."""
        if self.multiplier == 0:
            return super().event(n_train)
        return (Gaussian(self.noise("noise_counts")), *super().event(n_train))

    def sensitivities(self, n_train: int, groups: int) -> dict[str, float]:
        """Return C; 1, the most that a record adds to the groups' sums; and 1, as a record is counted once."""
        return {"primal": self.clip_primal, "dual": 1.0, "counts": 1.0}

    def published_epsilon(self, n_train: int, delta: float) -> float | None:
        """Return what the second half of Theorem 3.3 claims for the same noise multipliers, q and T.

        Its two deviations over the shifts that its proof bounds are q sqrt(2 T ln(1/delta)) / epsilon, as in the first.
        """
        claim = claim_of_theorem(rate=self.rate(n_train), steps=self.steps(n_train), delta=delta)
        largest = max(self.share_of_w, 1.0 - self.share_of_w)
        return claim * math.sqrt(largest) / self.noise() if self.noise() else math.inf

    def calibrated(self, *, epsilon: float, delta: float, n_train: int) -> Self:
        """Return a copy with every noise multiplier set that is not set by hand, so that `epsilon` holds."""
        known = self
        if self.noise_counts is None:
            mu = gaussian_mu(epsilon, delta)
            known = replace(self, noise_counts=1.0 / (mu * math.sqrt(self.share_counts)))
        if self.noise_primal is not None:
            return known

        def events_for(noise: float) -> Events:
            return replace(known, noise_primal=noise).event(n_train)

        return replace(known, noise_primal=calibrate(events_for, epsilon=epsilon, delta=delta))

    def assumptions(self) -> tuple[str, ...]:
        """What epsilon takes as given."""
        return (
            *fields.RECORD_ASSUMED,
            fields.chosen_on("Adult"),
        )

    @classmethod
    def fit_many(
        cls, methods: Sequence[Self], trains: Sequence[Dataset], trainings: Sequence[Training]
    ) -> list[Fitted]:
        """Train K models in one loop; RunFailed where a group has too few noisy records or training diverges."""
        from fairpriv_core.methods.rules.fermi_trainers import train_dp_fermi_record

        return train_dp_fermi_record(methods, trains, trainings)
