"""An example of every method in the catalogue; a method without one fails the contract tests. Small and quick.

`cases` pairs each with data for every kind of network that the method announces.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from functools import partial
from typing import Any

import pytest
from _pytest.mark import ParameterSet

from fairpriv_core.audit.trials import (
    Make,
    labels_of,
    list_layers,
    list_trials,
    on_images,
    takes_images,
    trains_network,
    with_large_batches,
)
from fairpriv_core.methods.base import Method
from tests.methods.examples import certified, dp_sgd_family, fermi, first, one_release, record_fair, reductions
from tests.methods.harness import make_data, make_images

__all__ = ["EXAMPLES", "Make", "cases", "labels_of", "on_images", "takes_images", "takes_modules", "trains_network"]
_FAMILIES = (first, dp_sgd_family, record_fair, fermi, one_release, reductions, certified)

EXAMPLES: dict[str, tuple[Method, ...]] = {
    name: examples for family in _FAMILIES for name, examples in family.EXAMPLES.items()
}


def with_module(method: Any, network: str) -> Any:
    """Return `method` with a PyTorch module of `tests.modules`."""
    return dataclasses.replace(with_large_batches(method), network=f"tests.modules:{network}", **list_layers(method))


def takes_modules(method: Method) -> bool:
    """Return whether a method trains modules: one that certifies knows the layers that it certifies."""
    return takes_images(method) and trains_network(method) and not method.info.certifies


def cases() -> Iterator[ParameterSet]:
    """Yield (method, make): each example on all that its method is tried on, and with modules where it takes them."""
    for name, each in EXAMPLES.items():
        yield from (pytest.param(trial.method, trial.make, id=trial.name) for trial in list_trials(name, each))
        if takes_modules(each[0]):
            make: Make = partial(make_images, labels=labels_of(each[0]))
            yield pytest.param(with_module(each[0], "block"), make_data, id=f"{name}-block")
            yield pytest.param(with_module(each[0], "cnn"), make, id=f"{name}-cnn")
