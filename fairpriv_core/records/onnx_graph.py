"""A trained model as an ONNX graph, written node by node: it decides as `engine/predict.py` does.

Its input `features` (n, d) float32 are encoded columns; their names, and the encoder that makes them of a table's, are
among the file's metadata. A model that decides by group has a second input, `group` (n,) int64. Outputs are `scores`
(n, l) float64 and `decision` (n,) int64, the place of a label. Networks multiply in float32 and all that follows is
float64, as here. A randomised model is refused: its coin is of the row's bytes, which ONNX does not see.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module, metadata
from importlib.util import find_spec
from typing import Any

import numpy as np

from fairpriv_core.engine.clipping import MARGIN
from fairpriv_core.engine.corrected import CORRECTED_KIND, SCORE_WEIGHT, read_correction
from fairpriv_core.engine.layers import (
    LAYERED_KIND,
    Convolution,
    Dense,
    GroupNorm,
    LayeredShape,
    MaxPool,
    MeanPool,
    Place,
)
from fairpriv_core.engine.modules import MODULE_KIND
from fairpriv_core.engine.networks import NetworkShape
from fairpriv_core.engine.predict import (
    JOINT_KIND,
    MIXTURE_KIND,
    THRESHOLD,
    THRESHOLDS_KIND,
    count_labels,
    count_parameters,
    is_randomised,
    needs_group,
)
from fairpriv_core.engine.trees import TREES_KIND, Trees
from fairpriv_core.errors import BadInput
from fairpriv_core.notions.rates import TWO
from fairpriv_core.records.model import Model

NO_ONNX = "an ONNX file needs onnx, which is not installed: pip install 'fairpriv[onnx]'."
_OWN = "fairpriv_core.engine.torch.onnx_export"  # it needs torch, which takes seconds to load
_OPSET, _TREES_OPSET, _VERSION = 17, 3, 9
_TREES_DOMAIN = "ai.onnx.ml"
FEATURES, GROUP, SCORES, DECISION = "features", "group", "scores", "decision"


@dataclass(frozen=True)
class Node:
    """One operation: its inputs by name, and its one output."""

    kind: str
    inputs: tuple[str, ...]
    output: str
    domain: str
    settings: Mapping[str, Any]


@dataclass
class Graph:
    """Operations and constants in the order in which they were written."""

    nodes: list[Node] = field(default_factory=list)
    constants: dict[str, np.ndarray] = field(default_factory=dict)

    def add(self, kind: str, *inputs: str, domain: str = "", output: str | None = None, **settings: Any) -> str:
        """Add an operation; return the name of its output."""
        name = output or f"{kind.lower()} {len(self.nodes)}"
        self.nodes.append(Node(kind, inputs, name, domain, settings))
        return name

    def keep(self, values: Any, kind: Any = np.float64) -> str:
        """Add a constant; return its name."""
        name = f"constant {len(self.constants)}"
        self.constants[name] = np.asarray(values, dtype=kind)
        return name

    def cast(self, name: str, kind: str) -> str:
        """Return the name of a value as another type of number, such as "DOUBLE"."""
        return self.add("Cast", name, to=kind)


def write_onnx(model: Model, about: Mapping[str, str]) -> bytes:
    """Return the model as an ONNX file; `about` joins its metadata.

    Raises:
        BadInput: onnx is not installed, the model is randomised, or PyTorch cannot write a person's own module.
    """
    if find_spec("onnx") is None:
        raise BadInput(NO_ONNX, field="format")
    if is_randomised(model.network):
        raise BadInput(
            "the model decides by a coin that follows from the row's bytes, which ONNX cannot toss: take the model's "
            "own files and fairpriv predict.",
            field="format",
        )
    if model.network["kind"] == MODULE_KIND:
        exported: bytes = import_module(_OWN).export_module(
            model.network, model.parameters, names=(FEATURES, SCORES, DECISION), threshold=THRESHOLD, opset=_OPSET
        )
        return _finish(_read(exported), model, about)
    graph = Graph()
    features = graph.add("Identity", FEATURES)
    scores = _scores(graph, model.network, model.parameters, features)
    graph.add("Identity", scores, output=SCORES)
    _decide(graph, count_labels(model.network))
    return _serialise(graph, model, about)


def _decide(graph: Graph, labels: int) -> None:
    if labels > TWO:
        graph.add("ArgMax", SCORES, axis=1, keepdims=0, output=DECISION)
        return
    positive = graph.add("Gather", SCORES, graph.keep(1, np.int64), axis=1)
    above = graph.add("Greater", positive, graph.keep(THRESHOLD))
    graph.add("Cast", above, to="INT64", output=DECISION)


def _scores(graph: Graph, network: Mapping[str, Any], parameters: np.ndarray, rows: str) -> str:
    """Return the name of the scores (n, l) of the labels."""
    if network["kind"] == MODULE_KIND:
        raise BadInput("a mean of several PyTorch modules is not written as ONNX: take its own files.", field="format")
    if network["kind"] == LAYERED_KIND:
        return _score_layers(graph, LayeredShape.from_json(network), parameters, rows)
    if network["kind"] == MIXTURE_KIND and network["members"][0]["kind"] == LAYERED_KIND:
        return _average(graph, network, parameters, rows, _scores)
    return _both(graph, _positive(graph, network, parameters, rows))


def _both(graph: Graph, positive: str) -> str:
    return graph.add("Concat", graph.add("Sub", graph.keep([[1.0]]), positive), positive, axis=1)


def _average(graph: Graph, network: Mapping[str, Any], parameters: np.ndarray, rows: str, score: Any) -> str:
    """Return the weighted sum of the members' scores."""
    parts, start = [], 0
    for member, weight in zip(network["members"], network["weights"], strict=True):
        size = count_parameters(member)
        own = score(graph, member, parameters[start : start + size], rows)
        parts.append(graph.add("Mul", own, graph.keep(weight)))
        start += size
    return graph.add("Sum", *parts)


