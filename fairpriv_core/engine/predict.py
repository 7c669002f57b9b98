"""What every trained network can do, whatever its kind, and what is done with one, in numpy: free of torch.

A trained network is a description, JSON both ways, and flat parameters (P,). A kind is a frozen dataclass that keeps to
`Network`; predicting and reading stand with it: networks.py has "mlp", layers.py "layers", modules.py "module" (the
only one that loads torch, and the package that its reference names), trees.py "trees", corrected.py "corrected", and
models.py the rest.

A randomised network decides by a public coin that follows from the encoded row alone (`decision_thresholds`): the same
row always gets the same decision, and over rows decisions are as frequent as the chances say. `evaluate` is what a
record says of the decisions on a data set.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import fields
from typing import Any, ClassVar, Protocol, Self

import numpy as np

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.errors import BadInput
from fairpriv_core.notions.metrics import measure, measure_everybody
from fairpriv_core.notions.rates import TWO, decide
from fairpriv_core.plain import freeze

THRESHOLD = 0.5  # of a network that is not randomised
_CHUNK = 16384


class Network(Protocol):
    """A trained network without its parameters, of which it has `size`, P: from `inputs` columns to `labels` scores.

    `needs_group` says whether it decides by group, `is_randomised` whether its scores are chances of a 1 and not a
    confidence in it, `runs_code` whether scoring runs a person's own code.
    """

    @property
    def inputs(self) -> int: ...
    @property
    def labels(self) -> int: ...
    @property
    def size(self) -> int: ...
    @property
    def needs_group(self) -> bool: ...
    @property
    def is_randomised(self) -> bool: ...
    @property
    def runs_code(self) -> bool: ...
    def scores(self, parameters: np.ndarray, rows: np.ndarray, group: np.ndarray | None) -> np.ndarray:
        """Return the scores (n, l) of `rows` (n, d), float64, with `group` (n,) where it is needed."""

    def to_json(self) -> dict[str, Any]:
        """Return the description that is stored with the parameters."""


class Described:
    """Mixin of a dataclass that is stored field by field: of two labels, neither by group nor at random."""

    kind: ClassVar[str]
    holds: ClassVar[str] = ""  # the field with the networks that it is made of

    @property
    def labels(self) -> int:
        return TWO

    @property
    def needs_group(self) -> bool:
        return False

    @property
    def is_randomised(self) -> bool:
        return False

    @property
    def runs_code(self) -> bool:
        return False

    def to_json(self) -> dict[str, Any]:
        own: Any = self
        return {"kind": self.kind, **{field.name: _write(getattr(self, field.name)) for field in fields(own)}}

    @classmethod
    def from_json(cls, network: Mapping[str, Any]) -> Self:
        """Return what `to_json` described, its `holds` already read."""
        return cls(**{name: freeze(value) for name, value in network.items() if name != "kind"})


class Composed(Described):
    """Mixin of a network made of others, whose parameters lie one after the other."""

    @property
    def parts(self) -> tuple[Network, ...]:
        """The networks that it is made of."""
        members: Any = getattr(self, self.holds)
        return members if isinstance(members, tuple) else (members,)

    @property
    def inputs(self) -> int:
        return self.parts[0].inputs

    @property
    def size(self) -> int:
        return sum(part.size for part in self.parts)

    @property
    def needs_group(self) -> bool:
        return any(part.needs_group for part in self.parts)

    @property
    def runs_code(self) -> bool:
        return any(part.runs_code for part in self.parts)


class ByGroup(Composed):
    """Mixin of a network that decides by group."""

    @property
    def needs_group(self) -> bool:
        return True


def _write(value: Any) -> Any:
    if isinstance(value, tuple):
        written = {id(item): _write(item) for item in value}  # once, so that a pickle of many copies is small
        return [written[id(item)] for item in value]
    return value.to_json() if hasattr(value, "to_json") else value


def require_finite(shape: tuple[int, ...], **values: Any) -> None:
    """Raise BadInput unless each value is an array of this shape of finite numbers."""
    for name, value in values.items():
        numbers = np.asarray(value, dtype=np.float64)
        if numbers.shape != shape or not np.isfinite(numbers).all():
            raise BadInput(f"{name} of the model must be {' x '.join(map(str, shape))} finite numbers.")


def predict_proba(
    network: Network, parameters: np.ndarray, rows: np.ndarray, group: np.ndarray | None = None
) -> np.ndarray:
    """Return the scores (n, l) of the labels for encoded `rows` (n, d), float64; of two, column 1 is the positive one.

    `group` (n,) holds group indices for a network that needs them. Raises BadInput for another number of parameters,
    for rows of another width, and where groups are needed and none are given.
    """
    if len(parameters) != network.size:
        raise BadInput(f"the model needs {network.size} parameters, got {len(parameters)}.")
    if rows.shape[1] != network.inputs:
        raise BadInput(f"the model takes {network.inputs} encoded columns, got {rows.shape[1]}.")
    if group is None and network.needs_group:
        raise BadInput("the model decides by group, so predicting needs the sensitive attribute of every row.")
    members = None if group is None else np.asarray(group)
    scores = np.empty((len(rows), network.labels))
    for part in _chunks(len(rows)):
        scores[part] = network.scores(parameters, rows[part], None if members is None else members[part])
    return scores


def to_chance(logits: np.ndarray) -> np.ndarray:
    """Return the chances that belong to logits."""
    chance: np.ndarray = 0.5 * (1.0 + np.tanh(0.5 * logits))
    return chance


def as_both(positive: np.ndarray) -> np.ndarray:
    """Return the scores (n, 2) of both labels from those of the positive one (n,)."""
    return np.stack([1.0 - positive, positive], axis=1)


def as_chances(outputs: np.ndarray) -> np.ndarray:
    """Return the chances (n, l) of the labels from outputs (n, 1) or (n, l), which are used up."""
    if outputs.shape[1] == 1:
        return as_both(to_chance(outputs[:, 0]))
    outputs -= outputs.max(axis=1, keepdims=True)
    probabilities: np.ndarray = np.exp(outputs)
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    return probabilities


def decision_thresholds(network: Network, rows: np.ndarray) -> float | np.ndarray:
    """Return what a score must exceed for the decision 1: 0.5, or coins (n,) in [0, 1) for a randomised network."""
    return toss_coins(rows) if network.is_randomised else THRESHOLD


def toss_coins(rows: np.ndarray) -> np.ndarray:
    """Return a number in [0, 1) for each row (n, d), fixed by the row's float32 bytes: equal rows, equal coins."""
    coins = np.empty(len(rows))
    for part in _chunks(len(rows)):
        coins[part] = _toss(rows[part])
    return coins


