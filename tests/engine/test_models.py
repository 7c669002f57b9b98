"""Every kind of trained network: its JSON to the letter, its scores as pinned, as a PyTorch module and as an ONNX file.

What a hostile file describes is refused in one sentence.
"""

from __future__ import annotations

import json
import pickle
from typing import Any

import numpy as np
import onnx
import onnxruntime
import pytest
import torch

from fairpriv_core.engine.models import Mixture, read_network
from fairpriv_core.engine.modules import ModuleShape, Trained
from fairpriv_core.engine.predict import predict_proba
from fairpriv_core.engine.torch.as_module import as_module, export_onnx
from fairpriv_core.errors import BadInput

Json = dict[str, Any]
EVERY_KIND = "mlp, layers, module, trees, corrected, thresholds, mixture, joint, priced, derived"
MLP: Json = {"kind": "mlp", "inputs": 4, "hidden_layers": 1, "width": 3}
CNN: Json = {
    "kind": "layers",
    "size": [1, 2, 2],
    "layers": [
        {"kind": "convolution", "channels": 2, "side": 2, "stride": 1, "padding": 1},
        {"kind": "group_norm", "groups": 1},
        {"kind": "relu"},
        {"kind": "max_pool", "side": 2, "stride": 1},
        {"kind": "mean_pool"},
        {"kind": "dense", "units": 4},
    ],
}
TREES: Json = {"kind": "trees", "inputs": 4, "trees": 2, "nodes": 6, "depth": 1}
TREES_FLAT = [
    *(0.1, 0, 3),  # base and roots; then each node's column, threshold, left, right, value
    *(0, 0, 0, 2, 0, 0),
    *(0.25, 0, 0, -0.5, 0, 0),
    *(1, 1, 2, 4, 4, 5),
    *(2, 1, 2, 5, 4, 5),
    *(0, -1, 1, 0, 2, -2),
]
PRICES = [[0.5, -0.25], [-0.5, 0.75]]
TWICE: Json = {"kind": "mixture", "members": [MLP, MLP], "weights": [0.25, 0.75], "randomised": False}
CORRECTED: Json = {
    **{"kind": "corrected", "score": MLP, "bins": 3, "features": 8, "groups": 2, "bound": 1.5},
    "prices": PRICES,
}
KINDS: dict[str, Json] = {
    "mlp": MLP,
    "layers": CNN,
    "trees": TREES,
    "corrected": CORRECTED,
    "thresholds": {"kind": "thresholds", "score": TREES, "thresholds": [0.25, 0.75]},
    "mixture": TWICE,
    "lots": {**TWICE, "randomised": True},
    "joint": {"kind": "joint", "base": CNN, "weights": [0.5, -1.0, 0.25, -0.5]},
    "priced": {"kind": "priced", "base": CNN, "prices": [[0.0, 0.3, -0.2, 0.1], [-0.1, 0.0, 0.2, 0.0]]},
    "derived": {"kind": "derived", "base": TWICE, "table": [[0.0, 1.0], [0.25, 0.5]]},
}
PINNED: dict[str, list[float]] = {
    "mlp": [0.666749, 0.8894481, 0.6219531, 0.4635609, 0.8944725, 0.6699292],
    "layers": [0.0398112, 0.0248404, 0.0545566, 0.0537889, 0.0234755, 0.0502085],
    "trees": [0.9568927, 0.0521536, 0.2890505, 0.2890505, 0.7502601, 0.0521536],
    "corrected": [0.5759355, 0.7398715, 0.5600963, 0.4012171, 0.7452988, 0.567541],
    "thresholds": [1.0, 0.0, 0.5390505, 0.0390505, 1.0, 0.0],
    "mixture": [0.5312974, 0.8111868, 0.5394105, 0.3498975, 0.8169752, 0.6041597],
    "lots": [0.25, 1.0, 1.0, 0.0, 1.0, 1.0],
    "joint": [0.6496456, 0.6881632, 0.631086, 0.6317079, 0.6931557, 0.6350647],
    "priced": [0.0199056, 0.132259, 0.0272783, 0.1492876, 0.0117378, 0.1471815],
    "derived": [1.0, 0.5, 1.0, 0.25, 1.0, 0.5],
}
ROWS = np.cos(np.arange(24.0) ** 2).reshape(6, 4).astype(np.float32)
GROUP = np.arange(6) % 2


