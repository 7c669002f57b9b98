"""Reading in a process of its own, for one that lives long and has to stay small: the pages. Both sides are here.

What is read on the way (a file's columns, of which labels and groups remain) never becomes memory of the caller. An
answer comes back as one npz archive of arrays and a JSON text, no pickle. Before each archive stands its length (8
bytes, the highest first).
"""

from __future__ import annotations

import atexit
import io
import json
import os
import select
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.data.problem import DataSpec
from fairpriv_core.data.profile import ColumnReport, FileReport, Outline, inspect_file, outline_data
from fairpriv_core.data.table_schema import UNSAID, from_text
from fairpriv_core.errors import BadInput, DataUnavailable, FairprivError, RunFailed
from fairpriv_core.files.column import Column
from fairpriv_core.files.forms import UNSTATED, Form, Stated, read_stated
from fairpriv_core.files.memory import limited_memory
from fairpriv_core.files.read import digest_content
from fairpriv_core.plain import freeze

IDLE_SECONDS = 60.0
#: so long may an answer take; the others wait
ANSWER_SECONDS = 180.0
_END_SECONDS = 10.0
_BLOCK = 1 << 20
_LENGTH_BYTES = 8
_ERRORS = {kind.__name__: kind for kind in (BadInput, DataUnavailable)}


def answer(request: Mapping[str, Any]) -> bytes:
    """Return the archive that answers `request`; an error is an answer too."""
    document: dict[str, Any]
    arrays: dict[str, np.ndarray] = {}
    try:
        if "inspect" in request:
            stated = UNSAID if request["stated"] is None else from_text(request["stated"])
            document = asdict(inspect_file(request["inspect"], limit_bytes=request["limit_bytes"], stated=stated))
        elif "digest" in request:
            document = {"digest": digest_content(Path(request["digest"]), read_stated(request["stated"]))}
        else:
            document, arrays = _outline(DataSpec(**request["outline"]))
    except FairprivError as error:
        document = {"error": str(error), "kind": type(error).__name__, "field": getattr(error, "field", None)}
    archive = io.BytesIO()
    text = np.frombuffer(json.dumps(document).encode(), dtype=np.uint8)
    np.savez(archive, allow_pickle=False, answer=text, **arrays)
    return archive.getvalue()


def _outline(spec: DataSpec) -> tuple[dict[str, object], dict[str, np.ndarray]]:
    outline = outline_data(spec)
    values = vars(outline.dataset)
    arrays = {name: value for name, value in values.items() if isinstance(value, np.ndarray) and name != "X"}
    others = {name: value for name, value in values.items() if not isinstance(value, np.ndarray)}
    further = {name: value for name, value in vars(outline).items() if name != "dataset"}
    return {"dataset": others, **further}, arrays


def main() -> None:
    """Answer until the asking process ends, or asks nothing for a while."""
    source, target = sys.stdin.buffer, sys.stdout.buffer
    with limited_memory():
        while select.select([source], [], [], IDLE_SECONDS)[0] and (line := source.readline()):
            archive = answer(json.loads(line))
            target.write(len(archive).to_bytes(_LENGTH_BYTES, "big") + archive)
            target.flush()


