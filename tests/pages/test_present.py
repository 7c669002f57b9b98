"""The Present page: the story of chosen runs, which of them was decided for, and the forms in which it leaves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from streamlit.testing.v1 import AppTest

from fairpriv_core.store.runs import open_store

Open = Callable[..., AppTest]


def list_keys(store: Path) -> list[str]:
    with open_store(str(store)) as opened:
        return [row.key for row in opened.rows()]


def read_story(page: AppTest) -> str:
    """Return the document that the page shows."""
    [frame] = page.get("iframe")
    proto: Any = frame.proto
    return str(proto.srcdoc)


def test_without_a_run_it_says_where_runs_come_from(open_page: Open) -> None:
    page = open_page("present")
    assert not page.exception and "No finished run yet" in page.info[0].value


def test_the_fair_run_is_what_was_chosen_until_another_is(with_runs: Path, open_page: Open) -> None:
    page = open_page("present", runs=list_keys(with_runs))
    assert not page.exception
    story = read_story(page)
    assert "What we chose: PF-LD, ε = 1" in story and "The gap today" in story and "does not clearly change" in story
    plain = next(key for key in page.selectbox("decided").options if key.startswith("No privacy"))
    page.selectbox("decided").select(plain).run()
    assert "What we chose: No privacy, no fairness" in read_story(page)
    assert "decided" in page.query_params


def test_one_run_alone_is_presented_without_a_question(with_runs: Path, open_page: Open) -> None:
    page = open_page("present")
    assert not page.exception and not page.selectbox
    offered = {button.proto.label for button in page.get("download_button")}
    assert "Presentation (HTML, arrow keys)" in offered and "Report (HTML, one file)" not in offered
    page.multiselect("runs").set_value([]).run()
    assert "Choose 1 to 6" in page.info[0].value