def draw(described: Json) -> np.ndarray:
    """Return parameters that are written down here; the edges of bins ascend."""
    if "trees" in str(described):
        return np.array(TREES_FLAT, dtype=np.float32)
    flat = np.sin(2.3 * np.arange(1.0, read_network(described).size + 1)).astype(np.float32)
    if described["kind"] == "corrected":
        flat[19:21] = 0.55, 0.65
    return flat


@pytest.mark.parametrize("name", KINDS)
def test_its_json_is_what_was_read_and_its_scores_are_as_pinned(name: str) -> None:
    network = read_network(json.loads(json.dumps(KINDS[name])))
    assert json.dumps(network.to_json()) == json.dumps(KINDS[name])
    assert read_network(network.to_json()) == network
    scores = predict_proba(network, draw(KINDS[name]), ROWS, GROUP)
    assert scores.shape == (6, network.labels) and np.allclose(scores.sum(axis=1), 1.0)
    assert scores[:, 1] == pytest.approx(PINNED[name], abs=1e-6)


@pytest.mark.parametrize("name", [name for name in KINDS if name not in ("lots", "derived")])
def test_a_module_and_an_onnx_file_score_as_it_does(name: str) -> None:
    network, flat = read_network(KINDS[name]), draw(KINDS[name])
    rows = np.random.default_rng(0).normal(size=(40, 4)).astype(np.float32)
    group = np.arange(40) % 2
    if "trees" in str(KINDS[name]):  # what is not finite is 0, and what lies at a threshold goes left
        rows[:5, [0, 0, 2, 0, 2]] = np.diag([np.nan, np.inf, -np.inf, 0.25, -0.5])
    expected = predict_proba(network, flat, rows, group)
    module = as_module(network, flat)
    if name in ("mlp", "layers", "mixture", "joint"):
        assert sum(each.numel() for each in module.parameters()) == network.size, "further training starts from them"
    with torch.no_grad():
        found = module(torch.from_numpy(rows), torch.from_numpy(group)).numpy()
    assert np.abs(found - expected).max() <= 1e-6
    inputs = ("rows", "group") if network.needs_group else ("rows",)
    content = export_onnx(network, flat, inputs=inputs, outputs=("scores", "decision"))
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    scores, decision = session.run(["scores", "decision"], dict(zip(inputs, (rows, group), strict=False)))
    assert np.abs(scores - expected).max() <= 1e-6
    assert np.array_equal(decision, expected.argmax(axis=1) if network.labels > 2 else expected[:, 1] > 0.5)


@pytest.mark.parametrize("name", ["lots", "derived"])
def test_what_draws_lots_is_no_module(name: str) -> None:
    with pytest.raises(BadInput, match="decides by a coin that follows from the row's bytes"):
        as_module(read_network(KINDS[name]), draw(KINDS[name]))


def nest(depth: int) -> Json:
    return MLP if depth == 0 else {"kind": "derived", "base": nest(depth - 1), "table": [[0, 1]]}


def lists(depth: int) -> list[Any]:
    found: list[Any] = []
    for _ in range(depth):
        found = [found]
    return found


