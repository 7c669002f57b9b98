"""Each record's gradient of a PyTorch module, on one of two roads, and sums of them.

`ByLayer` is for modules of whose layers Opacus knows how to make gradients: hooks note what goes into a layer and what
comes out of it, autograd gives the derivatives by what came out, and Opacus' samplers make every record's gradient of
these. A dense layer's are not written out: what they are products of is cached ("book-keeping", Bu et al., 2022).
Forward sees all records at once and could mix them, so that a person's module is tried first (module_checks.py).

`ByRecord` is for all other code: torch.func.vmap runs it as on one record alone, whose gradient no other can reach. It
takes 1.4 to 2.1 times as long for small convolutional networks on a processor; gradients are equal to 3e-7.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Protocol

import numpy as np
import torch
from opacus.grad_sample import GradSampleModule
from torch import Tensor, nn
from torch.func import functional_call, grad, vmap
from torch.nn import functional

from fairpriv_core.errors import RunFailed

_WIDE = 512  # values whose squares are added in their own precision (privacy/sums.py counts on no more than 4,096)
_SAMPLERS: dict[type[nn.Module], Callable[..., dict[nn.Parameter, Tensor]]] = GradSampleModule.GRAD_SAMPLERS
Seed = Callable[[Tensor], tuple[Tensor, Tensor]]  # scores (b, l) -> derivatives (b, l) and values (b,) of what is asked
Read = Callable[[Any, int], Tensor]  # what a module gives for so many rows -> scores (b, l)


class LayerCache(Protocol):
    """One layer's gradients until their weights are known: `squares` (b,) are their norms', `numbers` a record's."""

    squares: Tensor
    numbers: int

    @property
    def parts(self) -> list[Tensor]:
        """Each parameter's gradients (b, n)."""

    def sum(self, weights: Tensor, rows: slice, chosen: Tensor | None) -> Tensor:
        """Return the sum over `rows`, BLOCK at most, of weight times gradient, flat; what is not `chosen` adds 0."""


class Gradients:
    """The gradients of a layer's parameters, each (b, n), as they are; a sum adds these very numbers up."""

    def __init__(self, parts: list[Tensor]) -> None:
        self._parts, self.numbers = parts, sum(part.shape[1] for part in parts)
        self.squares = torch.stack([*map(measure_squares, parts)]).sum(dim=0).to(parts[0].dtype)

    @property
    def parts(self) -> list[Tensor]:
        return self._parts

    def sum(self, weights: Tensor, rows: slice, chosen: Tensor | None) -> Tensor:
        return torch.cat([weights @ part for part in _choose(chosen, rows, self._parts)])


class Outer:
    """A dense layer's gradients, each the outer product of what came out of and into it."""

    def __init__(self, fed: Tensor, delta: Tensor, *, biased: bool) -> None:
        self.fed, self.delta, self._biased = fed, delta, biased
        self.numbers = fed.shape[1] + delta.shape[1]
        self.squares = ((fed * fed).sum(dim=1) + float(biased)) * (delta * delta).sum(dim=1)

    @property
    def parts(self) -> list[Tensor]:
        weights = (self.delta[:, :, None] * self.fed[:, None]).flatten(1)
        return [weights, self.delta] if self._biased else [weights]

    def sum(self, weights: Tensor, rows: slice, chosen: Tensor | None) -> Tensor:
        fed, delta = _choose(chosen, rows, (self.fed, self.delta))
        scaled = delta * weights[:, None]
        total = (scaled.T @ fed).flatten()
        return torch.cat([total, scaled.sum(dim=0)]) if self._biased else total


def _choose(chosen: Tensor | None, rows: slice, parts: Sequence[Tensor]) -> list[Tensor]:
    own = [part[rows] for part in parts]
    return own if chosen is None else [torch.where(chosen[:, None], part, 0.0) for part in own]


def measure_squares(values: Tensor) -> Tensor:
    """Return the squared L2 norm of each of `values` (b, n), (b,) float64: _WIDE squares at a time in float32."""
    size = values.shape[1]
    whole = size - size % _WIDE
    total = _square(values[:, whole:]).double()
    if whole:
        total += _square(values[:, :whole].reshape(len(values), -1, _WIDE)).sum(dim=1, dtype=torch.float64)
    return total


def _square(values: Tensor) -> Tensor:
    """Return the sum of squares along the last axis; NumPy's product takes a tenth of the time on a processor."""
    if values.device.type == "cpu":
        own = values.numpy()
        return torch.from_numpy(np.vecdot(own, own))
    return values.square().sum(dim=-1)


