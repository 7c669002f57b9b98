"""PF-LD for whole records: DP-SGD on a Lagrangian whose multipliers follow noisy violations (this project's own).

Group sizes are released once; every step is DP-SGD on the records' shares of the Lagrangian; after each epoch noisy
sums of h over the groups move the signed multipliers. docs/methods/pf_ld_record.md has algorithm and argument.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from fairpriv_core import checks
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.sampling import steps_per_epoch
from fairpriv_core.engine.training import Fitted, Training
from fairpriv_core.methods import fields
from fairpriv_core.methods.base import FitsMany, MethodInfo, parameter
from fairpriv_core.notions.catalog import notions
from fairpriv_core.privacy.accountants import rdp_epsilon
from fairpriv_core.privacy.calibrate import calibrate, gaussian_mu
from fairpriv_core.privacy.event import Events, Gaussian, SampledGaussian


@dataclass(frozen=True)
class PfLdRecord(FitsMany):
    """Hyper-parameters. Small data get as many steps as large ones: a sample's size is a share of the rows.

    `share_dual` and `share_counts` split the budget: shares of mu^2, mu the Gaussian mechanism with the run's
    (epsilon, delta); the steps get what is left.
    """

    info: ClassVar[MethodInfo] = MethodInfo(
        name="pf_ld_record",
        title="PF-LD for whole records",
        summary="Pursues the chosen notion by Lagrangian duality; protects whole records.",
        citation="This project, after Tran, Fioretto and Van Hentenryck (2021) and Abadi et al. (2016)",
        threat_model="record",
        notions=tuple(notions()),
        variants=("proved",),
        calibrates="noise_primal",
    )

    epochs: int = fields.epochs(30)
    sampling_rate: float = parameter(
        0.05, "Sampling rate q", "Chance of each row to be in a step's secret sample.", low=1e-4, high=1.0, log=True
    )
    learning_rate: float = fields.learning_rate(0.03)
    optimizer: str = fields.optimizer("adam")
    hidden_layers: int = fields.hidden_layers(0)
    width: int = fields.width(64)
    network: str = fields.network()
    clip_primal: float = parameter(
        1.0,
        "Clipping bound C",
        "Largest L2 norm that one record's gradient of loss and constraints together may have.",
        low=0.01,
        high=100.0,
        log=True,
    )
    clip_dual: float = parameter(
        1.0,
        "Dual clipping bound C_d",
        "Largest output that one record may add to a violation; a probability never exceeds 1.",
        low=0.01,
        high=20.0,
        log=True,
    )
    multiplier_max: float = fields.multiplier_max(0.57)
    dual_step: float = parameter(
        3.0,
        "Dual step s",
        "How far a multiplier moves after each epoch, for a violation of 1 of a group that is everyone.",
        low=0.01,
        high=50.0,
        log=True,
        expert=True,
    )
    noise_primal: float | None = fields.noise_multiplier("Primal noise σ", "C")
    noise_dual: float | None = fields.noise_multiplier("Dual noise σ_d", "the dual shift")
    noise_counts: float | None = fields.noise_multiplier("Count noise σ_c", "the counts' shift 1")
    share_dual: float = parameter(
        0.1, "Budget share, dual", "Share of the budget for the violations.", low=0.01, high=0.9, expert=True
    )
    share_counts: float = parameter(
        0.03, "Budget share, counts", "Share of the budget for the group sizes.", low=0.001, high=0.5, expert=True
    )

    def __post_init__(self) -> None:
        fields.check_layers(self)
        checks.whole(low=1, epochs=self.epochs)
        checks.rate(sampling_rate=self.sampling_rate)
        checks.positive(
            clip_primal=self.clip_primal,
            clip_dual=self.clip_dual,
            dual_step=self.dual_step,
        )
        checks.not_negative(multiplier_max=self.multiplier_max)
        checks.shares(share_dual=self.share_dual, share_counts=self.share_counts)
        for name in ("noise_primal", "noise_dual", "noise_counts"):
            if getattr(self, name) is not None:
                checks.not_negative(**{name: getattr(self, name)})

    @property
    def pursues(self) -> bool:
        """Whether multipliers ever leave 0; otherwise the method is DP-SGD and releases nothing beside its steps."""
        return self.multiplier_max > 0 and self.epochs > 1

    def noise(self, name: str = "noise_primal") -> float:
        """The noise multiplier `name`; BadInput before calibration."""
        return fields.known_noise(**{name: getattr(self, name)})

    def rate(self, n_train: int) -> float:
        """The chance of a row to be in a sample."""
        return self.sampling_rate

    def sample_size(self, n_train: int) -> int:
        """The expected number of rows in a sample, whole and at least 1: what an epoch's length is counted by."""
        return max(round(self.sampling_rate * n_train), 1)

    def steps_per_epoch(self, n_train: int) -> int:
        """The number of samples in an epoch: about 1 / q."""
        return steps_per_epoch(n_train, self.sample_size(n_train))

    def idle_reason(self) -> str | None:
        """Why multipliers stay 0; None where they move."""
        return fields.say_idle({"multiplier_max": self.multiplier_max}, self.epochs)

    def steps(self, n_train: int) -> int:
        """Return epochs times samples an epoch."""
        return self.epochs * self.steps_per_epoch(n_train)

    def event(self, n_train: int) -> Events:
        """Return one sampled Gaussian a step; with multipliers also the counts and a Gaussian for each dual step."""
        steps = (SampledGaussian(self.noise(), self.sampling_rate, self.steps(n_train), "add_remove"),)
        if not self.pursues:
            return steps
        return (Gaussian(self.noise("noise_counts")), Gaussian(self.noise("noise_dual"), self.epochs - 1), *steps)

    def sensitivities(self, n_train: int, groups: int) -> dict[str, float]:
        """Return C; C_d, the most that the shift of a dual step can be; and 1, as a record is counted once."""
        return {"gradients": self.clip_primal, "dual": self.clip_dual, "counts": 1.0}

    def published_epsilon(self, n_train: int, delta: float) -> float | None:
        """Return the moments accountant's figure (RDP) for the same releases."""
        return rdp_epsilon(self.event(n_train), delta)

    def calibrated(self, *, epsilon: float, delta: float, n_train: int) -> Self:
        """Return a copy with every noise multiplier set that is not set by hand, so that `epsilon` holds."""
        mu = gaussian_mu(epsilon, delta)
        known = replace(
            self,
            noise_counts=_or(self.noise_counts, 1.0 / (mu * math.sqrt(self.share_counts))),
            noise_dual=_or(self.noise_dual, math.sqrt(max(self.epochs - 1, 1) / self.share_dual) / mu),
        )
        if self.noise_primal is not None:
            return known

        def events_for(noise: float) -> Events:
            return replace(known, noise_primal=noise).event(n_train)

        return replace(known, noise_primal=calibrate(events_for, epsilon=epsilon, delta=delta))

    def unproved_reason(self) -> str | None:
        """Epsilon is proved."""
        return None

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
        from fairpriv_core.methods.rules.record_trainers import train_pf_ld_record

        return train_pf_ld_record(methods, trains, trainings)


def _or(value: float | None, default: float) -> float:
    return default if value is None else value
