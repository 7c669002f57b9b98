"""Uploads: private files under ids at random, each with its owner."""

from __future__ import annotations

import hashlib
import io
import re
import stat

import pytest

from fairpriv_core.errors import BadInput
from fairpriv_core.store.runs import RunStore

CONTENT = b"age,label\n1,2\n"


def test_an_upload_is_private_and_its_name_tells_nothing(local: RunStore) -> None:
    stored = local.uploads.put(io.BytesIO(CONTENT), "My people.CSV", "me")
    assert stored.path.name == f"{stored.id}.csv" and stored.path.read_bytes() == CONTENT
    assert re.fullmatch("[0-9a-f]{16}", stored.id) and stored.id not in hashlib.sha256(CONTENT).hexdigest()
    assert stored.path.parent == local.database.folder / "uploads"
    assert stat.S_IMODE(stored.path.stat().st_mode) == 0o600
    assert (stored.name, stored.owner, stored.bytes) == ("My people.CSV", "me", len(CONTENT))
    assert local.uploads.put(io.BytesIO(CONTENT), "My people.CSV", "me") == stored
    assert local.uploads.rows("me") == [stored] and local.uploads.rows("you") == []
    assert local.uploads.put(io.BytesIO(CONTENT), "My people.txt", "me") == stored
    assert [path.name for path in stored.path.parent.iterdir()] == [stored.path.name]


def test_a_shared_file_goes_with_its_last_owner(local: RunStore) -> None:
    mine = local.uploads.put(io.BytesIO(CONTENT), "a.csv", "me")
    yours = local.uploads.put(io.BytesIO(CONTENT), "b.csv", "you")
    with pytest.raises(BadInput, match="no upload"):
        local.uploads.delete(mine.id, "them")
    local.uploads.delete(mine.id, "me")
    assert yours.path.exists() and local.uploads.rows() == [yours]
    local.uploads.delete(yours.id, "you")
    assert not yours.path.exists() and local.uploads.rows() == []


def test_a_name_leaves_no_folder(local: RunStore) -> None:
    stored = local.uploads.put(io.BytesIO(CONTENT), "../../etc/passwd", "me")
    assert stored.path.parent == local.database.folder / "uploads"
    assert local.uploads.put(io.BytesIO(b"1"), "a.c/d\0v", "me").path.suffix == ""


def test_an_upload_is_its_owners_until_it_is_shared(local: RunStore) -> None:
    mine = local.uploads.put(io.BytesIO(CONTENT), "a.csv", "me")
    digits = mine.id[:12]
    assert local.uploads.find(digits, "me") == mine and local.uploads.visible("you") == []
    for asked in (digits, mine.id, digits[:6], "", "*"):
        with pytest.raises(BadInput, match="not among your uploads"):
            local.uploads.find(asked, "you")
    local.uploads.share(mine.id, "me", shared=True)
    local.uploads.share(mine.id, "me", shared=True)
    assert local.uploads.is_shared(mine.id, "me")
    [seen] = local.uploads.visible("you")
    assert seen.path == mine.path == local.uploads.find(digits, "you").path
    assert local.uploads.visible("me") == [mine]
    for change in (lambda: local.uploads.delete(mine.id, "you"), lambda: _unshare(local, mine.id, "you")):
        with pytest.raises(BadInput, match="no upload"):
            change()
    _unshare(local, mine.id, "me")
    assert local.uploads.visible("you") == []
    local.uploads.share(mine.id, "me", shared=True)
    local.uploads.delete(mine.id, "me")
    assert local.uploads.rows() == [] and not mine.path.exists()


def _unshare(store: RunStore, upload_id: str, person: str) -> None:
    store.uploads.share(upload_id, person, shared=False)
