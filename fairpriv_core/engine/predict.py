"""Predicting with a trained model, in numpy: pages and commands predict without loading torch."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from fairpriv_core.errors import BadInput

NETWORK_KIND = "mlp"
_CHUNK = 16384


def predict_proba(network: Mapping[str, Any], parameters: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the probabilities (n, 2) of both labels for encoded `rows` (n, d), float64; column 1 is the positive one.

    `network` is what `NetworkShape.to_json` gives, `parameters` (P,) its flat parameters. Raises BadInput for a kind
    of network that is not known and for rows of another width.
    """
    if network["kind"] != NETWORK_KIND:
        raise BadInput(f"network kind must be {NETWORK_KIND}, got '{network['kind']}'.")
    if rows.shape[1] != network["inputs"]:
        raise BadInput(f"the model takes {network['inputs']} encoded columns, got {rows.shape[1]}.")
    sizes = [network["inputs"], *[network["width"]] * network["hidden_layers"], 1]
    layers = _layers(sizes, parameters)
    parts = [_logits(layers, rows[start : start + _CHUNK]) for start in range(0, max(len(rows), 1), _CHUNK)]
    positive = 0.5 * (1.0 + np.tanh(0.5 * np.concatenate(parts)))
    return np.stack([1.0 - positive, positive], axis=1)


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
