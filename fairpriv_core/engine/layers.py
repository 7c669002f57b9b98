"""What a network of layers is made of: sizes, numbers of parameters, where each lies and how it starts. Free of torch.

A size is (channels, height, width) of an image, or (units,). Batch norm is not among the layers: it mixes the records
of a batch, so that no record has a gradient of its own, and no clipping bounds what one adds. Group norm (Wu and He,
2018) works on each record alone and stands in its place.

A list of layers ends in one logit, as `NetworkShape` does, or in l outputs and a softmax over them. Its parameters are
one flat vector a model, those of the last layer at its end.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property, reduce
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from fairpriv_core import checks
from fairpriv_core.engine.predict import Described, as_chances
from fairpriv_core.errors import BadInput
from fairpriv_core.seeds import public_generator

Size = tuple[int, ...]
_NUMBERS = 2**23  # that a chunk of rows may take at its largest layer


class Layer(Protocol):
    """One layer; its parameters are weights (out, in), then biases (out,), or none."""

    kind: ClassVar[str]
    __dataclass_fields__: ClassVar[dict[str, Any]]

    def resize(self, size: Size) -> Size:
        """Return the size of the output for an input of `size`; BadInput where that does not fit."""

    def weights(self, size: Size) -> tuple[int, int] | None:
        """Return (outputs, inputs) of the weights; None for a layer without parameters."""

    def initial(self, draw: np.random.Generator, size: Size) -> np.ndarray:
        """Return the parameters that training starts from, flat."""

    def apply(self, below: np.ndarray, weights: np.ndarray, biases: np.ndarray) -> np.ndarray:
        """Return what it makes of `below`, (n, units) or (n, height, width, channels); weights (in, out) float32."""


@dataclass(frozen=True)
class Convolution:
    """`channels` filters of `side` x `side` with a bias each; weights are (channels, inputs * side * side)."""

    kind: ClassVar[str] = "convolution"
    channels: int
    side: int
    stride: int = 1
    padding: int = 0

    def __post_init__(self) -> None:
        checks.whole(low=1, channels=self.channels, side=self.side, stride=self.stride)
        checks.whole(low=0, padding=self.padding)

    def resize(self, size: Size) -> Size:
        return (self.channels, *_slide(size, self.side, self.stride, 2 * self.padding))

    def weights(self, size: Size) -> tuple[int, int]:
        return self.channels, size[0] * self.side * self.side

    def initial(self, draw: np.random.Generator, size: Size) -> np.ndarray:
        return _uniform(draw, self.weights(size))

    def apply(self, below: np.ndarray, weights: np.ndarray, biases: np.ndarray) -> np.ndarray:
        around = (self.padding, self.padding)
        padded = np.pad(below, ((0, 0), around, around, (0, 0))) if self.padding else below
        windows = np.lib.stride_tricks.sliding_window_view(padded, (self.side, self.side), axis=(1, 2))
        seen = windows[:, :: self.stride, :: self.stride].transpose(0, 1, 2, 4, 5, 3)
        flat: np.ndarray = seen.reshape(-1, len(weights)) @ weights
        flat += biases
        return flat.reshape(*seen.shape[:3], -1)


@dataclass(frozen=True)
class Dense:
    """`units` weighted sums of all that comes in, row-major, with a bias each."""

    kind: ClassVar[str] = "dense"
    units: int

    def __post_init__(self) -> None:
        checks.whole(low=1, units=self.units)

    def resize(self, size: Size) -> Size:
        return (self.units,)

    def weights(self, size: Size) -> tuple[int, int]:
        return self.units, math.prod(size)

    def initial(self, draw: np.random.Generator, size: Size) -> np.ndarray:
        return _uniform(draw, self.weights(size))

    def apply(self, below: np.ndarray, weights: np.ndarray, biases: np.ndarray) -> np.ndarray:
        flat = below.transpose(0, 3, 1, 2).reshape(len(below), -1) if below.ndim == 4 else below
        out: np.ndarray = flat @ weights + biases
        return out


@dataclass(frozen=True)
class GroupNorm:
    """Channels in `groups`, each brought to mean 0 and variance 1 within a record, then a gain and offset a channel."""

    kind: ClassVar[str] = "group_norm"
    SMALL: ClassVar[float] = 1e-5  # added to the variance
    groups: int

    def __post_init__(self) -> None:
        checks.whole(low=1, groups=self.groups)

    def resize(self, size: Size) -> Size:
        if len(size) != 3 or size[0] % self.groups:
            raise BadInput(f"group_norm with {self.groups} groups needs channels in groups of one size, got {size[0]}.")
        return size

    def weights(self, size: Size) -> tuple[int, int]:
        return size[0], 1

    def initial(self, draw: np.random.Generator, size: Size) -> np.ndarray:
        return np.concatenate([np.ones(size[0]), np.zeros(size[0])])

    def apply(self, below: np.ndarray, weights: np.ndarray, biases: np.ndarray) -> np.ndarray:
        centred: np.ndarray = below - self._average(below.mean(axis=(1, 2)))[:, None, None]
        places = below.shape[1] * below.shape[2]
        spread = self._average(np.einsum("nhwc,nhwc->nc", centred, centred) / np.float32(places))
        centred *= (weights[0] / np.sqrt(spread + np.float32(self.SMALL)))[:, None, None]
        centred += biases
        return centred

    def _average(self, means: np.ndarray) -> np.ndarray:
        """Return the mean over each group's channels, for every channel: (n, channels)."""
        size = means.shape[1] // self.groups
        return np.repeat(means.reshape(len(means), self.groups, size).mean(axis=2), size, axis=1)


