"""Reading in a process of its own, for one that lives long and has to stay small: the pages.

What is read on the way (a file's columns, of which labels and groups remain) never becomes memory of the caller. An
answer comes back as one npz archive of arrays and a JSON text, no pickle.
"""

from __future__ import annotations

import atexit
import io
import json
import subprocess
import sys
import threading
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.data.problem import DataSpec
from fairpriv_core.data.profile import ColumnReport, FileReport, Outline
from fairpriv_core.errors import BadInput, DataUnavailable, RunFailed

_ERRORS = {kind.__name__: kind for kind in (BadInput, DataUnavailable)}
_LENGTH_BYTES = 8


class Reader:
    """The process that reads: started when it is asked, ends by itself when it is not asked for a while."""

    def __init__(self, module: str = "fairpriv_core.data.apart_process") -> None:
        self._command = [sys.executable, "-m", module]
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        atexit.register(self.close)

    def outline(self, spec: DataSpec) -> Outline:
        """Return `profile.outline_data` of `spec`; errors alike. RunFailed where the process dies of it."""
        told, arrays = self._ask({"outline": vars(spec)})
        known: dict[str, Any] = {name: _freeze(value) for name, value in told["dataset"].items()}
        known |= arrays | {"X": np.empty((len(arrays["y"]), 0), dtype=np.float32)}
        return Outline(Dataset(**known), _freeze(told["revealing"]))

    def inspect(self, path: Path, *, limit_bytes: int | None = None) -> FileReport:
        """Return `profile.inspect_file` of `path`. RunFailed where the process dies of it."""
        told, _ = self._ask({"inspect": str(path), "limit_bytes": limit_bytes})
        columns = tuple(ColumnReport(**{**each, "values": tuple(each["values"])}) for each in told.pop("columns"))
        return FileReport(columns=columns, **{name: _freeze(value) for name, value in told.items()})

    def close(self) -> None:
        """End the process, if one runs."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()

    def _ask(self, request: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return what the process answers: JSON, and arrays by name. One that has gone is started anew, once."""
        with self._lock:
            answer = self._try(request) or self._try(request)
        if answer is None:
            raise RunFailed(
                "the data could not be read: the process that reads them ended without an answer; "
                "a file that needs more memory than there is may be the reason."
            )
        with np.load(io.BytesIO(answer), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        told = json.loads(arrays.pop("told").tobytes())
        if "error" in told:
            raise _ERRORS.get(told["kind"], BadInput)(told["error"], field=told["field"])
        return dict(told), arrays

    def _try(self, request: Mapping[str, Any]) -> bytes | None:
        process = self._process = self._process or subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert process.stdin is not None and process.stdout is not None
        try:
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
            length = int.from_bytes(process.stdout.read(_LENGTH_BYTES), "big")
            answer = process.stdout.read(length)
        except BrokenPipeError:
            answer = b""
        if answer:
            return answer
        self.close()
        return None


READER = Reader()


def _freeze(value: Any) -> Any:
    """Return JSON's lists as tuples, in mappings too."""
    if isinstance(value, list):
        return tuple(_freeze(item) for item in value)
    return {name: _freeze(item) for name, item in value.items()} if isinstance(value, dict) else value