def _toss(rows: np.ndarray) -> np.ndarray:
    words = np.ascontiguousarray(np.asarray(rows, dtype=np.float32) + 0.0).view(np.uint32).astype(np.uint64)
    factors = np.frombuffer(hashlib.shake_128(b"fairpriv coins").digest(8 * words.shape[1]), dtype="<u8") | np.uint64(1)
    mixed = (words * factors).sum(axis=1, dtype=np.uint64)
    for shift, factor in ((30, 0xBF58476D1CE4E5B9), (27, 0x94D049BB133111EB)):  # splitmix64 (Steele et al., 2014)
        mixed = (mixed ^ (mixed >> np.uint64(shift))) * np.uint64(factor)
    coins: np.ndarray = ((mixed ^ (mixed >> np.uint64(31))) >> np.uint64(11)).astype(np.float64) * 2.0**-53
    return coins


def _chunks(rows: int) -> list[slice]:
    return [slice(start, start + _CHUNK) for start in range(0, rows, _CHUNK)]


def evaluate(network: Network, parameters: np.ndarray, data: Dataset) -> dict[str, Any]:
    """Return the metrics (see `measure`) of a model on `data`: computed on raw protected data, for the analyst.

    Rows without a label or a group take no part. Of data with randomised answers nothing is said of groups.
    """
    data = data.without_nulls()
    score = predict_proba(network, parameters, data.X, data.group)
    thresholds = decision_thresholds(network, data.X)
    if data.answered is not None:
        return measure_everybody(data.y, score, thresholds, label_names=data.label_names)
    return measure(data.y, score, data.group, data.group_names, thresholds, label_names=data.label_names)


def decisions(network: Network, parameters: np.ndarray, data: Dataset) -> np.ndarray:
    """Return the model's hard decisions (n,) on `data`, in 0..l-1."""
    score = predict_proba(network, parameters, data.X, data.group)
    return decide(score, decision_thresholds(network, data.X))
