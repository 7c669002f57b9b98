"""A model's decisions on a file that a page was given: a child of the supervisor makes them."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

from fairpriv_core.data.own_images import find_image_columns, read_first_row
from fairpriv_core.errors import BadInput, FairprivError
from fairpriv_core.files.memory import limited_memory
from fairpriv_core.records.model import Model
from fairpriv_core.store.database import Database
from fairpriv_core.store.decisions import Asked
from fairpriv_core.store.runs import RunStore

SHOWN_ROWS = 10


def compute(place: str | None, request: Mapping[str, Any]) -> dict[str, Any]:
    """Decide on the file that `request` (see `Asked.request`) names, in the store at `place`.

    What is found goes beside the file, and so does the sentence of what cannot be decided on: cells may stand in both.
    BadInput where the file is gone.
    """
    asked = Asked(**request, name="")
    with RunStore(Database(place), asked.owner) as store:
        files = store.decisions
        path = files.file(asked)
        try:
            with limited_memory():
                found = _decide(store, asked, path, files.target(asked))
        except FairprivError as error:
            found = {"refused": str(error)}
        files.note(asked, found)
    return {"decided": asked.decide}


def _decide(store: RunStore, asked: Asked, path: Path, target: Path) -> dict[str, Any]:
    """Return the number of rows, how many have each decision, remarks, and the first rows."""
    model = Model.read(partial(store.artifact, store.row(asked.decide).key))
    if model.image is not None:
        _check_images(path)
    found = model.predict_file(str(path), str(target), shown=SHOWN_ROWS, limit_bytes=asked.limit_bytes)
    counts, positive = found.get("decided"), ""
    if counts is None:
        other, positive = model.label_names
        counts = {positive: found["positive"], other: found["rows"] - found["positive"]}
    return {"decided": counts, "positive": positive, **{name: found[name] for name in ("rows", "remarks", "first")}}


def _check_images(path: Path) -> None:
    """Raise BadInput for a file that names images: they are not in it."""
    first = read_first_row(path)
    if any(isinstance(first[name], str) for name in find_image_columns(path)):
        raise BadInput(
            f"{path.name} names images and does not hold them; give a Parquet file that has the images in it.",
            field="file",
        )
