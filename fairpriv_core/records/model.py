"""A trained model as files: parameters, and JSON (network, encoder, threshold, names); its decisions on rows.

Parameters are safetensors, which hold numbers and never code. Those of a person's own PyTorch module are named tensors
that load into the module, with its reference and hashes in the header; those of all other networks are one flat tensor.
"""

from __future__ import annotations

import json
import math
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict, dataclass
from itertools import repeat
from pathlib import Path
from typing import NotRequired, TypedDict

import numpy as np

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.data.encode import Encoder
from fairpriv_core.data.own_images import read_images
from fairpriv_core.data.roles import Groups
from fairpriv_core.engine.models import read_network
from fairpriv_core.engine.modules import ModuleShape
from fairpriv_core.engine.predict import THRESHOLD, Network, predict_proba, toss_coins
from fairpriv_core.engine.training import Fitted
from fairpriv_core.errors import BadInput
from fairpriv_core.files.forms import UNSTATED, Stated
from fairpriv_core.files.next_file import NextRows, read_next
from fairpriv_core.notions.rates import TWO, decide
from fairpriv_core.paths import read_path
from fairpriv_core.text import write_lines

PARAMETERS, DESCRIPTION = "model.safetensors", "model.json"
FORMAT = 2
_HEAD = 8  # bytes that hold the length of a header of safetensors


class FirstRows(TypedDict):
    """The first rows of a file, as they are used, with what is decided of each."""

    columns: list[str]
    rows: list[list[str]]


class Predicted(TypedDict):
    """What predicting a file came to; `remarks` say which cells could not be used.

    `positive` counts the rows decided for the positive label, None where there are more than two labels; then `decided`
    counts each label. `form` says how the file is written.
    """

    rows: int
    positive: int | None
    out: str
    remarks: list[str]
    decided: NotRequired[dict[str, int]]
    first: NotRequired[FirstRows]
    form: NotRequired[dict[str, object] | None]


