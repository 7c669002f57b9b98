"""Equalised decisions from noisy counts, by group (Jagielski et al., 2019, DP-postprocessing)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from fairpriv_core import checks
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.models import Derived
from fairpriv_core.engine.networks import NetworkShape
from fairpriv_core.engine.predict import decisions
from fairpriv_core.engine.training import Fitted, Snapshot, Training
from fairpriv_core.methods import fields
from fairpriv_core.methods.base import FitsAlone, MethodInfo, Style
from fairpriv_core.methods.cell_counts import require_rows
from fairpriv_core.methods.none import Plain
from fairpriv_core.methods.shared.equalise import equalise
from fairpriv_core.methods.shared.releases import Private, Release, check_noises
from fairpriv_core.notions.rates import count_cells
from fairpriv_core.plain import freeze

_OF_MODEL = ("epochs", "batch_size", "learning_rate", "optimizer", "hidden_layers", "width")
MOVED = 2.0  # in L1: a person who changes group leaves one of the counts and joins another


@dataclass(frozen=True)
class JagielskiPost(Private, FitsAlone):
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

    epochs: int = fields.shared("epochs")
    batch_size: int = fields.shared("batch_size")
    learning_rate: float = fields.shared("learning_rate", 0.002)
    optimizer: str = fields.shared("optimizer")
    hidden_layers: int = fields.shared("hidden_layers")
    width: int = fields.shared("width")
    difference_bound: float = fields.difference_bound(0.01, "any two groups")
    noise_counts: float | None = fields.laplace_scale("Count noise", "the counts' shift of 2")

    def __post_init__(self) -> None:
        fields.check_network(self)
        checks.unit(difference_bound=self.difference_bound)
        check_noises(self)

    def steps(self, n_train: int) -> int:
        """Return the plain model's steps, and one for the counts."""
        return fields.count_steps(self, n_train) + 1

    def releases(self, n_train: int, groups: int) -> tuple[Release, ...]:
        """The one release of the counts: a person who changes group leaves one and joins another, 2 in L1."""
        return (Release("counts", MOVED, "noise_counts", laplace=True),)

    def count_deviation(self) -> float | None:
        """Sizes are read off the counts of decisions."""
        return 0.0

    def published_epsilon(self, n_train: int, delta: float) -> float | None:
        """Return the paper's pure epsilon for the same noise; None without noise."""
        return 1.0 / self.noise() if self.noise() else None

    def fit(self, train: Dataset, training: Training) -> Fitted:
        """Train one model; RunFailed where a group has too few noisy rows or training diverges."""
        fields.check_labels(self.info, train)
        return train_and_correct(self, train, training)


def train_and_correct(method: JagielskiPost, train: Dataset, training: Training) -> Fitted:
    """Return the plain model with its decisions corrected; a resumed run has the counts of the first."""
    checkpoint, base = training.checkpoint or {}, NetworkShape(train.d, method.hidden_layers, method.width)
    if "counts" in checkpoint:
        parameters, noisy = checkpoint["base"], checkpoint["counts"]
    else:
        settings = {name: getattr(method, name) for name in _OF_MODEL}
        parameters = Plain(**settings).fit(train, training).parameters
        noisy = _release_counts(method, train, training, parameters=parameters)
    counts = noisy.reshape(train.groups, 2, 2)
    require_rows(counts.sum(axis=2), training.notion, train.group_names)
    table = equalise(counts.clip(min=0.0), training.notion, difference_bound=method.difference_bound)
    network, steps = Derived(base, freeze(table.tolist())), method.steps(train.n)
    training.observer.show(Snapshot(method.epochs + 1, steps, network, parameters, {}, {}))
    return Fitted(network, parameters, training.mechanism.events, steps, {"counts": noisy.tolist()})


def _release_counts(method: JagielskiPost, train: Dataset, training: Training, *, parameters: np.ndarray) -> np.ndarray:
    """Release the numbers of rows by group, label and decision (4k,)."""
    base = NetworkShape(train.d, method.hidden_layers, method.width)
    counts = count_cells(decisions(base, parameters, train), train.y, train.group, train.groups)
    mechanism = training.mechanism
    noisy = method.release("counts", counts.ravel().astype(np.float64), train, training)
    checkpoint = {"base": parameters, "counts": noisy, **mechanism.state()}
    training.observer.commit(step=method.steps(train.n), events=mechanism.events, checkpoint=checkpoint)
    return noisy
