"""The process that reads for `apart.py`: requests on standard input, one a line, and npz archives on standard output.

Before each archive stands its length (8 bytes, the highest first).
"""

from __future__ import annotations

import io
import json
import select
import sys
from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from fairpriv_core.data.problem import DataSpec
from fairpriv_core.data.profile import inspect_file, outline_data
from fairpriv_core.errors import FairprivError

IDLE_SECONDS = 60.0


def answer(request: Mapping[str, Any]) -> bytes:
    """Return the archive that answers `request`; an error is an answer too."""
    told: dict[str, Any]
    arrays: dict[str, np.ndarray] = {}
    try:
        if "inspect" in request:
            told = asdict(inspect_file(request["inspect"], limit_bytes=request["limit_bytes"]))
        else:
            told, arrays = _outline(DataSpec(**request["outline"]))
    except FairprivError as error:
        told = {"error": str(error), "kind": type(error).__name__, "field": getattr(error, "field", None)}
    archive = io.BytesIO()
    text = np.frombuffer(json.dumps(told).encode(), dtype=np.uint8)
    np.savez(archive, allow_pickle=False, told=text, **arrays)
    return archive.getvalue()


def _outline(spec: DataSpec) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    outline = outline_data(spec)
    known = vars(outline.dataset)
    arrays = {name: value for name, value in known.items() if isinstance(value, np.ndarray) and name != "X"}
    others = {name: value for name, value in known.items() if not isinstance(value, np.ndarray)}
    return {"dataset": others, "revealing": outline.revealing}, arrays


def main() -> None:
    """Answer until the asking process ends, or asks nothing for a while."""
    source, target = sys.stdin.buffer, sys.stdout.buffer
    while select.select([source], [], [], IDLE_SECONDS)[0] and (line := source.readline()):
        archive = answer(json.loads(line))
        target.write(len(archive).to_bytes(8, "big") + archive)
        target.flush()


if __name__ == "__main__":
    main()
