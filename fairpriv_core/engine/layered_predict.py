"""A network of layers in numpy: what pages and commands predict with, which do not load torch."""

from __future__ import annotations

from functools import reduce

import numpy as np

from fairpriv_core.engine.layered import LayeredShape, Place
from fairpriv_core.engine.layers import Convolution, Dense, GroupNorm, Layer, MaxPool, MeanPool
from fairpriv_core.errors import BadInput

_NUMBERS = 2**23  # that a chunk of rows may take at its largest layer


def predict_layers(shape: LayeredShape, parameters: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the chances (n, l) of the labels of `rows` (n, d), float64; BadInput for rows of another width."""
    if rows.shape[1] != shape.inputs:
        raise BadInput(f"the model takes {shape.inputs} encoded columns, got {rows.shape[1]}.")
    scores = np.empty((len(rows), shape.outputs))
    own = [_arrange(place, parameters[place.parameters]) for place in shape.places]
    chunk = max(_NUMBERS // max(_count_seen(place) for place in shape.places), 1)
    for start in range(0, len(rows), chunk):
        part = slice(start, start + chunk)
        scores[part] = _forward(shape, own, np.asarray(rows[part], dtype=np.float32))
    if shape.outputs == 1:
        positive = 0.5 * (1.0 + np.tanh(0.5 * scores))
        return np.concatenate([1.0 - positive, positive], axis=1)
    scores -= scores.max(axis=1, keepdims=True)
    chances = np.exp(scores)
    chances /= chances.sum(axis=1, keepdims=True)
    return chances


def _arrange(place: Place, own: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a layer's weights (in, out), a filter's as it sees the image: (height, width, channels); and biases."""
    outputs, inputs = place.layer.weights(place.size) or (0, 0)
    weights, biases = own[: outputs * inputs].reshape(outputs, inputs), own[outputs * inputs :]
    if isinstance(place.layer, Convolution):
        weights = weights.reshape(outputs, place.size[0], -1).transpose(0, 2, 1).reshape(outputs, inputs)
    return np.ascontiguousarray(weights.T), biases


def _forward(shape: LayeredShape, own: list[tuple[np.ndarray, np.ndarray]], rows: np.ndarray) -> np.ndarray:
    below = rows.reshape(-1, *shape.size_in)
    if below.ndim == 4:
        below = np.ascontiguousarray(below.transpose(0, 2, 3, 1))  # channels last: what a filter sees lies together
    for place, parameters in zip(shape.places, own, strict=True):
        below = _pass(place.layer, parameters, below)
    return below


def _pass(layer: Layer, own: tuple[np.ndarray, np.ndarray], below: np.ndarray) -> np.ndarray:
    """Return what a layer makes of `below`, (n, units) or (n, height, width, channels)."""
    weights, biases = own
    if isinstance(layer, Dense):
        flat = below.transpose(0, 3, 1, 2).reshape(len(below), -1) if below.ndim == 4 else below
        out: np.ndarray = flat @ weights + biases
    elif isinstance(layer, Convolution):
        out = _convolve(layer, below, weights, biases)
    elif isinstance(layer, GroupNorm):
        out = _normalise(layer, below, weights[0], biases)
    elif isinstance(layer, MaxPool):
        out = _largest(_largest(below, 1, layer), 2, layer)
    else:
        out = below.mean(axis=(1, 2)) if isinstance(layer, MeanPool) else np.maximum(below, 0.0)
    return out


def _convolve(layer: Convolution, below: np.ndarray, weights: np.ndarray, biases: np.ndarray) -> np.ndarray:
    side, around = layer.side, (layer.padding, layer.padding)
    padded = np.pad(below, ((0, 0), around, around, (0, 0))) if layer.padding else below
    windows = np.lib.stride_tricks.sliding_window_view(padded, (side, side), axis=(1, 2))
    seen = windows[:, :: layer.stride, :: layer.stride].transpose(0, 1, 2, 4, 5, 3)
    flat: np.ndarray = seen.reshape(-1, len(weights)) @ weights
    flat += biases
    return flat.reshape(*seen.shape[:3], -1)


def _normalise(layer: GroupNorm, below: np.ndarray, gains: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    centred: np.ndarray = below - _by_group(below.mean(axis=(1, 2)), layer.groups)[:, None, None]
    places = below.shape[1] * below.shape[2]
    spread = _by_group(np.einsum("nhwc,nhwc->nc", centred, centred) / np.float32(places), layer.groups)
    centred *= (gains / np.sqrt(spread + np.float32(layer.SMALL)))[:, None, None]
    centred += offsets
    return centred


def _by_group(means: np.ndarray, groups: int) -> np.ndarray:
    """Return the mean over each group's channels, for every channel: (n, channels)."""
    each = means.shape[1] // groups
    return np.repeat(means.reshape(len(means), groups, each).mean(axis=2), each, axis=1)


def _largest(below: np.ndarray, axis: int, layer: MaxPool) -> np.ndarray:
    """Return the largest value of each window along one axis."""
    last = below.shape[axis] - layer.side
    along = (slice(None),) * axis
    places = [below[(*along, slice(place, place + last + 1, layer.stride))] for place in range(layer.side)]
    return reduce(np.maximum, places)


def _count_seen(place: Place) -> int:
    """Return how many numbers a layer takes of a record, windows written out."""
    sizes = place.layer.resize(place.size)
    side = place.layer.side if isinstance(place.layer, Convolution) else 1
    return int(np.prod(sizes[1:])) * side * side * place.size[0]
