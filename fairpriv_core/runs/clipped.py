"""How many rows of each group have a gradient that a run's bound clips, at its finished model (PF-LD, Figure 4)."""

from __future__ import annotations

import io
import json

import numpy as np

from fairpriv_core.engine.clipping import share_clipped
from fairpriv_core.engine.loop import open_kernel
from fairpriv_core.engine.presets import read_shape
from fairpriv_core.engine.records import Feed
from fairpriv_core.methods.lagrangian import constraint_norms, finite
from fairpriv_core.notions.catalog import notions
from fairpriv_core.runs.artifact import DESCRIPTION, PARAMETERS
from fairpriv_core.runs.config import build_config
from fairpriv_core.runs.shelf import Shelf
from fairpriv_core.runs.store import RunStore


def measure_clipped(store: RunStore, key: str, shelf: Shelf) -> dict[str, float]:
    """Return the share in [0, 1] of each group's training rows that the run's C_p clips.

    The norm is that of the gradient of the notion's h at the trained model. Raises BadInput for a run that has no
    model.
    """
    row = store.row(key)
    config = build_config(row.config)
    train, _ = shelf.parts(config)
    network = json.loads(store.artifact(key, DESCRIPTION))["network"]
    with np.load(io.BytesIO(store.artifact(key, PARAMETERS)), allow_pickle=False) as stored:
        kernel = open_kernel(read_shape(network), stored["parameters"].reshape(1, -1), "cpu")
    norms = finite(constraint_norms(0, target=notions()[config.notion].target, kernel=kernel, feed=Feed([train])))
    bound = float(row.config["method"]["clip_primal"])
    return {name: share_clipped(norms[train.group == g], bound) for g, name in enumerate(train.group_names)}
