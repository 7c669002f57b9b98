"""Checkpoints: named arrays as bytes, without pickle, and what they are bound to. Secret: they hold generator state."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

import fairpriv_core
from fairpriv_core.errors import RunFailed
from fairpriv_core.privacy.event import Events
from fairpriv_core.runs.versions import library_versions


@dataclass(frozen=True)
class Checkpoint:
    """What a run goes on from: arrays by name (as bytes), what was released up to `step`, and what it is bound to."""

    step: int
    content: bytes
    released: Events
    binding: Mapping[str, Any]

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays."""
        with np.load(io.BytesIO(self.content), allow_pickle=False) as stored:
            return {name: stored[name] for name in stored.files}


def pack(arrays: Mapping[str, np.ndarray]) -> bytes:
    """Return named arrays as the bytes of an npz file."""
    buffer = io.BytesIO()
    np.savez(buffer, allow_pickle=False, **arrays)
    return buffer.getvalue()


def bind(*, settings: Mapping[str, Any], data_digest: str) -> dict[str, Any]:
    """Return what a checkpoint made now is bound to: settings, data, code and library versions."""
    asked = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()
    return {"settings": asked, "data": data_digest, "code": hash_code(), "libraries": library_versions()}


def check_binding(checkpoint: Checkpoint, now: Mapping[str, Any], key: str) -> None:
    """Raise RunFailed where a checkpoint was made from other data, settings, code or libraries.

    Going on would draw the same noise for another computation, and the difference of the two would show what the
    noise hides.
    """
    changed = [name for name in now if checkpoint.binding.get(name) != now[name]]
    if changed:
        raise RunFailed(
            f"run {key} cannot go on from step {checkpoint.step}: {' and '.join(changed)} changed since its "
            "checkpoint; start it again (train --again). What it released so far stays counted."
        )


def hash_code() -> str:
    """Return a SHA-256 of this package's sources."""
    root = Path(fairpriv_core.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()
