"""What ours is measured against: N and Opacus, on the same data, network, batch size and optimiser.

N is the simplest good PyTorch loop without privacy or fairness: tensors in memory, index_select mini-batches,
nn.Sequential, autograd, optim.SGD, float32, one thread. Opacus is DP-SGD by per-sample gradients from hooks (its
default), on Poisson samples, which its epsilon rests on as ours does. They are drawn in memory: its loader costs more.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import islice, pairwise
from statistics import median

import torch
from opacus import GradSampleModule
from opacus.optimizers import DPOptimizer
from torch import nn

from benchmarks.measuring import read_clock, unwarned
from benchmarks.shapes import CLIP, NOISE, RATE, Work
from fairpriv_core.engine.modules import import_build


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