@dataclass(frozen=True)
class Model:
    """What one takes away of a run: a network, its parameters (P,), and how a file's rows become its features.

    `encoder` is `Encoder.to_json`'s text, `grouping` `Groups.to_json`'s where the model decides by group, `image` the
    size (channels, height, width) of images. `threshold` is what the positive one of two labels' scores must exceed,
    unless lots are drawn; `unproved` says why no epsilon is proved of a model whose threshold was chosen.
    """

    network: Network
    parameters: np.ndarray
    encoder: str
    grouping: str | None
    label_names: tuple[str, ...]
    feature_names: tuple[str, ...]
    image: tuple[int, int, int] | None = None
    threshold: float = THRESHOLD
    unproved: str | None = None

    @classmethod
    def of(cls, fit: Fitted, train: Dataset) -> Model:
        """Return the model of a fit on `train`; of the data it holds what the parameters hold."""
        grouping = train.grouping if fit.network.needs_group else None
        names = train.label_names, train.feature_names
        return cls(fit.network, fit.parameters, train.encoder, grouping, *names, train.image)

    @classmethod
    def read(cls, find: Callable[[str], bytes]) -> Model:
        """Return the model whose files `find` gives by name; BadInput for one of another format."""
        described = json.loads(find(DESCRIPTION))
        if described["format"] != FORMAT:
            raise BadInput(f"the model has format {described['format']}; this version reads format {FORMAT}.")
        network, parameters = read_network(described["network"]), _read_parameters(find(PARAMETERS))
        names = tuple(described["label_names"]), tuple(described["feature_names"])
        image = tuple(described["image"]) if described.get("image") is not None else None
        threshold = THRESHOLD if described["threshold"] is None else float(described["threshold"])
        rest = described["encoder"], described.get("grouping"), *names, image, threshold
        return cls(network, parameters, *rest, described.get("epsilon_reason"))

    def write(self) -> dict[str, bytes]:
        """Return the model's files by name."""
        description = {
            "format": FORMAT,
            "network": self.network.to_json(),
            "encoder": self.encoder,
            "grouping": self.grouping,
            "threshold": None if self.network.is_randomised else self.threshold,
            "label_names": list(self.label_names),
            "feature_names": list(self.feature_names),
            **({} if self.image is None else {"image": list(self.image)}),
            **({} if self.unproved is None else {"epsilon": None, "epsilon_reason": self.unproved}),
        }
        parameters = _write_parameters(self.network, self.parameters)
        return {PARAMETERS: parameters, DESCRIPTION: json.dumps(description, indent=1).encode()}

    def score(self, data: Dataset) -> np.ndarray:
        """Return the scores (n, l) of the labels on encoded data."""
        return predict_proba(self.network, self.parameters, data.X, data.group)

    def predict_file(
        self,
        source: str,
        target: str,
        stated: Stated = UNSTATED,
        *,
        shown: int = 0,
        limit_bytes: int | None = None,
    ) -> Predicted:
        """Predict the rows of the table in the file `source`; write their numbers and predictions to `target`.

        What is `stated` of how the file is written wins over what it seems to be. A model of images takes those of the
        file's one column of images. Beside each prediction stands a probability: that of the positive label, or of more
        than two labels that of the predicted one. Of as many rows as are to be `shown` "first" has what is used and
        decided, and "form" how they are written.

        Raises BadInput for a file that cannot be read or lacks columns (the sensitive one too where the model decides
        by group), for a column no cell of which can be used, for images of another size, and for a target that cannot
        be written.
        """
        features, group, next_rows = self._read_rows(read_path(source), stated, limit_bytes)
        score = predict_proba(self.network, self.parameters, features, group)
        names, decided = (
            self.label_names,
            decide(score, toss_coins(features) if self.network.is_randomised else self.threshold),
        )
        binary = len(names) == TWO
        probability = score[:, 1] if binary else score.max(axis=1)

        def list_answers(limit: int | None = None) -> Iterator[tuple[str, str]]:
            answers = zip(probability[:limit].tolist(), decided[:limit].tolist(), strict=True)
            return ((f"{share:.6g}", names[label]) for share, label in answers)

        _write_lines(target, list_answers())
        counts = dict(zip(names, np.bincount(decided, minlength=len(names)).tolist(), strict=True))
        predicted: Predicted = {
            "rows": len(decided),
            "positive": counts[names[1]] if binary else None,
            "out": target,
            "remarks": list(next_rows.remarks),
        }
        if shown:
            cells = next_rows.show(shown)
            rows = zip(*cells.values(), strict=True) if cells else repeat(())
            shown_rows = [[*row, *answer] for row, answer in zip(rows, list_answers(shown), strict=False)]
            predicted["first"] = {"columns": list(cells), "rows": shown_rows}
            predicted["form"] = None if next_rows.form is None else asdict(next_rows.form)
        return predicted if binary else {**predicted, "decided": counts}

    def _read_rows(
        self, path: Path, stated: Stated, limit_bytes: int | None
    ) -> tuple[np.ndarray, np.ndarray | None, NextRows]:
        """Return features (n, d) as trained on, groups (n,) where it decides by them, and the table that was read."""
        if self.image is not None:  # no network of layers decides by group
            return read_images(path, self.image).encode(), None, NextRows((), {}, ())
        encoder = Encoder.from_json(self.encoder)
        groups = Groups.from_json(self.grouping) if self.network.needs_group else None
        columns = (*encoder.schema, *(() if groups is None else groups.read))
        next_rows = read_next(path, columns, stated, limit_bytes=limit_bytes)
        return encoder.transform(next_rows.table), None if groups is None else groups.assign(next_rows.table), next_rows


def _write_lines(target: str, lines: Iterable[tuple[str, str]]) -> None:
    """Write each row's number, probability and prediction."""
    try:
        with read_path(target, field="out").open("w", newline="", encoding="utf-8") as stream:
            numbered = ((row, *cells) for row, cells in enumerate(lines, start=1))
            write_lines(stream, ("row", "probability", "prediction"), numbered)
    except OSError as error:
        raise BadInput(f"out cannot be written: {target} ({error.strerror}).", field="out") from error


def _write_parameters(network: Network, parameters: np.ndarray) -> bytes:
    """Return the content of the file that holds the parameters (P,)."""
    flat = np.ascontiguousarray(parameters, dtype="<f4")
    metadata, tensors = {}, {"parameters": [len(flat)]}
    if isinstance(network, ModuleShape):
        described = network.to_json()
        metadata, tensors = {name: described[name] for name in ("reference", "code", "fixed")}, described["tensors"]
    header: dict[str, object] = {"__metadata__": {"format": "pt", **metadata}}
    end = 0
    for name, shape in tensors.items():
        start, end = end, end + flat.itemsize * math.prod(shape)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [start, end]}
    head = json.dumps(header).encode()
    head += b" " * (-len(head) % _HEAD)  # tensors begin at a multiple of their size
    return len(head).to_bytes(_HEAD, "little") + head + flat.tobytes()


def _read_parameters(content: bytes) -> np.ndarray:
    """Return the parameters (P,) that `_write_parameters` wrote."""
    start = _HEAD + int.from_bytes(content[:_HEAD], "little")
    return np.frombuffer(content, dtype="<f4", offset=start).astype(np.float32)
