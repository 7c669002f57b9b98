"""The Start page: earlier results with bands, a budget that moves the words, the dots and the marker."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from fairpriv_core.data.problem import ENCODINGS
from fairpriv_core.report.figures import name_dots
from fairpriv_core.report.start import read_start_results, say_cost
from pages.widgets.shared.epsilon import STOPS, draw_dots

Open = Callable[..., AppTest]
Charts = Callable[[AppTest], list[dict[str, Any]]]


def test_the_chart_has_a_title_bands_and_a_text_alternative(open_page: Open, charts_of: Charts) -> None:
    chart = charts_of(open_page("start"))[0]
    assert chart["figure"]["layout"]["title"]["text"]
    assert any(trace.get("fill") == "tonexty" for trace in chart["figure"]["data"])
    assert "gap" in chart["alt"]


def test_moving_the_budget_moves_the_sentence_the_dots_and_the_marker(open_page: Open, charts_of: Charts) -> None:
    page = open_page("start")
    assert "74 in 100" in " ".join(item.value for item in page.markdown)
    page.select_slider("epsilon").set_value(0.5).run()
    assert "63 in 100" in " ".join(item.value for item in page.markdown)
    lines = charts_of(page)[0]["figure"]["layout"]["shapes"]
    assert {line["x0"] for line in lines} == {0.5}
    assert page.query_params["epsilon"] == "0.5"


@pytest.mark.parametrize("epsilon", STOPS)
def test_at_no_budget_is_anything_called_safe(epsilon: float, open_page: Open) -> None:
    if epsilon not in (STOPS[0], 1.0, 8.0, STOPS[-1]):
        return
    page = open_page("start", epsilon=f"{epsilon:g}")
    words = " ".join(item.value for item in (*page.markdown, *page.warning, *page.caption)).lower()
    assert " safe" not in words
    assert bool(page.warning) == (epsilon in (STOPS[0], 8.0, STOPS[-1]))


def test_a_sentence_answers_the_title_from_the_stored_results(open_page: Open) -> None:
    results = read_start_results()
    [own] = [{run.gap for run in results.outcomes if (run.method, run.epsilon) == ("pf_ld", 1.0)}]
    gap = 100 * sum(value for value in own if value is not None) / len(own)
    said = " ".join(item.value for item in open_page("start", epsilon="1").markdown).replace("\\", "")
    assert "At ε = 1: " in said and "outside" not in said
    assert f"points, gap {gap:.1f}" in said.partition("PF-LD gives up")[2]
    assert "stored ε nearest to 1.2 is 1" in say_cost(results, 1.2)
    assert "ε = 20 lies outside the stored results, which reach from 0.1 to 9" in say_cost(results, 20.0)


def test_results_of_the_plain_encoding_are_a_click_away(open_page: Open, charts_of: Charts) -> None:
    page = open_page("start")
    before = charts_of(page)[0]["figure"]["data"][0]["y"]
    page.segmented_control("start_encoding").set_value("plain").run()
    assert not page.exception and page.query_params["start_encoding"] == "plain"
    words = " ".join(item.value for item in page.markdown)
    assert "without bins and logarithms" in words and charts_of(page)[0]["figure"]["data"][0]["y"] != before


def test_an_encoding_that_there_is_not_is_the_usual_one(open_page: Open) -> None:
    page = open_page("start", start_encoding="fine")
    assert not page.exception and page.segmented_control("start_encoding").value == "binned"


def test_the_chart_says_what_holds_for_public_data(open_page: Open) -> None:
    page = open_page("start")
    said = " ".join(item.value for item in page.caption)
    assert "Do not publish" not in said and "is public. On your own data" in said
    assert "OneRelease and PF-LD protect the sensitive attribute" in said and "DP-SGD protects the whole" in said
    assert not page.get("json") and "C\\_p = 0.5" in " ".join(item.value for item in page.markdown)


def test_there_are_a_hundred_dots() -> None:
    for sure in (50, 52, 73, 100):
        picture, key = draw_dots(sure).split("</div>")[:2]
        assert picture.count("<span") == 100 and key.count("<span") == 3


def test_the_dots_have_a_key(open_page: Open) -> None:
    said = " ".join(item.proto.body for item in open_page("start").get("html"))
    assert all(name in said for name in name_dots(74))
    assert "Added by ε, at most: 24" in name_dots(74)


def test_the_tour_can_be_skipped_and_started_again(open_page: Open) -> None:
    page = open_page("start")
    page.button("tour_start").click().run()
    page.button("tour_next").click().run()
    assert "2 of 6" in " ".join(item.value for item in page.markdown)
    page.button("tour_skip").click().run()
    assert page.button("tour_start")


@pytest.mark.parametrize("encoding", ENCODINGS)
def test_the_committed_results_are_of_five_seeds_and_can_be_repeated(encoding: str) -> None:
    results = read_start_results(encoding)
    assert results.data["dataset"] == "adult" and results.encodings == ENCODINGS
    assert "make_start_results.py" in results.command
    private = [run for run in results.outcomes if run.method == "pf_ld"]
    assert {run.epsilon for run in private} == {0.1, 0.5, 1.0, 3.0, 9.0}
    assert {run.seed for run in private} == {0, 1, 2, 3, 4}
    assert all(run.accuracy is not None and run.gap is not None for run in results.outcomes)
    assert len(results.outcomes) == 85 and {run.encoding for run in results.outcomes} == {encoding}


def test_the_tour_names_every_page(open_page: Open) -> None:
    page = open_page("start")
    page.button("tour_start").click().run()
    told = ""
    while any(button.key == "tour_next" for button in page.button):
        told += " ".join(item.value for item in page.markdown)
        page.button("tour_next").click().run()
    told += " ".join(item.value for item in page.markdown)
    pages = {path.stem for path in (Path(__file__).resolve().parents[2] / "pages").glob("*.py")} - {"__init__", "start"}
    assert len(pages) >= 9
    assert not [page for page in pages if f"**{page}**" not in told.lower().replace("-", "")]
