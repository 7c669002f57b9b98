"""The Papers page: results made earlier, the store's own where there are some, and verdicts with their runs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from fairpriv_core.papers import catalog
from fairpriv_core.papers.catalog import papers
from fairpriv_core.papers.results import read_made
from fairpriv_core.report.paper_prose import count_made
from fairpriv_core.runs.paper_runs import list_configs
from fairpriv_core.runs.store import open_store
from fairpriv_core.runs.store_work import WorkStore
from fairpriv_core.runs.worker import work_on
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
    assert count_made(papers(), read_made()) in words(page)
    marked = {name.partition(" (")[2] for name in page.selectbox("preset").options}
    assert "results)" in marked
    assert [chart["figure"]["layout"]["title"]["text"] for chart in charts_of(page)] == [
        "PF-LD, Figure 1, bank: Accuracy",
        "PF-LD, Figure 1, bank: Fairness<br>violation",
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
    assert any(text in words(page) for text in ("**=**", "**≠**", "**?**"))
    assert "The paper says that PF-LD is fairer than N (Results). We take it as\\: by the gap." in words(page)


def test_a_table_stands_beside_what_was_printed(tiny_runs: Path, open_page: Open) -> None:
    page = open_page("papers", preset="tiny.table1")
    cells, printed = (frame.value for frame in page.dataframe)
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


def test_the_choice_stands_in_the_address(open_page: Open) -> None:
    page = open_page("papers", preset="pf_ld.table1")
    assert page.selectbox("preset").value == "pf_ld.table1"
    page.selectbox("preset").set_value("pf_ld.figure3").run()
    assert page.query_params["preset"] == "pf_ld.figure3"
