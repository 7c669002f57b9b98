"""The networks that a method can be asked for by name, and what each is after."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from fairpriv_core.engine.layered import LAYERED_KIND, LayeredShape
from fairpriv_core.engine.layers import Convolution, Dense, GroupNorm, Layer, MaxPool, MeanPool, Relu
from fairpriv_core.engine.networks import NetworkShape
from fairpriv_core.errors import BadInput

MLP = "mlp"
_LEAST = {"cnn_small": 14, "vgg9": 16}  # pixels that a side must have
NETWORKS = (MLP, *_LEAST)
FOR_IMAGES = "cnn_small"  # where a person with images names none
_BLOCKS = ((32,), (64,), (128, 128), (256, 256))  # widths of the convolutions between the poolings of vgg9
_GROUPS, _UNITS = 8, 576

Image = tuple[int, int, int]
AnyShape = NetworkShape | LayeredShape


def build_network(
    name: str, image: Image | None, *, inputs: int, outputs: int, hidden_layers: int, width: int
) -> AnyShape:
    """Return the network `name` for rows of `inputs` values, images or not; `hidden_layers` and `width` are an mlp's.

    `outputs` is 1 for the logit of label 1, or the number of labels. BadInput where it does not fit the rows.
    """
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


def read_shape(network: Mapping[str, Any]) -> AnyShape:
    """Return the network that is stored with a trained model."""
    return (LayeredShape if network["kind"] == LAYERED_KIND else NetworkShape).from_json(network)
