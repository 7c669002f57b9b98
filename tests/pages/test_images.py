"""Images on the pages: counted and never drawn, terms confirmed first, and networks and methods that suit them."""

from __future__ import annotations

import io
from collections.abc import Iterator
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
from fairpriv_core.store.runs import open_store
from pages.widgets.shared.reference import read_reference, write_reference
from tests.pages.shown import Open, keys_of, said, whole

PICTURES = ("image", "imgs", "graphviz_chart")
ROWS = 1500
PETS = "folder-pets.parquet:sex?label=kind&image=picture"
FEW, SMALL = PETS.replace("pets", "few"), PETS.replace("pets", "small")
TAME = "folder-pets.parquet:sex?label=tame&positive=yes&image=picture"
DIGITS = "mnist_unbalanced:label"


def draw(side: int, seed: int = 0) -> bytes:
    """Return a PNG file of noise."""
    stream = io.BytesIO()
    Image.fromarray(np.random.default_rng(seed).integers(0, 256, (side, side), dtype=np.uint8)).save(stream, "png")
    return stream.getvalue()


def write_pets(place: Path | io.BytesIO, images: list[bytes], *, tame: bool = True) -> None:
    """Write a table of images with three kinds and two sexes, and whether they are `tame` if asked."""
    rows = range(len(images))
    columns = {
        "picture": images,
        "kind": [("cat", "dog", "fox")[row % 3] for row in rows],
        "sex": [("f", "m")[row % 2] for row in rows],
    }
    if tame:
        columns["tame"] = [("no", "yes")[row // 2 % 2] for row in rows]
    parquet.write_table(pa.table(columns), place)


@pytest.fixture(scope="module", autouse=True)
def offered(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Offer files of images, and faces whose terms nobody has confirmed; one reading process has this environment."""
    folder, faces = tmp_path_factory.mktemp("pets"), tmp_path_factory.mktemp("UTKFace")
    for name, side, rows in (("pets", 16, ROWS), ("few", 16, 400), ("small", 8, ROWS)):
        write_pets(folder / f"{name}.parquet", [draw(side, seed=row % 7) for row in range(rows)])
    picture = Image.fromarray(np.random.default_rng(0).integers(0, 256, (200, 200, 3), dtype=np.uint8))
    for row in range(60):
        picture.save(faces / f"{row}_{row % 2}_{row % 5}_20170109{row:09d}.jpg.chip.jpg")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("FAIRPRIV_DATA_FOLDER", str(folder))
        patch.setenv("FAIRPRIV_UTKFACE", str(faces))
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        patch.delenv("FAIRPRIV_CONFIRMED", raising=False)
        READER.close()
        st.cache_resource.clear()
        yield
        READER.close()


def count(page: AppTest) -> dict[str, list[int]]:
    """Return the table of classes and groups."""
    table = next(item.value for item in page.dataframe if "class" in item.value.columns)
    return {name: list(table[name]) for name in table.columns}


def launch(page: AppTest) -> tuple[str | None, int | None]:
    """Launch what is on screen; return the network and the hidden layers of the run."""
    page.button("launch").click().run()
    method = open_store().rows()[0].config["method"]
    return method.get("network"), method.get("hidden_layers")


def test_digits_are_counted_and_trained_on_by_what_suits_ten_groups_that_are_the_classes(
    open_page: Open, real_data: Path
) -> None:
    page = whole(open_page("data", data=DIGITS))
    counts = count(page)
    assert counts["class"] == list("0123456789") and counts["training"][8] == 500 and counts["test"][8] == 974
    assert "**64,649** images, 28 × 28 pixels in grey" in said(page) and "one of 10 classes" in said(page)
    assert not page.get("selectbox")[1:] and "give the group away" not in said(page, "header")
    assert page.query_params["data"] == DIGITS
    chosen = page.session_state["memory"].choices
    assert (chosen["method"], chosen["notion"]) == ("fairdp_adaptive", "accuracy_parity"), "what the strip shows"
    page = whole(open_page("train", data=DIGITS, method="one_release"))
    assert page.selectbox("method").value == "fairdp_adaptive" and not page.button("launch").disabled
    assert "choose a method that protects whole records" in said(page, "info")
    assert "it is the label, which they take as public" in said(page)
    assert page.selectbox("notion").value == "accuracy_parity"
    page.selectbox("notion").set_value("demographic_parity").run()
    assert page.selectbox("notion").value == "demographic_parity", "what a person chooses stays"
    assert open_page("train", data=DIGITS, notion="equalized_odds").selectbox("notion").value == "equalized_odds"
    assert open_page("train").selectbox("notion").value == "demographic_parity"


def test_faces_are_not_read_before_the_terms_are_confirmed(open_page: Open) -> None:
    page = open_page("train", data="utkface:race")
    assert not page.exception and "fairpriv confirm utkface" in said(page, "error")
    page = open_page("data")
    page.selectbox("dataset").set_value("utkface").run()
    assert not whole(page).dataframe
    box = page.checkbox("confirm_utkface")
    assert "non-commercial" in box.label.replace("\\", "")
    box.check().run()
    counts = count(whole(page))
    assert sum(counts["rows"]) == 60 and {"White", "Black", "Asian", "Indian", "Others"} <= set(counts)
    assert not any(page.get(kind) for kind in PICTURES)
    assert not open_page("data", data="utkface:race").checkbox, "remembered"
    page = whole(open_page("data", data="utkface:race?label=gender&positive=female"))
    assert any("base rate" in item.value.columns for item in page.dataframe)
    assert (page.selectbox("label").value, page.selectbox("positive").value) == ("gender", "female")
    page.selectbox("label").set_value("age").run()
    assert not page.exception and page.query_params["data"] == "utkface:race"
    page.multiselect("attributes").set_value(["gender"]).run()
    assert whole(page).query_params["data"] == "utkface:gender"


def test_a_file_of_images_is_guessed_and_what_cannot_be_read_is_left_out_if_asked(open_page: Open) -> None:
    page = open_page("data", source="file")
    images = [draw(6, seed=row) for row in range(60)]
    for unreadable in (False, True):
        stream = io.BytesIO()
        write_pets(stream, [b"none", *images[1:]] if unreadable else images, tame=False)
        page.file_uploader[0].upload("own.parquet", stream.getvalue(), "application/octet-stream")
        page.run()
        assert not page.exception and page.selectbox("image").value == "picture"
        if unreadable:
            assert "row 1 (no image); mend" in said(page, "error")
            page.toggle("unreadable").set_value(True).run()
            assert sum(count(whole(page))["rows"]) == 59
            continue
        assert not whole(page).warning and page.selectbox("label").value == "kind"
        assert page.multiselect("attributes").value == ["sex"]
        assert count(page) == {"class": ["cat", "dog", "fox"], "rows": [20] * 3, "f": [10] * 3, "m": [10] * 3}
        assert page.query_params["data"].endswith(":sex?label=kind&image=picture")


def test_a_reference_tells_the_image_column() -> None:
    spec = DataSpec(file="/x/abc", label="kind", sensitive="sex", image="photo", unreadable="skip")
    text = write_reference(spec)
    assert text.endswith("?label=kind&image=photo&unreadable=skip")
    assert read_reference(text, lambda _: Path("/x/abc")) == spec


@pytest.mark.parametrize("expert", ["False", "True"])
def test_images_are_trained_on_by_a_small_convolutional_network(expert: str, open_page: Open) -> None:
    page = whole(open_page("train", data=PETS, expert=expert, epsilon="20"))
    assert page.selectbox("p.network").value == "cnn_small" and page.selectbox("method").value == "fairdp_adaptive"
    assert not {"p.hidden_layers", "p.width"} & keys_of(page)
    assert "parameters" in " ".join(str(item.help) for item in page.caption)
    assert launch(page) == ("cnn_small", 0)


def test_few_images_are_taken_in_batches_that_they_fill(open_page: Open) -> None:
    page = whole(open_page("train", data=FEW))
    assert page.button("launch").disabled and "Launch is off for these settings" in said(page), "too few for ε = 1"
    assert "Batch size = 75: the usual 512 is too large for 400 rows." in said(
        open_page("train", data=FEW, method="dp_fermi")
    )
    launch(open_page("train", data=FEW, method="none"))
    assert open_store().rows()[0].config["method"]["batch_size"] == 4


def test_an_mlp_is_asked_for_its_size_and_a_network_that_needs_more_pixels_is_refused(open_page: Open) -> None:
    page = whole(open_page("train", data=PETS, expert="True", p__network="mlp"))
    assert {"p.hidden_layers", "p.width"} <= keys_of(page)
    page.slider("p.hidden_layers").set_value(2).run()
    assert launch(page) == ("mlp", 2)
    table = whole(open_page("train", method="dp_sgd", expert="True", p__network="cnn_small"))
    assert "p.network" not in keys_of(table) and not table.button("launch").disabled
    page = open_page("train", data=SMALL, method="dp_sgd")
    assert "needs images of at least 14 x 14 pixels, got 8 x 8; take mlp" in said(page, "error")
    page.selectbox("p.network").set_value("mlp").run()
    assert "needs images" not in said(page, "error")


def test_what_does_not_suit_many_classes_is_not_offered_and_says_why(open_page: Open) -> None:
    page = whole(open_page("train", data=PETS, method="f_ld"))
    assert page.selectbox("method").value == "fairdp_adaptive"
    assert not [option for option in page.selectbox("method").options if "PF-LD" in option]
    assert "takes data with at most 2 labels, and this has 3" in said(page)
    assert "Equal opportunity" not in page.selectbox("notion").options
    assert "of 3 labels none is positive" in said(page)
    assert "methods that take two labels (here are 3)." in said(page)
    binary = open_page("train", data=TAME, method="jagielski_post")
    assert binary.selectbox("method").value == "jagielski_post"
    assert "trains on the 256 pixels as columns" in said(binary)
    assert "Equal opportunity" in binary.selectbox("notion").options


@pytest.mark.parametrize("method", ["f_ld", "pf_ld", "one_release", "pf_ld_record", "fairdp_certified"])
def test_methods_for_two_labels_are_offered_a_network(method: str, open_page: Open) -> None:
    page = open_page("train", data=TAME, method=method)
    assert not page.exception and page.selectbox("method").value == method
    assert page.selectbox("p.network").value == "cnn_small" and "pixels as columns" not in said(page)
