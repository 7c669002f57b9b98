"""A fitted estimator as one file that anybody may open: a zip of NumPy arrays and JSON, nothing that runs as code."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from fairpriv_core.errors import BadInput
from fairpriv_core.paths import read_path
from fairpriv_core.records.model import Model

ESTIMATOR = "estimator.json"


def write_archive(path: str | Path, model: Model, state: Mapping[str, object]) -> None:
    """Write `model`, and `state` (JSON), to the file at `path`; BadInput where either cannot be written."""
    try:
        text = json.dumps(state, indent=1, ensure_ascii=False, allow_nan=False)
        with zipfile.ZipFile(read_path(str(path)), "w", zipfile.ZIP_DEFLATED) as archive:
            for name, content in {**model.write(), ESTIMATOR: text.encode()}.items():
                archive.writestr(name, content)
    except (TypeError, ValueError) as error:
        raise BadInput(
            f"only labels, groups, settings and a module that are texts or numbers are saved: {error}."
        ) from error
    except OSError as error:
        raise BadInput(f"the model cannot be written: {path} ({error.strerror}).", field="path") from error


def read_archive(path: str | Path) -> tuple[Model, dict[str, Any]]:
    """Return what `write_archive` wrote; BadInput for another file."""
    try:
        with zipfile.ZipFile(read_path(str(path))) as archive:
            return Model.read(archive.read), dict(json.loads(archive.read(ESTIMATOR)))
    except (OSError, KeyError, TypeError, ValueError, ArithmeticError, RecursionError, zipfile.BadZipFile) as error:
        raise BadInput(f"'{path}' is no model that fairpriv saved ({error}).", field="path") from error
