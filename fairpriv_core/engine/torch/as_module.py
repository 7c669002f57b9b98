"""A trained network of any kind that draws no lots as a PyTorch module, and as an ONNX graph by PyTorch's exporter."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import partial
from importlib import import_module
from io import BytesIO
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn.utils import vector_to_parameters

from fairpriv_core.engine.clipping import MARGIN
from fairpriv_core.engine.corrected import SCORE_WEIGHT, Corrected
from fairpriv_core.engine.layers import LayeredShape
from fairpriv_core.engine.models import Joint, Mixture, Priced, Thresholds
from fairpriv_core.engine.modules import ModuleShape
from fairpriv_core.engine.networks import NetworkShape
from fairpriv_core.engine.predict import THRESHOLD, Network
from fairpriv_core.engine.torch.layers import build_layers
from fairpriv_core.engine.training import CPU
from fairpriv_core.engine.trees import Trees, TreesShape
from fairpriv_core.errors import BadInput
from fairpriv_core.notions.rates import TWO

_OWN = "fairpriv_core.engine.torch.module"  # it needs Opacus, which takes seconds to load
_ROWS = 2  # that the exporter sees; how many come later is left open
_OPSET, _TREES_DOMAIN, _TREES_OPSET = 17, "ai.onnx.ml", 3


def as_module(network: Network, parameters: np.ndarray) -> nn.Module:
    """Return the module that gives the scores (n, l) float64 of rows (n, d) float32 and, where needed, groups (n,).

    Networks multiply in float32 and all that follows is float64, as in NumPy. BadInput for a network that draws lots,
    and where a person's own module is not installed or is not the one that the model was trained with.
    """
    match network:
        case NetworkShape():
            return _Copies(network, (1.0,), parameters)
        case LayeredShape():
            return _Outputs(build_layers(network), network, parameters)
        case ModuleShape():
            own = import_module(_OWN)
            own.open_module(network, CPU)  # checks its hashes
            return _Outputs(own.build_module(network, 0), network, parameters)
        case TreesShape():
            return _Composed(partial(_boost, network.open(parameters)))
        case Corrected():
            inner, *correction = network.split(parameters)
            return _Composed(partial(_correct, network, correction), (network.score, inner))
        case Joint():
            return _Composed(partial(_weigh, network.weights), (network.base, parameters))
        case Thresholds():
            return _Composed(partial(_move, network.thresholds), (network.score, parameters))
        case Priced():
            return _Composed(partial(_take_off, network.prices), (network.base, parameters))
        case Mixture(randomised=False, members=(NetworkShape() as shape, *others)) if {shape, *others} == {shape}:
            return _Copies(shape, network.weights, parameters)
        case Mixture(randomised=False):
            parts = zip(network.members, network.split(parameters), strict=True)
            return _Composed(partial(_average, network.weights), *parts)
        case _:
            raise BadInput(
                "the model decides by a coin that follows from the row's bytes, which neither PyTorch nor ONNX can "
                "toss: take the model's own files and fairpriv predict.",
                field="format",
            )


def export_onnx(network: Network, parameters: np.ndarray, *, inputs: Sequence[str], outputs: Sequence[str]) -> bytes:
    """Return the network as ONNX, with scores (n, l) and decisions (n,); `inputs` and `outputs` name what it has.

    BadInput as `as_module`, and where a person's own module has an operation that PyTorch cannot write.
    """
    module, content = _Deciding(as_module(network, parameters)), cast(Any, BytesIO())
    rules = [part.rule.func for part in module.modules() if isinstance(part, _Composed)]
    rows, group = torch.zeros(_ROWS, network.inputs), torch.zeros(_ROWS, dtype=torch.int64)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            torch.onnx.export(
                module,
                (rows, group)[: len(inputs)],
                content,
                input_names=list(inputs),
                output_names=list(outputs),
                dynamic_axes={name: {0: "n"} for name in (*inputs, *outputs)},
                opset_version=_OPSET,
                custom_opsets={_TREES_DOMAIN: _TREES_OPSET} if _boost in rules else None,
                dynamo=False,
            )
    except Exception as error:  # of PyTorch's exporter, or of the module's own code
        raise BadInput(
            f"PyTorch cannot write the model as ONNX: {type(error).__name__}: {error}.", field="format"
        ) from error
    return bytes(content.getvalue())


class _Deciding(nn.Module):
    """Scores, and decisions (n,)."""

    def __init__(self, module: nn.Module) -> None:
        super().__init__()
        self.module = module

    def forward(self, rows: Tensor, group: Tensor | None = None) -> tuple[Tensor, Tensor]:
        scores = self.module(rows, group)
        return scores, scores.argmax(dim=1) if scores.shape[1] > TWO else (scores[:, 1] > THRESHOLD).long()


class _Outputs(nn.Module):
    """The chances that a module's outputs stand for; its parameters are put in."""

    def __init__(self, module: nn.Module, shape: LayeredShape | ModuleShape, parameters: np.ndarray) -> None:
        super().__init__()
        self.module, self.shape = module, shape
        flat = torch.from_numpy(np.array(parameters, dtype=np.float32))
        vector_to_parameters(flat, [parameter for parameter in module.parameters() if parameter.requires_grad])

    def forward(self, rows: Tensor, group: Tensor | None = None) -> Tensor:
        out = self.module(rows.view(-1, *self.shape.size_in))
        outputs = (out.flatten(1) if out.dim() > 1 else out.unsqueeze(1)).double()
        if self.shape.outputs == 1 and outputs.shape[1] == self.shape.labels:
            outputs = outputs[:, 1:] - outputs[:, :1]
        return outputs.softmax(dim=1) if self.shape.outputs > 1 else _both(outputs.sigmoid())


