"""A network of layers as PyTorch writes it: the reference that kernels and predictions are held against."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor, nn

from fairpriv_core.engine.layers import Convolution, Dense, GroupNorm, LayeredShape, MaxPool, MeanPool, Place, Relu

#: every kind of layer; the first convolution keeps gradients, the second what they are made of
SMALL = LayeredShape(
    (2, 8, 8),
    (
        *(Convolution(8, side=3, padding=1), GroupNorm(2), Relu(), MaxPool(3, stride=2)),
        *(Convolution(64, side=3), Relu(), MeanPool(), Dense(6), Relu(), Dense(3)),
    ),
)
FLAT = LayeredShape((2, 6, 6), (Convolution(4, side=4, stride=2, padding=1), Relu(), MaxPool(2, stride=1), Dense(4)))
#: a stride that does not divide the side, and what gradients are made of kept where norms are those of sums
UNEVEN = LayeredShape((2, 9, 9), (Convolution(64, side=3, stride=2), Relu(), Convolution(8, side=3), Relu(), Dense(3)))
TABLE = LayeredShape((7,), (Dense(5), Relu(), Dense(5), Relu(), Dense(4)))
SHAPES = {"small": SMALL, "flat": FLAT, "uneven": UNEVEN, "table": TABLE}
#: networks that end in one logit
DENSE = LayeredShape((7,), (Dense(5), Relu(), Dense(5), Relu(), Dense(1)))
LOGITS = {"small, logit": LayeredShape(SMALL.size_in, (*SMALL.layers[:-1], Dense(1))), "dense, logit": DENSE}


def build_module(shape: LayeredShape, flat: np.ndarray) -> nn.Sequential:
    """Return the network with the parameters `flat` (P,), in their precision."""
    modules: list[nn.Module] = []
    for place in shape.places:
        if isinstance(place.layer, Dense) and len(place.size) == 3:
            modules.append(nn.Flatten())
        module = _build(place)
        own = torch.tensor(flat[place.parameters])
        for parameter in module.parameters():
            parameter.data, own = own[: parameter.numel()].view(parameter.shape).clone(), own[parameter.numel() :]
        modules += [module, nn.Flatten()] if isinstance(place.layer, MeanPool) else [module]
    return nn.Sequential(*modules)


def _build(place: Place) -> nn.Module:
    layer, size = place.layer, place.size
    if isinstance(layer, Convolution):
        return nn.Conv2d(size[0], layer.channels, layer.side, layer.stride, layer.padding)
    if isinstance(layer, Dense):
        return nn.Linear(int(np.prod(size)), layer.units)
    if isinstance(layer, GroupNorm):
        return nn.GroupNorm(layer.groups, size[0])
    if isinstance(layer, MaxPool):
        return nn.MaxPool2d(layer.side, layer.stride)
    return nn.ReLU() if isinstance(layer, Relu) else nn.AdaptiveAvgPool2d(1)


def score(shape: LayeredShape, flat: np.ndarray, rows: np.ndarray) -> Tensor:
    """Return the scores (n, l) of `rows` (n, d)."""
    return build_module(shape, flat)(torch.tensor(rows).view(-1, *shape.size_in))


def start(shape: LayeredShape, models: int) -> np.ndarray:
    """Return parameters (K, P) float64, as training starts but for gains and offsets that are not 1 and 0."""
    flat = np.stack([shape.initial(seed) for seed in range(models)]).astype(np.float64)
    return flat + np.random.default_rng(1).normal(size=flat.shape) * 0.05
