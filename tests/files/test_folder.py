"""The operator's data folder: what is inside it can be named, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from fairpriv_core.errors import BadInput
from fairpriv_core.files.folder import VARIABLE, find_named, list_names, name_in_folder


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder with two files, beside one that is not offered."""
    offered = tmp_path / "offered"
    (offered / "2024").mkdir(parents=True)
    for name in ("2024/people, all.csv", "b.parquet", "notes.txt", ".hidden.csv"):
        (offered / name).write_text("a,b\n1,2\n")
    (tmp_path / "secret.csv").write_text("a,b\n1,2\n")
    (offered / "out.csv").symlink_to(tmp_path / "secret.csv")
    (offered / "up").symlink_to(tmp_path)
    monkeypatch.setenv(VARIABLE, str(offered))
    return offered


def test_what_is_inside_is_listed_and_found(folder: Path) -> None:
    assert list_names() == ["2024/people, all.csv", "b.parquet"]
    found = find_named("2024/people, all.csv")
    assert found == folder / "2024/people, all.csv"
    assert name_in_folder(str(found)) == "2024/people, all.csv"
    assert name_in_folder(str(folder.parent / "secret.csv")) is None


@pytest.mark.parametrize(
    "name",
    [
        "../secret.csv",
        "2024/../../secret.csv",
        "out.csv",
        "up/secret.csv",
        "/etc/passwd.csv",
        "a\0.csv",
        f"{'a' * 300}.csv",
        "\ud800.csv",
        "",
        "2024",
    ],
)
def test_nothing_outside_can_be_named(name: str, folder: Path) -> None:
    with pytest.raises(BadInput, match="inside the data folder"):
        find_named(name)


def test_a_text_file_is_not_offered(folder: Path) -> None:
    with pytest.raises(BadInput, match="not a table inside"):
        find_named("notes.txt")


def test_an_absolute_name_inside_is_refused_too(folder: Path) -> None:
    with pytest.raises(BadInput, match="inside the data folder"):
        find_named(str(folder / "b.parquet"))


def test_without_a_folder_there_is_nothing(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.delenv(VARIABLE, raising=False)
    assert list_names() == [] and name_in_folder(str(tmp_path / "a.csv")) is None
    with pytest.raises(BadInput, match="no data folder"):
        find_named("a.csv")
    monkeypatch.setenv(VARIABLE, str(tmp_path / "gone"))
    with pytest.raises(BadInput, match="names no folder"):
        list_names()
