"""The Start page: three ways on, and earlier results with bands whose cost, dots and marker a budget moves."""

from __future__ import annotations

import pytest

from fairpriv_core.figures.start import draw_costs, format_costs, read_start_results
from fairpriv_core.methods.catalog import methods
from pages.widgets.shared.epsilon import STOPS, draw_dots
from tests.pages.shown import Open, charts, said


def test_moving_the_budget_moves_the_cost_the_sentence_the_dots_and_the_marker(open_page: Open) -> None:
    results = read_start_results()
    page = open_page("start")
    [chart] = charts(page).values()
    layout = chart["figure"]["layout"]
    assert not layout["title"]["text"] and layout["showlegend"] and "gap" in chart["alt"]
    assert any(trace.get("fill") == "tonexty" for trace in chart["figure"]["data"])
    html = " ".join(item.proto.body for item in page.get("html"))
    assert "24 added at most, 26 left in doubt" in html
    captions = said(page, "caption")
    assert "Do not publish" not in captions and "is public. On your own data" in captions
    assert "Private and fair: PF-LD, which protects the sensitive attribute" in captions
    assert "Private only: DP-SGD, which protects the whole record" in captions and "1 in 100,000, proved" in captions
    assert not page.get("json") and "C_p = 0.5" in said(page, "markdown")
    for epsilon in (STOPS[0], 0.5, 1.0, 8.0, STOPS[-1]):
        page.select_slider("epsilon").set_value(epsilon).run()
        [chart] = charts(page).values()
        marked = {line["x0"] for line in chart["figure"]["layout"].get("shapes", ())}
        assert marked == ({epsilon} if 0.1 <= epsilon <= 9 else set())
        assert bool(page.warning) == (epsilon in (STOPS[0], 8.0, STOPS[-1]))
        assert " safe" not in said(page, "markdown", "warning", "caption").lower(), "at no budget"
        assert format_costs(results, epsilon) in said(page, "markdown")
        if epsilon == 0.5:
            assert "at most 63 % certain" in said(page, "markdown") and page.query_params["epsilon"] == "0.5"
    for sure in (50, 52, 73, 100):
        assert draw_dots(sure).count("<span") == 100


def test_the_heading_is_the_cost_that_the_stored_results_have() -> None:
    results = read_start_results()
    plain, fair = (
        [run for run in results.outcomes if (run.method, run.epsilon) == which]
        for which in (("none", None), ("pf_ld", 1.0))
    )
    lost, before, after = (
        100 * sum(values) / len(values)
        for values in (
            [one.accuracy - other.accuracy for one, other in zip(plain, fair, strict=True)],
            [run.gap for run in plain],
            [run.gap for run in fair],
        )
    )
    heading = format_costs(results, 1.0)
    assert f"at ε = 1, {lost:.1f} fewer right answers in 100, " in heading
    assert heading.endswith(f"the gap falls from {before:.1f} to {after:.1f} points")
    assert "at ε = 1 (the nearest stored), " in format_costs(results, 1.2)
    assert "at ε = 9 (the nearest stored), " in format_costs(results, 20.0)
    figure = draw_costs(results, 1.0)
    assert f"accuracy −{lost:.1f} ± " in figure.caption and figure.panels[1].y.range[0] == 0
    assert [one.name for one in figure.series if one.panel == 0] == [
        "private and fair",
        "private only",
        "no protection",
    ]
    assert all(one.labelled for one in figure.series)


def test_the_committed_results_are_of_five_seeds_and_can_be_repeated() -> None:
    results = read_start_results()
    assert results.data["dataset"] == "adult" and "make_start_results.py" in results.command
    private = [run for run in results.outcomes if run.method == "pf_ld"]
    assert {run.epsilon for run in private} == {0.1, 0.5, 1.0, 3.0, 9.0}
    assert {run.seed for run in private} == {0, 1, 2, 3, 4}
    assert all(run.accuracy is not None and run.gap is not None for run in results.outcomes)
    assert len(results.outcomes) == 55


def test_a_card_chooses_what_its_page_begins_with(open_page: Open) -> None:
    page = open_page("start", method="dp_sgd", variant="published", data="synthetic:group")
    for card in ("go_present", "go_own", "go_train"):
        page.button(card).click().run()
        assert not page.exception
    chosen = page.session_state["memory"].choices
    info = methods()[chosen["method"]].info
    assert info.threat_model is not None and info.pursues_notion and chosen["variant"] == "proved"
    assert (chosen["data"], chosen["notion"], chosen["source"]) == ("adult:sex", "demographic_parity", "file")


def test_a_demonstration_says_nothing_of_own_tables(open_page: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    assert "On your own table" in said(open_page("start"), "markdown")
    monkeypatch.setenv("FAIRPRIV_DEMO", "1")
    page = open_page("start")
    assert "On your own table" not in said(page, "markdown") and "train" not in page.button("go_train").label
    assert page.button("go_own").disabled and not page.button("go_present").disabled