def _both(positive: Tensor) -> Tensor:
    """Return the scores of both labels from those of the positive one (n, 1)."""
    return torch.cat([1.0 - positive, positive], dim=1)


class _Copies(nn.Module):
    """The mean of fully connected networks of one shape, all in one product: a graph of each takes PyTorch long."""

    def __init__(self, shape: NetworkShape, weights: Sequence[float], parameters: np.ndarray) -> None:
        super().__init__()
        flat = np.array(parameters, dtype=np.float32).reshape(len(weights), -1)
        self.layers = nn.ParameterList(torch.from_numpy(array) for layer in shape.views(flat) for array in layer)
        self.weights = weights

    def forward(self, rows: Tensor, group: Tensor | None = None) -> Tensor:
        *hidden, (own, biases) = zip(self.layers[::2], self.layers[1::2], strict=True)
        below = rows[None]
        for inner, offsets in hidden:
            below = torch.relu(below @ inner.transpose(1, 2) + offsets)
        chances = (below @ own.transpose(1, 2) + biases).double().sigmoid()
        return _both((chances.new_tensor(self.weights)[:, None, None] * chances).sum(dim=0).clamp(max=1.0))


class _Composed(nn.Module):
    """What `rule` makes of rows, groups and the scores of other networks, each of `parts` with its parameters."""

    def __init__(self, rule: partial[Tensor], *parts: tuple[Network, np.ndarray]) -> None:
        super().__init__()
        self.rule, self.parts = rule, nn.ModuleList(as_module(*part) for part in parts)

    def forward(self, rows: Tensor, group: Tensor | None = None) -> Tensor:
        return self.rule(rows, group, *(part(rows, group) for part in self.parts))


def _boost(trees: Trees, rows: Tensor, group: Tensor | None) -> Tensor:
    """Return the scores of boosted trees; what is not finite in a row is read as 0."""
    finite = torch.where(rows.isnan() | rows.isinf(), 0.0, rows)
    logit: Tensor = _Logit.apply(finite.double(), trees)  # type: ignore[no-untyped-call]
    return _both(logit.sigmoid())


