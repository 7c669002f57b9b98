"""The Papers page: results made earlier, the store's own where there are some, and verdicts with their runs."""

from __future__ import annotations

import shutil
from dataclasses import replace
from pathlib import Path

import pytest
from streamlit.testing.v1 import AppTest

from examples.paper_pages import count_claims
from fairpriv_core.papers import catalog
from fairpriv_core.papers.catalog import papers
from fairpriv_core.papers.runs import list_configs
from fairpriv_core.papers.status import LOST_RULE, TITLES
from fairpriv_core.runs import preview
from fairpriv_core.runs.worker import work_on
from fairpriv_core.store.database import Database
from fairpriv_core.store.runs import open_store
from fairpriv_core.store.work import WorkStore
from pages.widgets.papers.scoreboard import find_made
from tests.pages.shown import Open, charts, click, said, unfold, whole
from tests.papers import tiny

MEASURES = "A worker measures how well four attackers tell who was trained on"


@pytest.fixture(scope="module")
def made_tiny(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store's folder with the runs of the small version of a paper that takes no time."""
    folder = tmp_path_factory.mktemp("tiny")
    with open_store(str(folder / "runs.db")) as store:
        work = WorkStore(store.database)
        for config in list_configs(tiny.FIGURE.versions["small"].sweeps).values():
            work_on(work, work.claim(store.submit(config).key))
    return folder


@pytest.fixture
def tiny_runs(made_tiny: Path, own_store: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put that paper in place of the others, and its runs where this test's store is."""
    monkeypatch.setattr(catalog, "PAPERS", (tiny.PAPER,))
    shutil.copytree(made_tiny, own_store.parent, dirs_exist_ok=True)
    return own_store


def codes(page: AppTest) -> list[str]:
    return [code.value for code in page.code]


def test_results_made_earlier_are_shown_with_their_day(open_page: Open) -> None:
    page = whole(open_page("papers", paper="pf_ld", preset="pf_ld.figure1"))
    assert "Made earlier by this software, on 20" in said(page) and LOST_RULE in said(page)
    scores = page.dataframe[0].value.set_index("paper")
    assert list(scores.index) == [paper.name for paper in papers().values()]
    counts = count_claims(papers()["pf_ld"].presets, find_made())
    shown = {status: scores.loc[papers()["pf_ld"].name, title] for status, title in TITLES.items()}
    assert shown == {status: counts[status] for status in TITLES}
    assert [chart["figure"]["layout"]["title"]["text"].partition("<br>")[2] for chart in charts(page).values()] == [
        "Accuracy",
        "Fairness violation",
    ]
    assert "It does not hold" in said(page) and "prints no numbers" in said(page)
    assert "fairpriv papers run pf_ld.figure1 --small" in codes(page)
    assert not [item for item in page.expander if "Figure 1" in item.label]
    page.selectbox("preset").set_value("pf_ld.figure2").run()
    assert page.query_params["preset"] == "pf_ld.figure2"
    captions = [str(item.value) for item in page.caption]  # what holds for all figures of a set is said once
    assert [sum(text in each for each in captions) for text in ("δ = 1 in 100,000", "95 of 100 people")] == [1, 1]
    assert len([text for text in captions if text.startswith(("ε\\:", "PF-LD\\:", "Nearly the same answer"))]) == 3


def test_a_papers_figure_leaves_as_panels_with_what_to_cite(
    open_page: Open, chromium: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BROWSER_PATH", chromium)
    page = open_page("papers", paper="pf_ld", preset="pf_ld.figure4")
    unfold(page, "paper_set", *(f"paper_{number}" for number in range(5)))
    assert page.button_group("paper_set_columns").value == 2
    assert {f"paper_set_{form}" for form in ("png", "svg", "pdf", "bib")} <= {
        str(each.key) for each in page.get("download_button")
    }
    assert [code[:19] for code in codes(page) if code.startswith("(a")] == ["(a, b, c, d) Data: "], "they share one"
    cited = [code for code in codes(page) if "@misc{fairpriv," in code]
    assert len(cited) == 5 and all(code.count("@inproceedings{tran2021pfld,") == 1 for code in cited)
    page.selectbox("preset").set_value("pf_ld.table1").run()
    assert [code.count("@") for code in codes(whole(page)) if "@misc{fairpriv," in code] == [2]


def test_gains_are_a_table_and_statements_are_filtered_by_paper_and_by_how_they_stand(open_page: Open) -> None:
    page = whole(open_page("papers", preset="dp_fermi.gains", claims_of="dp_fermi", claims_that="agrees"))
    assert page.selectbox("preset").value == "dp_fermi.gains"
    scores, figures, listed, compared, cells, cases = (frame.value for frame in page.dataframe)
    assert list(compared["method"])[-1] == "DP-FERMI" and len(compared) == 7
    assert len(cells) == 44 and list(cells.columns)[:2] == ["what", "Gain, %"]
    assert "Figure 1: comparison with existing works" in [item.label.replace("\\", "") for item in page.expander]
    assert set(cases["here"]) <= set(TITLES.values()) and cases["ours"].str.contains("over 14 gains").any()
    assert "fairpriv papers run dp_fermi.gains --small" in codes(page)
    assert len(figures) == len(papers()["dp_fermi"].presets) and figures["here"].str.len().gt(0).all()
    assert len(listed) == scores.set_index("paper").loc["DP-FERMI", "agrees"] > 0
    assert set(listed["here"]) == {"agrees"} and listed["ours"].str.len().gt(0).all()
    assert listed["where"].str.match("DP-FERMI, (Figure|Section|Beside) ").all()
    page.selectbox("claims_of").set_value("pf_ld")
    page.segmented_control("claims_that").set_value("open").run()
    waits = page.dataframe[2].value
    assert len(waits) and waits["what would settle it"].str.contains("seed|the paper.*which it does not print").all()


def test_the_stores_own_runs_are_shown_beside_what_was_printed_and_linked(tiny_runs: Path, open_page: Open) -> None:
    page = whole(open_page("papers"))
    assert "From 4 runs in this store. 2 seeds of 9." in said(page) and len(charts(page)) == 1
    key = next(iter(list_configs(tiny.FIGURE.versions["small"].sweeps)))
    assert f"[{key}](run?run={key})" in said(page)
    *_, cases = (frame.value for frame in page.dataframe)
    assert set(cases["here"]) <= set(TITLES.values()) and dict(cases.iloc[0]).items() >= {
        ("what it says", "PF-LD is fairer than N"),
        ("how we take it", "by the gap"),
    }
    assert "**“PF-LD is fairer than N”" in said(page)
    page.segmented_control("size").set_value("full").run()
    assert "fairpriv papers run tiny.figure1 --full" in codes(page) and "9 seeds." in said(page)
    page.selectbox("preset").set_value("tiny.table1").run()
    *_, cells, printed = (frame.value for frame in page.dataframe)
    assert list(cells.columns) == ["what", "N", "PF-LD, proved"] and list(printed.columns)[:3] == [
        "what",
        "printed",
        "ours",
    ]
    row = printed.iloc[0]
    assert row["printed"] == "81.25" and row["ours"] == cells.iloc[0]["N"] and row["the same?"]
    assert "of 1 printed numbers agree" in said(page)
    page.selectbox("preset").set_value("tiny.figure2").run()
    assert "Waits for images." in said(page) and not page.code and not page.button


def test_a_figure_of_several_sweeps_is_launched_by_one_click(
    own_store: Path, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalog, "PAPERS", (replace(tiny.PAPER, presets=(tiny.SEVERAL, tiny.ATTACKED)),))
    page = open_page("papers", preset="tiny.figure1")
    assert [button.label for button in page.button].count("Show runs, time and ε cost") == 1
    with open_store(str(own_store)) as store:
        for label in ("Show runs, time and ε cost", "Launch 4 runs"):
            click(page, label)
            preview.run_preview(str(own_store), store.previews.claim() or "")
            page.run()
        asked = sorted(row.config["notion"] for row in store.rows())
    assert asked == ["demographic_parity"] * 2 + ["equalized_odds"] * 2
    assert not page.exception and [metric.value for metric in page.metric][:2] == ["4", "0"]
    again = open_page("tradeoffs")
    again.segmented_control("sweep.way").set_value("launched").run()
    [told] = again.selectbox("sweep").options
    assert not again.exception and "notions Demographic parity, Equalized odds" in told and "ε 1 · seeds 0" in told


def test_a_worker_measures_what_a_figure_shows_of_finished_models(
    tiny_runs: Path, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preview, "live_with_parent", lambda: None)
    monkeypatch.setattr("fairpriv_core.runs.audit._MOST", 300)
    open_page("papers", preset="tiny.figure1")
    with monkeypatch.context() as patch:
        patch.setattr(Database, "writable", property(lambda _: False, lambda *_: None), raising=False)
        page = open_page("papers", preset="tiny.figure3")
        assert not page.exception and MEASURES not in said(page)
        assert "This store can only be read, so that no worker measures how well four attackers" in said(page)
    page = whole(open_page("papers", preset="tiny.figure3"))
    assert f"{MEASURES}, at 4 models …" in said(page)
    assert not charts(page) and "no finished run" not in said(page)
    with open_store() as store:
        name = str(store.previews.claim())
        assert store.previews.claim() is None
        store.previews.finish(name, error="the file is gone.")
        page = open_page("papers", preset="tiny.figure3")
        assert not page.exception and "the file is gone." in said(page, "warning")
        assert not click(page, "Measure again").warning and MEASURES in said(page)
        assert store.previews.claim() == name
    preview.run_preview(None, name)
    page = open_page("papers", preset="tiny.figure3")
    assert not page.exception and MEASURES not in said(page)
    assert "From 4 runs in this store." in said(page)
    [chart] = charts(page).values()
    bars = [trace for trace in chart["figure"]["data"] if trace["type"] == "bar"]
    assert len(bars) == 2 and all(len(bar["y"]) == 2 and None not in bar["x"] for bar in bars)
    *_, cases = (frame.value for frame in page.dataframe)
    assert list(cases["where"]) == ["Regression", "Forest"]
