"""The kernel on a device that PyTorch knows, such as a GPU: the same step, with activations and deltas kept there.

What rules look at and answer with, a number a record and model, goes to and fro; sums come back to be released.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from functools import cached_property
from typing import Any, overload

import numpy as np
import torch
from torch import Tensor

from fairpriv_core.engine.clipping import with_bias
from fairpriv_core.engine.kernel import Kernel, Pass
from fairpriv_core.engine.networks import Shape
from fairpriv_core.errors import BadInput
from fairpriv_core.privacy.sums import BLOCK, TOGETHER

# oneDNN keeps what it compiled for each size of a batch, a thousand of them unless told; secret samples vary in size
os.environ.setdefault("ONEDNN_PRIMITIVE_CACHE_CAPACITY", "32")


def open_device(name: str) -> torch.device:
    """Return the device; BadInput where it cannot be used."""
    try:
        return torch.zeros(1, device=name).device
    except (RuntimeError, AssertionError) as error:
        raise BadInput(f"device '{name}' cannot be used here ({error}); take cpu.", field="device") from error


def exactly(place: torch.device) -> AbstractContextManager[None]:
    """Let convolutions on a GPU be in full float32, always summed in one order: norms and sums must agree."""
    if place.type != "cuda":
        return nullcontext()
    flags: AbstractContextManager[None] = torch.backends.cudnn.flags(deterministic=True, allow_tf32=False)
    return flags


class _Fetched(Sequence[np.ndarray]):
    """Tensors (S, K / S, B, m) on a device, fetched one at a time as (K, B, m)."""

    def __init__(self, tensors: Sequence[Tensor]) -> None:
        self._tensors = tensors

    def __len__(self) -> int:
        return len(self._tensors)

    @overload
    def __getitem__(self, index: int) -> np.ndarray: ...
    @overload
    def __getitem__(self, index: slice) -> Sequence[np.ndarray]: ...
    def __getitem__(self, index: int | slice) -> np.ndarray | Sequence[np.ndarray]:
        if isinstance(index, slice):
            return _Fetched(self._tensors[index])
        fetched: np.ndarray = _fetch(self._tensors[index].flatten(0, 1))
        return fetched

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self[index] for index in range(len(self)))


@dataclass
class DevicePass(Pass):
    """A pass whose hidden layers' `inputs` (S, 1 or K / S, B, in) and `outputs`, the deltas, stay on the device."""

    inputs: Sequence[Tensor] = ()
    outputs: Sequence[Tensor] = ()

    @cached_property
    def norms(self) -> np.ndarray:
        """The L2 norm of each record's gradient of the logit, over all parameters: (K, B)."""
        total = _squares(self.inputs[-1])
        for fed, delta in zip(self.inputs, self.outputs, strict=False):
            total = total + _squares(fed) * (delta * delta).sum(dim=-1)
        norms = np.broadcast_to(_fetch(total.sqrt()), (len(total), len(self.logits) // len(total), total.shape[-1]))
        return norms.reshape(self.logits.shape).copy()


class DeviceKernel(Kernel):
    """A `Kernel` that computes on `device`; the parameters are the same array (K, P), read at every pass."""

    def __init__(self, shape: Shape, parameters: np.ndarray, device: str) -> None:
        super().__init__(shape, parameters)
        self._place = open_device(device)

    def parts_at(self, count: int) -> bool:
        """Nothing is known of how a device divides its products: batch and sample pass apart; see `Kernel.parts_at`."""
        return False

    def run(self, rows: np.ndarray, squares: np.ndarray | None = None) -> DevicePass:
        """Return the pass over `rows` (S, B, d); see `Kernel.run`."""
        layers: list[list[Any]] = [
            [part.reshape(len(rows), -1, *part.shape[1:]) for part in layer]
            for layer in self.shape.views(self._send(self.parameters))
        ]
        inputs: list[Tensor] = [self._send(rows).unsqueeze(1)]
        for weights, biases in layers[:-1]:
            inputs.append((inputs[-1] @ weights.transpose(2, 3) + biases).relu_())
        weights, biases = layers[-1]
        logits = _fetch((inputs[-1] @ weights.transpose(2, 3) + biases).flatten(0, 1).squeeze(-1))
        outputs: list[Tensor] = []
        for (above, _), output in zip(layers[:0:-1], inputs[:0:-1], strict=True):
            outputs.append((outputs[-1] @ above if outputs else above) * (output > 0))
        outputs.reverse()
        row_squares = with_bias(rows) if squares is None else squares
        return DevicePass(rows, row_squares, _Fetched(inputs[1:]), _Fetched(outputs), logits, inputs, outputs)

    def weighted_sum(self, passed: Pass, weights: np.ndarray, rows: slice, *, bounded: bool = False) -> np.ndarray:
        """Return the weighted sum of the logit's gradients (K, P); see `Kernel.weighted_sum`."""
        assert isinstance(passed, DevicePass)
        streams, layers = len(passed.rows), len(weights) if weights.ndim == 3 else 1
        factors = self._send(weights.reshape(layers, streams, len(passed.logits) // streams, weights.shape[-1]))
        inputs, outputs = ([part[:, :, rows] for part in parts] for parts in (passed.inputs, passed.outputs))
        total = _add_up(inputs, outputs, factors, add_products if bounded else torch.matmul)
        if bounded and not math.isfinite(float(total.sum())):
            norms = self._send(passed.norms[:, rows].reshape(factors.shape[1:]))
            cache = torch.isfinite(norms) & torch.isfinite(factors).all(dim=0)
            inputs, outputs = ([part.nan_to_num(0.0, 0.0, 0.0) for part in of] for of in (inputs, outputs))
            total = _add_up(inputs, outputs, torch.where(cache, factors, 0.0), add_products)
        sums: np.ndarray = _fetch(total)
        return sums

    def _send(self, values: np.ndarray) -> Any:
        return torch.from_numpy(np.ascontiguousarray(values)).to(self._place)


def add_products(left: Tensor, right: Tensor) -> Tensor:
    """Return left @ right, (..., a, B) times (..., B, c) over B rows, float64: `sums.add_products` on a device."""
    count, step = left.shape[-1], BLOCK * TOGETHER
    whole = count - count % BLOCK
    total = (left[..., whole:] @ right[..., whole:, :]).double()
    for start in range(0, whole, step):
        rows = slice(start, min(start + step, whole))
        own, other = left[..., rows], right[..., rows, :]
        blocks = own.reshape(*own.shape[:-1], -1, BLOCK).movedim(-2, -3)
        blocks = blocks @ other.reshape(*other.shape[:-2], -1, BLOCK, other.shape[-1])
        total += blocks.sum(dim=-3, dtype=torch.float64)
    return total


def _add_up(
    inputs: Sequence[Tensor], outputs: Sequence[Tensor], weights: Tensor, product: Callable[[Tensor, Tensor], Tensor]
) -> Tensor:
    """Return the sums (K, P) of `weights` (1 or L + 1, S, K / S, B) times the outer products, layer by layer."""
    parts: list[Tensor] = []
    for layer, fed in enumerate(inputs):
        own = weights[min(layer, len(weights) - 1)].unsqueeze(-1)
        scaled = outputs[layer] * own if layer < len(outputs) else own
        summed = product(scaled.transpose(2, 3), fed)
        parts += [summed.flatten(2), scaled.sum(dim=2, dtype=summed.dtype)]
    return torch.cat(parts, dim=2).flatten(0, 1)


def _squares(rows: Tensor) -> Tensor:
    return (rows * rows).sum(dim=-1) + 1.0


def _fetch(values: Tensor) -> Any:
    return values.cpu().numpy()
