"""Smoothing a trained model: the mean of its predictions over Gaussian noise on its parameters (Jin et al., 2022).

The noise is public: on a private model smoothing is post-processing.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np

from fairpriv_core.engine.models import Mixture
from fairpriv_core.engine.training import Fitted
from fairpriv_core.methods.base import parameter
from fairpriv_core.seeds import public_generator


def choose_deviation() -> Any:
    """The noise's standard deviation."""
    return parameter(
        0.1, "Smoothing τ", "Standard deviation of the noise on the parameters.", low=1e-4, high=10.0, log=True
    )


def choose_samples() -> Any:
    """How many noisy models are averaged."""
    return parameter(
        100, "Smoothing samples", "Noisy models whose predictions are averaged.", low=1, high=10_000, log=True
    )


def smooth(fitted: Fitted, *, deviation: float, samples: int, seed: int) -> Fitted:
    """Return the mean of `samples` copies of the model, each with Gaussian noise of `deviation` on its parameters."""
    noise = public_generator(seed, "smoothing").standard_normal((samples, fitted.parameters.size))
    copies = (fitted.parameters + deviation * noise).astype(np.float32)
    network = Mixture((fitted.network,) * samples, (1.0 / samples,) * samples, randomised=False)
    return replace(fitted, network=network, parameters=copies.reshape(-1))
