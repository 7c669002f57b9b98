"""One model of a network of layers on a PyTorch device: forward, and backward with every record's part kept apart."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from fairpriv_core.engine.layers import Convolution, Dense, GroupNorm, LayeredShape, MaxPool, Place, Relu
from fairpriv_core.engine.torch.layers import (
    ConvolutionStep,
    DenseStep,
    GroupNormStep,
    LayerCache,
    MaxPoolStep,
    MeanPoolStep,
    ReluStep,
    Scratch,
    Step,
    Tape,
    count_strip,
    keeps_whole,
)

Seed = Callable[[Tensor], tuple[Tensor, Tensor]]  # scores (b, l) -> derivatives (b, l) and values (b,) of what is asked


@dataclass(frozen=True)
class Learnt:
    """What b records gave: scores (b, l), the values that were derived (b,), and each layer's gradients."""

    scores: Tensor
    values: Tensor
    cache: list[LayerCache]

    @property
    def squares(self) -> Tensor:
        """The squared norms of each layer's gradient (layers, b)."""
        return torch.stack([layer.squares for layer in self.cache])[:, : len(self.scores)]


class LayeredModel:
    """The network `shape` with parameters `flat` (P,), for rows that come as multiples of `multiple` or are filled up.

    Libraries prepare themselves for each number of rows that comes, and samples are of another size at every step.
    """

    def __init__(self, shape: LayeredShape, flat: Tensor, scratch: Scratch, multiple: int = 1) -> None:
        self._multiple = multiple
        self._size = shape.size_in
        self._steps = [_build_step(place, flat[place.parameters], scratch) for place in shape.places]
        self._first = next(i for i, place in enumerate(shape.places) if place.layer.weights(place.size))

    def score(self, rows: Tensor) -> Tensor:
        """Return the scores (b, l) of `rows` (b, d)."""
        below = self._arrange(rows)
        for step in self._steps:
            below = step.forward(below)[0]
        return below

    def learn(self, rows: Tensor, seed: Seed) -> Learnt:
        """Return what `rows` (b, d) give when `seed` of their scores is propagated back."""
        count, filled = len(rows), -len(rows) % self._multiple
        below, tapes = self._arrange(functional.pad(rows, (0, 0, 0, filled)) if filled else rows), list[Tape]()
        for step in self._steps:
            below, tape = step.forward(below)
            tapes.append(tape)
        scores = below[:count]
        delta, values = seed(scores)
        if filled:
            delta = functional.pad(delta, (0, 0, 0, filled))
        cache: list[LayerCache] = []
        for index in range(len(self._steps) - 1, self._first - 1, -1):
            step, tape = self._steps[index], tapes.pop()
            own = step.keep(tape, delta)
            if own is not None:
                cache.append(own)
            if index > self._first:
                delta = step.backward(tape, delta)
        return Learnt(scores, values, cache[::-1])

    def _arrange(self, rows: Tensor) -> Tensor:
        if len(self._size) == 1:
            return rows
        channels, height, width = self._size
        if channels == 1:  # as it is, but with the strides that tell it from the other order
            return rows.view(-1, height, width, 1).permute(0, 3, 1, 2)
        return rows.view(-1, *self._size).contiguous(memory_format=torch.channels_last)


def seed_losses(labels: Tensor) -> Seed:
    """Return the seed of the cross-entropy of a softmax with `labels` (b,)."""

    def seed(scores: Tensor) -> tuple[Tensor, Tensor]:
        probabilities, own = functional.log_softmax(scores, dim=1), labels[:, None]
        losses = probabilities.gather(1, own).neg_().squeeze(1)
        return probabilities.exp_().scatter_add_(1, own, torch.full_like(scores[:, :1], -1.0)), losses

    return seed


def seed_logit(scores: Tensor) -> tuple[Tensor, Tensor]:
    """Return the seed of the one logit itself, for a network that has no other output; its value is the logit."""
    return torch.ones_like(scores), scores.squeeze(1)


def count_working(shape: LayeredShape) -> int:
    """Return how many numbers a record takes while it is passed through: activations, and what filters see."""
    sizes = [math.prod(place.layer.resize(place.size)) for place in shape.places]
    return shape.inputs + sum(sizes) + max((_count_strip(place) for place in shape.places), default=0)


def count_cached(shape: LayeredShape) -> int:
    """Return how many numbers of a record are cached until its weight is known."""
    counts = []
    for place in shape.places:
        found = place.layer.weights(place.size)
        if found is not None:
            parts = math.prod(place.size) + math.prod(place.layer.resize(place.size))
            whole = not isinstance(place.layer, Dense) and keeps_whole(math.prod(found), parts)
            counts.append(math.prod(found) + found[0] if whole else parts)
    return sum(counts)


def _count_strip(place: Place) -> int:
    if not isinstance(place.layer, Convolution):
        return 0
    rows, padded = count_strip(place.layer), place.size[1] + 2 * place.layer.padding
    seen = rows * place.layer.side * place.size[0]
    return ((padded - rows) // place.layer.stride + 1) * place.layer.resize(place.size)[2] * seen


def _build_step(place: Place, own: Tensor, scratch: Scratch) -> Step:
    layer, found = place.layer, place.layer.weights(place.size)
    if found is None:
        if isinstance(layer, MaxPool):
            return MaxPoolStep(layer)
        return ReluStep() if isinstance(layer, Relu) else MeanPoolStep()
    weights, biases = own[: math.prod(found)].view(found), own[math.prod(found) :]
    if isinstance(layer, Convolution):
        return ConvolutionStep(layer, weights.view(layer.channels, -1, layer.side, layer.side), biases, scratch)
    if isinstance(layer, GroupNorm):
        return GroupNormStep(layer, weights.view(-1), biases)
    assert isinstance(layer, Dense)
    return DenseStep(weights, biases)