@pytest.mark.parametrize(
    ("described", "says"),
    [
        ({}, "cannot be read: KeyError: 'kind'"),
        ([], "cannot be read"),
        ({"kind": "forest"}, f"network kind must be one of {EVERY_KIND}, got 'forest'"),
        ({"kind": ["mlp"]}, "network kind must be one of|cannot be read"),
        ({**MLP, "inputs": -4}, "inputs must be a whole number"),
        ({**MLP, "width": float("nan")}, "width must be a whole number"),
        ({**MLP, "hidden_layers": 10**9}, "hidden_layers must be a whole number from 0 to 10"),
        ({**MLP, "more": 1}, "cannot be read: TypeError"),
        ({"kind": "mlp"}, "cannot be read: TypeError"),
        ({**CNN, "size": [1, "a", 2]}, "height must be a whole number"),
        ({**CNN, "layers": [{"kind": "lstm"}]}, "unknown layer 'lstm'"),
        ({**CNN, "layers": []}, "the last layer must be dense"),
        ({**TREES, "depth": 10**12}, "depth must be a whole number from 0 to 6"),
        ({**TWICE, "members": []}, "a mixture needs members"),
        ({**TWICE, "members": MLP}, "cannot be read"),
        ({**TWICE, "members": [MLP, CNN]}, "a mixture needs members for the same columns and labels"),
        ({**TWICE, "weights": [0.5]}, "weights of the model must be 2 finite numbers"),
        ({**TWICE, "weights": [float("nan"), 1.0]}, "weights of the model must be 2 finite numbers"),
        ({**TWICE, "weights": [1e300, 1.0]}, "weights of a mixture must be at least 0 and sum to 1"),
        (
            {**KINDS["thresholds"], "thresholds": [float("inf"), 0.5]},
            "thresholds of the model must be 2 finite numbers",
        ),
        ({**KINDS["derived"], "table": [[0.0, 1.0], [0.5]]}, "cannot be read: ValueError"),
        ({**KINDS["derived"], "table": lists(900)}, "the model must be|cannot be read"),
        ({**KINDS["joint"], "weights": [1.0]}, "weights of the model must be 4 finite numbers"),
        ({**CORRECTED, "bound": 0.0}, "bound must be a finite number > 0"),
        ({**CORRECTED, "features": 7}, "features must be a whole number from 8 to 8"),
        ({**CORRECTED, "prices": PRICES[:1]}, "prices of the model must be 2 x 2 finite numbers"),
        (nest(40), "a network holds at most 8 others inside each other"),
        ({"kind": "module", "reference": "a:b"}, "cannot be read: KeyError: 'code'"),
    ],
)
def test_what_describes_no_network_is_refused_in_a_sentence(described: Any, says: str) -> None:
    with pytest.raises(BadInput, match=says) as refused:
        read_network(described)
    assert str(refused.value).endswith(".") and len(str(refused.value)) < 300


def test_parameters_that_are_not_the_networks_are_refused() -> None:
    for name, described in KINDS.items():
        network, flat = read_network(described), draw(described)
        with pytest.raises(BadInput, match=rf"^the model needs {network.size} parameters, got {network.size - 1}\.$"):
            predict_proba(network, flat[1:], ROWS, GROUP)
        with pytest.raises(BadInput, match=r"^the model takes 4 encoded columns, got 3\.$"):
            predict_proba(network, flat, ROWS[:, :3], GROUP)
        if name in ("thresholds", "derived"):
            with pytest.raises(BadInput, match="needs the sensitive attribute of every row"):
                predict_proba(network, flat, ROWS)
    wild = draw(TREES)
    for value in (np.nan, 99.0, -1.0):
        wild[-15] = value
        with pytest.raises(BadInput, match="the trees name nodes or columns that are not there"):
            predict_proba(read_network(TREES), wild, ROWS)


def test_copies_of_a_network_are_written_once() -> None:
    network, copies = read_network(MLP), 100
    mean = Mixture((network,) * copies, (1.0 / copies,) * copies, randomised=False)
    assert len(pickle.dumps(mean.to_json())) < 2_000 and read_network(mean.to_json()) == mean
    flat = np.random.default_rng(0).normal(size=mean.size).astype(np.float32)
    content = export_onnx(mean, flat, inputs=("rows",), outputs=("scores", "decision"))
    session = onnxruntime.InferenceSession(content, providers=["CPUExecutionProvider"])
    assert np.abs(session.run(["scores"], {"rows": ROWS})[0] - predict_proba(mean, flat, ROWS)).max() <= 1e-6
    assert len(onnx.load_from_string(content).graph.node) < 40


def test_the_mean_of_a_persons_modules_runs_their_code() -> None:
    shape = ModuleShape("gone_since:build", (4,), 2, Trained("a", "b", 3, {"weight": [3]}))
    mean = Mixture((shape, shape), (0.5, 0.5), randomised=False)
    assert mean.runs_code and mean.size == 6 and not read_network(TWICE).runs_code
    assert read_network(mean.to_json()) == mean, "nothing of it is opened"