class _Logit(torch.autograd.Function):
    """The sum of all trees, (n, 1) float64; ONNX has an operator for it."""

    @staticmethod
    def forward(context: Any, rows: Tensor, trees: Trees) -> Tensor:
        sums = [logits[:, -1:] for _, logits in trees.add_up(rows.cpu().numpy())]
        return rows.new_tensor(np.concatenate(sums))

    @staticmethod
    def symbolic(graph: Any, rows: Any, trees: Trees) -> Any:
        """Return the node; one that sends a row to itself is a leaf."""
        ends = np.append(trees.roots[1:], len(trees.value))
        owner = np.repeat(np.arange(len(trees.roots)), ends - trees.roots)
        first, place = trees.roots[owner], np.arange(len(trees.value))
        leaf = trees.left == place
        logit = graph.op(
            f"{_TREES_DOMAIN}::TreeEnsembleRegressor",
            rows,
            n_targets_i=1,
            base_values_as_tensor_t=torch.tensor([trees.base], dtype=torch.float64),
            nodes_treeids_i=owner.tolist(),
            nodes_nodeids_i=(place - first).tolist(),
            nodes_featureids_i=np.where(leaf, 0, trees.feature).tolist(),
            nodes_values_as_tensor_t=torch.from_numpy(np.where(leaf, 0.0, trees.threshold.astype(np.float64))),
            nodes_modes_s=np.where(leaf, "LEAF", "BRANCH_LEQ").tolist(),
            nodes_truenodeids_i=np.where(leaf, 0, trees.left - first).tolist(),
            nodes_falsenodeids_i=np.where(leaf, 0, trees.right - first).tolist(),
            target_treeids_i=owner[leaf].tolist(),
            target_nodeids_i=(place - first)[leaf].tolist(),
            target_ids_i=[0] * int(leaf.sum()),
            target_weights_as_tensor_t=torch.from_numpy(trees.value[leaf].astype(np.float64)),
        )
        return graph.op("Cast", logit, to_i=torch.onnx.TensorProtoDataType.DOUBLE)


def _average(weights: Sequence[float], rows: Tensor, group: Tensor | None, *scores: Tensor) -> Tensor:
    total = torch.stack([weight * score for weight, score in zip(weights, scores, strict=True)]).sum(dim=0)
    return total if total.shape[1] > TWO else _both(total[:, 1:].clamp(max=1.0))


def _weigh(weights: Sequence[float], rows: Tensor, group: Tensor | None, chances: Tensor) -> Tensor:
    """Return the share of positive weights in sum_c |w_c| chance_c; one half where that is 0."""
    column = chances.new_tensor(weights)[:, None]
    positive = chances @ column.clamp(min=0.0)
    total = positive + chances @ (-column).clamp(min=0.0)
    return _both(torch.where(total > 0.0, positive / total, 0.5))


def _move(thresholds: Sequence[float], rows: Tensor, group: Tensor, scores: Tensor) -> Tensor:
    return _both((THRESHOLD + (scores[:, 1:] - scores.new_tensor(thresholds)[group][:, None])).clamp(0.0, 1.0))


def _take_off(prices: Sequence[Sequence[float]], rows: Tensor, group: Tensor, chances: Tensor) -> Tensor:
    own = chances.new_tensor(prices)[group]
    left = own.amax(dim=1, keepdim=True) - own
    return (chances + left) / (1.0 + left.sum(dim=1, keepdim=True))


def _correct(
    network: Corrected, correction: Sequence[np.ndarray], rows: Tensor, group: Tensor | None, scores: Tensor
) -> Tensor:
    """Return the score less half of what a decision is expected to cost: engine/corrected.py."""
    score, prices = scores[:, 1:], scores.new_tensor(network.prices)
    edges, weights = map(scores.new_tensor, correction)
    features = _build_features(rows, score, edges, network.bound)
    chances = [(features @ own.T).softmax(dim=1) for own in weights]
    costs = [chance @ prices[:, label : label + 1] for label, chance in enumerate(chances)]
    cost = (1.0 - score) * costs[0] + score * costs[1]
    return _both((score - 0.5 * cost).clamp(0.0, 1.0))


def _build_features(rows: Tensor, score: Tensor, edges: Tensor, bound: float) -> Tensor:
    """Return rows with an intercept and the bin of their score, shortened; of one bin none is written."""
    parts = [rows.double(), torch.full_like(score, SCORE_WEIGHT)]
    if len(edges):
        place = (score > edges).long().sum(dim=1, keepdim=True)
        parts.append((place == torch.arange(len(edges) + 1, device=rows.device)).double() * SCORE_WEIGHT)
    stacked = torch.cat(parts, dim=1)
    finite = (stacked - stacked == 0.0).double().amin(dim=1, keepdim=True) > 0.0
    stacked = torch.where(finite, stacked, 0.0)
    norms = (stacked * stacked).sum(dim=1, keepdim=True).sqrt()
    return stacked * ((1.0 - MARGIN) / norms.clamp(min=bound))