def _positive(graph: Graph, network: Mapping[str, Any], parameters: np.ndarray, rows: str) -> str:
    """Return the name of the score (n, 1) of the positive label."""
    kind = network["kind"]
    if kind == MIXTURE_KIND:
        return graph.add("Min", _average(graph, network, parameters, rows, _positive), graph.keep(1.0))
    if kind == TREES_KIND:
        return _score_trees(graph, Trees.read(network, parameters), rows)
    if kind == CORRECTED_KIND:
        return _correct(graph, network, parameters, rows)
    if kind == JOINT_KIND:
        return _weigh(graph, _scores(graph, network["base"], parameters, rows), np.asarray(network["weights"]))
    if kind == THRESHOLDS_KIND:
        scores = _scores(graph, network["score"], parameters, rows)
        score = graph.add("Slice", scores, *(graph.keep([each], np.int64) for each in (1, 2, 1)))
        limits = graph.add("Gather", graph.keep(network["thresholds"]), GROUP)
        moved = graph.add("Sub", score, graph.add("Unsqueeze", limits, graph.keep([1], np.int64)))
        return _clip(graph, graph.add("Add", moved, graph.keep(THRESHOLD)))
    return _score_mlp(graph, NetworkShape.from_json(network), parameters, rows)


def _clip(graph: Graph, name: str) -> str:
    return graph.add("Clip", name, graph.keep(0.0), graph.keep(1.0))


def _score_mlp(graph: Graph, shape: NetworkShape, parameters: np.ndarray, rows: str) -> str:
    layers = shape.views(parameters[None])
    for weights, biases in layers[:-1]:
        rows = graph.add("Relu", _multiply(graph, rows, weights[0], biases[0, 0]))
    weights, biases = layers[-1]
    logit = _multiply(graph, rows, weights[0], biases[0, 0])
    return graph.add("Sigmoid", graph.cast(logit, "DOUBLE"))


def _multiply(graph: Graph, rows: str, weights: np.ndarray, biases: np.ndarray) -> str:
    own = graph.keep(weights, np.float32), graph.keep(biases, np.float32)
    return graph.add("Gemm", rows, *own, transB=1)


def _score_layers(graph: Graph, shape: LayeredShape, parameters: np.ndarray, rows: str) -> str:
    if len(shape.size_in) > 1:
        rows = graph.add("Reshape", rows, graph.keep([-1, *shape.size_in], np.int64))
    for place in shape.places:
        rows = _add_layer(graph, place, parameters[place.parameters], rows)
    scores = graph.cast(rows, "DOUBLE")
    if shape.outputs == 1:
        return _both(graph, graph.add("Sigmoid", scores))
    return graph.add("Softmax", scores, axis=1)


