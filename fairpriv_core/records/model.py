"""A trained model as files, npz and JSON (parameters, network, encoder, threshold, names); its decisions on rows."""

from __future__ import annotations

import io
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.data.encode import Encoder
from fairpriv_core.data.own_file import read_images
from fairpriv_core.data.read import read_table
from fairpriv_core.data.roles import Groups
from fairpriv_core.engine.predict import THRESHOLD, decision_thresholds, is_randomised, needs_group, predict_proba
from fairpriv_core.engine.training import Fitted
from fairpriv_core.errors import BadInput
from fairpriv_core.notions.rates import TWO, decide
from fairpriv_core.text import write_lines

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


def predict_file(files: Mapping[str, bytes], source: str, target: str) -> dict[str, Any]:
    """Predict the rows of the CSV or Parquet file `source`; write row number, probability and prediction to `target`.

    A model of images takes those of the file's one column of images.

    The probability is that of the positive label; of more than two labels that of the predicted one. Returns {"rows",
    "positive", "out"}, where `positive` is None for more than two labels, and `decided` counts each.

    Raises BadInput for a file that cannot be read or lacks columns (the sensitive one too where the model decides by
    group), for images of another size, a target that cannot be written, or a model of another format.
    """
    description = json.loads(files[DESCRIPTION])
    if description["format"] != FORMAT:
        raise BadInput(f"the model has format {description['format']}; this version reads format {FORMAT}.")
    network = description["network"]
    features, group = _read_rows(description, Path(source))
    with np.load(io.BytesIO(files[PARAMETERS]), allow_pickle=False) as stored:
        score = predict_proba(network, stored["parameters"], features, group)
    names, decided = description["label_names"], decide(score, decision_thresholds(network, features))
    binary = len(names) == TWO
    probability = score[:, 1] if binary else score.max(axis=1)
    try:
        with Path(target).open("w", newline="", encoding="utf-8") as stream:
            rows = enumerate(zip(probability.tolist(), decided.tolist(), strict=True), start=1)
            told = ((row, f"{share:.6g}", names[label]) for row, (share, label) in rows)
            write_lines(stream, ("row", "probability", "prediction"), told)
    except OSError as error:
        raise BadInput(f"out cannot be written: {target} ({error.strerror}).", field="out") from error
    counts = dict(zip(names, np.bincount(decided, minlength=len(names)).tolist(), strict=True))
    found = {"rows": len(decided), "positive": counts[names[1]] if binary else None, "out": target}
    return found if binary else {**found, "decided": counts}


def _read_rows(description: Mapping[str, Any], path: Path) -> tuple[np.ndarray, np.ndarray | None]:
    """Return features (n, d) as the model was trained on, and groups (n,) where it decides by them."""
    if description.get("image") is not None:  # no network of layers decides by group
        return read_images(path, tuple(description["image"])).encode(), None
    table = read_table(path).table
    grouped = needs_group(description["network"])
    group = Groups.from_json(description.get("grouping")).assign(table) if grouped else None
    return Encoder.from_json(description["encoder"]).transform(table), group
