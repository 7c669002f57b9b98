"""Every page opens on its own, without the frame, on an empty store; the strip says what an ε is worth."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from fairpriv_core.store.runs import open_store
from pages.widgets.app.strip import list_shown
from tests.pages.shown import PAGES, Open, find_key, open_frame, said, whole


def test_every_page_opens_on_an_empty_store_with_adult(open_page: Open, data_at_first: str) -> None:
    for name in PAGES:
        page = whole(open_page(name))
        assert page.title, name
        if name in ("run", "compare", "audit"):
            assert "Train page" in said(page, "info"), name
        if name in ("report", "present"):
            assert "a stored one on Adult" in said(page, "caption"), name
        if name == "tradeoffs":
            assert "No finished run yet" in said(page, "info")
        if name == "train":
            assert page.selectbox("data").value == data_at_first == "adult:sex" and not page.button("launch").disabled
        if name == "data":
            assert (page.selectbox("dataset").value, page.multiselect("attributes").value) == ("adult", ["sex"])
            assert page.query_params["data"] == "adult:sex"


def test_a_page_whose_browser_never_has_its_style_is_headed_once() -> None:
    def draw_page() -> None:
        import streamlit as st

        from pages.widgets.app.top import wait_for_style

        st.session_state["styled"] = False
        wait_for_style("Compare")
        st.title("Compare")

    assert [title.value for title in AppTest.from_function(draw_page).run().title] == ["Compare"]


def test_a_store_that_cannot_be_read_gives_a_sentence(open_page: Open, own_store: Path) -> None:
    own_store.parent.mkdir(parents=True)
    own_store.write_bytes(b"this is no database, whatever its name says")
    for name in PAGES:
        page = open_page(name)
        assert not page.exception
        if name not in ("start", "learn", "leaderboard"):  # they need no store
            assert page.error and "store" in page.error[0].value, name
    assert own_store.read_bytes().startswith(b"this is no database")


def draw_strip(page: str, **address: str | list[str]) -> str:
    """Return what the strip says on a page."""

    def draw(page: str) -> None:
        from pages.widgets.app.strip import hold_strip, show_strip
        from pages.widgets.shared.state import enter

        enter(page)
        show_strip(page, *hold_strip(page))

    frame = AppTest.from_function(draw, args=(page,))
    for name, text in address.items():
        frame.query_params[name] = text
    return said(whole(frame.run()), "markdown", "caption")


def test_the_strip_tells_of_the_runs_that_a_page_shows(with_runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of their ε, which the page's own boxes do not say: where they do, it says nothing."""
    with open_store(str(with_runs)) as store:
        rows = store.rows()
        row = store.row(find_key(store, "pf_ld"))
    told = draw_strip("Report", runs=[each.key for each in rows])
    assert "ε **none, 1.00 (δ = 1 in 100,000, proved)**" in told
    assert "protects **the sensitive attribute of each person**" in told and "Synthetic" not in told
    assert "ε **1.00 (δ = 1 in 100,000, proved)**" in draw_strip("Audit", run=row.key)
    for name in ("Start", "Data", "Train", "Run", "Papers", "Learn"):
        assert "**" not in draw_strip(name, run=row.key), name
    monkeypatch.setattr("pages.widgets.app.strip.find_row", lambda key: replace(row, epsilon=None))
    assert "ε **none is proved**" in draw_strip("Audit", run=row.key), "as of a run that was chosen by raw numbers"
    monkeypatch.setattr("pages.widgets.app.strip.find_row", lambda key: replace(row, status="running"))
    assert "running" in draw_strip("Data", run=row.key) and "running" not in draw_strip("Run", run=row.key)


def test_the_strip_tells_of_what_trade_offs_shows_and_on_explore_of_the_next_run(with_runs: Path) -> None:
    """Explore shows none of the runs that are there."""
    told = {}
    for page in ("tradeoffs", "explore"):
        frame = open_frame(page, data="synthetic:region")
        assert not frame.exception
        told[page] = next(item.value.replace("\\", "") for item in frame.markdown if "protects **" in item.value)
    assert "ε **none, 1.00 (δ =" in told["tradeoffs"]
    assert "δ **1 in 100,000 (proved)**" in told["explore"] and "the sensitive attribute" in told["explore"]


def test_several_budgets_are_listed_and_many_have_ends() -> None:
    def ask(method: str, epsilon: float | None, delta: float = 1e-5, **given: Any) -> Any:
        data = {"dataset": "synthetic", "sensitive": "group"}
        return {
            "data": data,
            "notion": "demographic_parity",
            "method": {"name": method, **given},
            "epsilon": epsilon,
            "delta": delta,
        }, epsilon

    assert list_shown([ask("pf_ld", 1.0)])["ε"] == "1.00 (δ = 1 in 100,000, proved)"
    assert list_shown([ask("pf_ld", 3.0), ask("pf_ld", 1.0)])["ε"] == "1.00, 3.00 (δ = 1 in 100,000, proved)"
    as_published = ask("pf_ld", 3.0, variant="published")
    assert list_shown([as_published])["ε"] == "3.00 (δ = 1 in 100,000, as published, not proved)"
    both = list_shown([as_published, ask("pf_ld", 1.0)])["ε"]
    assert both == "1.00, 3.00 (δ = 1 in 100,000, proved or as published, not proved)"
    many = [ask(name, budget) for name in ("pf_ld", "dp_sgd") for budget in (0.5, 1.0, 3.0, 9.0)]
    told = list_shown([*many, ask("none", None), ask("pf_ld", 1.0, 1e-6)])
    assert told["ε"] == "none, 0.500 to 9.00 (δ = 1 in 1,000,000 or 1 in 100,000, proved)"
    assert told["protects"].count("each person") == 2
