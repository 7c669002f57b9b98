"""What is measured: random data, and on the same data, network, batch size and optimiser N, Opacus and ours.

N is the simplest good PyTorch loop without privacy or fairness: tensors in memory, index_select mini-batches,
nn.Sequential, autograd, optim.SGD, float32, one thread. Opacus is DP-SGD by per-sample gradients from hooks (its
default), on Poisson samples, which its epsilon rests on as ours does. They are drawn in memory: its loader costs more.

Ours is timed through the public API: what `fit` and `fit_many` do in an epoch of steady state. The first epoch
(multipliers still 0) and the last (nothing released at its end) are left out of it.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice, pairwise
from statistics import fmean, median
from typing import Any

import numpy as np
import torch
from opacus import GradSampleModule
from opacus.optimizers import DPOptimizer
from torch import nn

from benchmarks.measuring import read_clock, unwarned
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.modules import import_build
from fairpriv_core.engine.training import Snapshot, Training, Unwatched
from fairpriv_core.methods.base import Method
from fairpriv_core.methods.catalog import methods
from fairpriv_core.notions.catalog import notions
from fairpriv_core.privacy.mechanism import Mechanism
from fairpriv_core.privacy.randomness import Randomness
from fairpriv_core.records.parameters import build_method

# name -> rows, features, share of label 1, share of the smaller group
SHAPES = {"bank": (45_211, 48, 0.12, 0.04), "adult": (36_000, 102, 0.24, 0.33), "large": (10_000_000, 18, 0.3, 0.4)}
RATE, CLIP, NOISE = 0.002, 1.0, 2.0  # a step so short that noise never makes a network diverge


@dataclass(frozen=True)
class Work:
    """The data and the network that all the contenders train; `layers` hidden ones of `width` units, or a `module`."""

    data: Dataset
    layers: int
    batch: int
    width: int = 64
    device: str = "cpu"
    module: str = ""


def build_data(shape: str, *, rows: int | None = None) -> Dataset:
    """Return random rows of `shape`; the label follows the first feature."""
    n, features, positive, small = SHAPES[shape]
    n = n if rows is None else rows
    generator = np.random.default_rng(0)
    X = generator.standard_normal((n, features), dtype=np.float32)
    score = X[:, 0] + generator.standard_normal(n)
    y = (score > np.quantile(score, 1.0 - positive)).astype(np.int64)
    group = (generator.random(n) < small).astype(np.int64)
    names = tuple(f"x{i}" for i in range(features))
    return Dataset(X, y, group, names, ("no", "yes"), ("most", "few"), name=shape, sensitive="group", digest="")


def build_images(rows: int) -> Dataset:
    """Return random grey images of MNIST's size with ten labels, which are the groups too."""
    generator = np.random.default_rng(0)
    X, y = generator.random((rows, 28 * 28), dtype=np.float32), generator.integers(0, 10, rows)
    names, digits = tuple(f"x{i}" for i in range(28 * 28)), tuple("0123456789")
    data = Dataset(X, y, y, names, digits, digits, name="images", sensitive="label", digest="")
    return replace(data, image=(1, 28, 28))


class Rival:
    """N, or with `private` Opacus, ready to train epoch after epoch."""

    def __init__(self, work: Work, *, private: bool) -> None:
        self._work, self._private = work, private
        self._X = torch.from_numpy(work.data.X).to(work.device)
        self._y = torch.from_numpy(work.data.y).float().to(work.device)
        network = build_network(work)
        self._model = GradSampleModule(network) if private else network
        self._optimizer = torch.optim.SGD(self._model.parameters(), lr=RATE)
        if private:
            self._optimizer = DPOptimizer(
                self._optimizer, noise_multiplier=NOISE, max_grad_norm=CLIP, expected_batch_size=work.batch
            )

    def train(self, steps: int | None = None) -> None:
        """Train one epoch, or its first `steps` steps."""
        loss = measure_loss if self._work.data.labels > 2 else nn.BCEWithLogitsLoss()
        with unwarned():  # by Opacus' hooks, of input that needs no gradient
            for rows in islice(self._draw(), steps):
                self._optimizer.zero_grad()
                out = self._model(self._X.index_select(0, rows)).squeeze(1)
                loss(out, self._y.index_select(0, rows)).backward()
                self._optimizer.step()

    def _draw(self) -> Iterable[torch.Tensor]:
        """Return the rows of an epoch's batches: a permutation in parts, or Poisson samples as long on average."""
        n, batch, device = self._work.data.n, self._work.batch, self._work.device
        if not self._private:
            return torch.randperm(n, device=device).split(batch)
        return ((torch.rand(n, device=device) < batch / n).nonzero().squeeze(1) for _ in range(math.ceil(n / batch)))

    def time_epoch(self, epochs: int = 1) -> float:
        """Return the seconds of an epoch, the median of so many."""
        taken = []
        for _ in range(epochs):
            began = read_clock(self._work.device)
            self.train()
            taken.append(read_clock(self._work.device) - began)
        return median(taken)


