"""An example of every method in the catalogue; a method without one fails the contract tests. Small and quick.

`CASES` has each with data for every kind of network that its method announces; `pair` chooses among them.
"""

from __future__ import annotations

import dataclasses
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import pytest
from _pytest.mark import ParameterSet

from fairpriv_core.audit.contract import list_notions
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

__all__ = ["CASES", "EXAMPLES", "Make", "labels_of", "on_images", "takes_images", "takes_modules", "trains_network"]
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


@dataclass(frozen=True)
class Case:
    """An example on data, with the network that goes with them: "own" on a table, else what stands for the network."""

    name: str
    method: Method
    make: Make
    family: str
    network: str

    @property
    def proved(self) -> bool:
        """Whether something is protected, and proved to be."""
        return self.method.info.threat_model is not None and self.method.unproved_reason() is None


def list_cases() -> Iterator[Case]:
    """Yield each example on all that its method is tried on, and with modules where it takes them."""
    for name, each in EXAMPLES.items():
        family = next(one.__name__ for one in _FAMILIES if name in one.EXAMPLES)
        for trial in list_trials(name, each):
            network = next((kind for kind in ("images", "three-labels") if kind in trial.name), "own")
            yield Case(trial.name, trial.method, trial.make, family, network)
        if takes_modules(each[0]):
            make: Make = partial(make_images, labels=labels_of(each[0]))
            yield Case(f"{name}-block", with_module(each[0], "block"), make_data, family, "block")
            yield Case(f"{name}-cnn", with_module(each[0], "cnn"), make, family, "cnn")


CASES = tuple(list_cases())


def pair(cases: Iterable[Case]) -> Iterator[ParameterSet]:
    """Yield the cases, each with a notion: every example with its own network, every other network once a family.

    What a family protects tells its parts. All other pairs are long; notions are taken in turn.
    """
    families: dict[tuple[Any, ...], list[Case]] = defaultdict(list)
    for case in cases:
        families[case.network, case.family, case.method.info.threat_model].append(case)
    for place, found in enumerate(families.values()):
        for number, case in enumerate(found):
            known = list_notions(case.method, case.make)
            first = case.network == "own" or number == place % len(found)
            for turn, notion in enumerate(known):
                marks = () if first and turn == (place + number) % len(known) else pytest.mark.long
                yield pytest.param(case, notion, id=f"{case.name}-{notion}", marks=marks)


def cases() -> Iterator[ParameterSet]:
    """Yield (method, make) of each case."""
    yield from (pytest.param(case.method, case.make, id=case.name) for case in CASES)
