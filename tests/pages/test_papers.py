"""The Papers page: results made earlier, the store's own where there are some, and verdicts with their runs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from fairpriv_core.papers import catalog
from fairpriv_core.papers.catalog import papers
from fairpriv_core.papers.results import read_made
from fairpriv_core.papers.runs import list_configs
from fairpriv_core.papers.scoreboard import count_claims
from fairpriv_core.runs import preview
from fairpriv_core.runs.worker import work_on
from fairpriv_core.store.database import Database
from fairpriv_core.store.runs import open_store
from fairpriv_core.store.work import WorkStore
from tests.papers import tiny

Open = Callable[..., AppTest]
Charts = Callable[[AppTest], list[dict[str, Any]]]


def words(page: AppTest) -> str:
    """Return all that the page says in paragraphs and captions."""
    return "\n".join(str(item.value) for item in [*page.markdown, *page.caption, *page.info])


@pytest.fixture
def tiny_runs(own_store: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Put a paper in place that takes no time, and the runs of its small version in the store."""
    monkeypatch.setattr(catalog, "PAPERS", (tiny.PAPER,))
    with open_store() as store:
        work = WorkStore(store.database)
        for config in list_configs(tiny.FIGURE.versions["small"].sweeps).values():
            work_on(work, work.claim(store.submit(config).key))
    return own_store


def test_results_made_earlier_are_shown_with_their_day(open_page: Open, charts_of: Charts) -> None:
    page = open_page("papers", paper="pf_ld", preset="pf_ld.figure1")
    assert not page.exception and not page.error
    assert "Made earlier by this software, on 20" in words(page)
    scores = page.dataframe[0].value
    assert list(scores["paper"]) == [paper.name for paper in papers().values()]
    assert list(scores["agrees"]) == [count_claims(paper.presets, read_made())["agrees"] for paper in papers().values()]
    marked = {name.partition(" (")[2] for name in page.selectbox("preset").options}
    assert "results)" in marked
    assert [chart["figure"]["layout"]["title"]["text"] for chart in charts_of(page)] == [
        "PF-LD, Figure 1, Bank marketing:<br>Accuracy",
        "PF-LD, Figure 1, Bank marketing:<br>Fairness violation",
    ]
    assert "It does not hold" in words(page)
    assert "prints no numbers" in words(page)
    assert "fairpriv papers run pf_ld.figure1 --small" in [code.value for code in page.code]


def test_the_stores_own_runs_are_shown_and_linked(tiny_runs: Path, open_page: Open, charts_of: Charts) -> None:
    page = open_page("papers")
    assert not page.exception and not page.error
    assert "From 4 runs in this store. 2 seeds of 9." in words(page)
    assert len(charts_of(page)) == 1
    key = next(iter(list_configs(tiny.FIGURE.versions["small"].sweeps)))
    assert f"[{key}](run?run={key})" in words(page)
    assert any(text in words(page) for text in ("**= agrees**", "**≠ differs**", "**? open**", "**– not tested**"))
    assert "The paper says that PF-LD is fairer than N (Results). We take it as\\: by the gap." in words(page)


def test_a_table_stands_beside_what_was_printed(tiny_runs: Path, open_page: Open) -> None:
    page = open_page("papers", preset="tiny.table1")
    *_, cells, printed = (frame.value for frame in page.dataframe)
    assert list(cells.columns) == ["", "N", "PF-LD, proved"]
    row = printed.iloc[0]
    assert row["printed"] == "81.25" and row["ours"] == cells.iloc[0]["N"]
    assert list(printed.columns)[:3] == ["what", "printed", "ours"] and row["the same?"]
    assert "of 1 printed numbers agree" in words(page)


def test_the_full_version_says_its_size_and_what_waits_offers_nothing(tiny_runs: Path, open_page: Open) -> None:
    page = open_page("papers", preset="tiny.figure1", size="full")
    assert "fairpriv papers run tiny.figure1 --full" in [code.value for code in page.code]
    assert "9 seeds." in words(page)
    waiting = open_page("papers", preset="tiny.figure2")
    assert "Waits for images." in words(waiting)
    assert not waiting.code and not waiting.button


