"""The kernel for networks in PyTorch: one back-propagation, per-record norms, one weighted sum.

Networks of layers are modules as persons' own are (module_kernel.py), and gradients.py makes the records' gradients.

With one logit the unit is that of `Kernel`, the gradient of the logit. With l outputs it is the record's loss itself,
since they have no one Jacobian: norms are those of its gradient, and `Records.deviation` is 1. Other seeds are
back-propagated by `TorchPass.back`.

Models are taken one after the other and records some at a time, so that what lies in memory at once is bounded
(`_AT_ONCE`); so is what is cached until weights are known (`_CACHED`): beyond it, it is made again when it is summed.
Where parts begin follows from the network alone, so that a resumed fit gives the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import Protocol

import numpy as np
import torch
from torch import Tensor

from fairpriv_core.engine.kernel import Batch, Kernel, Pass, SeededPass
from fairpriv_core.engine.layers import LayeredShape
from fairpriv_core.engine.modules import ModuleShape
from fairpriv_core.engine.torch.device import exactly, open_device
from fairpriv_core.engine.torch.gradients import (
    ByLayer,
    LayerCache,
    Learnt,
    Outer,
    Road,
    Seed,
    seed_logit,
    seed_losses,
)
from fairpriv_core.engine.torch.layers import build_layers
from fairpriv_core.privacy.sums import BLOCK

_AT_ONCE = 2**22  # numbers of records' gradients that are made at once, 16 MiB
_CACHED = 2**30  # bytes
_HELD = 31 * 2**20  # bytes: Linux' allocator gives back at once what is above twice the largest block freed, and a step
# that has to ask for its memory anew takes a third longer

Seeds = Callable[[int, slice], Seed]  # of a model and some of the records


class Learner(Protocol):
    """One model, with parameters of its own."""

    def score(self, rows: Tensor) -> Tensor:
        """Return the scores (b, l) of `rows` (b, d)."""

    def learn(self, rows: Tensor, seed: Seed) -> Learnt:
        """Return what `rows` (b, d) give when `seed` of their scores is propagated back."""


class LayeredModel:
    """A network of layers with parameters `flat` (P,); models take turns in one module."""

    def __init__(self, road: Road, flat: Tensor) -> None:
        self._road, self._flat = road, flat

    def score(self, rows: Tensor) -> Tensor:
        """Return the scores (b, l) of `rows` (b, d)."""
        self._road.load(self._flat, self)
        return self._road.score(rows)

    def learn(self, rows: Tensor, seed: Seed) -> Learnt:
        """Return what `rows` (b, d) give when `seed` of their scores is propagated back."""
        self._road.load(self._flat, self)
        return self._road.learn(rows, seed)


@dataclass
class TorchPass(SeededPass):
    """A pass over B records of K models: `logits` (K, B) or (K, B, l), and gradients of what `seeds` derive.

    `each` (layers, K, B) are the squared norms of each layer's gradient, `values` (K, B) what was derived: losses, if
    `of_losses`. `kept[model]` holds, part by part, what sums are made of; without it, it is made again.
    """

    each: np.ndarray
    values: np.ndarray
    of_losses: bool
    seeds: Seeds | None
    kernel: TorchKernel
    cache: list[list[list[LayerCache]]] = field(default_factory=list)

    @property
    def losses(self) -> np.ndarray | None:
        """Each record's cross-entropy (K, B); None where something else was derived."""
        return self.values if self.of_losses else None

    @cached_property
    def norms(self) -> np.ndarray:
        """The L2 norm of each record's gradient, over all parameters: (K, B)."""
        norms: np.ndarray = np.sqrt(self.each.sum(axis=0))
        return norms

    @property
    def layer_norms(self) -> np.ndarray:
        """The L2 norm of each record's gradient for each layer that has parameters: (layers, K, B)."""
        norms: np.ndarray = np.sqrt(self.each)
        return norms

    @property
    def embeddings(self) -> np.ndarray:
        """What the last layer is fed (K, B, in)."""
        return self.kernel.embed(self)

    def back(self, seeds: np.ndarray) -> TorchPass:
        """Return the pass over the same records with the gradients of sum_c seeds_c logits_c, `seeds` (K, B, l)."""
        seed_tensor = torch.from_numpy(np.ascontiguousarray(seeds, dtype=self.logits.dtype))

        def choose(model: int, part: slice) -> Seed:
            own = seed_tensor[model, part]
            return lambda scores: (own.to(scores.device), (own.to(scores.device) * scores).sum(dim=1))

        return self.kernel.derive(self.rows, choose)


