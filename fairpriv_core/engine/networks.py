"""Network shapes: logistic regression and ReLU networks with one logit, kept as one flat parameter vector a model.

The networks that a method can be asked for by name are here, and how much memory training takes. Free of torch.
"""

from __future__ import annotations

import math
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np

from fairpriv_core import checks
from fairpriv_core.engine.layers import (
    Convolution,
    Dense,
    GroupNorm,
    Layer,
    LayeredShape,
    MaxPool,
    MeanPool,
    Relu,
)
from fairpriv_core.engine.modules import ModuleShape, is_module
from fairpriv_core.engine.predict import Described, Network, as_both, to_chance
from fairpriv_core.engine.products import multiply
from fairpriv_core.errors import BadInput
from fairpriv_core.seeds import public_generator

MLP = "mlp"
_CHUNK = 1024  # rows whose activations a processor keeps at hand
_LEAST = {"cnn_small": 14, "vgg9": 16}  # pixels that a side must have
NETWORKS = (MLP, *_LEAST)
FOR_IMAGES = "cnn_small"  # where a person with images names none
_BLOCKS = ((32,), (64,), (128, 128), (256, 256))  # widths of the convolutions between the poolings of vgg9
_GROUPS, _UNITS = 8, 576
Image = tuple[int, int, int]
_LIMIT = Path("/sys/fs/cgroup/memory.max")  # of a container, in bytes, or "max"
_OF_PARAMETER = 70  # bytes: the parameter, its gradients and moments, its noise, a checkpoint of all that
_OF_VALUE = 8  # bytes of a batch's value: as it is gathered and as it is passed through


