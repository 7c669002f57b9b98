"""How many rows of each group have a gradient that a run's bound clips, at its finished model: for the analyst.

Measured on the training rows, raw: a function of the protected groups that no epsilon covers.
"""

from __future__ import annotations

import io
import json
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from fairpriv_core.engine.clipping import share_clipped
from fairpriv_core.engine.kernel import Kernel
from fairpriv_core.engine.networks import NetworkShape
from fairpriv_core.engine.records import Feed
from fairpriv_core.methods.rules.violations import constraint_norms, finite
from fairpriv_core.notions.catalog import notions
from fairpriv_core.runs.artifact import DESCRIPTION, PARAMETERS
from fairpriv_core.runs.config import build_config
from fairpriv_core.runs.shelf import Shelf
from fairpriv_core.runs.store import RunStore, open_store


def compute(place: str | None, request: Mapping[str, Any]) -> dict[str, Any]:
    """Return {"shares": `measure_clipped`} for {"clipped": keys} of the store at `place`."""
    with open_store(place) as store:
        return {"shares": measure_clipped(store, request["clipped"])}


def measure_clipped(store: RunStore, keys: Sequence[str]) -> dict[str, dict[str, float]]:
    """Return, by the keys of finished runs, the share in [0, 1] of each group's rows that the run's C_p clips.

    The norm is that of the gradient of the notion's h at the trained model (PF-LD, Figure 4). Raises BadInput for a run
    that has no model.
    """
    shelf = Shelf()
    return {key: _measure(store, key, shelf) for key in keys}


def with_clipped(store: RunStore, records: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return records with these shares at "clipped"."""
    shares = measure_clipped(store, [record["key"] for record in records])
    return [{**record, "clipped": shares[record["key"]]} for record in records]


def _measure(store: RunStore, key: str, shelf: Shelf) -> dict[str, float]:
    row = store.row(key)
    config = build_config(row.config)
    train, _ = shelf.parts(config)
    network = json.loads(store.artifact(key, DESCRIPTION))["network"]
    with np.load(io.BytesIO(store.artifact(key, PARAMETERS)), allow_pickle=False) as stored:
        kernel = Kernel(NetworkShape.from_json(network), stored["parameters"].reshape(1, -1))
    norms = finite(constraint_norms(0, target=notions()[config.notion].target, kernel=kernel, feed=Feed([train])))
    bound = float(row.config["method"]["clip_primal"])
    return {name: share_clipped(norms[train.group == g], bound) for g, name in enumerate(train.group_names)}
