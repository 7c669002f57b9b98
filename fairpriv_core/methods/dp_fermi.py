"""DP-FERMI: a penalty on dependence by descent and ascent, private for the sensitive attribute (Lowy et al., 2023).

The published variant is Algorithm 1 with the noise of Theorem 3.3. The proved variant (docs/methods/dp_fermi.md) has
noisy group shares, an independent secret Poisson sample for what depends on groups, and one release a step for theta
and W together; its epsilon holds for everything that the run releases, all iterates included.
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
from fairpriv_core.methods.base import FitsMany, MethodInfo, parameter
from fairpriv_core.privacy.calibrate import calibrate, gaussian_mu
from fairpriv_core.privacy.event import Events, Gaussian, Relation, SampledGaussian


@dataclass(frozen=True)
class DpFermi(FitsMany):
    """Hyper-parameters of DP-FERMI.

    A step releases theta's sum and W's as one vector, each over the root of its share: `noise_primal` is the multiplier
    of the whole, over the root of its share that of a part. `share_counts` is the share of mu^2 for the group sizes, mu
    the Gaussian mechanism with the run's (epsilon, delta). Both shares are the proved variant's.
    """

    info: ClassVar[MethodInfo] = MethodInfo(
        name="dp_fermi",
        title="DP-FERMI",
        summary="Penalises dependence between decision and group; protects each person's sensitive attribute.",
        citation="Lowy, Gupta and Razaviyayn (2023), Stochastic differentially private and fair learning, Algorithm 1",
        threat_model="attribute",
        notions=("demographic_parity", "equalized_odds", "equal_opportunity"),
        variants=fields.VARIANTS,
        calibrates="noise_primal",
        max_labels=None,
    )

    variant: str = fields.variant()
    epochs: int = fields.epochs(20)
    batch_size: int = fields.batch_size(512)
    sampling_rate: float | None = parameter(
        None,
        "Sampling rate q",
        "Chance of each row to be in a step's secret sample (proved variant); empty: batch size / rows.",
        low=1e-4,
        high=1.0,
        log=True,
        expert=True,
    )
    learning_rate: float = fields.learning_rate(0.008)
    optimizer: str = fields.optimizer("adam")
    hidden_layers: int = fields.hidden_layers(0)
    width: int = fields.width(64)
    network: str = fields.network()
    multiplier: float = fields.fixed_multiplier(6.0)
    clip_primal: float = parameter(
        0.7,
        "Clipping bound L_θ",
        "Largest norm that the gradient of one record's predicted probabilities may have.",
        low=0.001,
        high=100.0,
        log=True,
        paper="1 to 5",
    )
    dual_step: float = fields.adversary_step(0.1)
    dual_norm: float = fields.adversary_norm(5.0)
    noise_primal: float | None = fields.noise_multiplier("Noise σ of a step", "half the joint shift of θ and W")
    noise_counts: float | None = fields.noise_multiplier("Count noise σ_c", "the counts' shift √2")
    share_dual: float = parameter(
        0.1, "Budget share, W", "Share of a step's budget for W; θ has the rest.", low=0.01, high=0.99, expert=True
    )
    share_counts: float = parameter(
        0.05, "Budget share, counts", "Share of the budget for the group sizes.", low=0.001, high=0.5, expert=True
    )

    def __post_init__(self) -> None:
        fields.check_network(self)
        checks.one_of(fields.VARIANTS, variant=self.variant)
        if self.sampling_rate is not None:
            checks.rate(sampling_rate=self.sampling_rate)
        checks.not_negative(multiplier=self.multiplier)
        checks.positive(clip_primal=self.clip_primal, dual_step=self.dual_step, dual_norm=self.dual_norm)
        checks.open_unit(share_dual=self.share_dual, share_counts=self.share_counts)
        for name in ("noise_primal", "noise_counts"):
            if getattr(self, name) is not None:
                checks.not_negative(**{name: getattr(self, name)})

    @property
    def share_of_w(self) -> float:
        """The share of 1 / noise_primal^2 that W's sum has; as published both sums have the same multiplier."""
        return 0.5 if self.variant == "published" else self.share_dual

    def noise(self, name: str) -> float:
        """The noise multiplier `name`; BadInput before calibration."""
        return fields.known_noise(**{name: getattr(self, name)})

    def rate(self, n_train: int) -> float:
        """The chance of a row to be in a step's sample; |B| / n where it is not given, and as published."""
        if self.sampling_rate is None or self.variant == "published":
            return fields.share_of_rows(self.batch_size, n_train)
        return self.sampling_rate

    def idle_reason(self) -> str | None:
        """Why there is no penalty; None where there is one."""
        return fields.say_idle({"multiplier": self.multiplier})

    def steps(self, n_train: int) -> int:
        """Return epochs times batches an epoch."""
        return fields.count_steps(self, n_train)

    def event(self, n_train: int) -> Events:
        """Return what `fit` releases; for the published variant what its accounting counts."""
        if self.multiplier == 0:
            return ()
        relation: Relation = "add_remove" if self.variant == "published" else "replace"
        steps = SampledGaussian(self.noise("noise_primal"), self.rate(n_train), self.steps(n_train), relation)
        return (steps,) if self.variant == "published" else (Gaussian(self.noise("noise_counts")), steps)

    def sensitivities(self, n_train: int, groups: int) -> dict[str, float]:
        """Return the half shifts of theta's sum with W at its norm D and of W's, groups of one size; the counts' shift.

        For the published variant the bounds in the proof of Theorem 3.3, on means over a batch.
        """
        if self.variant == "published":
            dual = math.sqrt(8.0 * groups) / self.batch_size
            return {"primal": dual * self.dual_norm * self.clip_primal, "dual": dual}
        return {
            "primal": math.sqrt(2.0 * groups) * self.dual_norm * self.clip_primal,
            "dual": math.sqrt(8.0 * max(groups - 1, 1)),
            "counts": math.sqrt(2.0),
        }

    def published_epsilon(self, n_train: int, delta: float) -> float | None:
        """Return what Theorem 3.3 claims for the same noise multipliers, q and T; it does not count the group sizes.

        sigma_theta = 4 L D sqrt(T ln(1/delta) / rho) / (epsilon n) and sigma_w likewise; over the shifts sqrt(8 / rho)
        L D / m and sqrt(8 / rho) / m that its proof bounds, both are q sqrt(2 T ln(1/delta)) / epsilon.
        """
        if self.multiplier == 0:
            return 0.0
        largest = max(self.share_of_w, 1.0 - self.share_of_w)
        noise = self.noise("noise_primal")
        return self._claim(n_train, delta) * math.sqrt(largest) / noise if noise else math.inf

    def calibrated(self, *, epsilon: float, delta: float, n_train: int) -> Self:
        """Return a copy with every noise multiplier set that is not set by hand, so that `epsilon` holds."""
        known = self
        if self.noise_counts is None:
            mu = gaussian_mu(epsilon, delta)
            known = replace(self, noise_counts=1.0 / (mu * math.sqrt(self.share_counts)))
        if self.noise_primal is not None or self.multiplier == 0:
            return known
        if self.variant == "published":
            checks.positive(epsilon=epsilon)
            noise = self._claim(n_train, delta) * math.sqrt(self.share_of_w) / epsilon
            return replace(known, noise_primal=noise * _ROUNDING)

        def events_for(noise: float) -> Events:
            return replace(known, noise_primal=noise).event(n_train)

        return replace(known, noise_primal=calibrate(events_for, epsilon=epsilon, delta=delta))

    def unproved_reason(self) -> str | None:
        """Why the published variant has no epsilon; None for the proved variant."""
        if self.variant == "proved":
            return None
        return (
            "The published accounting does not hold: the group shares are exact though one changed attribute changes "
            "every record's term, and the same public batch undoes the amplification by sampling."
        )

    def assumptions(self) -> tuple[str, ...]:
        """What epsilon takes as given."""
        return (
            *fields.ATTRIBUTE_ASSUMED,
            fields.chosen_on("Adult"),
        )

    @classmethod
    def fit_many(
        cls, methods: Sequence[Self], trains: Sequence[Dataset], trainings: Sequence[Training]
    ) -> list[Fitted]:
        """Train K models in one loop; RunFailed where a group has too few noisy records or training diverges."""
        from fairpriv_core.methods.rules.fermi_trainers import train_dp_fermi

        return train_dp_fermi(methods, trains, trainings)

    def _claim(self, n_train: int, delta: float) -> float:
        return claim_of_theorem(rate=self.rate(n_train), steps=self.steps(n_train), delta=delta)


def claim_of_theorem(*, rate: float, steps: int, delta: float) -> float:
    """Return epsilon of Theorem 3.3 times the noise multiplier of each part of a step."""
    checks.open_unit(delta=delta)
    return rate * math.sqrt(2.0 * steps * math.log(1.0 / delta))


_ROUNDING = 1.0 + 1e-12  # so that rounding never puts the claim above its target