class Shape(Network, Protocol):
    """A network that gradients train."""

    def views(self, flat: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return each layer's weights (K, out, in) and biases (K, 1, out) as views into `flat` (K, P)."""

    def initial(self, seed: int) -> np.ndarray:
        """Return initial parameters (P,) float32, which follow from the public `seed`."""


@dataclass(frozen=True)
class NetworkShape(Described):
    """A fully connected ReLU network with one logit; 0 hidden layers is logistic regression."""

    kind = MLP
    inputs: int
    hidden_layers: int = 0
    width: int = 64

    def __post_init__(self) -> None:
        checks.whole(low=1, inputs=self.inputs, width=self.width)
        checks.whole(low=0, high=10, hidden_layers=self.hidden_layers)

    @property
    def outputs(self) -> int:
        """The number of outputs: 1, the logit."""
        return 1

    @property
    def layers(self) -> tuple[tuple[int, int], ...]:
        """(outputs, inputs) of each layer, first to last."""
        sizes = [self.inputs, *[self.width] * self.hidden_layers, 1]
        return tuple(zip(sizes[1:], sizes[:-1], strict=True))

    @property
    def size(self) -> int:
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

    def scores(self, parameters: np.ndarray, rows: np.ndarray, group: np.ndarray | None) -> np.ndarray:
        scores = logits(self, parameters[None], np.asarray(rows, dtype=np.float32))[0]
        return as_both(to_chance(scores.astype(np.float64)))


def logits(shape: Shape, flat: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the logits (K, n) of K models (K, P) on `rows` (n, d), evaluated in chunks."""
    layers = shape.views(flat)
    hidden = [(np.ascontiguousarray(weights.transpose(0, 2, 1)), biases) for weights, biases in layers[:-1]]
    length = min(len(rows), _CHUNK)
    memory = np.empty((2, len(flat), length, layers[-1][0].shape[2] if hidden else 0), dtype=flat.dtype)
    zeros = np.zeros((1, *memory.shape[2:]), dtype=flat.dtype)
    starts = range(0, max(len(rows), 1), _CHUNK)
    return np.concatenate(
        [_forward(hidden, layers[-1], rows[start : start + _CHUNK], memory, zeros) for start in starts], axis=1
    )


def rectify(output: np.ndarray, biases: np.ndarray, zeros: np.ndarray) -> None:
    """Make `output` (K, n, out) max(`output` + `biases`, 0) in place; `zeros` broadcast to it.

    The greater of two arrays takes a fifth of the time that the greater of an array and a number does.
    """
    output += biases
    np.maximum(output, zeros, out=output)


def _forward(
    hidden: list[tuple[np.ndarray, np.ndarray]],
    last: tuple[np.ndarray, np.ndarray],
    rows: np.ndarray,
    held: np.ndarray,
    zeros: np.ndarray,
) -> np.ndarray:
    """Return the logits (K, n) on `rows` (n, d); layers write into the two halves of `held` (2, K, >= n, width)."""
    below = rows[None]
    for layer, (turned, biases) in enumerate(hidden):
        output = held[layer % 2, :, : len(rows)]
        multiply(below, turned, output)
        rectify(output, biases, zeros[:, : len(rows)])
        below = output
    weights, biases = last
    if len(below) == 1:
        scores: np.ndarray = np.matmul(weights[:, 0], below[0].T)
    else:
        scores = np.matmul(below, weights.transpose(0, 2, 1))[:, :, 0]
    scores += biases[:, 0]
    return scores


def check_name(network: str) -> None:
    """Raise BadInput unless `network` is one of NETWORKS or a reference to a person's own."""
    if network not in NETWORKS and not is_module(network):
        raise BadInput(
            f"network must be one of {', '.join(NETWORKS)}, or package:function of your own, got '{network}'.",
            field="network",
        )


AnyShape = NetworkShape | LayeredShape | ModuleShape


def build_network(
    name: str, image: Image | None, *, inputs: int, outputs: int, hidden_layers: int, width: int
) -> AnyShape:
    """Return the network `name` for rows of `inputs` values, images or not; `hidden_layers` and `width` are an mlp's.

    `outputs` is 1 for the logit of label 1, or the number of labels. BadInput where it does not fit the rows; whether a
    person's own does is found out when it is opened.
    """
    if is_module(name):
        return ModuleShape(name, image or (inputs,), max(outputs, 2))
    if name != MLP:
        return build_image_network(name, image, outputs)
    return build_mlp(inputs, hidden_layers, width, outputs=outputs)


def build_image_network(name: str, image: Image | None, outputs: int) -> LayeredShape:
    """Return the network `name` for images (channels, height, width); BadInput where there are none, or too small."""
    if image is None:
        raise BadInput(f"network '{name}' needs images, and these data are a table; take {MLP}.", field="network")
    least = _LEAST[name]
    if min(image[1:]) < least:
        raise BadInput(
            f"network '{name}' needs images of at least {least} x {least} pixels, got {image[1]} x {image[2]}; "
            f"take {MLP}.",
            field="network",
        )
    return build_cnn_small(image, outputs) if name == "cnn_small" else build_vgg9(image, outputs)


def build_mlp(inputs: int, hidden_layers: int, width: int, *, outputs: int) -> AnyShape:
    """Return a fully connected ReLU network: one logit, also in place of two outputs, or an output for each label."""
    if outputs <= 2:
        return NetworkShape(inputs, hidden_layers, width)
    hidden: tuple[Layer, ...] = (Dense(width), Relu()) * hidden_layers
    return LayeredShape((inputs,), (*hidden, Dense(outputs)))


def build_cnn_small(image: Image, outputs: int) -> LayeredShape:
    """Return two convolutions and two dense layers: 26,010 parameters on MNIST.

    FairDP (2021) says no more than that of its network. This is the one that differentially private training of MNIST
    is usually measured with (TensorFlow Privacy's and Opacus' examples; Papernot et al., 2021): it is small, and noise
    grows with the number of parameters. Bagdasaryan et al. (2019) have 431,080 in the same four layers.
    """
    layers = (
        *(Convolution(16, side=8, stride=2, padding=3), Relu(), MaxPool(2, stride=1)),
        *(Convolution(32, side=4, stride=2), Relu(), MaxPool(2, stride=1)),
        *(Dense(32), Relu(), Dense(outputs)),
    )
    return LayeredShape(image, layers)


def build_vgg9(image: Image, outputs: int) -> LayeredShape:
    """Return six convolutions and three dense layers: 1.61 million parameters for nine labels.

    DP-FERMI's (2023) is "a deep 9-layer VGG-like classifier with 1.6 million parameters"; which layers is not said.
    Here group norm stands where VGG has batch norm, and the mean over the image makes the number of parameters the
    same for images of every size.
    """
    layers: list[Layer] = []
    for block in _BLOCKS:
        for width in block:
            layers += [Convolution(width, side=3, padding=1), GroupNorm(_GROUPS), Relu()]
        layers.append(MaxPool(2, stride=2))
    return LayeredShape(image, (*layers, MeanPool(), *(Dense(_UNITS), Relu()) * 2, Dense(outputs)))


def require_shape(network: Network) -> AnyShape:
    """Return a network that gradients train; BadInput for another."""
    if not isinstance(network, AnyShape):
        raise BadInput(f"the model must be a network that gradients train, got {type(network).__name__}.")
    return network


def count_known(shape: AnyShape) -> int | None:
    """Return how many parameters a network has; None of a person's own, which only those open who train with it."""
    return None if isinstance(shape, ModuleShape) else shape.size


def estimate_memory(shape: AnyShape, batch_size: int) -> int:
    """Return about how many bytes training one model takes at its peak, beside the data set."""
    return _OF_PARAMETER * shape.size + _OF_VALUE * batch_size * shape.inputs


def find_memory() -> int | None:
    """Return how many bytes of memory this machine, or this container, has; None where that cannot be told."""
    try:
        physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    except (AttributeError, ValueError, OSError):
        return None
    limit = _LIMIT.read_text().strip() if _LIMIT.is_file() else ""
    return min(physical, int(limit)) if limit.isdecimal() else physical
