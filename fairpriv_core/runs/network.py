"""Which network a run trains: where rows are images a convolutional one, unless another is named. Free of torch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from fairpriv_core.data.catalog import problems
from fairpriv_core.data.dataset import Dataset
from fairpriv_core.data.problem import DataSpec
from fairpriv_core.engine.presets import FOR_IMAGES, MLP, AnyShape, build_network
from fairpriv_core.errors import BadInput
from fairpriv_core.methods.base import Method, parameters
from fairpriv_core.methods.fields import count_outputs, network_of

OF_MLP = ("hidden_layers", "width")  # what a network of another kind has no use for


def has_images(data: DataSpec) -> bool:
    """Return whether the rows of `data` are images."""
    problem = problems().get(data.dataset or "")
    return data.image is not None or (problem is not None and problem.image is not None)


def choose_network(method: Method, raw: Any, data: DataSpec) -> Method:
    """Return the method with the network that suits `data`, where `raw` (see `read_method`) names none.

    BadInput where settings of an mlp come with a network that has layers of its own.
    """
    named = raw if isinstance(raw, Mapping) else {}
    chosen: Any = method
    if has_images(data) and "network" in parameters(method) and named.get("network") is None:
        chosen = replace(chosen, network=FOR_IMAGES)
    network = network_of(chosen)
    for name, (_, field) in parameters(method).items():
        if network != MLP and name in OF_MLP and getattr(method, name) != field.default:
            raise BadInput(
                f"{name} is of network {MLP}, and {network} has layers of its own: leave it out, or set network={MLP}.",
                field="network",
            )
    found: Method = chosen
    return found


def state_network(method: Method, data: DataSpec) -> dict[str, str]:
    """Return {"network": …} where rows are images: it is always said then, though `method_to_json` may not."""
    return {"network": network_of(method)} if has_images(data) and "network" in parameters(method) else {}


def build_shape(method: Method, data: Dataset) -> AnyShape:
    """Return the network that `method` trains on `data`, which may be without `X`; BadInput where it does not fit."""
    size = {name: int(getattr(method, name, 0)) or low for name, low in zip(OF_MLP, (0, 1), strict=True)}
    outputs = count_outputs(method.info, data.labels)
    return build_network(network_of(method), data.image, inputs=data.features, outputs=outputs, **size)
