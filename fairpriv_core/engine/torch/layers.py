"""Forward and backward through one layer on a PyTorch device, written out: every record's part stays apart.

Images are held channels-last. Per-record norms are book-keeping (Bu et al., 2022, arXiv 2210.00038): a layer whose
gradients take not much more than what they are made of keeps the gradients, another one keeps what they are made of.

What is kept of a layer's gradients until their weights are known is enough to sum them, no more. Each has `squares`
(b,), the squared L2 norm of every record's gradient of the layer, and sums w_j g_j over records.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial, reduce
from itertools import accumulate
from typing import Protocol

import torch
from torch import Tensor
from torch.nn import functional

from fairpriv_core.engine.layers import Convolution, GroupNorm, MaxPool

_WORTH = 2.5  # times the memory: gradients kept as they are need no second product, nor any rounding anew
Tape = tuple[Tensor, ...]


def keeps_whole(weights: int, made_of: int) -> bool:
    """Return whether a convolution keeps a record's gradient of so many weights, or so many numbers it is made of."""
    return weights <= _WORTH * made_of


class LayerCache(Protocol):
    """The gradients of one layer."""

    squares: Tensor

    def sum(self, weights: Tensor, rows: slice, chosen: Tensor | None) -> Tensor:
        """Return the sum over `rows` of weight times gradient, flat: weights first, then biases.

        Where `chosen` (rows,) is given, what is false in it contributes exactly nothing, whatever it holds.
        """


@dataclass
class Whole:
    """Gradients as they are: weights in parts (parts, b, n) and biases (b, out). A sum adds these very numbers up."""

    squares: Tensor
    weights: Tensor
    biases: Tensor
    order: tuple[int, ...] = ()  # of a convolution's weights: height, width, channels, filters

    def sum(self, weights: Tensor, rows: slice, chosen: Tensor | None) -> Tensor:
        gradients, biases = _choose(chosen, self.weights.transpose(0, 1)[rows], self.biases[rows])
        total = (weights @ gradients.transpose(0, 1)).view(-1)
        if self.order:
            total = total.view(self.order).permute(3, 2, 0, 1).reshape(-1)
        return torch.cat([total, weights @ biases])


@dataclass
class Outer:
    """A dense layer's gradients, each the outer product of what came out of and into it."""

    squares: Tensor
    fed: Tensor
    delta: Tensor

    def sum(self, weights: Tensor, rows: slice, chosen: Tensor | None) -> Tensor:
        fed, delta = _choose(chosen, self.fed[rows], self.delta[rows])
        scaled = delta * weights[:, None]
        return torch.cat([(scaled.T @ fed).view(-1), scaled.sum(dim=0)])


@dataclass
class Convolved:
    """A convolution's gradients, made anew when they are summed, from what came out of and into it.

    One record's gradient is summed over places before records are added: one correlation over both would be off by
    what cancels between places, times the number of records.
    """

    squares: Tensor
    fed: Tensor
    delta: Tensor
    derive: Callable[[Tensor, Tensor], Whole]

    def sum(self, weights: Tensor, rows: slice, chosen: Tensor | None) -> Tensor:
        fed, delta = _choose(chosen, self.fed[rows], self.delta[rows])
        return self.derive(fed, delta).sum(weights, slice(None), None)


def spread(delta: Tensor, fed: Tensor, filters: Tensor, *, stride: int, padding: int) -> Tensor:
    """Return the derivative of sum(delta * convolution) with respect to what was fed."""
    found: Tensor = torch.ops.aten.convolution_backward.default(
        delta, fed, filters, None, [stride] * 2, [padding] * 2, [1, 1], False, [0, 0], 1, [True, False, False]
    )[0]
    return found


def _choose(chosen: Tensor | None, *parts: Tensor) -> tuple[Tensor, ...]:
    if chosen is None:
        return parts
    return tuple(torch.where(chosen.view(-1, *[1] * (part.ndim - 1)), part, 0.0) for part in parts)


class Step(Protocol):
    """One layer with the parameters of one model."""

    def forward(self, below: Tensor) -> tuple[Tensor, Tape]:
        """Return what comes out for `below` (b, …), and what the way back needs."""

    def backward(self, tape: Tape, delta: Tensor) -> Tensor:
        """Return the derivative with respect to `below` from that of what came out, which it may use up."""

    def keep(self, tape: Tape, delta: Tensor) -> LayerCache | None:
        """Return the gradients of the layer's parameters; None where it has none."""


class _Fixed:
    """Mixin of a layer without parameters."""

    def keep(self, tape: Tape, delta: Tensor) -> None:
        return None


class ReluStep(_Fixed):
    def forward(self, below: Tensor) -> tuple[Tensor, Tape]:
        out = below.relu_()  # nobody needs what was there: no layer looks back at what came out of it
        return out, (out,)

    def backward(self, tape: Tape, delta: Tensor) -> Tensor:
        return pass_where(tape[0], delta, into=delta)


