"""DP-SGD whose model is the mean of the parameters over the last steps, which averages noise out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from fairpriv_core import checks
from fairpriv_core.engine.kernel import Kernel
from fairpriv_core.engine.loop import Sampled
from fairpriv_core.engine.rows import Feed
from fairpriv_core.methods import fields
from fairpriv_core.methods.shared.noisy_sums import NoisySumsRule
from fairpriv_core.methods.shared.poisson_shares import PoissonShares
from fairpriv_core.methods.shared.releases import Release
from fairpriv_core.methods.shared.setting import Setting


@dataclass(frozen=True)
class AveragedSums(PoissonShares):
    """Hyper-parameters. `noise_primal` is the noise multiplier of a step's whole release."""

    learning_rate: float = fields.shared("learning_rate", 0.05)
    averaged: float = fields.averaged("steps", 0.5)
    noise_primal: float | None = fields.noise_multiplier("Noise multiplier σ", "what a record adds to a step's sum")

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.unit(averaged=self.averaged)

    def releases(self, n_train: int, groups: int) -> tuple[Release, ...]:
        """A step's sum, to which a record adds its gradient, clipped to C."""
        return (self.step_sum(n_train),)


class AveragedSumsRule(NoisySumsRule):
    """DP-SGD; at the end the parameters become their mean over the last steps."""

    def __init__(self, setting: Setting[Any]) -> None:
        super().__init__(setting)
        models = len(setting.methods)
        self.arrays["steps"] = np.zeros(models)
        self.arrays["mean_parameters"] = np.zeros((models, setting.shape.size))

    def secret_update(self, sampled: Sampled) -> np.ndarray:
        self._average(sampled.kernel)
        self.arrays["steps"] += 1
        return super().secret_update(sampled)

    def end_epoch(self, epoch: int, kernel: Kernel, feed: Feed) -> None:
        if epoch + 1 == self.setting.methods[0].epochs:
            self._average(kernel)
            kernel.parameters[:] = self.arrays["mean_parameters"]

    def _average(self, kernel: Kernel) -> None:
        """Take the parameters before a step, or after the last, into the mean that is the model."""
        for k, method in enumerate(self.setting.methods):
            steps = method.steps(self.setting.n)
            steps_in_mean = int(self.arrays["steps"][k]) - (steps - round(method.averaged * steps)) + 1
            if steps_in_mean > 0:
                mean = self.arrays["mean_parameters"][k]
                mean += (kernel.parameters[k] - mean) / steps_in_mean
