"""Network shapes: logistic regression and ReLU networks with one logit, kept as one flat parameter vector a model."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from fairpriv_core import checks
from fairpriv_core.engine.predict import NETWORK_KIND
from fairpriv_core.engine.products import multiply
from fairpriv_core.errors import BadInput
from fairpriv_core.seeds import public_generator

_CHUNK = 1024  # rows whose activations a processor keeps at hand


class Shape(Protocol):
    """A network without its parameters, of which it has `size`, P."""

    @property
    def size(self) -> int: ...
    def views(self, flat: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return each layer's weights (K, out, in) and biases (K, 1, out) as views into `flat` (K, P)."""

    def initial(self, seed: int) -> np.ndarray:
        """Return initial parameters (P,) float32, which follow from the public `seed`."""

    def to_json(self) -> dict[str, Any]:
        """Return the description that is stored with a trained model."""


@dataclass(frozen=True)
class NetworkShape:
    """A fully connected ReLU network with one logit; 0 hidden layers is logistic regression."""

    inputs: int
    hidden_layers: int = 0
    width: int = 64

    def __post_init__(self) -> None:
        checks.whole(low=1, inputs=self.inputs, width=self.width)
        checks.whole(low=0, high=10, hidden_layers=self.hidden_layers)

    @property
    def layers(self) -> tuple[tuple[int, int], ...]:
        """(outputs, inputs) of each layer, first to last."""
        sizes = [self.inputs, *[self.width] * self.hidden_layers, 1]
        return tuple(zip(sizes[1:], sizes[:-1], strict=True))

    @property
    def size(self) -> int:
        """The number of parameters P."""
        return sum(rows * columns + rows for rows, columns in self.layers)

    @property
    def operations(self) -> int:
        """How many multiplications the prediction of a row takes."""
        return sum(rows * columns for rows, columns in self.layers)

    def views(self, flat: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return each layer's weights (K, out, in) and biases (K, 1, out) as views into `flat` (K, P)."""
        views, start = [], 0
        for rows, columns in self.layers:
            weights = flat[:, start : start + rows * columns].reshape(-1, rows, columns)
            start += rows * columns
            views.append((weights, flat[:, start : start + rows].reshape(-1, 1, rows)))
            start += rows
        return views

    def initial(self, seed: int) -> np.ndarray:
        """Return initial parameters (P,) float32: uniform in +-1/sqrt(layer inputs); logistic regression at 0."""
        draw = public_generator(seed, "initialisation")
        parts = [draw.uniform(-1.0, 1.0, rows * columns + rows) / math.sqrt(columns) for rows, columns in self.layers]
        flat = np.concatenate(parts).astype(np.float32)
        return flat if self.hidden_layers else np.zeros_like(flat)

    def to_json(self) -> dict[str, Any]:
        """Return the description that is stored with a trained model."""
        return {
            "kind": NETWORK_KIND,
            "inputs": self.inputs,
            "hidden_layers": self.hidden_layers,
            "width": self.width,
        }

    @staticmethod
    def from_json(network: Mapping[str, Any]) -> NetworkShape:
        """Return the shape that `to_json` described; BadInput for a kind that is not known."""
        if network["kind"] != NETWORK_KIND:
            raise BadInput(f"network kind must be {NETWORK_KIND}, got '{network['kind']}'.")
        return NetworkShape(network["inputs"], network["hidden_layers"], network["width"])


def logits(shape: Shape, flat: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the logits (K, n) of K models (K, P) on `rows` (n, d), evaluated in chunks."""
    layers = shape.views(flat)
    hidden = [(np.ascontiguousarray(weights.transpose(0, 2, 1)), biases) for weights, biases in layers[:-1]]
    starts = range(0, len(rows), _CHUNK)
    return np.concatenate([_forward(hidden, layers[-1], rows[start : start + _CHUNK]) for start in starts], axis=1)


def _forward(
    hidden: list[tuple[np.ndarray, np.ndarray]], last: tuple[np.ndarray, np.ndarray], rows: np.ndarray
) -> np.ndarray:
    below = rows[None]
    for turned, biases in hidden:
        output = np.empty((len(turned), len(rows), turned.shape[2]), dtype=turned.dtype)
        multiply(below, turned, output)
        output += biases
        below = np.maximum(output, 0.0, out=output)
    weights, biases = last
    if len(below) == 1:
        scores: np.ndarray = np.matmul(weights[:, 0], below[0].T)
    else:
        scores = np.matmul(below, weights.transpose(0, 2, 1))[:, :, 0]
    scores += biases[:, 0]
    return scores