class MeanPoolStep(_Fixed):
    def forward(self, below: Tensor) -> tuple[Tensor, Tape]:
        return below.mean(dim=(2, 3)), (below,)

    def backward(self, tape: Tape, delta: Tensor) -> Tensor:
        height, width = tape[0].shape[2:]
        return (
            (delta / (height * width))[:, :, None, None]
            .expand_as(tape[0])
            .contiguous(memory_format=torch.channels_last)
        )


class MaxPoolStep(_Fixed):
    """First along rows, then along columns; of equals the first one is the largest."""

    def __init__(self, layer: MaxPool) -> None:
        self._layer = layer

    def forward(self, below: Tensor) -> tuple[Tensor, Tape]:
        across = self._largest(below, 3)
        return self._largest(across, 2), (below, across)

    def backward(self, tape: Tape, delta: Tensor) -> Tensor:
        below, across = tape
        return self._spread(below, self._spread(across, delta, 2), 3)

    def _largest(self, below: Tensor, axis: int) -> Tensor:
        return reduce(torch.maximum, self._places(below, axis))

    def _places(self, below: Tensor, axis: int) -> list[Tensor]:
        """Return what stands at each place of all windows along an axis."""
        side, stride = self._layer.side, self._layer.stride
        last = below.shape[axis] - side
        if stride == 1:
            return [below.narrow(axis, place, last + 1) for place in range(side)]
        return [torch.ops.aten.slice.Tensor(below, axis, place, place + last + 1, stride) for place in range(side)]

    def _spread(self, below: Tensor, delta: Tensor, axis: int) -> Tensor:
        spread = torch.zeros_like(below)
        onto, held = self._places(spread, axis), self._places(below, axis)
        before = list(accumulate(held[:-1], torch.maximum))
        for place in range(len(held) - 1, 0, -1):
            free = onto[place] if place == len(held) - 1 else None  # windows' last places: nothing is there yet
            larger = torch.sub(held[place], before[place - 1], out=free)
            here = pass_where(larger, delta, into=larger)
            delta.sub_(here)
            if free is None:
                onto[place].add_(here)
        onto[0].add_(delta)
        return spread


class GroupNormStep:
    def __init__(self, layer: GroupNorm, gains: Tensor, offsets: Tensor) -> None:
        self._layer, self._gains, self._offsets = layer, gains, offsets

    def forward(self, below: Tensor) -> tuple[Tensor, Tape]:
        out, mean, scale = torch.ops.aten.native_group_norm.default(
            below, self._gains, self._offsets, *self._count(below), self._layer.groups, self._layer.SMALL
        )
        return out, (below, mean, scale)

    def backward(self, tape: Tape, delta: Tensor) -> Tensor:
        below, mean, scale = tape
        asked = [True, False, False]
        found: Tensor = torch.ops.aten.native_group_norm_backward.default(
            delta, below, mean, scale, self._gains, *self._count(below), self._layer.groups, asked
        )[0]
        return found

    def keep(self, tape: Tape, delta: Tensor) -> LayerCache:
        below, mean, scale = tape
        each = below.shape[1] // self._layer.groups
        centre, wide = (part.repeat_interleave(each, dim=1)[:, :, None, None] for part in (mean, scale))
        gains = (delta * ((below - centre) * wide)).sum(dim=(2, 3))
        offsets = delta.sum(dim=(2, 3))
        return Whole((gains * gains).sum(dim=1) + (offsets * offsets).sum(dim=1), gains[None], offsets)

    def _count(self, below: Tensor) -> tuple[int, int, int]:
        records, channels, height, width = below.shape
        return records, channels, height * width


class DenseStep:
    def __init__(self, weights: Tensor, biases: Tensor) -> None:
        self._weights, self._biases = weights, biases

    def forward(self, below: Tensor) -> tuple[Tensor, Tape]:
        flat = below.flatten(1)
        return torch.addmm(self._biases, flat, self._weights.T), (flat, below)

    def backward(self, tape: Tape, delta: Tensor) -> Tensor:
        return (delta @ self._weights).view(tape[1].shape).contiguous(memory_format=_format(tape[1]))

    def keep(self, tape: Tape, delta: Tensor) -> LayerCache:
        fed = tape[0]
        squares = ((fed * fed).sum(dim=1) + 1.0) * (delta * delta).sum(dim=1)
        return Outer(squares, fed, delta)


class Scratch:
    """Memory for the largest things of all, what a convolution sees and is derived to, used again and again."""

    def __init__(self) -> None:
        self._held: dict[str, Tensor] = {}

    def take(self, name: str, shape: Sequence[int], *, like: Tensor) -> Tensor:
        """Return a tensor of `shape`, valid until the next one of that name is taken."""
        size, held = math.prod(shape), self._held.get(name)
        if held is None or held.numel() < size:
            held = self._held[name] = torch.empty(size, dtype=like.dtype, device=like.device)
        return held[:size].view(shape)


