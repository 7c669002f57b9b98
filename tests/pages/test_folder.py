"""Files in the operator's data folder: chosen by their names inside it, and refused from anywhere else."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from fairpriv_core.store.runs import open_store
from tests.pages.test_data import make_csv

Open = Callable[..., AppTest]


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Offer a folder with one file; another file lies beside it."""
    offered = tmp_path / "offered"
    (offered / "old & new").mkdir(parents=True)
    (offered / "old & new" / "people: all.csv").write_bytes(make_csv())
    (tmp_path / "secret.csv").write_bytes(make_csv())
    monkeypatch.setenv("FAIRPRIV_DATA_FOLDER", str(offered))
    return offered


def test_a_file_is_chosen_and_trained_on_by_its_name(folder: Path, open_page: Open, own_store: Path) -> None:
    page = open_page("data", source="file")
    assert not page.exception and not page.error
    assert page.selectbox("file").options[0].startswith("old & new/people: all.csv")
    reference = page.query_params["data"]
    reference = reference[0] if isinstance(reference, list) else reference
    assert str(folder) not in reference and reference.startswith("folder-old")
    again = open_page("data", data=reference)
    assert not again.error and again.selectbox("label").value == "income"
    train = open_page("train", data=reference, method="none")
    assert not train.error and not train.exception
    train.button("launch").click().run()
    [row] = open_store(str(own_store)).rows()
    assert row.config["data"]["file"] == str(folder / "old & new" / "people: all.csv")


@pytest.mark.parametrize("name", ["../secret.csv", "%2e%2e/secret.csv", "/etc/passwd", "gone.csv"])
def test_nothing_outside_is_read(name: str, folder: Path, open_page: Open) -> None:
    for page in (
        open_page("train", data=f"folder-{name}:sex?label=income"),
        open_page("data", data=f"folder-{name}:x"),
    ):
        assert "inside the data folder" in page.error[0].value and not page.exception


def test_a_changed_file_is_read_again(folder: Path, open_page: Open) -> None:
    path = folder / "old & new" / "people: all.csv"
    assert "**400** rows" in " ".join(item.value for item in open_page("data", source="file").markdown)
    path.write_bytes(make_csv(rows=300))
    assert "**300** rows" in " ".join(item.value for item in open_page("data", source="file").markdown)


def test_without_a_folder_nothing_is_offered(open_page: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FAIRPRIV_DATA_FOLDER", raising=False)
    page = open_page("data", source="file")
    assert not page.selectbox and "Nothing uploaded yet" in page.caption[0].value
