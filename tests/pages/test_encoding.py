"""The encoding on the pages: chosen on Data where a benchmark has two, carried by links, told by lists."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from fairpriv_core.data.problem import DataSpec
from fairpriv_core.errors import BadInput
from fairpriv_core.privacy.event import Gaussian
from fairpriv_core.records.config import build_config
from fairpriv_core.report.tables import parameter_diff, run_table
from fairpriv_core.store.runs import open_store
from pages.widgets.compare.differences import TITLES
from pages.widgets.shared.reference import describe_reference, list_reference, read_reference, write_reference
from pages.widgets.shared.run_table import key_data
from tests.launched import finish, measured

Open = Callable[..., AppTest]
NAME = "compas:race?encoding=plain"


def no_upload(digits: str) -> Path:
    raise BadInput(f"no file {digits}.", field="data")


def test_a_reference_goes_both_ways() -> None:
    spec = DataSpec(dataset="compas", sensitive="race", encoding="plain")
    assert write_reference(spec) == NAME and read_reference(NAME, no_upload) == spec
    assert write_reference(DataSpec(dataset="compas", sensitive="race", encoding="binned")) == "compas:race"
    assert list_reference(NAME) == "COMPAS: two year recid by race · plain encoding"
    assert describe_reference(NAME).endswith("race · plain encoding")
    with pytest.raises(BadInput, match="encoding must be one of binned, plain, got 'fine'"):
        read_reference("compas:race?encoding=fine", no_upload)


def test_the_data_page_sets_it_and_says_how_many_features_there_are(open_page: Open) -> None:
    page = open_page("data", data="adult:sex")
    assert page.selectbox("encoding").value == "binned" and "**130** encoded" in _say(page)
    page.selectbox("encoding").set_value("plain").run()
    assert not page.exception and not page.error
    assert page.query_params["data"] == "adult:sex?encoding=plain" and "**102** encoded features" in _say(page)
    assert "Ranges of the features are this project's choice" in _say(page)

    page = open_page("data", data="adult:sex?encoding=plain")
    assert page.selectbox("encoding").value == "plain"
    page.selectbox("encoding").set_value("binned").run()
    assert not page.error and page.query_params["data"] == "adult:sex"


def test_nothing_is_asked_where_there_is_one_way(open_page: Open) -> None:
    page = open_page("data", data="synthetic:group")
    assert not page.exception and "encoding" not in {each.key for each in page.selectbox}


def _say(page: AppTest) -> str:
    return " ".join(item.value for item in page.markdown).replace("\\", "")


def test_lists_and_comparisons_tell_runs_of_two_encodings_apart(own_store: Path) -> None:
    method = {"name": "dp_sgd", "epochs": 1}
    with open_store() as store:
        keys = []
        for encoding in ("binned", "plain"):
            data = {"dataset": "adult", "sensitive": "sex", "encoding": encoding}
            asked = build_config({"data": data, "notion": "demographic_parity", "method": method, "epsilon": 1})
            keys.append(finish(store, asked, (Gaussian(10.0),), metrics=measured((0.5, 0.4))))
        records = [record.to_json() for record in store.records(keys).values()]
    names = sorted(key_data(row) for row in run_table(records))
    assert names == ["adult:sex", "adult:sex · plain encoding"]
    differing = set(parameter_diff(records))
    assert differing == {"data.encoding"} and differing <= set(TITLES)
