"""The bias and variance term of DP-SGD at a run's finished model (FairDP-A, eq. 4), over the training rows."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from typing import Any

import numpy as np

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.loop import open_kernel
from fairpriv_core.engine.presets import read_shape
from fairpriv_core.engine.records import Feed, Records
from fairpriv_core.methods.none import loss_gradient_norms
from fairpriv_core.runs.artifact import DESCRIPTION, PARAMETERS
from fairpriv_core.runs.config import build_config
from fairpriv_core.runs.execute import calibrate_method
from fairpriv_core.runs.shelf import Shelf
from fairpriv_core.runs.store import RunStore

_LIPSCHITZ = 1.0  # the paper's L
_CHUNK = 2048


def measure_bias_variance(store: RunStore, key: str, shelf: Shelf) -> dict[str, float]:
    """Return τ of a run with a clipping bound C and noise σ C, and its two parts, "clipping" and "noise".

    τ = 2 (1 + 1/(μ L)) |∇f| η + η² + σ² C² P / n², with η the mean over rows of how far a gradient's norm lies above C,
    n the batch size, P the number of parameters and L = 1. Raises BadInput for a run that has no model.
    """
    config = build_config(store.row(key).config)
    train, _ = shelf.parts(config)
    method: Any = calibrate_method(config, train.n)
    network = json.loads(store.artifact(key, DESCRIPTION))["network"]
    with np.load(io.BytesIO(store.artifact(key, PARAMETERS)), allow_pickle=False) as stored:
        norms, mean = find_gradients(network, stored["parameters"], train)
    lost = float(np.maximum(norms - method.clip_primal, 0.0).mean())
    slope = 2.0 * (1.0 + 1.0 / (method.learning_rate * _LIPSCHITZ))
    clipping = slope * float(np.linalg.norm(mean)) * lost + lost**2
    noise = (method.noise_primal * method.clip_primal / method.batch_size) ** 2 * mean.size
    return {"tau": clipping + noise, "clipping": clipping, "noise": noise}


def find_gradients(network: Mapping[str, Any], parameters: np.ndarray, train: Dataset) -> tuple[np.ndarray, np.ndarray]:
    """Return the norm of the loss's gradient at each row (n,) and the mean gradient (P,), float64."""
    kernel = open_kernel(read_shape(network), parameters.reshape(1, -1), "cpu")
    feed, norms, total = Feed([train]), [], np.zeros(parameters.size)
    for start in range(0, feed.n, _CHUNK):
        drawn = feed.draw([np.arange(start, min(start + _CHUNK, feed.n))])
        passed = kernel.take(drawn)
        records = Records(passed, drawn)
        norms.append(loss_gradient_norms(records)[0].astype(np.float64))
        total += kernel.weighted_sum(passed, records.deviation, slice(None))[0]
    return np.concatenate(norms), total / feed.n
