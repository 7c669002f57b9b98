"""Networks made of networks, and `read_network`, which reads a stored one of any kind."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from fairpriv_core import checks
from fairpriv_core.engine.corrected import Corrected
from fairpriv_core.engine.layers import LayeredShape
from fairpriv_core.engine.modules import ModuleShape
from fairpriv_core.engine.networks import NetworkShape
from fairpriv_core.engine.predict import (
    THRESHOLD,
    ByGroup,
    Composed,
    Network,
    as_both,
    decision_thresholds,
    require_finite,
)
from fairpriv_core.engine.trees import TreesShape
from fairpriv_core.errors import BadInput
from fairpriv_core.notions.rates import TWO

_DEEPEST = 8  # networks inside each other
_ROUNDING = 1e-6


@dataclass(frozen=True)
class Mixture(Composed):
    """Several networks, whose parameters lie one after the other; `weights` (m,) sum to 1.

    The score is the mean of the members' scores; with `randomised`, of their decisions: the chance that a member drawn
    at random says 1.
    """

    kind, holds = "mixture", "members"
    members: tuple[Network, ...]
    weights: tuple[float, ...]
    randomised: bool

    def __post_init__(self) -> None:
        alike = {(member.inputs, member.labels) for member in self.members}
        if len(alike) != 1 or (self.randomised and self.labels > TWO):
            raise BadInput("a mixture needs members for the same columns and labels, two where it is randomised.")
        require_finite((len(self.members),), weights=self.weights)
        if min(self.weights) < 0.0 or abs(sum(self.weights) - 1.0) > _ROUNDING:
            raise BadInput(f"weights of a mixture must be at least 0 and sum to 1, got {sum(self.weights):g}.")

    @property
    def labels(self) -> int:
        return self.members[0].labels

    @property
    def is_randomised(self) -> bool:
        return self.randomised

    def split(self, parameters: np.ndarray) -> list[np.ndarray]:
        """Return each member's parameters."""
        return np.split(parameters, np.cumsum([member.size for member in self.members[:-1]]))

    def scores(self, parameters: np.ndarray, rows: np.ndarray, group: np.ndarray | None) -> np.ndarray:
        total = np.zeros((len(rows), self.labels))
        for member, weight, own in zip(self.members, self.weights, self.split(parameters), strict=True):
            scores = member.scores(own, rows, group)
            total += weight * (scores > np.c_[decision_thresholds(member, rows)] if self.randomised else scores)
        return as_both(np.minimum(total[:, 1], 1.0)) if self.labels == TWO else total


@dataclass(frozen=True)
class Joint(Composed):
    """`base` gives the chances of k groups' two labels, code 2 group + label; `weights` (2k,) decide.

    The score is the share of those with positive weights in the sum of all by their weights' sizes: 1 is decided where
    the weighted sum is above 0.
    """

    kind, holds = "joint", "base"
    base: Network
    weights: tuple[float, ...]

    def __post_init__(self) -> None:
        require_finite((self.base.labels,), weights=self.weights)

    def scores(self, parameters: np.ndarray, rows: np.ndarray, group: np.ndarray | None) -> np.ndarray:
        chances, weights = self.base.scores(parameters, rows, group), np.array(self.weights)
        positive = chances @ weights.clip(min=0.0)
        total = positive + chances @ (-weights).clip(min=0.0)
        return as_both(np.divide(positive, total, out=np.full_like(total, 0.5), where=total > 0))


@dataclass(frozen=True)
class Thresholds(ByGroup):
    """`thresholds` (k,) are what the score must exceed in each group; it is moved by as much as makes that one half."""

    kind, holds = "thresholds", "score"
    score: Network
    thresholds: tuple[float, ...]

    def __post_init__(self) -> None:
        require_finite((len(self.thresholds),), thresholds=self.thresholds)

    def scores(self, parameters: np.ndarray, rows: np.ndarray, group: np.ndarray | None) -> np.ndarray:
        score = self.score.scores(parameters, rows, group)[:, 1]
        return as_both(np.clip(THRESHOLD + (score - np.array(self.thresholds)[group]), 0.0, 1.0))