class Reader:
    """The process that reads: started when it is asked, ends by itself when it is not asked for a while.

    It answers one request after the other, each within `seconds` or not at all: RunFailed then, as where it dies.
    """

    def __init__(self, module: str = "fairpriv_core.data.reader_process", seconds: float = ANSWER_SECONDS) -> None:
        self._command, self._seconds = [sys.executable, "-m", module], seconds
        self._lock = threading.Lock()
        self._process: subprocess.Popen[bytes] | None = None
        self._is_idle = False
        atexit.register(self.close)

    def outline(self, spec: DataSpec) -> Outline:
        """Return `profile.outline_data` of `spec`; errors alike. RunFailed where the process dies of it."""
        document, arrays = self._ask({"outline": vars(spec)})
        values: dict[str, Any] = {name: freeze(value) for name, value in document.pop("dataset").items()}
        values |= arrays | {"X": np.empty((len(arrays["y"]), 0), dtype=np.float32)}
        return Outline(Dataset(**values), **{name: freeze(value) for name, value in document.items()})

    def inspect(self, path: Path, *, limit_bytes: int | None = None, stated: str | None = None) -> FileReport:
        """Return `profile.inspect_file` of `path`, `stated` as in a config. RunFailed where the process dies of it."""
        document, _ = self._ask({"inspect": str(path), "limit_bytes": limit_bytes, "stated": stated})
        columns = tuple(_read_report(report) for report in document.pop("columns"))
        form_json = document.pop("form")
        form = None if form_json is None else Form(**{name: freeze(value) for name, value in form_json.items()})
        return FileReport(columns=columns, form=form, **{name: freeze(value) for name, value in document.items()})

    def digest(self, path: Path, stated: Stated = UNSTATED) -> str:
        """Return `read.digest_content` of the file at `path`; errors alike. RunFailed where the process dies of it."""
        document, _ = self._ask({"digest": str(path), "stated": stated.to_json()})
        return str(document["digest"])

    def close(self) -> None:
        """End the process, if one runs."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.communicate()

    def _ask(self, request: Mapping[str, Any]) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
        """Return what the process answers: JSON, and arrays by name. What it dies of is not tried again."""
        if not self._lock.acquire(timeout=self._seconds):
            raise RunFailed("the data could not be read now: another file is being read; try again in a minute.")
        try:
            answer = self._try(request)
            if answer is None and self._is_idle:
                answer = self._try(request)
        finally:
            self._lock.release()
        if answer is None:
            raise RunFailed(
                "the data could not be read: the process that reads them ended without an answer; "
                "a file that needs more memory than reading may take is the likely reason. Use fewer rows."
            )
        with np.load(io.BytesIO(answer), allow_pickle=False) as archive:
            arrays = {name: archive[name] for name in archive.files}
        document = json.loads(arrays.pop("answer").tobytes())
        if "error" in document:
            raise _ERRORS.get(document["kind"], BadInput)(document["error"], field=document["field"])
        return dict(document), arrays

    def _try(self, request: Mapping[str, object]) -> bytes | None:
        """Return the archive; None where the process has ended. RunFailed, and its end, where it takes too long."""
        process = self._process = self._process or subprocess.Popen(
            self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        assert process.stdin is not None
        until = time.monotonic() + self._seconds
        try:
            process.stdin.write(json.dumps(request).encode() + b"\n")
            process.stdin.flush()
            answer = _receive(process, int.from_bytes(_receive(process, _LENGTH_BYTES, until), "big"), until)
        except BrokenPipeError:
            answer = b""
        except TimeoutError as error:
            self.close()
            raise RunFailed(
                f"the data could not be read within {self._seconds:g} seconds, after which reading stops; use fewer "
                "rows, or fairpriv train, which may take longer."
            ) from error
        if answer:
            return answer
        with suppress(subprocess.TimeoutExpired):
            process.wait(_END_SECONDS)
        self._is_idle = process.returncode == 0  # it had left before it was asked
        self.close()
        return None


def _receive(process: subprocess.Popen[bytes], count: int, until: float) -> bytes:
    """Return the next `count` bytes that the process writes, fewer where it ends; TimeoutError after `until`."""
    assert process.stdout is not None
    source, content = process.stdout.fileno(), bytearray()
    waiting = select.poll()  # no select: a server has more than 1024 open files
    waiting.register(source, select.POLLIN)
    while len(content) < count:
        if not waiting.poll(max(until - time.monotonic(), 0) * 1000):
            raise TimeoutError
        block = os.read(source, min(count - len(content), _BLOCK))
        if not block:
            break
        content += block
    return bytes(content)


READER = Reader()


def _read_report(document: Mapping[str, Any]) -> ColumnReport:
    column = Column(**{name: freeze(value) for name, value in document["said"].items()})
    return ColumnReport(**{**document, "said": column, "values": tuple(document["values"])})


if __name__ == "__main__":
    main()
