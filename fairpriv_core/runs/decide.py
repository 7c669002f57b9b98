"""A model's decisions on a file that a page was given: a child of the supervisor makes them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from fairpriv_core.data.own_images import find_image_columns, read_first_row
from fairpriv_core.errors import BadInput, FairprivError
from fairpriv_core.files.forms import find_basis, read_stated
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
    with RunStore(Database(place), request["owner"]) as store:
        files = store.decisions
        request_file = files.asked()
        if request_file is None or request_file.request != request:
            raise BadInput("the file is gone; give it again.", field="file")
        path = files.file(request_file)
        with limited_memory():
            try:
                document = _decide(store, request_file, path, files.target(request_file))
            except FairprivError as error:
                form = find_basis(path, limit_bytes=request_file.limit_bytes)
                document = {"refused": str(error), "form": None if form is None else asdict(form)}
        files.note(request_file, document)
    return {"decided": request_file.decide}


def _decide(store: RunStore, asked: Asked, path: Path, target: Path) -> dict[str, object]:
    """Return the number of rows, how many have each decision, remarks, the first rows, and how they are written."""
    model = Model.read(partial(store.artifact, store.row(asked.decide).key))
    if model.image is not None:
        _check_images(path)
    stated, limits = read_stated(asked.stated), {"shown": SHOWN_ROWS, "limit_bytes": asked.limit_bytes}
    predicted = model.predict_file(str(path), str(target), stated, **limits)
    counts, positive = predicted.get("decided"), ""
    if counts is None:
        negative, positive = model.label_names
        n_positive = predicted["positive"] or 0
        counts = {positive: n_positive, negative: predicted["rows"] - n_positive}
    return {
        "decided": counts,
        "positive": positive,
        "rows": predicted["rows"],
        "remarks": predicted["remarks"],
        "first": predicted["first"],
        "form": predicted["form"],
    }


def _check_images(path: Path) -> None:
    """Raise BadInput for a file that names images: they are not in it."""
    first = read_first_row(path)
    if any(isinstance(first[name], str) for name in find_image_columns(path)):
        raise BadInput(
            f"{path.name} names images and does not hold them; give a Parquet file that has the images in it.",
            field="file",
        )