@dataclass(frozen=True)
class Learnt:
    """What b records gave: scores (b, l), the values that were derived (b,), and each layer's gradients."""

    scores: Tensor
    values: Tensor
    cache: list[LayerCache]

    @property
    def squares(self) -> Tensor:
        """The squared norms of each layer's gradient (layers, b)."""
        return torch.stack([layer.squares for layer in self.cache])

    @property
    def numbers(self) -> int:
        """How many numbers of a record are cached."""
        return sum(layer.numbers for layer in self.cache)


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


class Road(ABC):
    """A module for rows of `size`, and how its records' gradients are made; models take turns in it."""

    def __init__(self, module: nn.Module, size: tuple[int, ...], read: Read) -> None:
        self.module, self._size_in, self._read, self._owner = module, size, read, object()
        self.weights = [(name, tensor) for name, tensor in module.named_parameters() if tensor.requires_grad]
        self.size = sum(tensor.numel() for _, tensor in self.weights)
        grouped = groupby(self.weights, key=lambda named: named[0].rpartition(".")[0])
        self._layers = [(name, [tensor for _, tensor in group]) for name, group in grouped]

    @torch.no_grad()
    def load(self, flat: Tensor, owner: object) -> bool:
        """Put parameters (P,) into the module, unless `owner` was the last to do so; return whether that was done."""
        if owner is self._owner:
            return False
        self._owner, start = owner, 0
        for _, tensor in self.weights:
            tensor.copy_(flat[start : start + tensor.numel()].view(tensor.shape))
            start += tensor.numel()
        return True

    def forward(self, rows: Tensor) -> Tensor:
        """Return the scores (b, l) of `rows` (b, d), passed through the module as they are."""
        return self._read(self.module(rows.view(-1, *self._size_in)), len(rows))

    @abstractmethod
    def score(self, rows: Tensor) -> Tensor:
        """Return the scores (b, l) of `rows` (b, d)."""

    @abstractmethod
    def learn(self, rows: Tensor, seed: Seed) -> Learnt:
        """Return what `rows` (b, d) give when `seed` of their scores is propagated back."""

    @property
    def places(self) -> list[slice]:
        """Where each layer's parameters lie in the flat vector; a layer is the part that they belong to."""
        places, start = [], 0
        for _, own in self._layers:
            size = sum(tensor.numel() for tensor in own)
            places.append(slice(start, start + size))
            start += size
        return places


@dataclass(frozen=True)
class _Call:
    layer: nn.Module
    fed: list[Tensor]
    out: Tensor
    versions: list[int]

    @classmethod
    def of(cls, layer: nn.Module, fed: list[Tensor], out: Tensor) -> _Call:
        return cls(layer, fed, out, [tensor._version for tensor in (*fed, out)])

    def require_untouched(self) -> None:
        """Raise RuntimeError where what the layer took or gave was overwritten: gradients would be another's."""
        if [tensor._version for tensor in (*self.fed, self.out)] != self.versions:
            raise RuntimeError(f"{type(self.layer).__name__}: an inplace operation overwrote what it took or gave")

    def derive(self, delta: Tensor) -> dict[nn.Parameter, Tensor]:
        """Return each record's gradient of the layer's parameters; Opacus' unfolding reads rows as if contiguous."""
        return _SAMPLERS[type(self.layer)](self.layer, [tensor.contiguous() for tensor in self.fed], delta)


