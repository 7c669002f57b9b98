"""What is kept of a layer's gradients of b records until their weights are known: enough to sum them, no more.

Each has `squares` (b,), the squared L2 norm of every record's gradient of the layer, and sums w_j g_j over records.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Tensor

_WORTH = 2.5  # times the memory: gradients kept as they are need no second product, nor any rounding anew


def keeps_whole(weights: int, made_of: int) -> bool:
    """Return whether a convolution keeps a record's gradient of so many weights, or so many numbers it is made of."""
    return weights <= _WORTH * made_of


class Kept(Protocol):
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