def _add_layer(graph: Graph, place: Place, own: np.ndarray, below: str) -> str:
    layer = place.layer
    outputs, inputs = layer.weights(place.size) or (0, 0)
    weights, biases = own[: outputs * inputs].reshape(outputs, inputs), own[outputs * inputs :]
    if isinstance(layer, Dense):
        return _multiply(graph, graph.add("Flatten", below), weights, biases)
    if isinstance(layer, Convolution):
        filters = weights.reshape(outputs, place.size[0], layer.side, layer.side)
        held = graph.keep(filters, np.float32), graph.keep(biases, np.float32)
        return graph.add("Conv", below, *held, strides=[layer.stride] * 2, pads=[layer.padding] * 4)
    if isinstance(layer, GroupNorm):
        return _normalise(graph, layer, place.size, (weights[:, 0], biases), below)
    if isinstance(layer, MaxPool):
        return graph.add("MaxPool", below, kernel_shape=[layer.side] * 2, strides=[layer.stride] * 2)
    return graph.add("GlobalAveragePool" if isinstance(layer, MeanPool) else "Relu", below)


def _normalise(
    graph: Graph, layer: GroupNorm, size: tuple[int, ...], own: tuple[np.ndarray, np.ndarray], below: str
) -> str:
    """Return a record's channels in groups, each group brought to mean 0 and variance 1, with gains and offsets."""
    grouped = graph.add("Reshape", below, graph.keep([0, layer.groups, -1], np.int64))
    ones, zeros = (graph.keep(np.full(layer.groups, each), np.float32) for each in (1.0, 0.0))
    even = graph.add("InstanceNormalization", grouped, ones, zeros, epsilon=layer.SMALL)
    back = graph.add("Reshape", even, graph.keep([-1, *size], np.int64))
    gains, offsets = (graph.keep(each.reshape(1, -1, 1, 1), np.float32) for each in own)
    return graph.add("Add", graph.add("Mul", back, gains), offsets)


def _score_trees(graph: Graph, trees: Trees, rows: str) -> str:
    """Return the score of boosted trees; what is not finite in a row is read as 0."""
    odd = graph.add("Or", graph.add("IsNaN", rows), graph.add("IsInf", rows))
    read = graph.cast(graph.add("Where", odd, graph.keep(0.0, np.float32), rows), "DOUBLE")
    logit = graph.add("TreeEnsembleRegressor", read, domain=_TREES_DOMAIN, **_describe_trees(trees))
    return graph.add("Sigmoid", graph.cast(logit, "DOUBLE"))


def _describe_trees(trees: Trees) -> dict[str, Any]:
    """Return the attributes of TreeEnsembleRegressor; a node that sends a row to itself is a leaf."""
    ends = np.append(trees.roots[1:], len(trees.value))
    owner = np.repeat(np.arange(len(trees.roots)), ends - trees.roots)
    first = trees.roots[owner]
    place = np.arange(len(trees.value))
    leaf = trees.left == place
    return {
        "n_targets": 1,
        "base_values_as_tensor": np.array([trees.base]),
        "nodes_treeids": owner.tolist(),
        "nodes_nodeids": (place - first).tolist(),
        "nodes_featureids": np.where(leaf, 0, trees.feature).tolist(),
        "nodes_values_as_tensor": np.where(leaf, 0.0, trees.threshold.astype(np.float64)),
        "nodes_modes": np.where(leaf, "LEAF", "BRANCH_LEQ").tolist(),
        "nodes_truenodeids": np.where(leaf, 0, trees.left - first).tolist(),
        "nodes_falsenodeids": np.where(leaf, 0, trees.right - first).tolist(),
        "target_treeids": owner[leaf].tolist(),
        "target_nodeids": (place - first)[leaf].tolist(),
        "target_ids": np.zeros(leaf.sum(), dtype=int).tolist(),
        "target_weights_as_tensor": trees.value[leaf].astype(np.float64),
    }


def _correct(graph: Graph, network: Mapping[str, Any], parameters: np.ndarray, rows: str) -> str:
    """Return the score less half of what a decision is expected to cost: engine/corrected.py."""
    own, after = np.split(parameters, [count_parameters(network["score"])])
    correction = read_correction(network, after)
    score = _positive(graph, network["score"], own, rows)
    features = _shorten(graph, _stack(graph, correction.edges, score, rows), correction.bound)
    costs = []
    for label, weights in enumerate(correction.weights):
        chances = graph.add("Softmax", graph.add("MatMul", features, graph.keep(weights.T)), axis=1)
        costs.append(graph.add("MatMul", chances, graph.keep(correction.prices[:, label : label + 1])))
    other = graph.add("Sub", graph.keep(1.0), score)
    cost = graph.add("Add", graph.add("Mul", other, costs[0]), graph.add("Mul", score, costs[1]))
    return _clip(graph, graph.add("Sub", score, graph.add("Mul", cost, graph.keep(0.5))))