def test_a_figure_of_several_sweeps_is_launched_by_one_click(
    own_store: Path, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(catalog, "PAPERS", (replace(tiny.PAPER, presets=(tiny.SEVERAL, tiny.ATTACKED)),))
    page = open_page("papers", preset="tiny.figure1")
    assert [button.label for button in page.button].count("Show runs, time and ε cost") == 1
    with open_store(str(own_store)) as store:
        for label in ("Show runs, time and ε cost", "Launch 4 runs"):
            next(button for button in page.button if button.label == label).click().run()
            preview.run_preview(str(own_store), store.previews.claim() or "")
            page.run()
        asked = sorted(row.config["notion"] for row in store.rows())
    assert asked == ["demographic_parity"] * 2 + ["equalized_odds"] * 2
    assert not page.exception and [metric.value for metric in page.metric][:2] == ["4", "0"]
    again = open_page("tradeoffs")
    again.segmented_control("sweep.way").set_value("launched").run()
    assert not again.exception
    assert again.selectbox("sweep").options == [
        "Synthetic: label by group · notions Demographic parity, Equalized odds · "
        "methods No privacy, no fairness, PF-LD · ε 1 · seeds 0"
    ]


def test_a_worker_measures_what_a_figure_shows_of_finished_models(
    tiny_runs: Path, open_page: Open, charts_of: Charts, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(preview, "live_with_parent", lambda: None)
    monkeypatch.setattr("fairpriv_core.runs.audit._MOST", 300)
    waiting = open_page("papers", preset="tiny.figure3")
    assert not waiting.exception and not waiting.error
    assert "A worker measures how well four attackers tell who was trained on, at 4 models …" in words(waiting)
    assert not charts_of(waiting) and "no finished run" not in words(waiting)
    with open_store() as store:
        name = store.previews.claim()
        assert name is not None and store.previews.claim() is None
    preview.run_preview(None, name)
    page = open_page("papers", preset="tiny.figure3")
    assert not page.exception and "A worker measures" not in words(page)
    assert "From 4 runs in this store." in words(page)
    (chart,) = charts_of(page)
    bars = [trace for trace in chart["figure"]["data"] if trace["type"] == "bar"]
    assert len(bars) == 2 and all(len(bar["y"]) == 2 and None not in bar["x"] for bar in bars)
    assert "Regression\\: " in words(page) and "Forest\\: " in words(page)


def test_what_could_not_be_measured_is_said(tiny_runs: Path, open_page: Open) -> None:
    open_page("papers", preset="tiny.figure3")
    with open_store() as store:
        store.previews.finish(str(store.previews.claim()), error="the file is gone.")
    page = open_page("papers", preset="tiny.figure3")
    assert not page.exception
    assert "It cannot be shown how well four attackers tell who was trained on" in page.warning[0].value
    again = next(button for button in page.button if button.label == "Measure again").click().run()
    assert not again.warning and "A worker measures" in words(again)


def test_a_store_that_can_only_be_read_is_not_measured(
    tiny_runs: Path, open_page: Open, monkeypatch: pytest.MonkeyPatch
) -> None:
    open_page("papers", preset="tiny.figure1")
    monkeypatch.setattr(Database, "writable", property(lambda _: False, lambda *_: None), raising=False)
    page = open_page("papers", preset="tiny.figure3")
    assert not page.exception and "A worker measures" not in words(page)
    assert "This store can only be read, so that no worker measures how well four attackers" in words(page)


def test_what_holds_for_all_figures_of_a_set_is_said_once(open_page: Open) -> None:
    page = open_page("papers", paper="pf_ld", preset="pf_ld.figure2")
    captions = [str(item.value) for item in page.caption]
    assert sum("δ = 1 in 100,000" in text for text in captions) == 1
    assert sum("95 of 100 people" in text for text in captions) == 1
    own = [text for text in captions if text.startswith(("ε\\:", "PF-LD\\:", "Nearly the same answer"))]
    assert len(own) == 3


def test_the_choice_stands_in_the_address(open_page: Open) -> None:
    page = open_page("papers", preset="pf_ld.table1")
    assert page.selectbox("preset").value == "pf_ld.table1"
    page.selectbox("preset").set_value("pf_ld.figure3").run()
    assert page.query_params["preset"] == "pf_ld.figure3"


def test_gains_over_several_figures_are_a_table_and_a_comparison_of_methods_is_above(open_page: Open) -> None:
    page = open_page("papers", paper="dp_fermi", preset="dp_fermi.gains")
    assert not page.exception and not page.error
    _, _, compared, cells = (frame.value for frame in page.dataframe)
    assert list(compared["method"])[-1] == "DP-FERMI" and len(compared) == 6
    assert len(cells) == 22 and list(cells.columns)[:2] == ["", "Gain, %"]
    assert "Figure 1\\: comparison with existing works" in [item.label for item in page.expander]
    assert "**≠ differs**" in words(page) and "over 14 gains" in words(page)
    assert "fairpriv papers run dp_fermi.gains --small" in [code.value for code in page.code]
    other = open_page("papers", paper="pf_ld", preset="pf_ld.figure1")
    assert not [item for item in other.expander if "Figure 1" in item.label]


def test_statements_are_filtered_by_paper_and_by_how_they_stand(open_page: Open) -> None:
    page = open_page("papers", claims_of="dp_fermi", claims_that="differs")
    assert not page.exception
    listed = page.dataframe[1].value
    assert len(listed) == count_claims(papers()["dp_fermi"].presets, read_made())["differs"]
    assert set(listed["here"]) == {"differs"} and listed["ours"].str.len().gt(0).all()
    assert listed["where"].str.match("DP-FERMI, (Figure|Section) ").all()
    waits = open_page("papers", claims_of="pf_ld", claims_that="open").dataframe[1].value
    assert len(waits) and waits["what would settle it"].str.contains("seed").all()
