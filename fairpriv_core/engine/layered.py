"""Networks that are lists of layers: for images, and for more than two labels.

They end in one logit, as `NetworkShape` does, or in l outputs and a softmax over them. Here too the parameters are one
flat vector a model, those of the last layer at its end.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np

from fairpriv_core import checks
from fairpriv_core.engine.layers import Dense, Layer, Size, layer_from_json, layer_to_json
from fairpriv_core.errors import BadInput
from fairpriv_core.seeds import public_generator

LAYERED_KIND = "layers"


@dataclass(frozen=True)
class Place:
    """A layer in its network: what size comes in, and where its parameters lie in the flat vector."""

    layer: Layer
    size: Size
    parameters: slice


@dataclass(frozen=True)
class LayeredShape:
    """`layers` over rows of `size`: (channels, height, width), which a row holds row-major, or (columns,).

    The last layer is dense: one unit, the logit of label 1 of two, or a unit for each label.
    """

    size_in: Size
    layers: tuple[Layer, ...]

    def __post_init__(self) -> None:
        for name, length in zip(("channels", "height", "width"), self.size_in, strict=False):
            checks.whole(low=1, **{name: length})
        if not self.layers or not isinstance(self.layers[-1], Dense):
            raise BadInput("the last layer must be dense, with one unit, or one for each of two or more labels.")
        assert self.size

    @property
    def inputs(self) -> int:
        """The number of values in a row."""
        return math.prod(self.size_in)

    @property
    def outputs(self) -> int:
        """The number of outputs: 1, the logit, or one for each label."""
        return self.places[-1].layer.resize(self.places[-1].size)[0]

    @property
    def labels(self) -> int:
        """The number of labels l."""
        return max(self.outputs, 2)

    @property
    def size(self) -> int:
        """The number of parameters P."""
        return int(self.places[-1].parameters.stop)

    @property
    def operations(self) -> int:
        """How many multiplications the prediction of a row takes."""
        found = [(place, place.layer.weights(place.size)) for place in self.places]
        return sum(math.prod((*place.layer.resize(place.size)[1:], *weights)) for place, weights in found if weights)

    @cached_property
    def places(self) -> tuple[Place, ...]:
        """Each layer where it stands, first to last; BadInput where one does not fit."""
        places, size, start = [], self.size_in, 0
        for layer in self.layers:
            outputs, inputs = layer.weights(size) or (0, 0)
            stop = start + outputs * inputs + outputs
            places.append(Place(layer, size, slice(start, stop)))
            size, start = layer.resize(size), stop
        return tuple(places)

    def views(self, flat: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """Return weights (K, out, in) and biases (K, 1, out) of each layer that has them, as views into `flat`."""
        views = []
        for place in self.places:
            found = place.layer.weights(place.size)
            if found is not None:
                own, (outputs, inputs) = flat[:, place.parameters], found
                weights = own[:, : outputs * inputs].reshape(-1, outputs, inputs)
                views.append((weights, own[:, outputs * inputs :].reshape(-1, 1, outputs)))
        return views

    def initial(self, seed: int) -> np.ndarray:
        """Return initial parameters (P,) float32: uniform in +-1/sqrt(layer inputs); softmax regression at 0."""
        draw = public_generator(seed, "initialisation")
        flat = np.concatenate([place.layer.initial(draw, place.size) for place in self.places]).astype(np.float32)
        return flat if len(self.layers) > 1 else np.zeros_like(flat)

    def to_json(self) -> dict[str, Any]:
        """Return the description that is stored with a trained model."""
        layers = [layer_to_json(layer) for layer in self.layers]
        return {"kind": LAYERED_KIND, "size": list(self.size_in), "layers": layers}

    @staticmethod
    def from_json(network: Mapping[str, Any]) -> LayeredShape:
        """Return the shape that `to_json` described; BadInput for a layer that is not known."""
        return LayeredShape(tuple(network["size"]), tuple(layer_from_json(layer) for layer in network["layers"]))
