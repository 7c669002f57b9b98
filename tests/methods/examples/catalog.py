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
from fairpriv_core.methods.base import Method, parameters
from tests.methods.examples import (
    certified,
    dp_sgd_family,
    fermi,
    first,
    one_release,
    record_fair,
    reductions,
    votes,
)
from tests.methods.harness import make_data, make_images

__all__ = ["CASES", "EXAMPLES", "Make", "labels_of", "on_images", "takes_images", "takes_modules", "trains_network"]
MODULES = ("block", "cnn")
_FAMILIES = (first, dp_sgd_family, record_fair, fermi, one_release, reductions, certified, votes)

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
            for network, on in zip(MODULES, (make_data, make), strict=True):
                yield Case(f"{name}-{network}", with_module(each[0], network), on, family, network)


CASES = tuple(list_cases())


def in_two_epochs(method: Any) -> Any:
    """Return `method` with as few epochs as show all that it does; one that has none stays."""
    return dataclasses.replace(method, epochs=2) if "epochs" in parameters(method) else method


def pair(cases: Iterable[Case]) -> Iterator[ParameterSet]:
    """Yield the cases, each with a notion: every example with its own network, every other network once a family.

    What a family protects tells its parts. One kernel runs all modules: parts take those in turn. All other pairs are
    long; notions are taken in turn.
    """
    families: dict[tuple[Any, ...], list[Case]] = defaultdict(list)
    modules: dict[tuple[Any, ...], dict[str, None]] = defaultdict(dict)
    for case in cases:
        part = (case.family, case.method.info.threat_model)
        families[*part, case.network].append(case)
        if case.network in MODULES:
            modules[part][case.network] = None
    chosen = {part: list(kinds)[turn % len(kinds)] for turn, (part, kinds) in enumerate(modules.items())}
    for place, ((*of, network), found) in enumerate(families.items()):
        for number, case in enumerate(found):
            known = list_notions(case.method, case.make)
            one = number == place % len(found) and (network not in MODULES or network == chosen[tuple(of)])
            for turn, notion in enumerate(known):
                marks = () if (network == "own" or one) and turn == (place + number) % len(known) else pytest.mark.long
                yield pytest.param(case, notion, id=f"{case.name}-{notion}", marks=marks)
