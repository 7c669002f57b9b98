"""An example of every method in the catalogue; a method without one fails the contract tests. Small and quick.

`cases` pairs each with data for every kind of network that the method announces.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest
from _pytest.mark import ParameterSet

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.methods.base import Method, parameters
from tests.methods.examples import certified, dp_sgd_family, fermi, first, one_release, record_fair, reductions
from tests.methods.harness import make_data, make_images, make_three

_FAMILIES = (first, dp_sgd_family, record_fair, fermi, one_release, reductions, certified)

EXAMPLES: dict[str, tuple[Method, ...]] = {
    name: examples for family in _FAMILIES for name, examples in family.EXAMPLES.items()
}
Make = Callable[..., Dataset]  # takes n, groups and seed


def takes_images(method: Method | type[Method]) -> bool:
    """Return whether a method has networks for images."""
    return "network" in parameters(method)


def trains_network(method: Method) -> bool:
    """Return whether a method trains a network, in batches; a learner of another kind knows tables alone."""
    return getattr(method, "learner", "network") == "network"


def on_images(method: Any) -> Any:
    """Return `method` with a convolutional network."""
    fixed = {name: parameters(method)[name][1].default for name in ("hidden_layers", "width")}
    return dataclasses.replace(_with_large_batches(method), network="cnn_small", **fixed)


def with_module(method: Any, network: str) -> Any:
    """Return `method` with a PyTorch module of `tests.modules`."""
    fixed = {name: parameters(method)[name][1].default for name in ("hidden_layers", "width")}
    return dataclasses.replace(_with_large_batches(method), network=f"tests.modules:{network}", **fixed)


def takes_modules(method: Method) -> bool:
    """Return whether a method trains modules: one that certifies knows the layers that it certifies."""
    return takes_images(method) and trains_network(method) and not method.info.certifies


def labels_of(method: Method | type[Method]) -> int:
    """Return how many labels the method's images have: three where it tells more than two apart."""
    return 3 if method.info.max_labels is None else 2


def cases() -> Iterator[ParameterSet]:
    """Yield (method, make): each example on a table, on images and on three labels, where its method takes them."""
    for name, each in EXAMPLES.items():
        yield from (pytest.param(method, make_data, id=f"{name}-{i}") for i, method in enumerate(each))
        if takes_images(each[0]):
            make: Make = partial(make_images, labels=labels_of(each[0]))
            convolved = dict.fromkeys(on_images(method) for method in each if trains_network(method))
            yield from (pytest.param(method, make, id=f"{name}-images-{i}") for i, method in enumerate(convolved))
        if takes_modules(each[0]):
            yield pytest.param(with_module(each[0], "block"), make_data, id=f"{name}-block")
            yield pytest.param(with_module(each[0], "cnn"), make, id=f"{name}-cnn")
        if each[0].info.max_labels is None:
            deep = dataclasses.replace(_with_large_batches(each[0]), hidden_layers=2, width=6)
            yield pytest.param(deep, make_three, id=f"{name}-three-labels")


def _with_large_batches(method: Any) -> Any:
    """Return `method` with few steps an epoch, as a step through layers takes its time."""
    return dataclasses.replace(method, batch_size=60) if "batch_size" in parameters(method) else method