def measure_loss(out: torch.Tensor, label: torch.Tensor) -> torch.Tensor:
    """Return the mean cross-entropy of more than two labels."""
    return nn.functional.cross_entropy(out, label.long())


def build_network(work: Work) -> nn.Sequential:
    """Return the work's network with PyTorch's own start; for images that of MNIST (`build_cnn_small`)."""
    outputs = work.data.labels if work.data.labels > 2 else 1
    if work.module:
        size = work.data.image or (work.data.d,)
        return nn.Sequential(nn.Unflatten(1, size), import_build(work.module)(size, outputs)).to(work.device)
    if work.data.image is not None:
        filters = (nn.Conv2d(1, 16, 8, stride=2, padding=3), nn.ReLU(), nn.MaxPool2d(2, stride=1))
        more = (nn.Conv2d(16, 32, 4, stride=2), nn.ReLU(), nn.MaxPool2d(2, stride=1), nn.Flatten())
        dense = (nn.Linear(512, 32), nn.ReLU(), nn.Linear(32, work.data.labels))
        return nn.Sequential(nn.Unflatten(1, work.data.image), *filters, *more, *dense).to(work.device)
    widths = [work.data.d] + [work.width] * work.layers
    hidden = [part for pair in pairwise(widths) for part in (nn.Linear(*pair), nn.ReLU())]
    return nn.Sequential(*hidden, nn.Linear(widths[-1], 1)).to(work.device)


_NOISES = ("noise_primal", "noise_dual", "noise_counts")
_MULTIPLIERS = {"noise_primal": NOISE, "noise_dual": 5.0, "noise_counts": 5.0}


@dataclass(frozen=True)
class Case:
    """A method, its variant ("" where it has none) and what else is set; a secret sample is as large as a batch."""

    method: str
    variant: str = ""
    settings: Mapping[str, Any] = field(default_factory=dict)

    def build(self, work: Work, *, epochs: int) -> Method:
        """Return the method at the work's batch, width and depth, with plain SGD and noise set by hand."""
        kind = methods()[self.method]
        known = kind.__dataclass_fields__
        shared = {"epochs": epochs, "batch_size": work.batch, "optimizer": "sgd", "learning_rate": RATE}
        network = {"hidden_layers": work.layers, "width": work.width}
        noise = {name: _MULTIPLIERS[name] for name in _NOISES if name in known}
        given = {"variant": self.variant} if self.variant else {}
        return build_method(kind, {**shared, **network, **noise, **given, **self.settings})


@dataclass
class Stopwatch:
    """An observer that keeps nothing but the time at the end of each epoch of `steps` steps.

    With `shown` the loop makes for it what a run on the dashboard is shown at the end of each epoch.
    """

    steps: int
    device: str = "cpu"
    shown: bool = False
    ends: list[float] = field(default_factory=list)
    _taken: int = 0

    def watches(self, epoch: int) -> bool:
        return self.shown

    def due(self) -> bool:
        self._taken += 1
        if self._taken % self.steps == 0:
            self.ends.append(read_clock(self.device))
        return False

    def show(self, snapshot: Snapshot) -> None:
        """Style away."""

    def commit(self, **progress: object) -> None:
        raise AssertionError("nothing is ever due")

    def steady(self) -> list[float]:
        """Return the seconds of each epoch but the first and the last."""
        return [after - before for before, after in zip(self.ends, self.ends[1:-1], strict=False)]


class Unseen(Stopwatch, Unwatched):
    """A stopwatch that no loop shows anything."""


def build_training(
    observer: Any, *, seed: int = 0, mechanism: Mechanism | None = None, given: Mapping[str, Any] | None = None
) -> Training:
    """Return what a fit is given, with fresh noise unless it has a mechanism."""
    made = Mechanism(Randomness.fresh()) if mechanism is None else mechanism
    return Training(notion=notions()["demographic_parity"], seed=seed, mechanism=made, observer=observer, given=given)


def time_epoch(case: Case, work: Work, *, epochs: int = 5, watched: bool = False) -> float:
    """Return the seconds of a steady epoch of one model: the mean of all but the first and the last of `epochs`.

    Some epochs draw a block of noise more than others, so a median would not do. With `watched` they count
    what the dashboard draws after each.
    """
    method = case.build(work, epochs=epochs)
    steps = method.steps(work.data.n) // epochs
    watch = Stopwatch(steps, work.device, shown=True) if watched else Unseen(steps, work.device)
    method.fit(work.data, replace(build_training(watch), device=work.device))
    return fmean(watch.steady())