@dataclass(frozen=True)
class Priced(ByGroup):
    """`prices` (k, l) are taken off the labels' chances by group: the label with most left has the largest score."""

    kind, holds = "priced", "base"
    base: Network
    prices: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        require_finite((len(self.prices), self.labels), prices=self.prices)

    @property
    def labels(self) -> int:
        return self.base.labels

    def scores(self, parameters: np.ndarray, rows: np.ndarray, group: np.ndarray | None) -> np.ndarray:
        return take_off(self.base.scores(parameters, rows, group), np.array(self.prices)[group])


def take_off(chances: np.ndarray, prices: np.ndarray) -> np.ndarray:
    """Return chances (n, l) less prices (n, l), moved and scaled as rows so that they are chances again."""
    left = prices.max(axis=1, keepdims=True) - prices
    chances_left: np.ndarray = (chances + left) / (1.0 + left.sum(axis=1, keepdims=True))
    return chances_left


@dataclass(frozen=True)
class Derived(ByGroup):
    """`table` (k, 2) has the chance of a 1 for each group and base decision (Hardt et al., 2016): that is the score."""

    kind, holds = "derived", "base"
    base: Network
    table: tuple[tuple[float, float], ...]

    def __post_init__(self) -> None:
        require_finite((len(self.table), 2), table=self.table)

    @property
    def is_randomised(self) -> bool:
        return True

    def scores(self, parameters: np.ndarray, rows: np.ndarray, group: np.ndarray | None) -> np.ndarray:
        score = self.base.scores(parameters, rows, group)[:, 1]
        ones = score if self.base.is_randomised else (score > THRESHOLD).astype(np.float64)
        table = np.array(self.table)[group]
        return as_both((1.0 - ones) * table[:, 0] + ones * table[:, 1])  # one coin decides, not one a layer


def mix(members: Sequence[np.ndarray], weights: np.ndarray) -> tuple[Mixture, np.ndarray]:
    """Return (network, parameters) of the classifier that draws member j with chance weights_j for each row.

    `members` are parameters (d + 1,): the weights of d features, then the intercept. Members of weight 0 are left out.
    """
    places = np.flatnonzero(weights > 0)
    shares = weights[places] / weights[places].sum()
    rules = tuple(NetworkShape(len(members[0]) - 1) for _ in places)
    network = Mixture(rules, tuple(shares.tolist()), randomised=True)
    return network, np.stack(members)[places].ravel().astype(np.float32)


_KINDS: Mapping[str, Any] = {
    each.kind: each
    for each in (
        *(NetworkShape, LayeredShape, ModuleShape, TreesShape),
        *(Corrected, Thresholds, Mixture, Joint, Priced, Derived),
    )
}


def read_network(network: Mapping[str, Any], *, depth: int = 0) -> Network:
    """Return the network that `to_json` described; BadInput, in a sentence, for what describes none.

    `depth` is how many networks this one is in.
    """
    if depth > _DEEPEST:
        raise BadInput(f"a network holds at most {_DEEPEST} others inside each other.")
    try:
        own = dict(network)
        checks.one_of(_KINDS, **{"network kind": own["kind"]})
        kind = _KINDS[own["kind"]]
        if kind.holds:
            parts = own[kind.holds]
            is_list = isinstance(parts, list)
            networks = tuple(read_network(member, depth=depth + 1) for member in (parts if is_list else [parts]))
            own[kind.holds] = networks if is_list else networks[0]
        built: Network = kind.from_json(own)
        checks.whole(low=1, inputs=built.inputs, parameters=built.size)
    except (KeyError, TypeError, ValueError, AttributeError, ArithmeticError, RecursionError) as error:
        raise BadInput(f"the description of the model cannot be read: {type(error).__name__}: {error}.") from error
    return built
