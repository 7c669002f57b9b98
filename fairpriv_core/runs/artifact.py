"""A trained model as files, npz and JSON: parameters, network, encoder, threshold, names."""

from __future__ import annotations

import io
import json

import numpy as np

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.engine.predict import THRESHOLD, is_randomised, needs_group
from fairpriv_core.engine.training import Fitted

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
        "grouping": train.grouping if needs_group(fitted.network) else None,
        "threshold": None if is_randomised(fitted.network) else THRESHOLD,
        "label_names": list(train.label_names),
        "feature_names": list(train.feature_names),
        **({} if train.image is None else {"image": list(train.image)}),
    }
    return {PARAMETERS: buffer.getvalue(), DESCRIPTION: json.dumps(description, indent=1).encode()}
