"""Equalised decisions from noisy counts, by group (Jagielski et al., 2019, DP-postprocessing)."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import ClassVar, Self

import numpy as np

from fairpriv_core import checks
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.models import Derived
from fairpriv_core.engine.networks import NetworkShape
from fairpriv_core.engine.predict import decisions, freeze
from fairpriv_core.engine.training import Fitted, Snapshot, Training
from fairpriv_core.methods import fields
from fairpriv_core.methods.base import FitsAlone, MethodInfo, Style
from fairpriv_core.methods.cell_counts import require_rows
from fairpriv_core.methods.equalise import equalise
from fairpriv_core.methods.none import Plain
from fairpriv_core.notions.rates import count_cells
from fairpriv_core.privacy.calibrate import calibrate
from fairpriv_core.privacy.event import Events, Laplace

MOVED = 2.0  # in L1: a person who changes group leaves one of the counts and joins another


@dataclass(frozen=True)
class JagielskiPost(FitsAlone):
    """A plain model of features and labels; then new decisions from its decisions and the group."""

    info: ClassVar[MethodInfo] = MethodInfo(
        name="jagielski_post",
        title="DP post-processing",
        style=Style("orange", "dot", "cross"),
        summary="Corrects a plain model's decisions by group, from noisy counts; needs the group at prediction.",
        citation="Jagielski et al. (2019), Differentially private fair learning, DP-postprocessing",
        threat_model="attribute",
        pursued=("decisions", "errors"),
        variants=("proved",),
        calibrates="noise_counts",
        needs_group_at_prediction=True,
    )

    epochs: int = fields.epochs(20)
    batch_size: int = fields.batch_size(256)
    learning_rate: float = fields.learning_rate(0.002)
    optimizer: str = fields.optimizer("adam")
    hidden_layers: int = fields.hidden_layers(0)
    width: int = fields.width(64)
    difference_bound: float = fields.difference_bound(0.01, "any two groups")
    noise_counts: float | None = fields.laplace_scale("Count noise", "the counts' shift of 2")

    def __post_init__(self) -> None:
        fields.check_network(self)
        checks.unit(difference_bound=self.difference_bound)
        if self.noise_counts is not None:
            checks.not_negative(noise_counts=self.noise_counts)

    def noise(self) -> float:
        """The scale of the counts' noise; BadInput before calibration."""
        return fields.known_noise(noise_counts=self.noise_counts)

    def steps(self, n_train: int) -> int:
        """Return the plain model's steps, and one for the counts."""
        return fields.count_steps(self, n_train) + 1

    def event(self, n_train: int) -> Events:
        """Return the one release of the counts."""
        return (Laplace(self.noise()),)

    def count_deviation(self) -> float | None:
        """Sizes are read off the counts of decisions."""
        return 0.0

    def sensitivities(self, n_train: int, groups: int) -> dict[str, float]:
        """Return 2, in L1."""
        return {"counts": MOVED}

    def published_epsilon(self, n_train: int, delta: float) -> float | None:
        """Return the paper's pure epsilon for the same noise; None without noise."""
        return 1.0 / self.noise() if self.noise() else None

    def calibrated(self, *, epsilon: float, delta: float, n_train: int) -> Self:
        """Return a copy whose noise meets `epsilon`."""
        if self.noise_counts is not None:
            return self
        scale = calibrate(lambda noise: (Laplace(noise),), epsilon=epsilon, delta=delta)
        return replace(self, noise_counts=scale)

    def unproved_reason(self) -> str | None:
        """Epsilon is proved."""
        return None

    def assumptions(self) -> tuple[str, ...]:
        """What epsilon takes as given; and that predictions need the group."""
        return (*fields.ATTRIBUTE_ASSUMED, fields.GROUP_NEEDED)

    def fit(self, train: Dataset, training: Training) -> Fitted:
        """Train one model; RunFailed where a group has too few noisy rows or training diverges."""
        fields.check_labels(self.info, train)
        return train_and_correct(self, train, training)


def train_and_correct(method: JagielskiPost, train: Dataset, training: Training) -> Fitted:
    """Return the plain model with its decisions corrected; a resumed run has the counts of the first."""
    held, base = training.checkpoint or {}, NetworkShape(train.d, method.hidden_layers, method.width)
    if "counts" in held:
        parameters, noisy = held["base"], held["counts"]
    else:
        parameters = _train_plain(method, train, training)
        noisy = _release_counts(method, train, training, parameters=parameters)
    counts = noisy.reshape(train.groups, 2, 2)
    require_rows(counts.sum(axis=2), training.notion, train.group_names)
    table = equalise(counts.clip(min=0.0), training.notion, difference_bound=method.difference_bound)
    network, steps = Derived(base, freeze(table.tolist())), method.steps(train.n)
    training.observer.show(Snapshot(method.epochs + 1, steps, network, parameters, {}, {}))
    return Fitted(network, parameters, training.mechanism.events, steps, {"counts": noisy.tolist()})


def _train_plain(method: JagielskiPost, train: Dataset, training: Training) -> np.ndarray:
    plain = Plain(
        epochs=method.epochs,
        batch_size=method.batch_size,
        learning_rate=method.learning_rate,
        optimizer=method.optimizer,
        hidden_layers=method.hidden_layers,
        width=method.width,
    )
    return plain.fit(train, training).parameters


def _release_counts(method: JagielskiPost, train: Dataset, training: Training, *, parameters: np.ndarray) -> np.ndarray:
    """Release the numbers of rows by group, label and decision (4k,): one person moves them by MOVED in L1."""
    base = NetworkShape(train.d, method.hidden_layers, method.width)
    counts = count_cells(decisions(base, parameters, train), train.y, train.group, train.groups)
    mechanism = training.mechanism
    noisy = mechanism.laplace(
        counts.ravel().astype(np.float64), sensitivity=MOVED, scale=method.noise(), purpose="counts", index=0
    )
    checkpoint = {"base": parameters, "counts": noisy, **mechanism.state()}
    training.observer.commit(step=method.steps(train.n), events=mechanism.events, checkpoint=checkpoint)
    return noisy
