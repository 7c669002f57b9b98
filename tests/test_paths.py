"""Paths as people write them: one that no file can have is refused in a sentence, wherever it comes in."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from fairpriv_core.errors import BadInput
from fairpriv_core.paths import MOST_BYTES, read_path, read_text


@pytest.mark.parametrize("text", ["~nobody-of-this-name/x", "a" * 256, "/x/" + "a/" * 3000, "a\0b", "a\ud800b"])
def test_a_path_that_no_file_can_have_is_refused(text: str) -> None:
    with pytest.raises(BadInput, match=r"cannot be a file \(.*\); write another path\.$") as caught:
        read_path(text, field="out")
    assert caught.value.field == "out" and len(str(caught.value)) <= 400


def test_a_link_to_itself_is_refused(tmp_path: Path) -> None:
    loop = tmp_path / "loop"
    loop.symlink_to(loop)
    with pytest.raises(BadInput, match="its links lead to themselves"):
        read_path(str(loop))


def test_a_path_need_not_be_there(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.chdir(tmp_path)
    assert read_path("~/new") == read_path("new") == tmp_path / "new"


def test_a_file_of_settings_is_text_of_a_size(tmp_path: Path) -> None:
    path = tmp_path / "config.toml"
    path.write_bytes(b"\xff")
    with pytest.raises(BadInput, match="config cannot be read"):
        read_text(str(path), field="config", what="config")
    path.write_bytes(b"#")
    os.truncate(path, MOST_BYTES + 1)
    with pytest.raises(BadInput, match="config must have at most 10 MB"):
        read_text(str(path), field="config", what="config")
