"""Uploads: private files named by their content, each with its owner."""

from __future__ import annotations

import hashlib
import io
import stat

import pytest

from fairpriv_core.errors import BadInput
from fairpriv_core.runs.store import RunStore

CONTENT = b"age,label\n1,2\n"


def test_an_upload_is_private_and_named_by_its_content(local: RunStore) -> None:
    stored = local.uploads.put(io.BytesIO(CONTENT), "My people.CSV", "me")
    assert stored.path.name == f"{hashlib.sha256(CONTENT).hexdigest()}.csv" and stored.path.read_bytes() == CONTENT
    assert stored.path.parent == local.database.folder / "uploads"
    assert stat.S_IMODE(stored.path.stat().st_mode) == 0o600
    assert (stored.name, stored.owner, stored.bytes) == ("My people.CSV", "me", len(CONTENT))
    assert local.uploads.put(io.BytesIO(CONTENT), "My people.CSV", "me") == stored
    assert local.uploads.rows("me") == [stored] and local.uploads.rows("you") == []
    assert [path.name for path in stored.path.parent.iterdir()] == [stored.path.name]


def test_a_shared_file_goes_with_its_last_owner(local: RunStore) -> None:
    mine = local.uploads.put(io.BytesIO(CONTENT), "a.csv", "me")
    yours = local.uploads.put(io.BytesIO(CONTENT), "b.csv", "you")
    with pytest.raises(BadInput, match="no upload"):
        local.uploads.delete(mine.sha256, "them")
    local.uploads.delete(mine.sha256, "me")
    assert yours.path.exists() and local.uploads.rows() == [yours]
    local.uploads.delete(yours.sha256, "you")
    assert not yours.path.exists() and local.uploads.rows() == []


def test_a_name_leaves_no_folder(local: RunStore) -> None:
    stored = local.uploads.put(io.BytesIO(CONTENT), "../../etc/passwd", "me")
    assert stored.path.parent == local.database.folder / "uploads"