class TorchKernel(Kernel):
    """K networks of one shape over a flat array (K, P) that is updated in place and read at every pass."""

    shape: LayeredShape | ModuleShape

    def __init__(self, shape: LayeredShape | ModuleShape, parameters: np.ndarray, device: str = "cpu") -> None:
        self.shape, self.parameters, self.device = shape, parameters, device
        self._place = open_device(device)
        self._total, self._exact = np.empty_like(self.parameters), np.empty(self.parameters.shape)
        room = max(_AT_ONCE // self.parameters.shape[1], 1)
        self._length: int = min(1 << (room.bit_length() - 1), BLOCK)
        self._road = self._open_road()
        torch.empty(_HELD, dtype=torch.uint8)  # never written: freeing it is what counts

    def parts_at(self, count: int) -> bool:
        """Return whether a pass takes the first `count` rows without any that come after; see `Kernel.parts_at`."""
        return count % self._length == 0

    def take(self, batch: Batch) -> TorchPass:
        """Return the pass over a batch and its losses."""
        return self.run(batch.features, labels=batch.label)

    def run(
        self, rows: np.ndarray, squares: np.ndarray | None = None, *, labels: np.ndarray | None = None
    ) -> TorchPass:
        """Return the pass over `rows` (S, B, d) with `labels` (S, B): each of S streams is shared by K / S models.

        The gradients of one logit need no labels. Of l outputs only `logits` are found without them, for seeds that
        depend on them.
        """
        if self.shape.outputs == 1:
            return self.derive(rows, lambda model, part: seed_logit)
        if labels is None:
            return self._score(rows)
        share, wanted = len(self.parameters) // len(labels), self._send(labels).long()
        return self.derive(rows, lambda model, part: seed_losses(wanted[model // share, part]), of_losses=True)

    def score(self, models: slice, rows: np.ndarray) -> np.ndarray:
        """Return the outputs of some of the models on `rows` (n, d): (models, n) or (models, n, l)."""
        return type(self)(self.shape, self.parameters[models], self.device)._score(rows[None]).logits

    def alone(self, model: int) -> TorchKernel:
        """Return a kernel of one of the models, over the same parameters."""
        return type(self)(self.shape, self.parameters[model : model + 1], self.device)

    @torch.inference_mode()
    def embed(self, passed: TorchPass) -> np.ndarray:
        """Return what the last layer of each model is fed (K, B, in), the very numbers that sums are made of."""
        inputs = self.shape.views(self.parameters)[-1][0].shape[2]
        embedding = np.empty((*passed.logits.shape[:2], inputs), dtype=self.parameters.dtype)
        with exactly(self._place):
            for model, own in enumerate(embedding):
                for part, cache in self._caches(passed, model):
                    last = cache[-1]
                    assert isinstance(last, Outer), "the last layer is dense"
                    own[part] = last.fed[: part.stop - part.start].cpu().numpy()
        return embedding

    @torch.inference_mode()
    def weighted_sum(self, passed: Pass, weights: np.ndarray, rows: slice, *, bounded: bool = False) -> np.ndarray:
        """Return the weighted sum of the gradients of the records in `rows`: (K, P); see `Kernel.weighted_sum`.

        Records of a part, BLOCK at most, are added in float32, and the parts in float64 (privacy/sums.py).
        """
        assert isinstance(passed, TorchPass)
        inside = slice(*rows.indices(passed.rows.shape[1])[:2])
        by_layer = weights if weights.ndim == 3 else weights[None]
        by_model = self._send(by_layer.astype(self.parameters.dtype, copy=False)).transpose(0, 1)
        norms, sums = self._send(passed.norms[:, inside]), self._exact if bounded else self._total
        with exactly(self._place):
            for model, factors in enumerate(by_model):
                total = self._sum_up(passed, model, inside, factors)
                if bounded and not math.isfinite(float(total.sum())):
                    mask = torch.isfinite(norms[model]) & (torch.isfinite(factors) & (factors != 0)).all(dim=0)
                    total = self._sum_up(passed, model, inside, torch.where(mask, factors, 0.0), mask)
                sums[model] = total.cpu().numpy()
        return sums

    def _sum_up(
        self, passed: TorchPass, model: int, rows: slice, factors: Tensor, chosen: Tensor | None = None
    ) -> Tensor:
        """Return one model's sum (P,) by `factors` (1 or layers, rows)."""
        total = torch.zeros(self.parameters.shape[1], dtype=torch.float64, device=self._place)
        for part, cache in self._caches(passed, model):
            start, stop = max(part.start, rows.start), min(part.stop, rows.stop)
            if start < stop:
                among = slice(start - rows.start, stop - rows.start)
                inside = slice(start - part.start, stop - part.start)
                by = factors[:, among].expand(len(cache), -1)
                if not passed.cache:
                    by = by * self._shrink(passed.each[:, model, start:stop], cache, inside)
                mask = None if chosen is None else chosen[among]
                total += torch.cat([layer.sum(own, inside, mask) for layer, own in zip(cache, by, strict=True)])
        return total

    def _shrink(self, weights: np.ndarray, cache: Sequence[LayerCache], rows: slice) -> Tensor:
        """Return what keeps gradients that were made again as short as those that were clipped: 1 where they are.

        They have the same bits on a processor; on other devices what is added in no fixed order may come out longer.
        """
        before, again = self._send(weights), torch.stack([layer.squares[rows] for layer in cache])
        return torch.where(again > before, (before / again).sqrt(), 1.0)

    def _caches(self, passed: TorchPass, model: int) -> Iterator[tuple[slice, list[LayerCache]]]:
        """Yield each part of the records with its cache by layer, held since the forward pass or made again."""
        parts = self._parts(passed.rows.shape[1])
        if passed.cache:
            yield from zip(parts, passed.cache[model], strict=True)
            return
        network = self._open(model)
        assert passed.seeds is not None, "nothing was propagated back"
        for part in parts:
            yield part, network.learn(self._own(passed.rows, model, part), passed.seeds(model, part)).cache

    @torch.inference_mode()
    def derive(self, rows: np.ndarray, seeds: Seeds, *, of_losses: bool = False) -> TorchPass:
        """Return the pass over `rows` (S, B, d) with the gradients of what `seeds` derive of their scores."""
        passed = self._begin(rows, seeds, of_losses=of_losses)
        with exactly(self._place):
            for model in range(len(self.parameters)):
                network, held = self._open(model), list[list[LayerCache]]()
                for part in self._parts(rows.shape[1]):
                    learnt = network.learn(self._own(rows, model, part), seeds(model, part))
                    passed.logits[model, part] = learnt.scores.squeeze(1).cpu().numpy()  # the one of one logit
                    passed.values[model, part] = learnt.values.cpu().numpy()
                    passed.each[:, model, part] = learnt.squares.cpu().numpy()
                    keeps = passed.values.size * learnt.numbers * self.parameters.itemsize <= _CACHED
                    held += [learnt.cache] if keeps else []
                passed.cache += [held] if held else []
        return passed

    @torch.inference_mode()
    def _score(self, rows: np.ndarray) -> TorchPass:
        passed = self._begin(rows, None, of_losses=False)
        with exactly(self._place):
            for model in range(len(self.parameters)):
                network = self._open(model)
                for part in self._parts(rows.shape[1]):
                    scores = network.score(self._own(rows, model, part))
                    passed.logits[model, part] = scores.squeeze(1).cpu().numpy()
        return passed

    def _begin(self, rows: np.ndarray, seeds: Seeds | None, *, of_losses: bool) -> TorchPass:
        shape, kind = (len(self.parameters), rows.shape[1]), self.parameters.dtype
        layers = len(self.shape.views(self.parameters))
        return TorchPass(
            rows,
            *(np.empty(0), [], []),
            logits=np.empty(shape if self.shape.outputs == 1 else (*shape, self.shape.outputs), dtype=kind),
            each=np.zeros((layers, *shape), dtype=kind),
            values=np.zeros(shape, dtype=kind),
            of_losses=of_losses,
            seeds=seeds,
            kernel=self,
        )

    def _parts(self, count: int) -> list[slice]:
        return [slice(start, min(start + self._length, count)) for start in range(0, count, self._length)]

    def _open_road(self) -> Road:
        assert isinstance(self.shape, LayeredShape)
        module = build_layers(self.shape, place=self._place, kind=torch.from_numpy(self.parameters).dtype)
        return ByLayer(module, self.shape.size_in, lambda found, count: found)

    def _open(self, model: int) -> Learner:
        return LayeredModel(self._road, self._send(self.parameters[model]))

    def _own(self, rows: np.ndarray, model: int, part: slice) -> Tensor:
        """Return a part of one model's rows."""
        return self._send(rows[model * len(rows) // len(self.parameters), part])

    def _send(self, values: np.ndarray) -> Tensor:
        """Return a copy on the device, in memory that PyTorch aligns: sums of one thing are then always alike."""
        return torch.from_numpy(np.ascontiguousarray(values)).to(self._place, copy=True)
