"""OneRelease: the sensitive attribute is read once, into a noisy statistic; all that follows is post-processing.

Where features and labels are public, all that a logistic regression of the attribute on them reads of the attribute is
the sum of its one-hot code times the features. That sum is released once, by the Gaussian mechanism. From it follows
p(a | x, y), from that every group mean that a notion needs, and so fair training (docs/methods/one_release.md).
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
from fairpriv_core.notions.catalog import notions
from fairpriv_core.privacy.calibrate import calibrate
from fairpriv_core.privacy.event import Events, Gaussian


@dataclass(frozen=True)
class OneRelease(FitsMany):
    """Hyper-parameters of OneRelease."""

    info: ClassVar[MethodInfo] = MethodInfo(
        name="one_release",
        title="OneRelease",
        summary="Reads the sensitive attribute once, with noise, and pursues the chosen notion on the estimate.",
        citation="this project; the release is the analytic Gaussian mechanism (Balle and Wang, 2018)",
        threat_model="attribute",
        notions=tuple(notions()),
        variants=("proved",),
        calibrates="noise_statistic",
        reuses=("score_bins", "clip", "noise_statistic"),
    )

    epochs: int = fields.epochs(20)
    batch_size: int = fields.batch_size(256)
    learning_rate: float = fields.learning_rate(0.002)
    optimizer: str = fields.optimizer("adam")
    hidden_layers: int = fields.hidden_layers(0)
    width: int = fields.width(64)
    network: str = fields.network()
    gap_target: float = parameter(
        0.04,
        "Gap aimed at",
        "Largest difference between any two groups, on the training rows as far as the release tells. It binds where "
        "the plain model's is larger.",
        low=0.0,
        high=1.0,
        log=True,
        fairer="less",
    )
    multiplier_max: float = fields.multiplier_max(5.0)
    dual_step: float = fields.dual_step(2.0)
    averaged: float = parameter(
        0.3,
        "Share averaged",
        "The model is the mean of what the last epochs ended with, this share of them; 0 takes the last alone.",
        low=0.0,
        high=1.0,
        expert=True,
    )
    score_bins: int = parameter(
        10,
        "Bins of the score",
        "The attribute is also counted within this many equally full bins of a model of the label; 1 is none.",
        low=1,
        high=100,
        expert=True,
    )
    clip: float | None = parameter(
        None,
        "Clipping bound C",
        "Largest norm that a record's features may have in the statistic; longer ones are scaled down. Empty: the "
        "median norm, which is public.",
        low=0.001,
        high=1000.0,
        log=True,
        expert=True,
    )
    noise_statistic: float | None = fields.noise_multiplier("Noise of the statistic", "the statistic's shift")

    def __post_init__(self) -> None:
        fields.check_network(self)
        checks.unit(gap_target=self.gap_target, averaged=self.averaged)
        checks.not_negative(multiplier_max=self.multiplier_max)
        checks.positive(dual_step=self.dual_step)
        checks.whole(low=1, high=100, score_bins=self.score_bins)
        if self.clip is not None:
            checks.positive(clip=self.clip)
        if self.noise_statistic is not None:
            checks.not_negative(noise_statistic=self.noise_statistic)

    def noise(self) -> float:
        """The noise multiplier of the statistic; BadInput before calibration."""
        return fields.known_noise(noise_statistic=self.noise_statistic)

    def first_averaged(self) -> int:
        """The first epoch, from 0, whose parameters count in the model."""
        return self.epochs - max(1, round(self.averaged * self.epochs))

    def idle_reason(self) -> str | None:
        """Why thresholds stay where they are; None where they move."""
        return fields.say_idle({"multiplier_max": self.multiplier_max})

    def steps(self, n_train: int) -> int:
        """Return epochs times batches an epoch."""
        return fields.count_steps(self, n_train)

    def event(self, n_train: int) -> Events:
        """Return the one release, whatever the training after it."""
        return (Gaussian(self.noise()),)

    def sensitivities(self, n_train: int, groups: int) -> dict[str, float]:
        """Return the statistic's shift over C: features are divided by C before they are summed."""
        return {"statistic": statistic_shift(groups)}

    def published_epsilon(self, n_train: int, delta: float) -> float | None:
        """No paper makes a claim."""
        return None

    def calibrated(self, *, epsilon: float, delta: float, n_train: int) -> Self:
        """Return a copy whose noise meets `epsilon`."""
        if self.noise_statistic is not None:
            return self
        noise = calibrate(lambda noise: (Gaussian(noise),), epsilon=epsilon, delta=delta)
        return replace(self, noise_statistic=noise)

    def unproved_reason(self) -> str | None:
        """Epsilon is proved."""
        return None

    def assumptions(self) -> tuple[str, ...]:
        """What epsilon takes as given."""
        return (
            *fields.ATTRIBUTE_ASSUMED,
            fields.chosen_on("splits of Adult, Bank and Credit default"),
        )

    @classmethod
    def fit_many(
        cls, methods: Sequence[Self], trains: Sequence[Dataset], trainings: Sequence[Training]
    ) -> list[Fitted]:
        """Train K models in one loop; RunFailed where a group has too few estimated rows or training diverges."""
        from fairpriv_core.methods.rules.one_release_trainers import train_one_release

        return train_one_release(methods, trains, trainings)


def statistic_shift(groups: int) -> float:
    """Return how far one person moves the statistic in L2, their features having norm 1 at most.

    Of two groups one is counted; of more, each, and a person leaves one sum and joins another.
    """
    return 1.0 if groups == 2 else math.sqrt(2.0)
