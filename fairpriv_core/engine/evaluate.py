"""A trained model on a data set: its decisions, and what a record says about them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.predict import decision_thresholds, predict_proba
from fairpriv_core.notions.metrics import measure
from fairpriv_core.notions.rates import decide


def evaluate(network: Mapping[str, Any], parameters: np.ndarray, data: Dataset) -> dict[str, Any]:
    """Return the metrics (see `measure`) of a model on `data`: computed on raw protected data, for the analyst."""
    score = predict_proba(network, parameters, data.X, data.group)
    thresholds = decision_thresholds(network, data.X)
    return measure(data.y, score, data.group, data.group_names, thresholds, label_names=data.label_names)


def decisions(network: Mapping[str, Any], parameters: np.ndarray, data: Dataset) -> np.ndarray:
    """Return the model's hard decisions (n,) on `data`, in 0..l-1."""
    score = predict_proba(network, parameters, data.X, data.group)
    return decide(score, decision_thresholds(network, data.X))
