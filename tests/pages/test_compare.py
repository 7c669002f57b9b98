"""The Compare page: seeds folded, two to six runs over each other, only the settings that differ; and its sentence."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import streamlit as st
from streamlit.testing.v1 import AppTest

from fairpriv_core.facts.measures import fold
from fairpriv_core.facts.tables import TableRow
from fairpriv_core.methods.fields import GROUP_NEEDED
from fairpriv_core.store.runs import open_store
from pages.widgets.shared.names import name_run
from pages.widgets.shared.run_table import name_row
from tests.launched import begin, config, finish, measured
from tests.pages.shown import Open, charts, find_key, said, whole

GONE = "is not among the finished runs"


def list_seeds(store: Path) -> list[str]:
    """Return the keys of the two seeds of PF-LD."""
    with open_store(str(store)) as opened:
        return [find_key(opened, "pf_ld", seed) for seed in (0, 1)]


def test_chosen_runs_are_folded_over_seeds_and_laid_over_each_other(with_runs: Path, open_page: Open) -> None:
    page = whole(open_page("compare"))
    table, settings, indices = (item.value for item in page.dataframe[:3])
    assert sorted(table["seeds"]) == [1, 2]
    folded, single = table[table["seeds"] == 2].iloc[0], table[table["seeds"] == 1].iloc[0]
    assert folded["± acc."] >= 0 and folded["δ"] == 1e-5 and folded["protects"] == "attribute"
    assert single.isna()["± acc."] and single["protects"] == "nothing"
    drawn = charts(page)
    assert list(drawn) == [
        "compared_points",
        "overlay_accuracy",
        "overlay_demographic_parity_gap",
        "groups_positive_rate",
    ]
    assert all(chart["alt"] for chart in drawn.values())
    differing = settings.set_index("setting")
    assert set(differing.loc["Method"]) == {"PF-LD", "No privacy, no fairness"}
    assert "Fairness notion" not in differing.index and "Primal clipping bound C_p" in differing.index
    assert list(indices["index"]) == ["Atkinson", "Gini", "Mean log deviation", "Theil"]
    assert all(indices["source"]) and all(indices["formula"]) and "±" in "".join(indices["A"] + indices["B"])
    [tested] = [item.value for item in page.markdown if item.value.startswith("- Accuracy\\: B ")]
    assert "\n- Demographic parity gap\\: B " in tested
    chosen = page.multiselect("runs").value
    assert len(chosen) == 2 and page.query_params["runs"] == chosen
    page.selectbox("reference").set_value(chosen[1]).run()
    assert any(item.value.startswith("- Accuracy\\: A ") for item in page.markdown)
    assert page.query_params["reference"] == chosen[1]
    page.multiselect("only.method").set_value(["pf_ld"]).run()
    assert list(page.dataframe[0].value["method"]) == ["PF-LD"]
    assert page.query_params["only.method"] == "pf_ld" and page.multiselect("runs").value == chosen
    page.multiselect("runs").set_value(chosen[:1]).run()
    assert "Choose 2 to 6" in said(page, "info") and not charts(page)
    again = open_page("compare", runs=chosen[::-1], only__method="pf_ld")
    assert again.multiselect("runs").value == chosen[::-1]
    assert list(again.dataframe[0].value["method"]) == ["PF-LD"]


def test_a_link_names_a_row_and_the_reference_by_any_of_its_seeds(with_runs: Path, open_page: Open) -> None:
    seeds = list_seeds(with_runs)
    for name, choice in (("compare", "runs"), ("report", "runs"), ("tradeoffs", "points")):
        found = [open_page(name, **{choice: key}).multiselect(choice).value for key in seeds]
        assert found[0] == found[1] and len(found[0]) == 1, name
    page = open_page("compare", runs=["0123456789abcdef", *seeds])
    assert f"0123456789abcdef {GONE}" in said(page, "warning") and "Choose 2 to 6" in said(page, "info")
    assert len(page.multiselect("runs").value) == 1 and page.multiselect("runs").value[0] in seeds
    chosen = open_page("compare").multiselect("runs").value
    named = {open_page("compare", runs=chosen, reference=key).selectbox("reference").value for key in seeds}
    assert len(named) == 1 and named < set(seeds)
    other = open_page("compare", runs=chosen, reference=next(key for key in chosen if key not in seeds))
    assert other.selectbox("reference").value not in seeds


def test_a_run_that_is_damaged_is_not_called_deleted_and_one_that_is_deleted_is(
    with_runs: Path, open_page: Open
) -> None:
    page = open_page("compare")
    damaged, deleted = page.multiselect("runs").value
    with sqlite3.connect(with_runs) as connection:
        connection.execute("UPDATE run SET record = replace(record, 'accuracy', 'accurac1') WHERE key = ?", (damaged,))
    page.run()
    assert f"The record of run {damaged} is damaged in the run store" in said(page, "error")
    assert "deleted" not in said(page, "warning")
    with open_store(str(with_runs)) as store:
        store.delete(deleted)
    page.run()
    assert not page.exception and f"{deleted} {GONE}" in said(page, "warning")


def test_a_published_epsilon_is_called_published() -> None:
    mean = fold([0.8], "public")
    where = ("demographic_parity", "adult", "sex", "attribute")
    names = [
        name_row(TableRow("pf_ld", *where, each, 1.0, (0,), ("k",), mean, mean, "")) for each in ("proved", "published")
    ]
    assert ["as published" in name for name in names] == [False, True]
    config = {"method": {"name": "pf_ld", "variant": "published"}, "data": {"dataset": "adult", "sensitive": "sex"}}
    assert name_run({**config, "epsilon": 1.0}) == "PF-LD, ε = 1 as published · Adult: income by sex"
    assert name_run({**config, "reuse": "0" * 16}) == "PF-LD, on an earlier release · Adult: income by sex"


def test_damaged_runs_are_left_out_and_counted(with_runs: Path, open_page: Open) -> None:
    with open_store(str(with_runs)) as store:
        keys = [row.key for row in store.rows()]
    for spoilt, words in ((0, ""), (1, "1 run is damaged and left out; "), (2, "2 runs are damaged and left out; ")):
        with open_store(str(with_runs)) as store, store.database.write() as connection:
            for key in keys[:spoilt]:
                connection.exec_driver_sql("UPDATE run SET brief = replace(brief, '0.', '1.') WHERE key = ?", (key,))
        for name in ("compare", "report"):
            st.cache_resource.clear()
            told = [item.value for item in open_page(name).caption if "damaged" in item.value]
            assert len(told) == min(spoilt, 1) and all(line.startswith(words) for line in told)
            assert all("`fairpriv check` names" in line for line in told)


def test_pages_say_the_result_in_one_sentence_and_that_predictions_need_the_group(open_page: Open) -> None:
    """Two runs are before and after; runs on different questions, and a run that goes on, have no such sentence."""
    with open_store() as store:
        shown = {"metrics": measured((0.50, 0.48))}
        fair = finish(store, config("pf_ld"), (), **shown)
        plain = finish(store, config("none"), (), metrics=measured((0.75, 0.25)))
        odds = finish(store, config("pf_ld", notion="equal_opportunity"), (), metrics=measured((0.6, 0.4)))
        _, going, _ = begin(store, config("pf_ld", seed=5), ())
    falls = "## PF-LD at ε = 1 instead of plain training: the gap between A and B falls from"
    pages = [open_page("run", run=fair), open_page("compare", runs=[fair, plain])]
    assert all(headline(page).startswith(falls) and "accuracy" in headline(page) for page in pages)
    none = [open_page("run", run=going.key), open_page("compare", runs=[fair, odds])]
    assert [headline(page) for page in none] == ["", ""]
    picked = {"points": [fair], "of_notion": "demographic_parity"}
    pages += [*none, open_page("train", method="pf_ld"), open_page("tradeoffs", **picked)]
    assert headline(pages[-1]).startswith("## PF-LD at ε = 1 instead of plain training: the gap between A and B")
    assert not any(GROUP_NEEDED[:30] in said(page) for page in pages)
    with open_store() as store:
        finish(store, config("pf_ld", epsilon=4), (), metrics=measured((0.60, 0.40)))
        grouped = finish(store, config("jagielski_post", notion="equalized_odds"), (), **shown)
    page = open_page("tradeoffs", of_notion="demographic_parity")
    assert headline(page).startswith("## 2 settings at ε = 1 to 4: the gap between A and B rang")
    assert GROUP_NEEDED in said(open_page("train", method="jagielski_post"), "info")
    assert GROUP_NEEDED in said(open_page("run", run=grouped), "caption")
    assert f"A: {GROUP_NEEDED}" in said(open_page("compare", runs=[grouped, fair]), "caption")
    page = open_page("tradeoffs", of_notion="equalized_odds")
    assert f"DP post-processing: {GROUP_NEEDED}" in said(page, "caption")


def headline(page: AppTest) -> str:
    """Return the page's sentence in large letters; "" where it has none."""
    assert not page.exception
    return next((str(item.value).replace("\\", "") for item in page.markdown if item.value.startswith("## ")), "")
