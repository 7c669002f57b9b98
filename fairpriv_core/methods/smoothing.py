"""Smoothing a trained model: the mean of its predictions over Gaussian noise on its parameters (Jin et al., 2022).

The noise is public: on a private model smoothing is post-processing.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from fairpriv_core import checks
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.models import Mixture
from fairpriv_core.engine.training import Fitted, Training
from fairpriv_core.methods.base import MethodInfo, Style, parameter
from fairpriv_core.methods.dp_sgd import DpSgd
from fairpriv_core.methods.none import Plain
from fairpriv_core.methods.shared.setting import TrainsByRule
from fairpriv_core.seeds import public_generator


@dataclass(frozen=True)
class Smoothed(TrainsByRule):
    """Hyper-parameters of a method that smooths what it has trained; live curves show the model before."""

    smoothing: float = parameter(
        0.1, "Smoothing τ", "Standard deviation of the noise on the parameters.", low=1e-4, high=10.0, log=True
    )
    smoothing_samples: int = parameter(
        100, "Smoothing samples", "Noisy models whose predictions are averaged.", low=1, high=10_000, log=True
    )

    def __post_init__(self) -> None:
        super().__post_init__()  # type: ignore[misc]  # of the method that is smoothed
        checks.positive(smoothing=self.smoothing)
        checks.whole(low=1, high=10_000, smoothing_samples=self.smoothing_samples)

    @classmethod
    def fit_many(
        cls, methods: Sequence[Self], trains: Sequence[Dataset], trainings: Sequence[Training]
    ) -> list[Fitted]:
        """Train K models in one loop, then smooth each."""
        return [
            smooth(model, deviation=method.smoothing, samples=method.smoothing_samples, seed=training.seed)
            for method, training, model in zip(
                methods, trainings, super().fit_many(methods, trains, trainings), strict=True
            )
        ]


@dataclass(frozen=True)
class DpsgdSmooth(Smoothed, DpSgd):
    """DP-SGD, then the mean prediction over public noise on the parameters, which costs no epsilon."""

    info: ClassVar[MethodInfo] = MethodInfo(
        name="dpsgd_smooth",
        title="DPSGD-Smooth",
        style=Style("purple", "solid", "triangle-down"),
        summary="Smooths a classifier trained by DP-SGD by noise on its parameters; protects whole records.",
        citation="Jin et al. (2022), Input-agnostic certified group fairness via Gaussian parameter smoothing",
        threat_model="record",
        variants=("proved",),
        calibrates="noise_primal",
        max_labels=None,
        uses_groups=False,
    )


@dataclass(frozen=True)
class FairSmooth(Smoothed, Plain):
    """Plain training, then the mean prediction over noise on the parameters."""

    info: ClassVar[MethodInfo] = MethodInfo(
        name="fairsmooth",
        title="FairSmooth",
        style=Style("purple", "dot", "triangle-down"),
        summary="Smooths a plainly trained classifier by noise on its parameters; not private.",
        citation="Jin et al. (2022), Input-agnostic certified group fairness via Gaussian parameter smoothing",
        threat_model=None,
        max_labels=None,
        uses_groups=False,
    )


def smooth(fitted: Fitted, *, deviation: float, samples: int, seed: int) -> Fitted:
    """Return the mean of `samples` copies of the model, each with Gaussian noise of `deviation` on its parameters."""
    noise = public_generator(seed, "smoothing").standard_normal((samples, fitted.parameters.size))
    copies = (fitted.parameters + deviation * noise).astype(np.float32)
    network = Mixture((fitted.network,) * samples, (1.0 / samples,) * samples, randomised=False)
    return replace(fitted, network=network, parameters=copies.reshape(-1))
