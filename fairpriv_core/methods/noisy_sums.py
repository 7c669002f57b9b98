"""What DP-SGD and its relatives share: every step releases one noisy sum over a secret Poisson sample.

`NoisySums` releases clipped gradients alone. `SumsWithCounts` releases counts of the same sample beside them: gradients
and counts are one vector and one Gaussian, whose budget is divided between them.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import ClassVar, Self

from fairpriv_core import checks
from fairpriv_core.errors import BadInput
from fairpriv_core.methods import fields
from fairpriv_core.methods.base import FitsMany, MethodInfo, parameter
from fairpriv_core.privacy.accountants import rdp_epsilon
from fairpriv_core.privacy.calibrate import calibrate
from fairpriv_core.privacy.event import Events, Gaussian, SampledGaussian

NOISE_BOUNDS = ("adaptive", "set")  # what an adaptive method's noise is scaled to


@dataclass(frozen=True)
class NoisySums(FitsMany):
    """Poisson samples at rate q = batch_size / n; contributions lie in a ball that the noise multiplier is over."""

    info: ClassVar[MethodInfo]

    epochs: int = fields.epochs(20)
    batch_size: int = fields.batch_size(1024)
    learning_rate: float = fields.learning_rate(0.01)
    optimizer: str = fields.optimizer("adam")
    hidden_layers: int = fields.hidden_layers(0)
    width: int = fields.width(64)
    clip_primal: float = parameter(
        1.0, "Clipping bound C", "Largest L2 norm that one record's gradient may have.", low=0.01, high=100.0, log=True
    )
    noise_primal: float | None = fields.noise_multiplier("Noise multiplier σ", "C")

    def __post_init__(self) -> None:
        fields.check_network(self)
        checks.positive(clip_primal=self.clip_primal)
        if self.noise_primal is not None:
            checks.not_negative(noise_primal=self.noise_primal)

    def rate(self, n_train: int) -> float:
        """The chance of a row to be in a sample."""
        return fields.share_of_rows(self.batch_size, n_train)

    def steps_per_epoch(self, n_train: int) -> int:
        """The number of samples in an epoch."""
        return self.steps(n_train) // self.epochs

    def noise(self) -> float:
        """The noise multiplier; BadInput before calibration."""
        return fields.known_noise(noise_primal=self.noise_primal)

    def steps(self, n_train: int) -> int:
        """Return epochs times batches an epoch."""
        return fields.count_steps(self, n_train)

    def event(self, n_train: int) -> Events:
        """Return one sampled Gaussian a step."""
        return (self._sampled(self.noise(), n_train),)

    def sensitivities(self, n_train: int, groups: int) -> dict[str, float]:
        """Return C: a record adds at most that to a step's sum."""
        return {"gradients": self.clip_primal}

    def published_event(self, n_train: int) -> Events:
        """Return what the paper's accounting counts."""
        return self.event(n_train)

    def published_epsilon(self, n_train: int, delta: float) -> float | None:
        """Return what the paper's accounting claims for the same noise (RDP)."""
        return rdp_epsilon(self.published_event(n_train), delta)

    def calibrated(self, *, epsilon: float, delta: float, n_train: int) -> Self:
        """Return a copy whose noise multiplier meets `epsilon`, by the variant's own accounting."""
        if self.noise_primal is not None:
            return self
        proved = self.unproved_reason() is None

        def events_for(noise: float) -> Events:
            ready = replace(self, noise_primal=noise)
            return ready.event(n_train) if proved else ready.published_event(n_train)

        noise = calibrate(events_for, epsilon=epsilon, delta=delta, accountant="pld" if proved else "rdp")
        return replace(self, noise_primal=noise)

    def unproved_reason(self) -> str | None:
        """Epsilon is proved."""
        return None

    def assumptions(self) -> tuple[str, ...]:
        """What epsilon takes as given."""
        return ("The number of training rows is public.", "A neighbouring data set has one record zeroed out.")

    def _sampled(self, noise: float, n_train: int) -> SampledGaussian:
        return SampledGaussian(noise, self.rate(n_train), self.steps(n_train), "add_remove")


