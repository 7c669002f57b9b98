"""The Start page: earlier results with bands, a budget that moves the words, the dots and the marker; and the tour."""

from __future__ import annotations

import pytest

from fairpriv_core.data.problem import ENCODINGS
from fairpriv_core.report.figures import name_dots
from fairpriv_core.report.start import read_start_results, say_cost
from pages.widgets.shared.epsilon import STOPS, draw_dots
from tests.pages.shown import PAGES, Open, charts, said


def test_moving_the_budget_moves_the_sentence_the_dots_and_the_marker(open_page: Open) -> None:
    page = open_page("start")
    [chart] = charts(page).values()
    assert chart["figure"]["layout"]["title"]["text"] and "gap" in chart["alt"]
    assert any(trace.get("fill") == "tonexty" for trace in chart["figure"]["data"])
    assert "at most 74 % certain" in said(page, "markdown")
    html = " ".join(item.proto.body for item in page.get("html"))
    assert all(name in html for name in name_dots(74)) and "Added by ε, at most: 24" in name_dots(74)
    captions = said(page, "caption")
    assert "Do not publish" not in captions and "is public. On your own data" in captions
    assert "OneRelease and PF-LD protect the sensitive attribute" in captions
    assert "DP-SGD protects the whole" in captions
    assert not page.get("json") and "C_p = 0.5" in said(page, "markdown")
    for epsilon in (STOPS[0], 0.5, 1.0, 8.0, STOPS[-1]):
        page.select_slider("epsilon").set_value(epsilon).run()
        [chart] = charts(page).values()
        assert {line["x0"] for line in chart["figure"]["layout"]["shapes"]} <= {epsilon}
        assert bool(page.warning) == (epsilon in (STOPS[0], 8.0, STOPS[-1]))
        assert " safe" not in said(page, "markdown", "warning", "caption").lower(), "at no budget"
        if epsilon == 0.5:
            assert "at most 63 % certain" in said(page, "markdown") and page.query_params["epsilon"] == "0.5"
            assert chart["figure"]["layout"]["shapes"]
    for sure in (50, 52, 73, 100):
        picture, key = draw_dots(sure).split("</div>")[:2]
        assert picture.count("<span") == 100 and key.count("<span") == 3


def test_a_sentence_answers_the_title_from_the_stored_results_of_either_encoding(open_page: Open) -> None:
    results = read_start_results()
    [own] = [{run.gap for run in results.outcomes if (run.method, run.epsilon) == ("pf_ld", 1.0)}]
    gap = 100 * sum(value for value in own if value is not None) / len(own)
    page = open_page("start", epsilon="1", start_encoding="fine")
    assert page.segmented_control("start_encoding").value == "binned", "there is no such encoding"
    assert "At ε = 1: " in said(page, "markdown") and "outside" not in said(page, "markdown")
    assert f"points, gap {gap:.1f}" in said(page, "markdown").partition("PF-LD gives up")[2]
    assert "stored ε nearest to 1.2 is 1" in say_cost(results, 1.2)
    assert "ε = 20 lies outside the stored results, which reach from 0.1 to 9" in say_cost(results, 20.0)
    before = [chart["figure"]["data"][0]["y"] for chart in charts(page).values()]
    page.segmented_control("start_encoding").set_value("plain").run()
    assert not page.exception and page.query_params["start_encoding"] == "plain"
    assert "without bins and logarithms" in said(page, "markdown")
    assert [chart["figure"]["data"][0]["y"] for chart in charts(page).values()] != before


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


def test_the_tour_names_every_page_and_can_be_skipped_and_started_again(open_page: Open) -> None:
    page = open_page("start")
    page.button("tour_start").click().run()
    told = said(page, "markdown")
    while any(button.key == "tour_next" for button in page.button):
        page.button("tour_next").click().run()
        told += said(page, "markdown")
    assert "2 of 6" in told
    others = [name for name in PAGES if name != "start"]
    assert len(others) >= 9 and not [name for name in others if f"**{name}**" not in told.lower().replace("-", "")]
    page = open_page("start")
    page.button("tour_start").click().run()
    page.button("tour_skip").click().run()
    assert page.button("tour_start")
