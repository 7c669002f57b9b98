"""The Data page for images: counts by class and group, a confirmation where one is asked for, and never a picture."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import streamlit as st
from PIL import Image
from pyarrow import parquet
from streamlit.testing.v1 import AppTest

from fairpriv_core.data.problem import DataSpec
from fairpriv_core.data.reader_process import READER
from pages.widgets.shared.reference import read_reference, write_reference

Open = Callable[..., AppTest]
PICTURES = ("image", "imgs", "graphviz_chart")


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the user's own confirmations out of it."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.delenv("FAIRPRIV_CONFIRMED", raising=False)
    st.cache_resource.clear()
    READER.close()  # it has the environment of whoever started it


@pytest.fixture
def faces(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return a folder that looks like UTK-Face's; its pictures are noise."""
    folder = tmp_path / "UTKFace"
    folder.mkdir()
    generator = np.random.default_rng(0)
    for row in range(60):
        name = f"{row}_{row % 2}_{row % 5}_20170109{row:09d}.jpg.chip.jpg"
        Image.fromarray(generator.integers(0, 256, (200, 200, 3), dtype=np.uint8)).save(folder / name)
    monkeypatch.setenv("FAIRPRIV_UTKFACE", str(folder))
    return folder


def read_all(page: AppTest) -> str:
    return " ".join(str(item.value) for kind in (page.markdown, page.caption, page.info) for item in kind)


def find_classes(page: AppTest) -> dict[str, list[int]]:
    table = next(item.value for item in page.dataframe if "class" in item.value.columns)
    return {name: list(table[name]) for name in table.columns}


def test_digits_are_counted_by_class_and_part(open_page: Open, real_data: Path) -> None:
    page = open_page("data", data="mnist_unbalanced:label")
    assert not page.exception and not page.error
    counts = find_classes(page)
    assert counts["class"] == list("0123456789") and counts["training"][8] == 500 and counts["test"][8] == 974
    said = read_all(page)
    assert "**64,649** images, 28 × 28 pixels in grey" in said and "one of 10 classes" in said
    assert not page.get("selectbox")[1:] and "give the group away" not in " ".join(item.value for item in page.header)
    assert page.query_params["data"] == "mnist_unbalanced:label"
    chosen = page.session_state["memory"]["choices"]
    assert (chosen["method"], chosen["notion"]) == ("fairdp_adaptive", "accuracy_parity"), "what the strip shows"


def test_faces_are_not_read_before_the_terms_are_confirmed(open_page: Open, faces: Path) -> None:
    page = open_page("data")
    page.selectbox("dataset").set_value("utkface").run()
    assert not page.exception and not page.error and not page.dataframe
    box = page.checkbox("confirm_utkface")
    assert "non\\-commercial" in box.label or "non-commercial research only" in box.label
    box.check().run()
    assert not page.exception and not page.error
    counts = find_classes(page)
    assert sum(counts["rows"]) == 60 and {"White", "Black", "Asian", "Indian", "Others"} <= set(counts)
    assert not any(page.get(kind) for kind in PICTURES)
    assert not open_page("data", data="utkface:race").checkbox, "remembered"


def test_an_address_brings_no_unconfirmed_faces(open_page: Open, faces: Path) -> None:
    page = open_page("train", data="utkface:race")
    assert not page.exception and "non" in page.error[0].value and "fairpriv confirm utkface" in page.error[0].value


def test_a_binary_label_keeps_the_groups_base_rates(
    open_page: Open, faces: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FAIRPRIV_CONFIRMED", "utkface")
    page = open_page("data", data="utkface:race?label=gender&positive=female")
    assert not page.exception and not page.error
    assert any("base rate" in item.value.columns for item in page.dataframe)
    assert page.selectbox("label").value == "gender" and page.selectbox("positive").value == "female"
    page.selectbox("label").set_value("age").run()
    assert not page.exception and page.query_params["data"] == "utkface:race"
    page.multiselect("attributes").set_value(["gender"]).run()
    assert page.query_params["data"] == "utkface:gender" and not page.error


def make_parquet(broken: bool = False) -> bytes:
    images = []
    for row in range(60):
        stream = io.BytesIO()
        Image.fromarray(np.random.default_rng(row).integers(0, 256, (6, 7), dtype=np.uint8)).save(stream, "png")
        images.append(b"none" if broken and row == 4 else stream.getvalue())
    columns = {"photo": images, "sex": ["f", "m"] * 30, "kind": ["cat", "dog", "fox"] * 20}
    stream = io.BytesIO()
    parquet.write_table(pa.table(columns), stream)
    return stream.getvalue()


def test_a_file_of_images_is_guessed_and_used(open_page: Open, own_store: Path) -> None:
    page = open_page("data", source="file")
    page.file_uploader[0].upload("pets.parquet", make_parquet(), "application/octet-stream")
    page.run()
    assert not page.exception and not page.error and not page.warning
    assert page.selectbox("image").value == "photo" and page.selectbox("label").value == "kind"
    assert page.multiselect("attributes").value == ["sex"]
    assert find_classes(page) == {"class": ["cat", "dog", "fox"], "rows": [20] * 3, "f": [10] * 3, "m": [10] * 3}
    assert page.query_params["data"].endswith(":sex?label=kind&image=photo")


def test_an_image_that_cannot_be_read_is_named_and_left_out_if_asked(open_page: Open, own_store: Path) -> None:
    page = open_page("data", source="file")
    page.file_uploader[0].upload("pets.parquet", make_parquet(broken=True), "application/octet-stream")
    page.run()
    assert not page.exception and "row 5 (no image); mend" in page.error[0].value
    page.toggle("unreadable").set_value(True).run()
    assert not page.exception and not page.error and sum(find_classes(page)["rows"]) == 59


def test_a_reference_tells_the_image_column() -> None:
    spec = DataSpec(file="/x/abc", label="kind", sensitive="sex", image="photo", unreadable="skip")
    text = write_reference(spec)
    assert text.endswith("?label=kind&image=photo&unreadable=skip")
    assert read_reference(text, lambda _: Path("/x/abc")) == spec


def test_train_says_what_cannot_be_protected(open_page: Open, real_data: Path) -> None:
    page = open_page("train", data="mnist_unbalanced:label", method="one_release")
    assert not page.exception and not page.error
    assert "choose a method that protects whole records" in page.info[0].value
    assert page.selectbox("method").value == "fairdp_adaptive" and not page.button("launch").disabled
    assert "here it is the label, which they take as public" in read_all(page)