class ConvolutionStep:
    def __init__(self, layer: Convolution, filters: Tensor, biases: Tensor, scratch: Scratch) -> None:
        self._layer, self._filters, self._biases, self._scratch = layer, filters, biases, scratch
        self._how = {"stride": layer.stride, "padding": layer.padding}

    def forward(self, below: Tensor) -> tuple[Tensor, Tape]:
        out = functional.conv2d(below, self._filters, self._biases, **self._how)
        return out.contiguous(memory_format=torch.channels_last), (below,)

    def backward(self, tape: Tape, delta: Tensor) -> Tensor:
        return spread(delta, tape[0], self._filters, **self._how)

    def keep(self, tape: Tape, delta: Tensor) -> LayerCache:
        fed, out = tape[0], delta.permute(0, 2, 3, 1).flatten(1, 2)
        if keeps_whole(self._filters[0].numel() * len(self._filters), fed[0].numel() + delta[0].numel()):
            return self._derive(fed, delta)
        strips, biases = self._strips(fed, out.shape[1]), out.sum(dim=1)
        seen = torch.linalg.vector_norm(torch.stack([_lengths(strip) for strip in strips]), dim=0)
        rounding = (out.shape[1] + 2) * torch.finfo(out.dtype).eps / 2  # of a sum over places, however it is ordered
        allowed = rounding * (_lengths(out) * seen).sum(dim=1)
        squares = (self._squared_norms(out, strips).sqrt() + allowed).square() + _squares(biases[None])
        return Convolved(squares, fed, delta, self._derive)

    def _derive(self, fed: Tensor, delta: Tensor) -> Whole:
        """Return each record's gradient."""
        out = delta.permute(0, 2, 3, 1).flatten(1, 2)
        gradients, biases = self._gradients(out, self._strips(fed, out.shape[1]), out.new_empty), out.sum(dim=1)
        order = (self._layer.side, self._layer.side, fed.shape[1], len(self._filters))
        return Whole(_squares(gradients) + _squares(biases[None]), gradients, biases, order)

    def _strips(self, fed: Tensor, places: int) -> list[Tensor]:
        """Return what each output place sees (b, places, rows * side * channels), some rows of its window at a time.

        Where the stride divides the side, a place's next rows are the first ones of a place below: each is copied once.
        """
        side, stride, padding = self._layer.side, self._layer.stride, self._layer.padding
        rows = count_strip(self._layer)
        held = functional.pad(fed.permute(0, 2, 3, 1), (0, 0, *(padding,) * 4)) if padding else fed.permute(0, 2, 3, 1)
        seen = held.unfold(1, rows, stride).unfold(2, side, stride).permute(0, 1, 2, 4, 5, 3)
        strip = self._scratch.take("strip", seen.shape, like=fed)
        for row in range(rows):  # one by one takes a third of the time: what follows in one is longer
            strip[:, :, :, row].copy_(seen[:, :, :, row])
        flat = strip.flatten(3).flatten(1, 2)
        return [flat.narrow(1, start * seen.shape[2], places) for start in range(side // rows)]

    def _gradients(self, out: Tensor, strips: list[Tensor], make: Callable[[Sequence[int]], Tensor]) -> Tensor:
        """Return each record's gradient in strips (strips, b, inputs of a strip * outputs)."""
        gradients = make((len(strips), len(out), strips[0].shape[2], out.shape[2]))
        for strip, gradient in zip(strips, gradients, strict=True):
            torch.bmm(strip.transpose(1, 2), out, out=gradient)
        return gradients.flatten(2)

    def _squared_norms(self, out: Tensor, strips: list[Tensor]) -> Tensor:
        """Return |sum_t out_t patches_t^T|^2 of each record: that sum's, or from products of places if fewer.

        Products of places cancel, so they are taken in float64.
        """
        (_, places, outputs), inputs = out.shape, self._filters[0].numel()
        if outputs * inputs <= 2 * places * (outputs + inputs):
            return _squares(self._gradients(out, strips, partial(self._scratch.take, "gradients", like=out)))
        left, right = out.double(), [strip.double() for strip in strips]
        seen = sum(strip @ strip.transpose(1, 2) for strip in right)
        products = (left @ left.transpose(1, 2)) * seen
        return products.sum(dim=(1, 2)).clamp(min=0.0).to(out.dtype)


def pass_where(positive: Tensor, delta: Tensor, into: Tensor) -> Tensor:
    """Return `into`, now `delta` where `positive` > 0, else 0, in one sweep."""
    found: Tensor = torch.ops.aten.threshold_backward.grad_input(delta, positive, 0, grad_input=into)
    return found


def count_strip(layer: Convolution) -> int:
    """Return how many rows of a filter's window are copied at a time."""
    return layer.stride if layer.side % layer.stride == 0 else layer.side


def _lengths(rows: Tensor) -> Tensor:
    lengths: Tensor = torch.linalg.vector_norm(rows, dim=2)
    return lengths


def _squares(parts: Tensor) -> Tensor:
    """Return the squared norms (b,) of what came in `parts` (parts, b, n)."""
    return _lengths(parts).square().sum(dim=0)


def _format(like: Tensor) -> torch.memory_format:
    return torch.channels_last if like.ndim == 4 else torch.contiguous_format
