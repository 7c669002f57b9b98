"""The Compare page: seeds folded, two to six runs over each other, only the settings that differ."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import streamlit as st
from streamlit.testing.v1 import AppTest

from fairpriv_core.report.tables import TableRow
from fairpriv_core.stats import mean_interval
from fairpriv_core.store.runs import open_store
from pages.widgets.shared.names import name_run
from pages.widgets.shared.run_table import name_row

Open = Callable[..., AppTest]
Charts = Callable[[AppTest], list[dict[str, Any]]]


def test_seeds_are_folded_with_their_interval(with_runs: Path, open_page: Open) -> None:
    table = open_page("compare").dataframe[0].value
    assert sorted(table["seeds"]) == [1, 2]
    folded = table[table["seeds"] == 2].iloc[0]
    assert folded["± acc."] > 0 and folded["δ"] == 1e-5 and folded["protects"] == "attribute"
    single = table[table["seeds"] == 1].iloc[0]
    assert single.isna()["± acc."] and single["protects"] == "nothing"


def test_chosen_runs_are_laid_over_each_other(with_runs: Path, open_page: Open, charts_of: Charts) -> None:
    page = open_page("compare")
    assert not page.exception
    assert len(page.multiselect("runs").value) == 2
    names = [chart["figure"]["layout"]["uirevision"] for chart in charts_of(page)]
    assert names == ["compared_points", "overlay_accuracy", "overlay_demographic_parity_gap", "groups_positive_rate"]
    assert all(chart["alt"] for chart in charts_of(page))


def test_only_settings_that_differ_are_listed_with_their_titles(with_runs: Path, open_page: Open) -> None:
    differing = open_page("compare").dataframe[1].value.set_index("setting")
    assert set(differing.loc["Method"]) == {"PF-LD", "No privacy, no fairness"}
    assert "Fairness notion" not in differing.index and "Primal clipping bound C_p" in differing.index


def test_indices_stand_with_formula_and_source(with_runs: Path, open_page: Open) -> None:
    indices = open_page("compare").dataframe[2].value.set_index("index")
    assert list(indices.index) == ["Atkinson", "Gini", "Mean log deviation", "Theil"]
    assert all(indices["source"]) and all(indices["formula"]) and "±" in "".join(indices["A"] + indices["B"])


def test_the_reference_is_chosen_and_every_other_run_is_tested_against_it(with_runs: Path, open_page: Open) -> None:
    page = open_page("compare")
    [said] = [item.value for item in page.markdown if item.value.startswith("- Accuracy\\: B ")]
    assert "\n- Demographic parity gap\\: B " in said
    page.selectbox("reference").set_value(page.multiselect("runs").value[1]).run()
    assert any(item.value.startswith("- Accuracy\\: A ") for item in page.markdown)
    assert page.query_params["reference"] == page.multiselect("runs").value[1]


def test_filters_narrow_the_table_stand_in_the_address_and_leave_the_choice(with_runs: Path, open_page: Open) -> None:
    page = open_page("compare")
    page.multiselect("only.method").set_value(["pf_ld"]).run()
    assert list(page.dataframe[0].value["method"]) == ["PF-LD"]
    assert page.query_params["only.method"] == "pf_ld" and len(page.multiselect("runs").value) == 2
    again = open_page("compare", only__method="pf_ld")
    assert list(again.dataframe[0].value["method"]) == ["PF-LD"]


def test_the_choice_stands_in_the_address_and_comes_back_from_it(with_runs: Path, open_page: Open) -> None:
    page = open_page("compare")
    chosen = page.query_params["runs"]
    assert len(chosen) == 2
    assert open_page("compare", runs=chosen[::-1]).multiselect("runs").value == chosen[::-1]


def test_a_link_to_a_run_that_is_gone_says_so_and_any_seed_names_its_row(with_runs: Path, open_page: Open) -> None:
    with open_store(str(with_runs)) as store:
        folded = [row.key for row in store.rows() if row.config["method"]["name"] == "pf_ld"]
    page = open_page("compare", runs=["0123456789abcdef", *folded])
    assert "0123456789abcdef is not among the finished runs" in page.warning[0].value
    assert len(page.multiselect("runs").value) == 1 and page.multiselect("runs").value[0] in folded
    assert "Choose 2 to 6" in page.info[0].value


@pytest.mark.parametrize(("page", "choice"), [("compare", "runs"), ("report", "runs"), ("tradeoffs", "points")])
def test_a_link_names_a_row_by_any_of_its_seeds(page: str, choice: str, with_runs: Path, open_page: Open) -> None:
    with open_store(str(with_runs)) as store:
        folded = [row.key for row in store.rows() if row.config["method"]["name"] == "pf_ld"]
    assert len(folded) == 2
    found = [open_page(page, **{choice: key}).multiselect(choice).value for key in folded]
    assert found[0] == found[1] and len(found[0]) == 1


def test_a_link_names_the_reference_by_any_of_its_seeds(with_runs: Path, open_page: Open) -> None:
    with open_store(str(with_runs)) as store:
        folded = [row.key for row in store.rows() if row.config["method"]["name"] == "pf_ld"]
    chosen = open_page("compare").multiselect("runs").value
    named = {open_page("compare", runs=chosen, reference=key).selectbox("reference").value for key in folded}
    assert len(named) == 1 and named < set(folded)
    other = open_page("compare", runs=chosen, reference=next(key for key in chosen if key not in folded))
    assert other.selectbox("reference").value not in folded


def test_a_run_that_is_deleted_elsewhere_is_told_of(with_runs: Path, open_page: Open) -> None:
    page = open_page("compare")
    with open_store(str(with_runs)) as store:
        store.delete(page.multiselect("runs").value[0])
    page.run()
    assert not page.exception and "is not among the finished runs" in page.warning[0].value


def test_a_run_whose_record_is_damaged_is_not_called_deleted(with_runs: Path, open_page: Open) -> None:
    page = open_page("compare")
    key = page.multiselect("runs").value[0]
    with sqlite3.connect(with_runs) as connection:
        connection.execute("UPDATE run SET record = replace(record, 'accuracy', 'accurac1') WHERE key = ?", (key,))
    page.run()
    assert any(f"The record of run {key} is damaged in the run store" in each.value for each in page.error)
    assert not any("deleted" in each.value for each in page.warning)


def test_one_run_alone_is_not_compared(with_runs: Path, open_page: Open, charts_of: Charts) -> None:
    page = open_page("compare")
    page.multiselect("runs").set_value(page.multiselect("runs").value[:1]).run()
    assert "Choose 2 to 6" in page.info[0].value
    assert not charts_of(page)


def test_a_published_epsilon_is_called_published() -> None:
    mean = mean_interval([0.8])
    where = ("demographic_parity", "adult", "sex", "attribute")
    names = [
        name_row(TableRow("pf_ld", *where, each, 1.0, (0,), ("k",), mean, mean, "")) for each in ("proved", "published")
    ]
    assert ["as published" in name for name in names] == [False, True]
    config = {"method": {"name": "pf_ld", "variant": "published"}, "data": {"dataset": "adult", "sensitive": "sex"}}
    assert name_run({**config, "epsilon": 1.0}) == "PF-LD, ε = 1 as published · Adult: income by sex"
    assert name_run({**config, "reuse": "0" * 16}) == "PF-LD, on an earlier release · Adult: income by sex"


@pytest.mark.parametrize(("spoilt", "said"), [(1, "1 run is damaged and left out; "), (2, "2 runs are damaged and ")])
def test_damaged_runs_are_left_out_and_counted(with_runs: Path, open_page: Open, spoilt: int, said: str) -> None:
    assert not any("damaged" in item.value for item in open_page("compare").caption)
    with open_store(str(with_runs)) as store, store.database.write() as connection:
        keys = [row.key for row in store.rows()][:spoilt]
        for key in keys:
            connection.exec_driver_sql("UPDATE run SET brief = replace(brief, '0.', '1.') WHERE key = ?", (key,))
    for name in ("compare", "report"):
        st.cache_resource.clear()
        [line] = [item.value for item in open_page(name).caption if "damaged" in item.value]
        assert line.startswith(said) and "`fairpriv check` names" in line