@dataclass(frozen=True)
class SumsWithCounts(NoisySums):
    """Each step's counts choose how the next step clips (proved), or how the same step does (published).

    `share_counts` is the counts' share of a step's budget: with sigma the multiplier of the whole release, gradients
    have sigma / sqrt(1 - share) over their bound and counts sigma / sqrt(share) over 1. `COUNT_NOISE` is what the paper
    multiplies sigma by for its counts; None where it reads the sample without noise. `UNPROVED` is why no epsilon is
    proved for the published variant.
    """

    COUNT_NOISE: ClassVar[float | None] = None
    UNPROVED: ClassVar[str]

    variant: str = fields.variant()
    share_counts: float = parameter(
        0.05,
        "Budget share, counts",
        "Share of each step's budget for the counts that choose how to clip (proved variant).",
        low=0.001,
        high=0.5,
        expert=True,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.one_of(fields.VARIANTS, variant=self.variant)
        checks.open_unit(share_counts=self.share_counts)

    @property
    def proved(self) -> bool:
        """Whether this is the proved variant."""
        return self.variant == "proved"

    def gradient_noise(self) -> float:
        """The noise multiplier of the gradients alone; BadInput before calibration."""
        return self.noise() / math.sqrt(1.0 - self.share_counts) if self.proved else self.noise()

    def count_noise(self) -> float | None:
        """The noise multiplier of the counts alone; None where the paper adds none. BadInput before calibration."""
        if self.proved:
            return self.noise() / math.sqrt(self.share_counts)
        return None if self.COUNT_NOISE is None else self.COUNT_NOISE * self.noise()

    def event(self, n_train: int) -> Events:
        """Return one sampled Gaussian a step; the published variant's noisy counts pass as Gaussians of their own."""
        steps = (self._sampled(self.noise(), n_train),)
        counts = self.count_noise()
        if self.proved or counts is None:
            return steps
        return (*steps, Gaussian(counts, self.steps(n_train)))

    def sensitivities(self, n_train: int, groups: int) -> dict[str, float]:
        """Return the first step's bound on gradients, and that a record adds at most 1 to its counts, in L2."""
        return {"gradients": self.clip_primal, "counts": 1.0}

    def published_event(self, n_train: int) -> Events:
        """Return what the paper's accounting counts: gradients, and its noisy counts as if on samples of their own."""
        counts = self.count_noise() if self.COUNT_NOISE is not None else None
        steps = (self._sampled(self.gradient_noise(), n_train),)
        return steps if counts is None else (*steps, self._sampled(counts, n_train))

    def unproved_reason(self) -> str | None:
        """Why the published variant has no epsilon; None for the proved variant."""
        return None if self.proved else self.UNPROVED

    def assumptions(self) -> tuple[str, ...]:
        """What epsilon takes as given."""
        return (*super().assumptions(), fields.chosen_on("Adult"))


@dataclass(frozen=True)
class AdaptiveBounds(SumsWithCounts):
    """Bounds follow the gradients' norms: noise too, which a proof needs; or not, as the published text can be read."""

    bound_of_noise: str = parameter(
        "adaptive",
        "Noise scaled to",
        "The adaptive bound, which a proof needs; or, published variant, the C that is set, as the papers' DP-SGD step "
        "has it.",
        choices=NOISE_BOUNDS,
        expert=True,
        unsaid=True,
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.one_of(NOISE_BOUNDS, bound_of_noise=self.bound_of_noise)
        if self.proved and self.bound_of_noise == "set":
            raise BadInput(
                "bound_of_noise 'set' adds too little noise for the proved variant; take adaptive, or published.",
                field="bound_of_noise",
            )

    def unproved_reason(self) -> str | None:
        """Why the published variant has no epsilon; None for the proved variant."""
        if self.bound_of_noise == "set":
            return f"{self.UNPROVED} Here the noise does not follow the bound either, and contributions exceed it."
        return super().unproved_reason()
