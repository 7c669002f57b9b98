"""A trained model as files, npz and JSON: parameters, network, encoder, threshold, names. Predicting needs no torch."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from itertools import pairwise
from typing import Any

import numpy as np

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.training import Fitted
from fairpriv_core.errors import BadInput

THRESHOLD = 0.5
PARAMETERS, DESCRIPTION = "model.npz", "model.json"
FORMAT = 1


def model_files(fitted: Fitted, train: Dataset) -> dict[str, bytes]:
    """Return the artifact's files by name; of the data they hold what the model's parameters hold."""
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, parameters=fitted.parameters)
    description = {
        "format": FORMAT,
        "network": dict(fitted.network),
        "encoder": train.encoder,
        "threshold": THRESHOLD,
        "label_names": list(train.label_names),
        "feature_names": list(train.feature_names),
    }
    return {PARAMETERS: buffer.getvalue(), DESCRIPTION: json.dumps(description, indent=1).encode()}


def predict_proba(network: Mapping[str, Any], parameters: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Return the probabilities (n, 2) of both labels for encoded `rows` (n, d), as `engine/networks.py` computes them.

    In numpy, so that a page or a command predicts without loading torch; equal to it but for float32 rounding.
    """
    inputs, width = network["inputs"], network["width"]
    if rows.shape[1] != inputs:
        raise BadInput(f"the model takes {inputs} encoded columns, got {rows.shape[1]}.")
    sizes = [inputs, *[width] * network["hidden_layers"], 1]
    hidden, start = np.asarray(rows, dtype=np.float32), 0
    for columns, units in pairwise(sizes):
        weights = parameters[start : start + units * columns].reshape(units, columns)
        start += units * columns
        hidden = hidden @ weights.T + parameters[start : start + units]
        start += units
        hidden = np.maximum(hidden, 0) if start < len(parameters) else hidden
    logit = hidden[:, 0].astype(np.float64)
    positive = 0.5 * (1.0 + np.tanh(0.5 * logit))
    return np.stack([1.0 - positive, positive], axis=1)
