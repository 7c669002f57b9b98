"""Predicting with a trained model, in numpy: pages and commands predict without loading torch.

A model is a network's description (JSON) and flat parameters (P,). Its kinds:

* "mlp": what `NetworkShape.to_json` gives; the score is the probability of label 1.
* "layers": what `LayeredShape.to_json` gives; a probability for each of l labels.
* "module": what `ModuleShape.to_json` gives; a probability for each of l labels. The only kind that loads torch, and
  the package that its reference names.
* "mixture": `members` are networks, `weights` (m,) sum to 1, the parameters lie one after the other. The score is the
  mean of the members' scores; with `randomised`, of their decisions: the chance that a member drawn at random says 1.
* "joint": `base` gives the chances of k groups' two labels, code 2 group + label; the score is the share of those with
  positive `weights` (2k,) in the sum of all by their weights' sizes: 1 is decided where the weighted sum is above 0.
* "trees": boosted trees (`Trees.to_json`); the score is the probability of label 1.
* "corrected": `score` is a network, whose score is moved (engine/corrected.py); 1 is decided above one half.
* "thresholds": `score` is a network, `thresholds` (k,) what its score must exceed in each group; the score is moved by
  as much as makes that one half. It needs the group of every row.
* "derived": `base` is a network, `table` (k, 2) the chance of a 1 for each group and base decision (Hardt et al.,
  2016); the score is that chance. It needs the group of every row.

A randomised model decides by a public coin that follows from the encoded row alone (`decision_thresholds`): the same
row always gets the same decision, and over rows decisions are as frequent as the chances say. `evaluate` is what a
record says of the decisions on a data set.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from functools import reduce
from importlib import import_module
from typing import Any

import numpy as np

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.corrected import CORRECTED_KIND, count_correction, read_correction
from fairpriv_core.engine.layers import (
    LAYERED_KIND,
    Convolution,
    Dense,
    GroupNorm,
    Layer,
    LayeredShape,
    MaxPool,
    MeanPool,
    Place,
)
from fairpriv_core.engine.modules import MODULE_KIND
from fairpriv_core.engine.networks import MLP, NetworkShape, logits
from fairpriv_core.engine.trees import TREES_KIND, Trees, count_trees
from fairpriv_core.errors import BadInput
from fairpriv_core.notions.metrics import measure
from fairpriv_core.notions.rates import decide

_NUMBERS = 2**23  # that a chunk of rows may take at its largest layer
MIXTURE_KIND, JOINT_KIND, DERIVED_KIND, THRESHOLDS_KIND = "mixture", "joint", "derived", "thresholds"
_KINDS = (
    MLP,
    LAYERED_KIND,
    MODULE_KIND,
    TREES_KIND,
    CORRECTED_KIND,
    THRESHOLDS_KIND,
    MIXTURE_KIND,
    JOINT_KIND,
    DERIVED_KIND,
)
_OWN = "fairpriv_core.engine.torch.module_kernel"  # it needs torch, which takes seconds to load
THRESHOLD = 0.5  # of a model that is not randomised
_CHUNK = 16384


def predict_layers(shape: LayeredShape, parameters: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the chances (n, l) of the labels of `rows` (n, d), float64; BadInput for rows of another width."""
    if rows.shape[1] != shape.inputs:
        raise BadInput(f"the model takes {shape.inputs} encoded columns, got {rows.shape[1]}.")
    scores = np.empty((len(rows), shape.outputs))
    own = [_arrange(place, parameters[place.parameters]) for place in shape.places]
    chunk = max(_NUMBERS // max(_count_seen(place) for place in shape.places), 1)
    for start in range(0, len(rows), chunk):
        part = slice(start, start + chunk)
        scores[part] = _forward(shape, own, np.asarray(rows[part], dtype=np.float32))
    return _as_chances(scores)


def predict_module(network: Mapping[str, Any], parameters: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the chances (n, l) of the labels of `rows` (n, d), float64, by a person's own PyTorch module.

    BadInput for rows of another width, where the module is not installed, and where it is not the one it was.
    """
    wide = int(np.prod(network["size"]))
    if rows.shape[1] != wide:
        raise BadInput(f"the model takes {wide} encoded columns, got {rows.shape[1]}.")
    scores: np.ndarray = import_module(_OWN).score_module(network, parameters, rows)
    return _as_chances(scores)


def _as_chances(scores: np.ndarray) -> np.ndarray:
    """Return the chances (n, l) of the labels from outputs (n, 1) or (n, l), which are used up."""
    if scores.shape[1] == 1:
        positive = 0.5 * (1.0 + np.tanh(0.5 * scores))
        return np.concatenate([1.0 - positive, positive], axis=1)
    scores -= scores.max(axis=1, keepdims=True)
    probabilities: np.ndarray = np.exp(scores)
    probabilities /= probabilities.sum(axis=1, keepdims=True)
    return probabilities


def _arrange(place: Place, own: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return a layer's weights (in, out), a filter's as it sees the image: (height, width, channels); and biases."""
    outputs, inputs = place.layer.weights(place.size) or (0, 0)
    weights, biases = own[: outputs * inputs].reshape(outputs, inputs), own[outputs * inputs :]
    if isinstance(place.layer, Convolution):
        weights = weights.reshape(outputs, place.size[0], -1).transpose(0, 2, 1).reshape(outputs, inputs)
    return np.ascontiguousarray(weights.T), biases


def _forward(shape: LayeredShape, own: list[tuple[np.ndarray, np.ndarray]], rows: np.ndarray) -> np.ndarray:
    below = rows.reshape(-1, *shape.size_in)
    if below.ndim == 4:
        below = np.ascontiguousarray(below.transpose(0, 2, 3, 1))  # channels last: what a filter sees lies together
    for place, parameters in zip(shape.places, own, strict=True):
        below = _pass(place.layer, parameters, below)
    return below


def _pass(layer: Layer, own: tuple[np.ndarray, np.ndarray], below: np.ndarray) -> np.ndarray:
    """Return what a layer makes of `below`, (n, units) or (n, height, width, channels)."""
    weights, biases = own
    if isinstance(layer, Dense):
        flat = below.transpose(0, 3, 1, 2).reshape(len(below), -1) if below.ndim == 4 else below
        out: np.ndarray = flat @ weights + biases
    elif isinstance(layer, Convolution):
        out = _convolve(layer, below, weights, biases)
    elif isinstance(layer, GroupNorm):
        out = _normalise(layer, below, weights[0], biases)
    elif isinstance(layer, MaxPool):
        out = _largest(_largest(below, 1, layer), 2, layer)
    else:
        out = below.mean(axis=(1, 2)) if isinstance(layer, MeanPool) else np.maximum(below, 0.0)
    return out


def _convolve(layer: Convolution, below: np.ndarray, weights: np.ndarray, biases: np.ndarray) -> np.ndarray:
    side, around = layer.side, (layer.padding, layer.padding)
    padded = np.pad(below, ((0, 0), around, around, (0, 0))) if layer.padding else below
    windows = np.lib.stride_tricks.sliding_window_view(padded, (side, side), axis=(1, 2))
    seen = windows[:, :: layer.stride, :: layer.stride].transpose(0, 1, 2, 4, 5, 3)
    flat: np.ndarray = seen.reshape(-1, len(weights)) @ weights
    flat += biases
    return flat.reshape(*seen.shape[:3], -1)


def _normalise(layer: GroupNorm, below: np.ndarray, gains: np.ndarray, offsets: np.ndarray) -> np.ndarray:
    centred: np.ndarray = below - _by_group(below.mean(axis=(1, 2)), layer.groups)[:, None, None]
    places = below.shape[1] * below.shape[2]
    spread = _by_group(np.einsum("nhwc,nhwc->nc", centred, centred) / np.float32(places), layer.groups)
    centred *= (gains / np.sqrt(spread + np.float32(layer.SMALL)))[:, None, None]
    centred += offsets
    return centred


def _by_group(means: np.ndarray, groups: int) -> np.ndarray:
    """Return the mean over each group's channels, for every channel: (n, channels)."""
    each = means.shape[1] // groups
    return np.repeat(means.reshape(len(means), groups, each).mean(axis=2), each, axis=1)


def _largest(below: np.ndarray, axis: int, layer: MaxPool) -> np.ndarray:
    """Return the largest value of each window along one axis."""
    last = below.shape[axis] - layer.side
    along = (slice(None),) * axis
    places = [below[(*along, slice(place, place + last + 1, layer.stride))] for place in range(layer.side)]
    return reduce(np.maximum, places)


def _count_seen(place: Place) -> int:
    """Return how many numbers a layer takes of a record, windows written out."""
    sizes = place.layer.resize(place.size)
    side = place.layer.side if isinstance(place.layer, Convolution) else 1
    return int(np.prod(sizes[1:])) * side * side * place.size[0]


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
    return network["kind"] in (DERIVED_KIND, THRESHOLDS_KIND)


def count_parameters(network: Mapping[str, Any]) -> int:
    """Return how many parameters P the network has; BadInput for a kind that is not known."""
    if network["kind"] == MIXTURE_KIND:
        return sum(count_parameters(member) for member in network["members"])
    if network["kind"] in (JOINT_KIND, DERIVED_KIND):
        return count_parameters(network["base"])
    if network["kind"] == THRESHOLDS_KIND:
        return count_parameters(network["score"])
    if network["kind"] == LAYERED_KIND:
        return LayeredShape.from_json(network).size
    if network["kind"] == MODULE_KIND:
        return int(network["parameters"])
    if network["kind"] == TREES_KIND:
        return count_trees(network)
    if network["kind"] == CORRECTED_KIND:
        return count_parameters(network["score"]) + count_correction(network)
    return _read_mlp(network).size


def count_labels(network: Mapping[str, Any]) -> int:
    """Return how many labels l the network tells apart."""
    if network["kind"] == MIXTURE_KIND:
        return count_labels(network["members"][0])
    if network["kind"] == MODULE_KIND:
        return int(network["labels"])
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
    if network["kind"] == MODULE_KIND:
        return predict_module(network, parameters, rows)
    if network["kind"] == MIXTURE_KIND and network["members"][0]["kind"] in (LAYERED_KIND, MODULE_KIND):
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
    if network["kind"] == TREES_KIND:
        return Trees.read(network, parameters).score(rows)
    if network["kind"] == CORRECTED_KIND:
        own, after = np.split(parameters, [count_parameters(network["score"])])
        return read_correction(network, after).apply(_score(network["score"], own, rows, group), rows)
    if network["kind"] == JOINT_KIND:
        return _weigh(_scores(network["base"], parameters, rows, group), np.asarray(network["weights"]))
    if needs_group(network):
        return _score_by_group(network, parameters, rows, group)
    return _network_score(network, parameters, rows)


def _score_by_group(
    network: Mapping[str, Any], parameters: np.ndarray, rows: np.ndarray, group: np.ndarray | None
) -> np.ndarray:
    if group is None:
        raise BadInput("the model decides by group, so predicting needs the sensitive attribute of every row.")
    if network["kind"] == THRESHOLDS_KIND:
        score = _scores(network["score"], parameters, rows, group)[:, 1]
        thresholds = np.asarray(network["thresholds"], dtype=np.float64)[np.asarray(group)]
        moved: np.ndarray = np.clip(THRESHOLD + (score - thresholds), 0.0, 1.0)
        return moved
    base = _score(network["base"], parameters, rows, group)
    ones = base if is_randomised(network["base"]) else (base > THRESHOLD).astype(np.float64)
    table = np.asarray(network["table"], dtype=np.float64)[np.asarray(group)]
    chance: np.ndarray = (1.0 - ones) * table[:, 0] + ones * table[:, 1]  # one coin decides, not one a layer
    return chance


def _weigh(chances: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """Return the share (n,) of positive weights in sum_c |w_c| chance_c; one half where that is 0."""
    positive = chances @ weights.clip(min=0.0)
    total = positive + chances @ (-weights).clip(min=0.0)
    shares: np.ndarray = np.divide(positive, total, out=np.full_like(total, 0.5), where=total > 0)
    return shares


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
    shape = _read_mlp(network)
    if rows.shape[1] != shape.inputs:
        raise BadInput(f"the model takes {shape.inputs} encoded columns, got {rows.shape[1]}.")
    scores = logits(shape, parameters[None], np.asarray(rows, dtype=np.float32))[0].astype(np.float64)
    positive: np.ndarray = 0.5 * (1.0 + np.tanh(0.5 * scores))
    return positive


def _read_mlp(network: Mapping[str, Any]) -> NetworkShape:
    if network["kind"] != MLP:
        raise BadInput(f"network kind must be one of {', '.join(_KINDS)}, got '{network['kind']}'.")
    return NetworkShape.from_json(network)


def build_mixture(members: Sequence[np.ndarray], weights: np.ndarray) -> tuple[dict[str, Any], np.ndarray]:
    """Return (network, parameters) of the classifier that draws member j with chance weights_j for each row.

    `members` are parameters (d + 1,): the weights of d features, then the intercept. Members of weight 0 are left out.
    """
    drawn = np.flatnonzero(weights > 0)
    shares = weights[drawn] / weights[drawn].sum()
    network = {
        "kind": MIXTURE_KIND,
        "members": [NetworkShape(len(members[0]) - 1).to_json() for _ in drawn],
        "weights": shares.tolist(),
        "randomised": True,
    }
    return network, np.stack(members)[drawn].ravel().astype(np.float32)


def evaluate(network: Mapping[str, Any], parameters: np.ndarray, data: Dataset) -> dict[str, Any]:
    """Return the metrics (see `measure`) of a model on `data`: computed on raw protected data, for the analyst.

    Rows without a label or a group take no part.
    """
    data = data.without_nulls()
    score = predict_proba(network, parameters, data.X, data.group)
    thresholds = decision_thresholds(network, data.X)
    return measure(data.y, score, data.group, data.group_names, thresholds, label_names=data.label_names)


def decisions(network: Mapping[str, Any], parameters: np.ndarray, data: Dataset) -> np.ndarray:
    """Return the model's hard decisions (n,) on `data`, in 0..l-1."""
    score = predict_proba(network, parameters, data.X, data.group)
    return decide(score, decision_thresholds(network, data.X))