def _stack(graph: Graph, edges: np.ndarray, score: str, rows: str) -> str:
    """Return rows with an intercept and the bin of their score; of one bin none is written."""
    wide = graph.cast(rows, "DOUBLE")
    one = graph.add("Add", graph.add("Mul", score, graph.keep(0.0)), graph.keep(SCORE_WEIGHT))
    parts = [wide, one]
    if len(edges):
        below = graph.cast(graph.add("Greater", score, graph.keep(edges[None])), "INT64")
        bins = graph.add("ReduceSum", below, graph.keep([1], np.int64), keepdims=1)
        same = graph.add("Equal", bins, graph.keep(np.arange(len(edges) + 1)[None], np.int64))
        parts.append(graph.add("Mul", graph.cast(same, "DOUBLE"), graph.keep(SCORE_WEIGHT)))
    stacked = graph.add("Concat", *parts, axis=1)
    finite = graph.add("Equal", graph.add("Sub", stacked, stacked), graph.keep(0.0))
    whole = graph.add("ReduceMin", graph.cast(finite, "DOUBLE"), axes=[1], keepdims=1)
    return graph.add("Where", graph.cast(whole, "BOOL"), stacked, graph.keep(0.0))


def _shorten(graph: Graph, stacked: str, bound: float) -> str:
    squares = graph.add("ReduceSum", graph.add("Mul", stacked, stacked), graph.keep([1], np.int64), keepdims=1)
    longest = graph.add("Max", graph.add("Sqrt", squares), graph.keep(bound))
    return graph.add("Mul", stacked, graph.add("Div", graph.keep(1.0 - MARGIN), longest))


def _weigh(graph: Graph, chances: str, weights: np.ndarray) -> str:
    """Return the share of positive weights in sum_c |w_c| chance_c; one half where that is 0."""
    positive = graph.add("MatMul", chances, graph.keep(weights.clip(min=0.0)[:, None]))
    negative = graph.add("MatMul", chances, graph.keep((-weights).clip(min=0.0)[:, None]))
    total = graph.add("Add", positive, negative)
    share = graph.add("Div", positive, total)
    return graph.add("Where", graph.add("Greater", total, graph.keep(0.0)), share, graph.keep(0.5))


def _serialise(graph: Graph, model: Model, about: Mapping[str, str]) -> bytes:
    from onnx import TensorProto, helper, numpy_helper

    def read(name: str, value: Any) -> Any:
        if isinstance(value, np.ndarray):
            return numpy_helper.from_array(value, name)
        return getattr(TensorProto, value) if name == "to" else value

    nodes = [
        helper.make_node(
            each.kind,
            each.inputs,
            [each.output],
            domain=each.domain,
            **{name: read(name, value) for name, value in each.settings.items()},
        )
        for each in graph.nodes
    ]
    inputs = [helper.make_tensor_value_info(FEATURES, TensorProto.FLOAT, ["n", len(model.feature_names)])]
    if needs_group(model.network):
        inputs.append(helper.make_tensor_value_info(GROUP, TensorProto.INT64, ["n"]))
    outputs = [
        helper.make_tensor_value_info(SCORES, TensorProto.DOUBLE, ["n", len(model.label_names)]),
        helper.make_tensor_value_info(DECISION, TensorProto.INT64, ["n"]),
    ]
    constants = [numpy_helper.from_array(value, name) for name, value in graph.constants.items()]
    whole = helper.make_graph(nodes, "fairpriv", inputs, outputs, constants)
    opsets = [helper.make_opsetid("", _OPSET), helper.make_opsetid(_TREES_DOMAIN, _TREES_OPSET)]
    return _finish(helper.make_model(whole, opset_imports=opsets, ir_version=_VERSION), model, about)


def _read(content: bytes) -> Any:
    import onnx

    return onnx.load_from_string(content)


def _finish(made: Any, model: Model, about: Mapping[str, str]) -> bytes:
    """Return an ONNX model as a file, checked, with its metadata."""
    import onnx

    made.producer_name, made.producer_version = "fairpriv", metadata.version("fairpriv")
    onnx.helper.set_model_props(made, {**_describe(model), **about})
    onnx.checker.check_model(made)
    content: bytes = made.SerializeToString()
    return content


def _describe(model: Model) -> dict[str, str]:
    """Return what a person needs to use the file: names, and how a table's columns become features."""
    named = {"labels": list(model.label_names), FEATURES: list(model.feature_names)}
    found = {name: json.dumps(each, ensure_ascii=False) for name, each in named.items()}
    return {**found, "encoder": model.encoder, **({} if model.grouping is None else {"grouping": model.grouping})}
