"""FairDP with certificates: each group's clipped gradients are noised on their own and averaged, group by group.

After "FairDP: Achieving fairness certification with differential privacy" (2024), Algorithms 1 and 2. With plain
gradient descent, averaging the group models after each step is one step along the mean of the groups' noisy gradients.
The proved variant divides by constants, the expected sizes q n_k with n_k from noisy counts, and gives each record a
micro-batch of the last step by its row number; the published one divides by realised sizes and splits evenly, which a
record's presence shifts. A run of the proved variant certifies the model that it exports (runs/certificate.py); the
published one makes the paper's certificates, for the paper's figures alone.
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
from fairpriv_core.notions.certified import CONDITIONS
from fairpriv_core.privacy.accountants import rdp_epsilon
from fairpriv_core.privacy.calibrate import calibrate, gaussian_mu
from fairpriv_core.privacy.event import Events, Gaussian, Laplace, Parallel


@dataclass(frozen=True)
class FairDpCertified(NoisySums):
    """Hyper-parameters. `share_counts` is a share of mu^2 as for PF-LD (proved variant)."""

    info: ClassVar[MethodInfo] = MethodInfo(
        name="fairdp_certified",
        title="FairDP, certified",
        summary="Every group contributes equally under its own noise; a run bounds the gap of the model it exports.",
        citation="FairDP: Achieving fairness certification with differential privacy (2024), Algorithms 1 and 2",
        threat_model="record",
        notions=tuple(CONDITIONS),
        variants=fields.VARIANTS,
        calibrates="noise_primal",
        pursues_notion=False,
        certifies=True,
        retired=("share_certificate",),
    )

    learning_rate: float = fields.learning_rate(0.5)
    hidden_layers: int = fields.hidden_layers(1)
    width: int = fields.width(32)
    network: str = fields.network()
    optimizer: str = parameter(
        "sgd",
        "Optimizer",
        "Plain gradient descent: under another rule the last step's noise would not be Gaussian.",
        choices=("sgd",),
        expert=True,
    )
    variant: str = fields.variant()
    weight_bound: float = parameter(
        0.5,
        "Weight bound M",
        "Largest norm of the scoring layer before each step. Small: fairer, and closer to the constant classifier.",
        low=0.01,
        high=100.0,
        log=True,
        paper="0.25 to 1",
    )
    ensemble: int = parameter(
        100, "Ensemble n", "Micro-batches of the last step, each a noisy scoring layer.", low=2, high=10_000, log=True
    )
    failure: float = parameter(
        0.05,
        "Failure β",
        "Chance that the certificate does not hold; as published, that one group's rate leaves its interval.",
        low=1e-6,
        high=0.5,
        log=True,
        paper="0.05",
    )
    noise_counts: float | None = fields.noise_multiplier("Count noise σ_c", "the counts' shift of 1")
    noise_certificate: float | None = fields.noise_multiplier(
        "Certificate noise", "the shift that the paper gives its certificate (published variant)"
    )
    share_counts: float = parameter(
        0.02, "Budget share, counts", "Share of the budget for the group sizes.", low=0.001, high=0.5, expert=True
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.one_of(("sgd",), optimizer=self.optimizer)
        checks.one_of(fields.VARIANTS, variant=self.variant)
        checks.positive(weight_bound=self.weight_bound)
        checks.whole(low=2, ensemble=self.ensemble)
        checks.open_unit(failure=self.failure)
        checks.open_unit(share_counts=self.share_counts)
        for name in ("noise_counts", "noise_certificate"):
            if getattr(self, name) is not None:
                checks.not_negative(**{name: getattr(self, name)})

    @property
    def proved(self) -> bool:
        """Whether this is the proved variant."""
        return self.variant == "proved"

    def noise_of(self, name: str) -> float:
        """The noise multiplier `name`; BadInput before calibration."""
        return fields.known_noise(**{name: getattr(self, name)})

    def event(self, n_train: int) -> Events:
        """Return what `fit` releases: counts, and a sampled Gaussian a step for each group in parallel.

        As published: the steps, and the paper's certificate.
        """
        steps = Parallel(((self._sampled(self.noise(), n_train),),))
        if not self.proved:
            return (steps, Laplace(self.noise_of("noise_certificate")))
        return (Gaussian(self.noise_of("noise_counts")), steps)

    def sensitivities(self, n_train: int, groups: int) -> dict[str, float]:
        """Return C, and what a record adds to counts."""
        return {"gradients": self.clip_primal, "counts": 1.0}

    @property
    def certified_failure(self) -> float | None:
        """The chance that the exported model's certificate may fail with; None as published, where none is made."""
        return self.failure if self.proved else None

    def published_epsilon(self, n_train: int, delta: float) -> float | None:
        """Return Theorem 1's figure: the moments accountant on one group's steps; it counts nothing else."""
        return rdp_epsilon((self._sampled(self.noise(), n_train),), delta)

    def calibrated(self, *, epsilon: float, delta: float, n_train: int) -> Self:
        """Return a copy with every noise set that is not set by hand, so that the variant's epsilon holds."""
        known = replace(
            self,
            noise_counts=_or(self.noise_counts, 1.0 / (gaussian_mu(epsilon, delta) * math.sqrt(self.share_counts))),
            noise_certificate=self.noise_certificate if self.proved else _or(self.noise_certificate, 1.0),
        )
        if self.noise_primal is not None:
            return known

        def events_for(noise: float) -> Events:
            if not self.proved:
                return (known._sampled(noise, n_train),)
            return replace(known, noise_primal=noise).event(n_train)

        accountant = "pld" if self.proved else "rdp"
        noise = calibrate(events_for, epsilon=epsilon, delta=delta, accountant=accountant)
        return replace(known, noise_primal=noise)

    def unproved_reason(self) -> str | None:
        """Why the published variant has no epsilon; None for the proved variant."""
        if self.proved:
            return None
        return (
            "The published accounting does not hold: sums are divided by the realised sizes of secret samples, one "
            "more record shifts the even split of the last step, and the certificate's noise ignores its divisors."
        )

    def assumptions(self) -> tuple[str, ...]:
        """What epsilon takes as given."""
        return (
            *super().assumptions(),
            "The list of groups is public; a record zeroed out belongs to none of them.",
            fields.chosen_on("Adult"),
        )

    @classmethod
    def fit_many(
        cls, methods: Sequence[Self], trains: Sequence[Dataset], trainings: Sequence[Training]
    ) -> list[Fitted]:
        """Train K models in one loop; RunFailed where a group has too few noisy records or training diverges."""
        from fairpriv_core.methods.rules.certified_trainers import train_fairdp_certified

        return train_fairdp_certified(methods, trains, trainings)


def _or(value: float | None, default: float) -> float:
    return default if value is None else value
