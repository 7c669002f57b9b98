"""What methods have in common whose secret sample is a share of the rows, whatever their number is."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from fairpriv_core import checks
from fairpriv_core.engine.loop import steps_per_epoch
from fairpriv_core.methods import fields
from fairpriv_core.methods.base import MethodInfo, parameter
from fairpriv_core.methods.shared.releases import Private, Release, Sample, check_noises


@dataclass(frozen=True)
class PoissonShares(Private):
    """Hyper-parameters. Small data get as many steps as large ones: about 1 / q an epoch."""

    info: ClassVar[MethodInfo]

    epochs: int = fields.shared("epochs", 30)
    sampling_rate: float = parameter(
        0.05, "Sampling rate q", "Chance of each row to be in a step's secret sample.", low=1e-4, high=1.0, log=True
    )
    learning_rate: float = fields.shared("learning_rate", 0.03)
    optimizer: str = fields.shared("optimizer")
    hidden_layers: int = fields.shared("hidden_layers")
    width: int = fields.shared("width")
    clip_primal: float = parameter(
        1.0,
        "Clipping bound C",
        "Largest L2 norm that one record's gradient of loss and constraints together may have.",
        low=0.01,
        high=100.0,
        log=True,
    )

    def __post_init__(self) -> None:
        fields.check_layers(self)
        checks.whole(low=1, epochs=self.epochs)
        checks.rate(sampling_rate=self.sampling_rate)
        checks.positive(clip_primal=self.clip_primal)
        check_noises(self)

    def rate(self, n_train: int) -> float:
        """The chance of a row to be in a sample."""
        return self.sampling_rate

    def sample_size(self, n_train: int) -> int:
        """The expected number of rows in a sample, whole and at least 1: what an epoch's length is counted by."""
        return max(round(self.sampling_rate * n_train), 1)

    def steps_per_epoch(self, n_train: int) -> int:
        """The number of samples in an epoch: about 1 / q."""
        return steps_per_epoch(n_train, self.sample_size(n_train))

    def steps(self, n_train: int) -> int:
        """Return epochs times samples an epoch."""
        return self.epochs * self.steps_per_epoch(n_train)

    def step_sum(self, n_train: int, **beside: float) -> Release:
        """Return the release of each step: a noisy sum over a sample, to which a record adds at most C in length."""
        sample, steps = Sample(self.sampling_rate), self.steps(n_train)
        return Release("gradients", self.clip_primal, "noise_primal", "step", steps, sample=sample, beside=beside)
