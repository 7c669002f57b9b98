"""A network of layers as a PyTorch module."""

from __future__ import annotations

import torch
from torch import nn

from fairpriv_core.engine.layers import Convolution, Dense, GroupNorm, LayeredShape, MaxPool, MeanPool, Place


def build_layers(
    shape: LayeredShape, *, place: torch.device | str = "cpu", kind: torch.dtype = torch.float32
) -> nn.Sequential:
    """Return the network on a device, with memory for its parameters and no values in it."""
    with torch.device("meta"):
        module = nn.Sequential(*map(_build_layer, shape.places)).to(kind)
    return module.to_empty(device=place)


def _build_layer(place: Place) -> nn.Module:
    layer, weights = place.layer, place.layer.weights(place.size)
    match layer:
        case Dense():
            assert weights is not None
            return nn.Sequential(nn.Flatten(), nn.Linear(weights[1], layer.units))
        case Convolution():
            return nn.Conv2d(place.size[0], layer.channels, layer.side, layer.stride, layer.padding)
        case GroupNorm():
            return nn.GroupNorm(layer.groups, place.size[0], eps=layer.SMALL)
        case MaxPool():
            return nn.MaxPool2d(layer.side, layer.stride)
        case MeanPool():
            return nn.AdaptiveAvgPool2d(1)
    return nn.ReLU()
