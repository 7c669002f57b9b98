"""Checkpoints: named arrays as bytes, without pickle, and what they are bound to. Secret: they hold generator state.

The bytes are a JSON header (name -> kind and shape), its length in four bytes before it, and the arrays one after the
other: hundreds of models are packed at once, and an npz file of each takes fifteen times as long.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np

import fairpriv_core
from fairpriv_core.engine.training import CPU
from fairpriv_core.errors import RunFailed
from fairpriv_core.privacy.event import Events
from fairpriv_core.records.record import library_versions
from fairpriv_core.records.source import ConfigJson

_HEAD = 4  # bytes that hold the header's length
_VERSIONS = {"method", "network", "device", "code", "libraries"}


class OtherVersion(RunFailed):
    """A run that only the code and the libraries with which it began can go on with."""


@dataclass(frozen=True)
class Checkpoint:
    """What a run goes on from: arrays by name (as bytes), what was released up to `step`, and what it is bound to."""

    step: int
    content: bytes
    released: Events
    binding: Mapping[str, object]

    def arrays(self) -> dict[str, np.ndarray]:
        """Return the arrays."""
        size = int.from_bytes(self.content[:_HEAD], "little")
        at, arrays = _HEAD + size, {}
        for name, (kind, shape) in json.loads(self.content[_HEAD:at]).items():
            count = math.prod(shape)
            arrays[name] = np.frombuffer(self.content, dtype=kind, count=count, offset=at).reshape(shape).copy()
            at += arrays[name].nbytes
        return arrays


def pack(arrays: Mapping[str, np.ndarray]) -> bytes:
    """Return named arrays of plain numbers as bytes; `Checkpoint.arrays` reads them back."""
    plain = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    head = json.dumps({name: [array.dtype.str, np.shape(arrays[name])] for name, array in plain.items()}).encode()
    return len(head).to_bytes(_HEAD, "little") + head + b"".join(array.tobytes() for array in plain.values())


def bind(
    *,
    settings: ConfigJson,
    data: str,
    method: Mapping[str, str] | None = None,
    network: Mapping[str, object] | None = None,
    device: str = CPU,
) -> dict[str, object]:
    """Return what a checkpoint made now is bound to: settings, data (a keyed digest), code and library versions.

    `method` describes one of another package and `network` one of a person's own, with the hashes of their sources and
    of what the network does not train. On another `device` sums have other bits.
    """
    settings_seal = hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()
    theirs = {"method": dict(method) if method else None, "network": None if network is None else dict(network)}
    where = {**theirs, "device": None if device == CPU else device}
    return {"settings": settings_seal, "data": data, **where, "code": hash_code(), "libraries": library_versions()}


def check_binding(checkpoint: Checkpoint, now: Mapping[str, object], key: str) -> None:
    """Raise RunFailed where a checkpoint is of other data or settings, OtherVersion where only what runs them differs.

    Going on would draw the same noise for another computation, and the difference of the two would show what the
    noise hides.
    """
    changed = [name for name in now if checkpoint.binding.get(name) != now[name]]
    reason = f"run {key} cannot go on from step {checkpoint.step}: {' and '.join(changed)} changed since its checkpoint"
    anew = "start it anew (train --again). What it released so far stays counted."
    if changed and set(changed) <= _VERSIONS:
        raise OtherVersion(f"{reason}. It is paused: go on with the version that began it, or {anew}")
    if changed:
        raise RunFailed(f"{reason}; {anew}")


@cache
def hash_code() -> str:
    """Return a SHA-256 of this package's sources, as they are when this process first asks."""
    root = Path(fairpriv_core.__file__).parent
    digest = hashlib.sha256()
    for path in sorted(root.rglob("*.py")):
        digest.update(path.relative_to(root).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    return digest.hexdigest()
