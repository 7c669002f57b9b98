"""Images on the Train page: a network that sees them, methods and notions that suit the data, and no pixel here."""

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

from fairpriv_core.data.reader_process import READER
from fairpriv_core.store.runs import open_store

Open = Callable[..., AppTest]
KINDS, SEXES, ROWS = ("cat", "dog", "fox"), ("f", "m"), 1500
PETS = "folder-pets.parquet:sex?label=kind&image=picture"
SAME = "mnist_unbalanced:label"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with files of images: 1500, 400 of these, and as many too small ones."""
    place, draw, cells = tmp_path_factory.mktemp("pets"), np.random.default_rng(0), []
    for _ in range(ROWS):
        buffer = io.BytesIO()
        Image.fromarray(draw.integers(0, 256, (16, 16), dtype=np.uint8)).save(buffer, "png")
        cells.append(buffer.getvalue())
    kinds = [KINDS[row % 3] for row in range(ROWS)]
    columns = {"picture": cells, "kind": kinds, "sex": [SEXES[row % 2] for row in range(ROWS)]}
    columns["tame"] = [("no", "yes")[row // 2 % 2] for row in range(ROWS)]
    table = pa.table(columns)
    parquet.write_table(table, place / "pets.parquet")
    parquet.write_table(table.slice(0, 400), place / "few.parquet")
    small = io.BytesIO()
    Image.fromarray(np.zeros((8, 8), dtype=np.uint8)).save(small, "png")
    parquet.write_table(pa.table({**columns, "picture": [small.getvalue()] * ROWS}), place / "small.parquet")
    READER.close()  # it has the environment of whoever started it
    return place


@pytest.fixture(autouse=True)
def offered(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Offer the files."""
    monkeypatch.setenv("FAIRPRIV_DATA_FOLDER", str(folder))
    st.cache_resource.clear()


def said(page: AppTest) -> str:
    return " ".join(str(item.value) for kind in (page.markdown, page.caption, page.info) for item in kind)


def keys_of(page: AppTest) -> set[str]:
    kinds = ("slider", "select_slider", "number_input", "text_input", "selectbox", "toggle")
    return {str(widget.key) for kind in kinds for widget in page.get(kind)}


@pytest.mark.parametrize("expert", ["False", "True"])
def test_images_are_trained_on_by_a_small_convolutional_network(expert: str, open_page: Open) -> None:
    page = open_page("train", data=PETS, expert=expert, epsilon="20")
    assert not page.exception and not page.error
    assert page.selectbox("p.network").value == "cnn_small" and page.selectbox("method").value == "fairdp_adaptive"
    assert not {"p.hidden_layers", "p.width"} & keys_of(page)
    assert "parameters" in " ".join(str(item.help) for item in page.caption)
    page.button("launch").click().run()
    method = open_store().rows()[0].config["method"]
    assert (method["network"], method["hidden_layers"]) == ("cnn_small", 0)


def test_few_images_are_taken_in_batches_that_they_fill(open_page: Open) -> None:
    page = open_page("train", data=PETS.replace("pets", "few"))
    assert not page.exception and not page.error
    assert page.button("launch").disabled and "Launch is off for these settings" in said(page), "too few for ε = 1"
    fermi = open_page("train", data=PETS.replace("pets", "few"), method="dp_fermi")
    assert "Batch size = 75: the usual 512 is too large for 400 rows." in said(fermi)
    open_page("train", data=PETS.replace("pets", "few"), method="none").button("launch").click().run()
    assert open_store().rows()[0].config["method"].get("batch_size") is None


def test_an_mlp_is_asked_for_its_size_and_a_table_for_no_network(open_page: Open) -> None:
    page = open_page("train", data=PETS, expert="True", p__network="mlp")
    assert {"p.hidden_layers", "p.width"} <= keys_of(page) and not page.error
    page.slider("p.hidden_layers").set_value(2).run()
    page.button("launch").click().run()
    method = open_store().rows()[0].config["method"]
    assert (method["network"], method["hidden_layers"]) == ("mlp", 2)
    table = open_page("train", method="dp_sgd", expert="True", p__network="cnn_small")
    assert "p.network" not in keys_of(table) and not table.error and not table.button("launch").disabled


def test_a_network_that_needs_larger_images_is_refused_at_its_field(open_page: Open) -> None:
    page = open_page("train", data="folder-small.parquet:sex?label=kind&image=picture", method="dp_sgd")
    assert "needs images of at least 14 x 14 pixels, got 8 x 8; take mlp" in page.error[0].value.replace("\\", "")
    page.selectbox("p.network").set_value("mlp").run()
    assert "needs images" not in " ".join(item.value for item in page.error)


def test_what_does_not_suit_many_classes_is_not_offered_and_says_why(open_page: Open) -> None:
    page = open_page("train", data=PETS, method="f_ld")
    assert not [item.value for item in page.error] and page.selectbox("method").value == "fairdp_adaptive"
    assert not [option for option in page.selectbox("method").options if "PF-LD" in option]
    assert "takes data with at most 2 labels, and this has 3" in said(page).replace("\\", "")
    assert "Equal opportunity" not in page.selectbox("notion").options
    assert "of 3 labels none is positive" in said(page)
    assert "methods that take two labels (here are 3)." in said(page)
    tame = "folder-pets.parquet:sex?label=tame&positive=yes&image=picture"
    binary = open_page("train", data=tame, method="jagielski_post")
    assert binary.selectbox("method").value == "jagielski_post"
    assert "trains on the 256 pixels as columns" in said(binary)
    assert "Equal opportunity" in binary.selectbox("notion").options


def test_methods_for_two_labels_are_offered_a_network(open_page: Open) -> None:
    tame = "folder-pets.parquet:sex?label=tame&positive=yes&image=picture"
    for method in ("f_ld", "pf_ld", "one_release", "pf_ld_record", "fairdp_certified"):
        page = open_page("train", data=tame, method=method)
        assert not page.exception and page.selectbox("method").value == method
        assert page.selectbox("p.network").value == "cnn_small" and "pixels as columns" not in said(page)


def test_where_the_groups_are_the_classes_accuracy_parity_is_chosen(open_page: Open, real_data: Path) -> None:
    page = open_page("train", data=SAME)
    assert not page.error and page.selectbox("notion").value == "accuracy_parity"
    assert "it is the label, which they take as public" in said(page)
    page.selectbox("notion").set_value("demographic_parity").run()
    assert page.selectbox("notion").value == "demographic_parity", "what a person chooses stays"
    assert open_page("train", data=SAME, notion="equalized_odds").selectbox("notion").value == "equalized_odds"
    assert open_page("train").selectbox("notion").value == "demographic_parity"