class _Fixed:
    """Mixin of a layer without parameters."""

    def weights(self, size: Size) -> None:
        return None

    def initial(self, draw: np.random.Generator, size: Size) -> np.ndarray:
        return np.empty(0)


@dataclass(frozen=True)
class Relu(_Fixed):
    """max(x, 0)."""

    kind: ClassVar[str] = "relu"

    def resize(self, size: Size) -> Size:
        return size

    def apply(self, below: np.ndarray, weights: np.ndarray, biases: np.ndarray) -> np.ndarray:
        above: np.ndarray = np.maximum(below, 0.0)
        return above


@dataclass(frozen=True)
class MaxPool(_Fixed):
    """The largest value of each `side` x `side` window."""

    kind: ClassVar[str] = "max_pool"
    side: int
    stride: int

    def __post_init__(self) -> None:
        checks.whole(low=1, side=self.side, stride=self.stride)

    def resize(self, size: Size) -> Size:
        return (size[0], *_slide(size, self.side, self.stride))

    def apply(self, below: np.ndarray, weights: np.ndarray, biases: np.ndarray) -> np.ndarray:
        return self._largest(self._largest(below, 1), 2)

    def _largest(self, below: np.ndarray, axis: int) -> np.ndarray:
        """Return the largest value of each window along one axis."""
        last = below.shape[axis] - self.side
        along = (slice(None),) * axis
        places = [below[(*along, slice(place, place + last + 1, self.stride))] for place in range(self.side)]
        return reduce(np.maximum, places)


@dataclass(frozen=True)
class MeanPool(_Fixed):
    """The mean of each channel over the whole image."""

    kind: ClassVar[str] = "mean_pool"

    def resize(self, size: Size) -> Size:
        if len(size) != 3:
            raise BadInput(f"mean_pool needs an image, got {size[0]} values.")
        return size[:1]

    def apply(self, below: np.ndarray, weights: np.ndarray, biases: np.ndarray) -> np.ndarray:
        mean: np.ndarray = below.mean(axis=(1, 2))
        return mean


_KINDS: dict[str, type[Layer]] = {
    layer.kind: layer for layer in (Convolution, Dense, GroupNorm, Relu, MaxPool, MeanPool)
}


def layer_to_json(layer: Layer) -> dict[str, Any]:
    """Return {"kind", settings}; `layer_from_json` reads it back."""
    settings: dict[str, Any] = asdict(layer)
    return {"kind": layer.kind, **settings}


def layer_from_json(described: Mapping[str, object]) -> Layer:
    """Return the layer; BadInput for a kind that is not known, with the reason for batch norm."""
    settings = dict(described)
    kind = settings.pop("kind")
    if str(kind).replace("_", "").lower().startswith("batchnorm"):
        raise BadInput(
            f"layer '{kind}' mixes the records of a batch, so no record's part can be bounded; take group_norm."
        )
    if kind not in _KINDS:
        raise BadInput(f"unknown layer '{kind}'; choose from {', '.join(_KINDS)}.")
    return _KINDS[kind](**settings)


