"""The one training step's arithmetic for K models at once.

With one logit o, the gradients of loss and output are multiples of one per-record Jacobian: every method's update is
a weighted sum of the same rows, and methods differ only in the weights. One back-propagation of the unit seed gives
the deltas; norms follow in closed form; one weighted product a layer gives the sum ("book-keeping", Bu et al., 2022).

Written for NumPy, since a step of small batches is made of many small operations: each costs less than a microsecond
here and several in a library that dispatches by device and records what it did. Logistic regressions that share their
rows are one matrix product, K wide.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np

from fairpriv_core.engine.clipping import layer_squares, with_bias
from fairpriv_core.engine.networks import Shape, logits, rectify
from fairpriv_core.engine.products import (
    by_stream,
    divide,
    expand,
    multiply,
    multiply_onto_rows,
    multiply_parts,
    split,
    turn,
)
from fairpriv_core.privacy.sums import BLOCK, TOGETHER, add_products

Parts = tuple[np.ndarray, ...]  # whole blocks and the rest of one array's rows (`split`)
_ROOMS = 256  # numbers of rows whose views are kept: a sample has seldom as many sizes


class Batch(Protocol):
    """Rows of S streams: `features` (S, B, d), `squares` (S, B) as `with_bias` gives them, `label` (S, B)."""

    @property
    def features(self) -> np.ndarray: ...
    @property
    def squares(self) -> np.ndarray: ...
    @property
    def label(self) -> np.ndarray: ...


@dataclass
class Pass:
    """One forward and backward pass of K models over B rows each; valid until the kernel's next one.

    `rows` (S, B, d) are those of S streams, each shared by K / S models that follow each other, and `squares` (S, B)
    `with_bias` of them;
    `hidden` are the L hidden layers' outputs and `deltas` the logit's derivatives with respect to their inputs, each
    (L, K, B, width); `logits` (K, B).
    """

    rows: np.ndarray
    squares: np.ndarray
    hidden: np.ndarray | Sequence[np.ndarray]
    deltas: np.ndarray | Sequence[np.ndarray]
    logits: np.ndarray

    @property
    def losses(self) -> np.ndarray | None:
        """Each record's loss (K, B) where gradients are the loss's; None where they are the logit's."""
        return None

    @cached_property
    def norms(self) -> np.ndarray:
        """The L2 norm of each record's gradient of the logit, over all parameters: (K, B), or (1, B) of shared rows."""
        norms: np.ndarray = np.sqrt(self._layer_squares().sum(axis=0))
        return norms

    @property
    def layer_norms(self) -> np.ndarray:
        """The L2 norm of each record's gradient of the logit for each layer alone: (L + 1, K, B)."""
        norms: np.ndarray = np.sqrt(self._layer_squares())
        return np.broadcast_to(norms, (len(norms), *self.logits.shape))

    def _layer_squares(self) -> np.ndarray:
        return layer_squares(expand(self.squares, len(self.logits)), self.hidden, self.deltas)

    @property
    def layers(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Each layer's inputs (K, B, in) and the logit's derivatives with respect to its outputs (K, B, out)."""
        rows = expand(self.rows, len(self.logits))
        rows = np.broadcast_to(rows, (len(self.logits), *rows.shape[1:]))
        return list(zip([rows, *self.hidden], [*self.deltas, np.ones_like(self.logits)[:, :, None]], strict=True))

    @property
    def embeddings(self) -> np.ndarray:
        """What the last layer is fed (K, B, in): the gradient of the logit in that layer's weights."""
        return self.layers[-1][0]


class SeededPass(Pass, ABC):
    """A pass of networks with an output a label: gradients of any mix of outputs, where one logit has but multiples."""

    @abstractmethod
    def back(self, seeds: np.ndarray) -> SeededPass:
        """Return the pass over the same records with the gradients of sum_c seeds_c logits_c, `seeds` (K, B, l)."""


class _Memory:
    """Memory of passes of K models over up to `length` rows: L layers' outputs and deltas, flags and zeros."""

    def __init__(self, shape: tuple[int, int, int, int], dtype: np.dtype) -> None:
        layers, models, self.length, width = shape
        self.both = np.empty((2, layers, models, self.length, width), dtype=dtype)
        self.active = np.empty((models, self.length, width), dtype=bool)
        self.zeros = np.zeros((1, self.length, width), dtype=dtype)


class _Room:
    """The part of a memory that a pass over `length` rows takes, and its views: the same memory for every length.

    `hidden` and `deltas` are (L, K, length, width); `fed` and `above` are each layer's as products take them.
    """

    def __init__(self, memory: _Memory, length: int) -> None:
        self.hidden, self.deltas = memory.both[:, :, :, :length]
        self.active, self.zeros = memory.active[:, :length], memory.zeros[:, :length]
        self.fed, self.above = ([split(layer) for layer in part] for part in (self.hidden, self.deltas))


class Kernel:
    """K networks of one shape over a flat array (K, P) that is updated in place."""

    _room: _Room

    def __init__(self, shape: Shape, parameters: np.ndarray) -> None:
        self.shape, self.parameters = shape, parameters
        self._layers = self.shape.views(self.parameters)
        self._total = np.empty_like(self.parameters)
        self._sums = self.shape.views(self._total)
        self._exact = np.empty(self.parameters.shape)
        self._exact_sums = self.shape.views(self._exact)
        size = max(weights[0].size for weights, _ in self._layers)
        self._turned = np.empty((len(self.parameters), size), dtype=self.parameters.dtype)
        self._memory = self._new_memory(0)
        self._rooms: dict[int, _Room] = {}
        self._blocks: dict[int, tuple[np.ndarray, list[tuple[np.ndarray, np.ndarray]]]] = {}

    def parts_at(self, count: int) -> bool:
        """Return whether the first `count` rows of a pass give the same bits however many rows come after them."""
        return count % BLOCK == 0

    def take(self, batch: Batch) -> Pass:
        """Return the pass over a batch."""
        return self.run(batch.features, batch.squares)

    def run(self, rows: np.ndarray, squares: np.ndarray | None = None) -> Pass:
        """Return the pass over `rows` (S, B, d): each of S streams is shared by K / S models that follow each other.

        `squares` (S, B) is `with_bias` of the rows, where it is known.
        """
        room, below = self._open_room(rows.shape[1]), rows
        self._room = room
        for layer, output in enumerate(room.hidden):
            weights, biases = self._layers[layer]
            if layer:
                multiply_parts(room.fed[layer - 1], turn(weights, self._turned), room.fed[layer])
            else:
                multiply(rows, turn(weights, self._turned), output)
            rectify(output, biases, room.zeros)
            below = output
        self._fill_deltas(room)
        row_squares = with_bias(rows) if squares is None else squares
        return Pass(rows, row_squares, room.hidden, room.deltas, self._logits(below))

    def score(self, models: slice, rows: np.ndarray) -> np.ndarray:
        """Return the logits (models, n) of some of the models on `rows` (n, d); nothing is derived."""
        return logits(self.shape, self.parameters[models], rows)

    def alone(self, model: int) -> Kernel:
        """Return a kernel of one of the models, over the same parameters."""
        return Kernel(self.shape, self.parameters[model : model + 1])

    def weighted_sum(self, passed: Pass, weights: np.ndarray, rows: slice, *, bounded: bool = False) -> np.ndarray:
        """Return sum_j weights_j do_j over the records in `rows` of the pass: (K, P).

        `weights` is (K, rows), or (L + 1, K, rows) where each layer has its own. With `bounded` the sum keeps its bound
        (privacy/sums.py) in float64, and a record of weight 0, or that is not finite, contributes exactly nothing. The
        result is overwritten by the next call.
        """
        if not bounded:
            _add_up(*_select(passed, rows), weights, sums=self._sums, product=np.matmul)
            return self._total
        self._add_exactly(passed, weights, rows)
        if not math.isfinite(float(np.vdot(self._exact, self._exact))):  # or so large that it may as well be looked at
            norms = np.broadcast_to(passed.norms, passed.logits.shape)[:, rows]
            selected = np.isfinite(norms) & np.isfinite(weights).reshape(-1, *norms.shape).all(axis=0)
            hidden, deltas = ([_without_infinite(part) for part in layers] for layers in (passed.hidden, passed.deltas))
            known = replace(passed, rows=_without_infinite(passed.rows), hidden=hidden, deltas=deltas)
            self._add_exactly(known, np.where(selected, weights, 0.0), rows)
        return self._exact

    def _add_exactly(self, passed: Pass, weights: np.ndarray, rows: slice) -> None:
        """Write the sums of bounded contributions; those of one model block by block, side by side as models are."""
        if len(self.parameters) > 1:
            _add_up(*_select(passed, rows), weights, sums=self._exact_sums, product=add_products)
            return
        fed, above = self._split(passed, rows)
        count, exact = weights.shape[-1], self._exact
        whole = count - count % BLOCK
        rest = self._total if whole < count else self._total[:0]
        if len(rest):
            inputs, deltas = ([part[-1][0] for part in arrays] for arrays in (fed, above))
            _add_up(inputs, deltas, weights[..., whole:], sums=self._sums, product=np.matmul)
        if not whole:
            exact[:] = rest if count else 0.0
        own = weights[..., :whole].reshape(*weights.shape[:-2], -1, BLOCK)
        for start in range(0, own.shape[-2], TOGETHER):
            some = slice(start, start + TOGETHER)
            inputs, deltas = ([part[0][0, some] for part in arrays] for arrays in (fed, above))
            block_weights = own[..., some, :]
            total, sums = self._open_blocks(block_weights.shape[-2])
            _add_up(inputs, deltas, block_weights, sums=sums, product=np.matmul)
            if start:
                exact += total.sum(axis=0, dtype=np.float64)
            else:
                _add_blocks((*total, *rest), exact[0])

    def _split(self, passed: Pass, rows: slice) -> tuple[Sequence[Parts], Sequence[Parts]]:
        """Return each layer's inputs and deltas as `split` gives them; of the latest pass they are at hand."""
        if rows == slice(None) and passed.hidden is self._room.hidden:
            return [split(passed.rows), *self._room.fed], self._room.above
        inputs, deltas = _select(passed, rows)
        return [split(part) for part in inputs], [split(part) for part in deltas]

    def _open_blocks(self, count: int) -> tuple[np.ndarray, list[tuple[np.ndarray, np.ndarray]]]:
        """Return memory for the sums of so many blocks (count, P), used again and again, and its layers' views."""
        if count not in self._blocks:
            total = np.empty((count, self.parameters.shape[1]), dtype=self.parameters.dtype)
            self._blocks = {count: (total, self.shape.views(total))}
        return self._blocks[count]

    def _logits(self, below: np.ndarray) -> np.ndarray:
        weights, biases = self._layers[-1]
        logits = np.empty((len(weights), below.shape[1]), dtype=self.parameters.dtype)
        if len(below) == len(weights):
            multiply(below, weights.transpose(0, 2, 1), logits[:, :, None])
        else:  # one product a stream, as wide as it has models
            multiply_onto_rows(divide(weights[:, 0], len(below)), below, divide(logits, len(below)))
        logits += biases[:, 0]
        return logits

    def _fill_deltas(self, room: _Room) -> None:
        """Back-propagate the unit seed; relu passes on what came in where its output is positive."""
        hidden, deltas = room.hidden, room.deltas
        for layer in range(len(deltas) - 1, -1, -1):
            above, active = self._layers[layer + 1][0], np.greater(hidden[layer], 0.0, out=room.active)
            if layer + 1 < len(deltas):
                multiply_parts(room.above[layer + 1], above, room.above[layer])
                np.multiply(deltas[layer], active, out=deltas[layer])
            else:
                np.multiply(active, above, out=deltas[layer])

    def _open_room(self, length: int) -> _Room:
        """Return memory that is used again and again, with its views for so many rows."""
        if self._memory.length < length:
            self._memory, self._rooms = self._new_memory(length), {}
        if length not in self._rooms:
            if len(self._rooms) == _ROOMS:
                self._rooms.clear()
            self._rooms[length] = _Room(self._memory, length)
        return self._rooms[length]

    def _new_memory(self, length: int) -> _Memory:
        width = self._layers[-1][0].shape[2] if len(self._layers) > 1 else 0
        shape = (len(self._layers) - 1, len(self.parameters), length, width)
        return _Memory(shape, self.parameters.dtype)


def _add_blocks(blocks: Sequence[np.ndarray], total: np.ndarray) -> None:
    """Write the sum of `blocks`, each (P,) float32, into `total` (P,) float64: one pass each, and no memory between."""
    np.copyto(total, blocks[0])
    for block in blocks[1:]:
        total += block


def _select(passed: Pass, rows: slice) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Return each layer's inputs and deltas in `rows`, but for the last delta, 1."""
    inputs = [passed.rows[:, rows], *(output[:, rows] for output in passed.hidden)]
    return inputs, [delta[:, rows] for delta in passed.deltas]


def _without_infinite(values: np.ndarray) -> np.ndarray:
    return np.where(np.isfinite(values), values, 0.0)


def _add_up(
    inputs: Sequence[np.ndarray],
    deltas: Sequence[np.ndarray],
    weights: np.ndarray,
    *,
    sums: Sequence[tuple[np.ndarray, np.ndarray]],
    product: Callable[..., object],
) -> None:
    """Write the sums of each layer into `sums`; `inputs` and `deltas` are of every layer, but for the last delta, 1.

    Whatever the values are, the same products are taken: what one record holds changes no other's part.
    """
    weights_by_layer = weights if weights.ndim == 3 else [weights] * len(sums)
    for (weight_sum, bias_sum), fed, delta, own in zip(sums, inputs, deltas, weights_by_layer, strict=False):
        left, right, out = by_stream((delta * own[:, :, None]).transpose(0, 2, 1), fed, weight_sum)
        product(left, right, out=out)
        product(own[:, None], delta, out=bias_sum)
    last, last_bias = sums[-1]
    streams = len(inputs[-1])
    if streams == len(last) > 1:
        product(weights_by_layer[-1][:, None], inputs[-1], out=last)
    else:  # one product a stream, as wide as it has models
        product(divide(weights_by_layer[-1], streams), inputs[-1], out=divide(last[:, 0], streams))
    np.add.reduce(weights_by_layer[-1], axis=1, dtype=last_bias.dtype, out=last_bias[:, 0, 0])
