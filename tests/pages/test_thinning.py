"""Rows that are left out, on the pages: chosen on Data, carried by links, told by the strip, lists and tables."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from fairpriv_core.data.problem import DataSpec
from fairpriv_core.errors import BadInput
from fairpriv_core.privacy.event import Gaussian
from fairpriv_core.report.tables import parameter_diff, run_table, varied_settings
from fairpriv_core.report.wording import THINNED
from fairpriv_core.store.runs import open_store
from pages.widgets.compare.differences import TITLES
from pages.widgets.shared.reference import describe_reference, list_reference, read_reference, write_reference
from pages.widgets.shared.run_table import key_data
from tests.launched import config, finish, measured

Open = Callable[..., AppTest]
DATA = {"dataset": "synthetic", "file": None, "label": None, "positive": None, "sensitive": "region"}
NAME = "synthetic:region?group_ratio=0.9"


def no_upload(digits: str) -> Path:
    raise BadInput(f"no file {digits}.", field="data")


def test_a_reference_goes_both_ways() -> None:
    spec = DataSpec(dataset="synthetic", sensitive="region", group_ratio=0.9)
    assert write_reference(spec) == NAME and read_reference(NAME, no_upload) == spec
    assert list_reference(NAME) == "Synthetic: label by region · group ratio 0.9"
    assert describe_reference(NAME).endswith("region · group ratio 0.9")
    with pytest.raises(BadInput, match="group_ratio must be a number"):
        read_reference("synthetic:region?group_ratio=most", no_upload)


def test_the_data_page_sets_it_and_says_which_rows_are_left(open_page: Open) -> None:
    page = open_page("data", data="synthetic:region")
    page.text_input("group_ratio").set_value("0.9").run()
    assert not page.exception and not page.error
    assert page.query_params["data"] == NAME
    said = " ".join(item.value for item in page.markdown)
    assert "A run with seed 0 trains on" in said and "Test rows stay as drawn" in said


def test_a_link_brings_it_back_and_emptying_the_field_drops_it(open_page: Open) -> None:
    page = open_page("data", data=NAME)
    assert page.text_input("group_ratio").value == "0.9"
    page.text_input("group_ratio").set_value("").run()
    assert not page.error and page.query_params["data"] == "synthetic:region"


@pytest.mark.parametrize(
    ("typed", "words"),
    [("most", "must be a number"), ("1.5", "must lie in (0, 1]"), ("0.01", "leaves no row out")],
)
def test_a_wrong_ratio_is_a_sentence(typed: str, words: str, open_page: Open) -> None:
    page = open_page("data", data="synthetic:region")
    page.text_input("group_ratio").set_value(typed).run()
    assert not page.exception and words in page.error[0].value.replace("\\", "")


def test_the_train_page_plans_with_the_rows_that_are_left(open_page: Open) -> None:
    planned = [open_page("train", data=data, method="dp_sgd") for data in ("synthetic:region", NAME)]
    told = [" ".join(str(item.value) for item in (*page.markdown, *page.caption, *page.metric)) for page in planned]
    assert not any(page.exception or page.error for page in planned) and told[0] != told[1]
    refused = open_page("train", data="synthetic:region?group_ratio=0.01")
    assert not refused.exception and "leaves no row out" in refused.error[0].value


def test_some_of_the_rows_are_chosen_carried_and_told(open_page: Open) -> None:
    spec = DataSpec(dataset="synthetic", sensitive="region", group_ratio=0.9, rows=500)
    name = write_reference(spec)
    assert read_reference(name, no_upload) == spec
    assert list_reference(name) == "Synthetic: label by region · group ratio 0.9 · 500 rows"
    page = open_page("data", data="synthetic:region?rows=500")
    assert page.text_input("rows").value == "500" and "500" in " ".join(item.value for item in page.markdown)
    page.text_input("rows").set_value("600").run()
    assert not page.error and page.query_params["data"] == "synthetic:region?rows=600"
    page.text_input("rows").set_value("some").run()
    assert not page.exception and "Rows must be a whole number" in page.error[0].value
    page.text_input("rows").set_value("").run()
    assert not page.error and page.query_params["data"] == "synthetic:region"


def make_record(key: str, ratio: float | None) -> dict[str, Any]:
    data = DATA if ratio is None else {**DATA, "group_ratio": ratio}
    config = {"data": data, "notion": "demographic_parity", "method": {"name": "none"}, "epsilon": None, "seed": 0}
    metrics = {"accuracy": 0.8, "demographic_parity_gap": 0.1}
    return {"key": key, "config": config, "metrics": metrics, "threat_model": None, "epsilon": None, "delta": 1e-5}


def test_lists_of_runs_tell_it() -> None:
    records = [make_record("a", None), make_record("b", 0.8), make_record("c", 0.9)]
    rows = run_table(records)
    assert [key_data(row) for row in rows] == [
        "synthetic:region",
        "synthetic:region · group ratio 0.8",
        "synthetic:region · group ratio 0.9",
    ]
    assert [varied_settings(rows)[row.keys[0]] for row in rows] == [
        {"data.group_ratio": None},
        {"data.group_ratio": 0.8},
        {"data.group_ratio": 0.9},
    ]
    assert parameter_diff(records) == {"data.group_ratio": (None, 0.8, 0.9)} and "data.group_ratio" in TITLES
    assert json.loads(rows[0].setting)["data"] == DATA


@pytest.mark.parametrize("ratio", [None, 0.9])
def test_a_table_of_runs_says_what_their_epsilon_takes_as_given(
    ratio: float | None, own_store: Path, open_page: Open
) -> None:
    with open_store(str(own_store)) as store:
        given = {} if ratio is None else {"group_ratio": ratio}
        data = {"dataset": "synthetic", "sensitive": "group", **given}
        finish(store, config(data=data), (Gaussian(9.0),), metrics=measured((0.3, 0.6)))
    said = " ".join(item.value for item in open_page("compare").caption)
    assert "1 setting, 1 run" in said and (THINNED in said) == (ratio is not None)