def _slide(size: Size, side: int, stride: int, padding: int = 0) -> Size:
    if len(size) != 3:
        raise BadInput(f"a window of {side} x {side} needs an image, got {size[0]} values.")
    if min(size[1:]) + padding < side:
        raise BadInput(f"a window of {side} x {side} does not fit into {size[1]} x {size[2]} pixels.")
    return tuple((length + padding - side) // stride + 1 for length in size[1:])


def _uniform(draw: np.random.Generator, weights: tuple[int, int]) -> np.ndarray:
    outputs, inputs = weights
    return draw.uniform(-1.0, 1.0, outputs * inputs + outputs) / math.sqrt(inputs)


@dataclass(frozen=True)
class Place:
    """A layer in its network: what size comes in, and where its parameters lie in the flat vector."""

    layer: Layer
    size: Size
    parameters: slice

    def arrange(self, own: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Return weights (in, out), a filter's as it sees the image: (height, width, channels); and biases."""
        outputs, inputs = self.layer.weights(self.size) or (0, 0)
        weights, biases = own[: outputs * inputs].reshape(outputs, inputs), own[outputs * inputs :]
        if isinstance(self.layer, Convolution):
            weights = weights.reshape(outputs, self.size[0], -1).transpose(0, 2, 1).reshape(outputs, inputs)
        return np.ascontiguousarray(weights.T), biases

    def count_seen(self) -> int:
        """Return how many numbers the layer takes of a record, windows written out."""
        side = self.layer.side if isinstance(self.layer, Convolution) else 1
        return math.prod(self.layer.resize(self.size)[1:]) * side * side * self.size[0]


@dataclass(frozen=True)
class LayeredShape(Described):
    """`layers` over rows of `size`: (channels, height, width), which a row holds row-major, or (columns,).

    The last layer is dense: one unit, the logit of label 1 of two, or a unit for each label.
    """

    kind = "layers"
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
        return max(self.outputs, 2)

    @property
    def size(self) -> int:
        return int(self.places[-1].parameters.stop)

    @property
    def operations(self) -> int:
        """How many multiplications the prediction of a row takes."""
        shapes = [(place, place.layer.weights(place.size)) for place in self.places]
        return sum(math.prod((*place.layer.resize(place.size)[1:], *weights)) for place, weights in shapes if weights)

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
            size = place.layer.weights(place.size)
            if size is not None:
                own, (outputs, inputs) = flat[:, place.parameters], size
                weights = own[:, : outputs * inputs].reshape(-1, outputs, inputs)
                views.append((weights, own[:, outputs * inputs :].reshape(-1, 1, outputs)))
        return views

    def initial(self, seed: int) -> np.ndarray:
        """Return initial parameters (P,) float32: uniform in +-1/sqrt(layer inputs); softmax regression at 0."""
        draw = public_generator(seed, "initialisation")
        flat = np.concatenate([place.layer.initial(draw, place.size) for place in self.places]).astype(np.float32)
        return flat if len(self.layers) > 1 else np.zeros_like(flat)

    def scores(self, parameters: np.ndarray, rows: np.ndarray, group: np.ndarray | None) -> np.ndarray:
        outputs = np.empty((len(rows), self.outputs))
        own = [place.arrange(parameters[place.parameters]) for place in self.places]
        chunk = max(_NUMBERS // max(place.count_seen() for place in self.places), 1)
        for start in range(0, len(rows), chunk):
            below = np.asarray(rows[start : start + chunk], dtype=np.float32).reshape(-1, *self.size_in)
            if below.ndim == 4:
                # channels last: what a filter sees lies together
                below = np.ascontiguousarray(below.transpose(0, 2, 3, 1))
            for place, (weights, biases) in zip(self.places, own, strict=True):
                below = place.layer.apply(below, weights, biases)
            outputs[start : start + chunk] = below
        return as_chances(outputs)

    def to_json(self) -> dict[str, Any]:
        layers = [layer_to_json(layer) for layer in self.layers]
        return {"kind": self.kind, "size": list(self.size_in), "layers": layers}

    @classmethod
    def from_json(cls, network: Mapping[str, Any]) -> Self:
        """Return the shape that `to_json` described; BadInput for a layer that is not known."""
        return cls(tuple(network["size"]), tuple(layer_from_json(layer) for layer in network["layers"]))
