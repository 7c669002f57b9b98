"""Trainers that are nothing but a mechanism, so that what an audit must find is known exactly."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from fairpriv_core.audit.attack import Train
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.training import Fitted
from fairpriv_core.privacy.mechanism import Mechanism

Fit = Callable[[Dataset, Mechanism], dict[str, object]]


def trainer(fit: Fit, *, alone: bool = False) -> Train:
    """Return a trainer that calls `fit` for each data set and exports what it returns."""

    def train(data: Sequence[Dataset], mechanisms: Sequence[Mechanism]) -> list[Fitted]:
        return [
            Fitted({}, np.zeros(1, dtype=np.float32), mechanism.events, 1, fit(one, mechanism))
            for one, mechanism in zip(data, mechanisms, strict=True)
        ]

    return Train(train, alone=alone)


def release_counts(noise: float) -> Fit:
    """Return a fit that releases the groups' sizes once, with the Gaussian noise that is counted."""

    def fit(data: Dataset, mechanism: Mechanism) -> dict[str, object]:
        sizes = np.bincount(data.group, minlength=2).astype(float)
        mechanism.gaussian(sizes, sensitivity=float(np.sqrt(2)), noise_multiplier=noise, purpose="counts", index=0)
        return {}

    return fit


def count_present(noise: float) -> Fit:
    """Return a fit that releases once, with the Gaussian noise that is counted, how many rows each label has."""

    def fit(data: Dataset, mechanism: Mechanism) -> dict[str, object]:
        sizes = np.bincount(data.members[1], minlength=2).astype(float)
        mechanism.gaussian(sizes, sensitivity=1.0, noise_multiplier=noise, purpose="counts", index=0)
        return {}

    return fit


def sum_clipped(noise: float, *, clip: float = 1.0, rate: float = 0.5, told: float = 1.0) -> Fit:
    """Return a fit that sums a secret sample's rows, clipped to `clip`, and tells the mechanism that it is `told`."""

    def fit(data: Dataset, mechanism: Mechanism) -> dict[str, object]:
        rows = data.X.astype(np.float64)
        rows[[] if data.present is None else ~data.present] = 0.0
        rows *= np.minimum(1.0, clip / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12))
        for step, sample in enumerate(mechanism.sample(n=data.n, rate=rate, epoch=0, steps=4)):
            mechanism.sampled_gaussian(
                rows[sample].sum(axis=0),
                radius=told,
                noise_multiplier=noise,
                sampling_rate=rate,
                relation="add_remove",
                step=step,
            )
        return {}

    return fit
