"""PF-LD: fair by Lagrangian duality, private for the sensitive attribute (Tran, Fioretto and Van Hentenryck, 2021).

The published variant is Algorithm 1 with eq. 8 and 10. The proved variant (docs/privacy.md) has signed multipliers, an
independent secret Poisson sample for the group terms, and noise that covers every contribution; its epsilon holds for
everything that the run releases, all iterates included.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from fairpriv_core import checks
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.training import Fitted, Training
from fairpriv_core.errors import BadInput
from fairpriv_core.methods import fields
from fairpriv_core.methods.base import FitsMany, MethodInfo, parameter
from fairpriv_core.methods.clipping_choice import ClippingCurve, Warmup, build_curve, proved_noise
from fairpriv_core.notions.catalog import notions
from fairpriv_core.privacy.accountants import rdp_epsilon
from fairpriv_core.privacy.calibrate import calibrate, gaussian_mu
from fairpriv_core.privacy.event import Events, Gaussian, SampledGaussian


@dataclass(frozen=True)
class PfLd(FitsMany):
    """Hyper-parameters of PF-LD.

    `share_dual` and `share_counts` split the budget of the proved variant: shares of mu^2, mu the Gaussian mechanism
    with the run's (epsilon, delta); the primal steps get what is left.
    """

    info: ClassVar[MethodInfo] = MethodInfo(
        name="pf_ld",
        title="PF-LD",
        summary="Pursues the chosen notion by Lagrangian duality; protects each person's sensitive attribute.",
        citation="Tran, Fioretto and Van Hentenryck (2021), Differentially private and fair deep learning, eq. 8, 10",
        threat_model="attribute",
        notions=tuple(notions()),
        variants=fields.VARIANTS,
        calibrates="noise_primal",
        shows_clipping=True,
    )

    variant: str = fields.variant()
    epochs: int = fields.epochs(20)
    batch_size: int = fields.batch_size(256)
    sampling_rate: float | None = parameter(
        None,
        "Sampling rate q",
        "Chance of each row to be in a step's secret sample (proved variant); empty: batch size / rows.",
        low=1e-4,
        high=1.0,
        log=True,
        expert=True,
    )
    learning_rate: float = fields.learning_rate(0.002)
    optimizer: str = fields.optimizer("adam")
    hidden_layers: int = fields.hidden_layers(0)
    width: int = fields.width(64)
    network: str = fields.network()
    clip_primal: float | None = parameter(
        0.5,
        "Primal clipping bound C_p",
        "Largest norm that one record's gradient of the constraint may have. Small: bias; large: noise. "
        "Empty: the minimiser of Theorem 4 after the first epoch, from public values.",
        low=0.001,
        high=100.0,
        log=True,
        paper="10",
    )
    clip_dual: float = parameter(
        1.0,
        "Dual clipping bound C_d",
        "Largest output that one record may add to a violation; a probability never exceeds 1.",
        low=0.01,
        high=20.0,
        log=True,
        paper="5",
    )
    multiplier_max: float = fields.multiplier_max(2.0)
    dual_step: float = fields.dual_step(0.5)
    noise_primal: float | None = fields.noise_multiplier("Primal noise σ_p", "half the primal shift r C_p")
    noise_dual: float | None = fields.noise_multiplier("Dual noise σ_d", "the dual shift")
    noise_counts: float | None = fields.noise_multiplier("Count noise σ_c", "the counts' shift √2")
    share_dual: float = parameter(
        0.25, "Budget share, dual", "Share of the budget for the violations.", low=0.01, high=0.9, expert=True
    )
    share_counts: float = parameter(
        0.05, "Budget share, counts", "Share of the budget for the group sizes.", low=0.001, high=0.5, expert=True
    )

    def __post_init__(self) -> None:
        fields.check_network(self)
        checks.one_of(fields.VARIANTS, variant=self.variant)
        if self.sampling_rate is not None:
            checks.rate(sampling_rate=self.sampling_rate)
        checks.positive(clip_dual=self.clip_dual, dual_step=self.dual_step)
        if self.clip_primal is not None:
            checks.positive(clip_primal=self.clip_primal)
        elif self.variant == "published":
            raise BadInput("clip_primal must be a number > 0 for the published variant, got none.", field="clip_primal")
        checks.not_negative(multiplier_max=self.multiplier_max)
        checks.shares(share_dual=self.share_dual, share_counts=self.share_counts)
        for name in _NOISES:
            if getattr(self, name) is not None:
                checks.not_negative(**{name: getattr(self, name)})

    @property
    def pursues(self) -> bool:
        """Whether multipliers ever leave 0: only then are violations and group gradients released."""
        return self.multiplier_max > 0 and (self.variant == "published" or self.epochs > 1)

    def noise(self, name: str) -> float:
        """The noise multiplier `name`; BadInput before calibration."""
        return fields.known_noise(**{name: getattr(self, name)})

    def rate(self, n_train: int) -> float:
        """The chance of a row to be in a step's secret sample."""
        return self.published_rate(n_train) if self.sampling_rate is None else self.sampling_rate

    def published_rate(self, n_train: int) -> float:
        """The sampling rate that the paper's accounting uses: |B| / n."""
        return fields.share_of_rows(self.batch_size, n_train)

    def idle_reason(self) -> str | None:
        """Why multipliers stay 0; None where they move."""
        return fields.say_idle({"multiplier_max": self.multiplier_max}, self.epochs)

    def steps(self, n_train: int) -> int:
        """Return epochs times batches an epoch."""
        return fields.count_steps(self, n_train)

    def event(self, n_train: int) -> Events:
        """Return what `fit` releases; for the published variant what its accounting counts."""
        if self.variant == "published":
            return self._published_event(n_train)
        counts = (Gaussian(self.noise("noise_counts")),)
        if not self.pursues:
            return counts
        steps = self.steps(n_train) // self.epochs * (self.epochs - 1)
        primal = SampledGaussian(self.noise("noise_primal"), self.rate(n_train), steps, "replace")
        return (*counts, Gaussian(self.noise("noise_dual"), self.epochs - 1), primal)

    def sensitivities(self, n_train: int, groups: int) -> dict[str, float]:
        """Return the half shift r C_p of a step with multipliers at +-lambda_max, and the shift of a dual step.

        For the published variant the bounds of eq. 7 and 9. The true group sizes are protected: n / groups stands in.
        """
        each = n_train / groups
        primal, dual = 1.0 / (self.rate(n_train) * each), self.clip_dual / (math.sqrt(2.0) * each)
        if self.variant == "published":
            primal = 2.0 / max(self.batch_size / groups - 1.0, 1.0)
            dual = math.sqrt(2.0) * self.clip_dual / max(each - 1.0, 1.0)
        bound = {} if self.clip_primal is None else {"primal": primal * self.multiplier_max * self.clip_primal}
        return {**bound, "dual": dual}

    def published_epsilon(self, n_train: int, delta: float) -> float | None:
        """Return what Theorem 3 claims for the same noise multipliers, q and T; it does not count the group sizes."""
        return rdp_epsilon(self._published_event(n_train), delta)

    def calibrated(self, *, epsilon: float, delta: float, n_train: int) -> Self:
        """Return a copy with every noise multiplier set that is not set by hand, so that `epsilon` holds."""
        mu = gaussian_mu(epsilon, delta)
        releases = self.epochs if self.variant == "published" else max(self.epochs - 1, 1)
        known = replace(
            self,
            noise_counts=_or(self.noise_counts, 1.0 / (mu * math.sqrt(self.share_counts))),
            noise_dual=_or(self.noise_dual, math.sqrt(releases / self.share_dual) / mu),
        )
        if self.noise_primal is not None or not self.pursues:
            return known

        def events_for(noise: float) -> Events:
            return replace(known, noise_primal=noise).event(n_train)

        accountant = "rdp" if self.variant == "published" else "pld"
        noise = calibrate(events_for, epsilon=epsilon, delta=delta, accountant=accountant)
        return replace(known, noise_primal=noise)

    def unproved_reason(self) -> str | None:
        """Why the published variant has no epsilon; None for the proved variant."""
        if self.variant == "proved":
            return None
        return (
            "The published accounting does not hold: one changed attribute moves two group means and can flip a sign, "
            "the noise scale reads group sizes, and the same public batch undoes the amplification by sampling."
        )

    def assumptions(self) -> tuple[str, ...]:
        """What epsilon takes as given."""
        return (
            *fields.ATTRIBUTE_ASSUMED,
            fields.chosen_on("Adult and Bank"),
        )

    def clipping_curves(self, warmup: Warmup) -> dict[str, ClippingCurve]:
        """Return the bounds of Theorems 4 and 5 over C_p and C_d for this method's noise, from public values alone.

        Multipliers are taken at +-1 (the minimiser does not depend on their size) and the groups as equally large,
        since their sizes are protected. Needs calibrated noise. {} where multipliers never leave 0: nothing is clipped.
        """
        if not self.pursues:
            return {}
        counts = np.full(warmup.groups, warmup.rows / warmup.groups)
        if self.variant == "published":
            smallest = self.batch_size / warmup.groups
            primal = 2.0 * math.sqrt(warmup.parameters) * self.noise("noise_primal") / max(smallest - 1.0, 1.0)
            dual = math.sqrt(2.0) * self.noise("noise_dual") / max(counts[0] - 1.0, 1.0)
        else:
            primal = proved_noise(
                size=warmup.parameters,
                noise_multiplier=self.noise("noise_primal"),
                rate=self.rate(warmup.rows),
                counts=counts,
            )
            dual = self.noise("noise_dual") * math.sqrt(2.0) / (2.0 * counts[0])
        return {
            "clip_primal": build_curve(warmup.norms, noise=primal, weight=float(warmup.groups)),
            "clip_dual": build_curve(warmup.outputs, noise=dual, weight=1.0),
        }

    @classmethod
    def fit_many(
        cls, methods: Sequence[Self], trains: Sequence[Dataset], trainings: Sequence[Training]
    ) -> list[Fitted]:
        """Train K models in one loop; RunFailed where a group has too few noisy records or training diverges."""
        from fairpriv_core.methods.rules.trainers import train_pf_ld

        return train_pf_ld(methods, trains, trainings)

    def _published_event(self, n_train: int) -> Events:
        if not self.pursues:
            return ()
        proved = self.variant == "proved"
        rate = self.rate(n_train) if proved else self.published_rate(n_train)
        epochs = self.epochs - 1 if proved else self.epochs
        steps = self.steps(n_train) // self.epochs * epochs
        primal = SampledGaussian(self.noise("noise_primal"), rate, steps, "add_remove")
        return (primal, Gaussian(self.noise("noise_dual"), epochs))


_NOISES = ("noise_primal", "noise_dual", "noise_counts")


def _or(value: float | None, default: float) -> float:
    return default if value is None else value
