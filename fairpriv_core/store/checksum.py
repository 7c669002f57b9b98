"""Checksums by which a store tells damage: a document carries its own, and is verified whenever it is read.

SHA-256, as of files: beside a commit, which waits for the disk, it costs nothing that can be measured.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from fairpriv_core.errors import Damaged

_OWN = "sha256"


class Unreadable(dict[str, object]):
    """What stands for a stored document that is no JSON: empty, so that nothing takes it for whole."""


def seal_document(document: Mapping[str, object], *beside: bytes) -> dict[str, object]:
    """Return a document with its checksum, which covers what is stored `beside` it too."""
    return {**document, _OWN: _digest(document, beside)}


def open_document(stored: Mapping[str, object] | str, what: str, *beside: bytes) -> dict[str, object]:
    """Return what `seal_document` was given; Damaged, naming `what`, where that is not what was stored.

    As text it is verified without being written anew, which counts where there are thousands: the checksum is the last
    that is written, of what stands before it.
    """
    if isinstance(stored, str):
        head, _, end = stored.rpartition(f', "{_OWN}": ')
        body = f"{head}}}"
        if not beside and end == f'"{hashlib.sha256(body.encode()).hexdigest()}"}}':
            return dict(json.loads(body))
        stored = read_json(stored)
    document = dict(stored) if isinstance(stored, Mapping) else {}
    seal = document.pop(_OWN, None)
    if seal != _digest(document, beside):
        raise build_damaged(what)
    return document


def read_json(text: str) -> Any:
    """Return a stored document; one that is no JSON must not hide the others."""
    try:
        return json.loads(text)
    except ValueError:
        return Unreadable()


def check_content(content: bytes, sha256: str, what: str) -> bytes:
    """Return `content`; Damaged, naming `what`, where its SHA-256 is another one."""
    if hashlib.sha256(content).hexdigest() != sha256:
        raise build_damaged(what)
    return content


def build_damaged(what: str) -> Damaged:
    """Return the error that says that `what` is damaged."""
    return Damaged(f"{what} is damaged in the run store; take it from a backup ('fairpriv check' lists all damage).")


def _digest(document: Mapping[str, object], beside: tuple[bytes, ...]) -> str:
    digest = hashlib.sha256(json.dumps(document).encode())
    for part in beside:
        digest.update(len(part).to_bytes(8, "little") + part)
    return digest.hexdigest()