class ByLayer(Road):
    """Gradients of all records at once, layer by layer, by Opacus' samplers."""

    def __init__(self, module: nn.Module, size: tuple[int, ...], read: Read) -> None:
        super().__init__(module, size, read)
        self._calls: list[_Call] | None = None
        parts = _list_known(module)
        for part in parts:
            part.register_forward_hook(self._note)
        uses = Counter(parameter for part in parts for parameter in part.parameters(recurse=False))
        dense = [part for part in parts if type(part) is nn.Linear]
        self._products = {part for part in dense if all(_is_own(parameter, uses) for parameter in part.parameters())}

    def _note(self, layer: nn.Module, given: tuple[Any, ...], out: Tensor) -> None:
        if self._calls is not None and out.requires_grad:
            fed = [tensor.detach() for tensor in given if isinstance(tensor, Tensor)]
            self._calls.append(_Call.of(layer, fed, out))

    def score(self, rows: Tensor) -> Tensor:
        with torch.no_grad():
            return self.forward(rows)

    def learn(self, rows: Tensor, seed: Seed) -> Learnt:
        with torch.inference_mode(False), torch.enable_grad():
            self._calls = calls = list[_Call]()
            try:
                scores = self.forward(rows.clone())
            finally:
                self._calls = None
            delta, values = seed(scores.detach())
            results = torch.autograd.grad(scores, [call.out for call in calls], delta, allow_unused=True)
        with torch.no_grad():
            passed = [(call, own) for call, own in zip(calls, results, strict=True) if own is not None]
            return Learnt(scores.detach(), values, self._gather(passed, len(rows)))

    def _gather(self, passed: list[tuple[_Call, Tensor]], count: int) -> list[LayerCache]:
        """Return each layer's gradients; 0 where no output came through."""
        uses = Counter(call.layer for call, _ in passed)
        gradients: dict[nn.Parameter, Tensor] = {}
        products: dict[Tensor, Outer] = {}
        for call, delta in passed:
            call.require_untouched()
            layer = call.layer
            if layer in self._products and uses[layer] == 1 and (delta.ndim, len(delta)) == (2, count):
                products[layer.weight] = Outer(call.fed[0], delta, biased=layer.bias is not None)
                continue
            for parameter, gradient in call.derive(delta).items():
                gradients[parameter] = gradients[parameter] + gradient if parameter in gradients else gradient
        return [
            products.get(own[0]) or Gradients([self._take(name, gradients.get(part), part, count) for part in own])
            for name, own in self._layers
        ]

    def _take(self, layer: str, gradient: Tensor | None, parameter: nn.Parameter, count: int) -> Tensor:
        """Return each record's gradient (count, n) of one parameter."""
        if gradient is None:
            return torch.zeros(count, parameter.numel(), dtype=parameter.dtype, device=parameter.device)
        if gradient.shape != (count, *parameter.shape):
            raise RunFailed(
                f"the network gave no gradient of each of {count} records for '{layer}': what it takes must have the "
                "records first, also where all share it, such as positions: positions.expand(len(rows), -1)."
            )
        return gradient.reshape(count, -1)


class ByRecord(Road):
    """Gradients of each record by itself, by autograd under vmap."""

    def score(self, rows: Tensor) -> Tensor:
        with torch.inference_mode(False), torch.no_grad():
            scores: Tensor = vmap(self._pass, in_dims=(None, 0), randomness="error")(self._parameters, rows.clone())
        return scores

    def learn(self, rows: Tensor, seed: Seed) -> Learnt:
        scores = self.score(rows)
        with torch.inference_mode(False):
            delta, values = seed(scores)
            derive = vmap(grad(self._weigh), in_dims=(None, 0, 0), randomness="error")
            results = derive(self._parameters, rows.clone(), delta.clone())
        gradients = iter(own.reshape(len(rows), -1) for own in results.values())
        return Learnt(scores, values, [Gradients([next(gradients) for _ in own]) for _, own in self._layers])

    @property
    def _parameters(self) -> dict[str, Tensor]:
        return {name: tensor.detach() for name, tensor in self.weights}

    def _weigh(self, parameters: dict[str, Tensor], row: Tensor, delta: Tensor) -> Tensor:
        return (delta * self._pass(parameters, row)).sum()

    def _pass(self, parameters: dict[str, Tensor], row: Tensor) -> Tensor:
        return self._read(functional_call(self.module, parameters, (row.view(1, *self._size_in),)), 1)[0]


def open_road(module: nn.Module, size: tuple[int, ...], read: Read) -> Road:
    """Return the road for a module: by layers where Opacus knows all that are trained, else record by record."""
    road = ByRecord if list_unknown(module) else ByLayer
    return road(module, size, read)


def list_unknown(module: nn.Module) -> list[str]:
    """Return the kinds of the parts that train parameters of which no layer that Opacus knows has a part."""
    known = {parameter for part in _list_known(module) for parameter in part.parameters(recurse=False)}
    parts = ((type(part).__name__, part.parameters(recurse=False)) for part in module.modules())
    return [name for name, own in parts if any(tensor.requires_grad and tensor not in known for tensor in own)]


def _list_known(module: nn.Module) -> list[nn.Module]:
    """Return the layers that train parameters of their own and whose gradients Opacus makes."""
    parts = [part for part in module.modules() if type(part) in _SAMPLERS]
    return [part for part in parts if any(parameter.requires_grad for parameter in part.parameters(recurse=False))]


def _is_own(parameter: nn.Parameter, uses: Counter[nn.Parameter]) -> bool:
    return parameter.requires_grad and uses[parameter] == 1
