"""Predicting with a trained model, in numpy: pages and commands predict without loading torch.

A model is a network's description (JSON) and flat parameters (P,). Its kinds:

* "mlp": what `NetworkShape.to_json` gives; the score is the probability of label 1.
* "layers": what `LayeredShape.to_json` gives; a probability for each of l labels.
* "mixture": `members` are networks, `weights` (m,) sum to 1, the parameters lie one after the other. The score is the
  mean of the members' scores; with `randomised`, of their decisions: the chance that a member drawn at random says 1.
* "derived": `base` is a network, `table` (k, 2) the chance of a 1 for each group and base decision (Hardt et al.,
  2016); the score is that chance. It needs the group of every row.

A randomised model decides by a public coin that follows from the encoded row alone (`decision_thresholds`): the same
row always gets the same decision, and over rows decisions are as frequent as the chances say.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from fairpriv_core.engine.layered import LAYERED_KIND, LayeredShape
from fairpriv_core.engine.layered_predict import predict_layers
from fairpriv_core.errors import BadInput

NETWORK_KIND, MIXTURE_KIND, DERIVED_KIND = "mlp", "mixture", "derived"
_KINDS = (NETWORK_KIND, LAYERED_KIND, MIXTURE_KIND, DERIVED_KIND)
THRESHOLD = 0.5  # of a model that is not randomised
_CHUNK = 16384


def predict_proba(
    network: Mapping[str, Any], parameters: np.ndarray, rows: np.ndarray, group: np.ndarray | None = None
) -> np.ndarray:
    """Return the scores (n, l) of the labels for encoded `rows` (n, d), float64; of two, column 1 is the positive one.

    `group` (n,) holds group indices for a model that needs them. Raises BadInput for a kind of network that is not
    known, for rows of another width, and for a model that needs groups where none are given.
    """
    members = None if group is None else np.asarray(group)
    scores = np.empty((len(rows), count_labels(network)))
    for part in _chunks(len(rows)):
        scores[part] = _scores(network, parameters, rows[part], None if members is None else members[part])
    return scores


def decision_thresholds(network: Mapping[str, Any], rows: np.ndarray) -> float | np.ndarray:
    """Return what a score must exceed for the decision 1: 0.5, or coins (n,) in [0, 1) for a randomised model."""
    return toss_coins(rows) if is_randomised(network) else THRESHOLD


def is_randomised(network: Mapping[str, Any]) -> bool:
    """Return whether the model's scores are chances of a 1 and not a confidence in it."""
    return bool(network["kind"] == DERIVED_KIND or (network["kind"] == MIXTURE_KIND and network["randomised"]))


def needs_group(network: Mapping[str, Any]) -> bool:
    """Return whether the model decides by group."""
    return bool(network["kind"] == DERIVED_KIND)


def count_parameters(network: Mapping[str, Any]) -> int:
    """Return how many parameters P the network has; BadInput for a kind that is not known."""
    if network["kind"] == MIXTURE_KIND:
        return sum(count_parameters(member) for member in network["members"])
    if network["kind"] == DERIVED_KIND:
        return count_parameters(network["base"])
    if network["kind"] == LAYERED_KIND:
        return LayeredShape.from_json(network).size
    return sum(units * (columns + 1) for columns, units in pairwise(_sizes(network)))


def count_labels(network: Mapping[str, Any]) -> int:
    """Return how many labels l the network tells apart."""
    if network["kind"] == MIXTURE_KIND:
        return count_labels(network["members"][0])
    return LayeredShape.from_json(network).labels if network["kind"] == LAYERED_KIND else 2


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
    """Return where each chunk of rows lies; one that is empty where there are no rows, so that they are checked too."""
    return [slice(start, start + _CHUNK) for start in range(0, max(rows, 1), _CHUNK)]


def _scores(
    network: Mapping[str, Any], parameters: np.ndarray, rows: np.ndarray, group: np.ndarray | None
) -> np.ndarray:
    """Return the scores (n, l) of a chunk of rows."""
    if network["kind"] == LAYERED_KIND:
        return predict_layers(LayeredShape.from_json(network), parameters, rows)
    if network["kind"] == MIXTURE_KIND and network["members"][0]["kind"] == LAYERED_KIND:
        each = parameters.reshape(len(network["members"]), -1)  # copies of one network, whose scores are averaged
        parts = zip(network["members"], network["weights"], each, strict=True)
        mean: np.ndarray = np.sum([w * _scores(member, own, rows, group) for member, w, own in parts], axis=0)
        return mean
    positive = _score(network, parameters, rows, group)
    return np.stack([1.0 - positive, positive], axis=1)


def _score(
    network: Mapping[str, Any], parameters: np.ndarray, rows: np.ndarray, group: np.ndarray | None
) -> np.ndarray:
    if network["kind"] == MIXTURE_KIND:
        return _mixed(network, parameters, rows, group)
    if network["kind"] == DERIVED_KIND:
        if group is None:
            raise BadInput("the model decides by group, so predicting needs the sensitive attribute of every row.")
        base = _score(network["base"], parameters, rows, group)
        ones = base if is_randomised(network["base"]) else (base > THRESHOLD).astype(np.float64)
        table = np.asarray(network["table"], dtype=np.float64)[np.asarray(group)]
        chance: np.ndarray = (1.0 - ones) * table[:, 0] + ones * table[:, 1]  # one coin decides, not one a layer
        return chance
    return _network_score(network, parameters, rows)


def _mixed(
    network: Mapping[str, Any], parameters: np.ndarray, rows: np.ndarray, group: np.ndarray | None
) -> np.ndarray:
    total, start = np.zeros(len(rows)), 0
    for member, weight in zip(network["members"], network["weights"], strict=True):
        size = count_parameters(member)
        score = _score(member, parameters[start : start + size], rows, group)
        start += size
        total += weight * (score > decision_thresholds(member, rows) if network["randomised"] else score)
    return np.minimum(total, 1.0)


def _network_score(network: Mapping[str, Any], parameters: np.ndarray, rows: np.ndarray) -> np.ndarray:
    sizes = _sizes(network)
    if rows.shape[1] != network["inputs"]:
        raise BadInput(f"the model takes {network['inputs']} encoded columns, got {rows.shape[1]}.")
    layers = _layers(sizes, parameters)
    positive: np.ndarray = 0.5 * (1.0 + np.tanh(0.5 * _logits(layers, rows)))
    return positive


def _sizes(network: Mapping[str, Any]) -> list[int]:
    if network["kind"] != NETWORK_KIND:
        raise BadInput(f"network kind must be one of {', '.join(_KINDS)}, got '{network['kind']}'.")
    return [network["inputs"], *[network["width"]] * network["hidden_layers"], 1]


def _layers(sizes: list[int], parameters: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    layers, start = [], 0
    for columns, units in pairwise(sizes):
        weights = parameters[start : start + units * columns].reshape(units, columns)
        start += units * columns
        layers.append((weights, parameters[start : start + units]))
        start += units
    return layers


def _logits(layers: list[tuple[np.ndarray, np.ndarray]], rows: np.ndarray) -> np.ndarray:
    hidden = np.asarray(rows, dtype=np.float32)
    for weights, biases in layers[:-1]:
        hidden = np.maximum(hidden @ weights.T + biases, 0.0)
    weights, biases = layers[-1]
    return np.asarray(hidden @ weights.T + biases, dtype=np.float64)[:, 0]
