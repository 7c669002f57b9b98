"""What a network of layers is made of: sizes, numbers of parameters, where each lies and how it starts. Free of torch.

A size is (channels, height, width) of an image, or (units,). Batch norm is not among the layers: it mixes the records
of a batch, so that no record has a gradient of its own, and no clipping bounds what one adds. Group norm (Wu and He,
2018) works on each record alone and stands in its place.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from fairpriv_core import checks
from fairpriv_core.errors import BadInput

Size = tuple[int, ...]


class Layer(Protocol):
    """One layer; its parameters are weights (out, in), then biases (out,), or none."""

    kind: ClassVar[str]
    __dataclass_fields__: ClassVar[dict[str, Any]]

    def resize(self, size: Size) -> Size:
        """Return the size of what comes out for `size`; BadInput where that does not fit."""

    def weights(self, size: Size) -> tuple[int, int] | None:
        """Return (outputs, inputs) of the weights; None for a layer without parameters."""

    def initial(self, draw: np.random.Generator, size: Size) -> np.ndarray:
        """Return the parameters that training starts from, flat."""


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


@dataclass(frozen=True)
class MeanPool(_Fixed):
    """The mean of each channel over the whole image."""

    kind: ClassVar[str] = "mean_pool"

    def resize(self, size: Size) -> Size:
        if len(size) != 3:
            raise BadInput(f"mean_pool needs an image, got {size[0]} values.")
        return size[:1]


_KINDS: dict[str, type[Layer]] = {
    layer.kind: layer for layer in (Convolution, Dense, GroupNorm, Relu, MaxPool, MeanPool)
}


def layer_to_json(layer: Layer) -> dict[str, Any]:
    """Return {"kind", settings}; `layer_from_json` reads it back."""
    settings: dict[str, Any] = asdict(layer)
    return {"kind": layer.kind, **settings}


def layer_from_json(described: Mapping[str, Any]) -> Layer:
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
