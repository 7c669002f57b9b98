"""FairSmooth: a plainly trained classifier, smoothed by noise on its parameters (Jin et al., 2022); not private."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar, Self

from fairpriv_core import checks
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.training import Fitted, Training
from fairpriv_core.methods.base import MethodInfo, Style
from fairpriv_core.methods.none import Plain
from fairpriv_core.methods.smoothing import choose_deviation, choose_samples, smooth


@dataclass(frozen=True)
class FairSmooth(Plain):
    """Plain training, then the mean prediction over noise on the parameters; live curves show the model before."""

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

    smoothing: float = choose_deviation()
    smoothing_samples: int = choose_samples()

    def __post_init__(self) -> None:
        super().__post_init__()
        checks.positive(smoothing=self.smoothing)
        checks.whole(low=1, high=10_000, smoothing_samples=self.smoothing_samples)

    @classmethod
    def fit_many(
        cls, methods: Sequence[Self], trains: Sequence[Dataset], trainings: Sequence[Training]
    ) -> list[Fitted]:
        """Train K models in one loop, then smooth each."""
        return [
            smooth(fitted, deviation=method.smoothing, samples=method.smoothing_samples, seed=training.seed)
            for method, training, fitted in zip(
                methods, trainings, super().fit_many(methods, trains, trainings), strict=True
            )
        ]
