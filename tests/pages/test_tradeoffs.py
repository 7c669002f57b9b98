"""The Trade-offs page: claims apart, dominated settings on demand, maps, the smallest ε, picks, sweeps from a form."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from fairpriv_core.cli.sweep import run_sweep
from fairpriv_core.errors import BadInput
from fairpriv_core.runs.preview import run_preview
from fairpriv_core.runs.supervisor import run_here
from fairpriv_core.store.runs import RunStore, open_store
from fairpriv_core.sweeps.launch import Order
from fairpriv_core.text import Reporter
from pages.widgets.tradeoffs.questions import find_answers
from pages.widgets.tradeoffs.sweep_form import read_values, refuse_files
from tests.launched import config, finish, measured
from tests.pages.shown import Open, address_of, buttons, charts, click, find_key, said, unfold, whole

SHOW = "Show the points of this sweep"
REPORTER = Reporter(say=str, show=str)


def ask_cost(page: AppTest, store: RunStore) -> dict[str, Any]:
    """Ask what the sweep on screen costs, and answer as a worker does; return the sweep that was asked for."""
    page.button("tradeoffs_cost").click().run()
    key = str(store.previews.claim())
    request = store.previews.request(key)
    run_preview(str(store.database.path), key)
    page.run()
    sweep: dict[str, Any] = request["sweep"]
    return sweep


def test_the_frontier_stands_with_its_claim_and_a_pick_says_that_it_is_not_paid_for(
    with_runs: Path, open_page: Open
) -> None:
    page = whole(open_page("tradeoffs"))
    over, chart = charts(page).values()
    assert "Synthetic: label by group" in over["figure"]["layout"]["title"]["text"] and over["drag"]
    titles = " ".join(note["text"] for note in chart["figure"]["layout"]["annotations"])
    assert "Attribute · proved · δ = 1 in 100,000" in titles and "PF-LD, ε = 1" in chart["alt"]
    assert "Synthetic is public. On your own data no ε covers such numbers" in said(page, "caption")
    assert chart["pick"] and [trace["customdata"] for trace in chart["figure"]["data"] if "customdata" in trace]
    assert not page.warning
    with open_store(str(with_runs)) as store:
        key = find_key(store, "pf_ld")
    page.multiselect("points").set_value([key]).run()
    assert "its ε no longer covers it" in said(page, "warning") and key in page.query_params["points"]
    assert {"Open in Compare", "Open its run"} <= set(buttons(page).values())
    assert open_page("tradeoffs", points=key).multiselect("points").value == [key]


def test_views_and_wishes_come_back_from_the_address(with_runs: Path, open_page: Open) -> None:
    page = open_page("tradeoffs", wish_accuracy="1.0", wish_gap="100.0", view="map")
    assert "A map needs runs" in said(page, "info")
    assert "the smallest ε of 1 stored setting is ε = 1.00 (δ = 1 in 100,000, proved" in said(page)
    page.number_input("wish_accuracy").set_value(99.9).run()
    assert "none of 1 stored setting reaches it. The nearest misses by" in said(page)
    page.button("wish_pick_0").click().run()
    assert len(page.multiselect("points").value) == 1


@pytest.mark.usefixtures("with_runs")
def test_a_figure_leaves_for_a_paper_without_the_shaded_region_unless_it_is_wanted(
    open_page: Open, chromium: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BROWSER_PATH", chromium)
    page = unfold(open_page("tradeoffs"), "tradeoff_frontier")
    assert page.toggle("tradeoff_frontier_screen_shaded").value, "as on screen"
    page.button_group("tradeoff_frontier_sheet").set_value("paper").run()
    beside = page.toggle("tradeoff_frontier_paper_shaded")
    assert not beside.value and not any("Shaded:" in each.value for each in page.code)
    beside.set_value(True).run()
    [caption] = [each.value for each in page.code if "Shaded: accuracy of at least 80 %" in each.value]
    assert caption.endswith("Synthetic is public."), "readers of a paper have no data of their own here"


@pytest.mark.usefixtures("with_runs")
def test_both_charts_leave_as_panels_of_one_image(
    open_page: Open, chromium: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BROWSER_PATH", chromium)
    page = open_page("tradeoffs")
    assert not [each for each in page.get("download_button") if "tradeoff_" in str(each.key)], "until they are opened"
    page = unfold(page, "tradeoff_set")
    assert {f"tradeoff_set_{form}" for form in ("png", "svg", "pdf", "bib")} <= {
        str(each.key) for each in page.get("download_button")
    }


@pytest.mark.usefixtures("with_runs")
def test_height_and_legend_of_an_image_are_chosen(
    open_page: Open, chromium: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BROWSER_PATH", chromium)
    page = unfold(open_page("tradeoffs"), "tradeoff_frontier")
    assert not any(str(each.key).endswith(("_height", "_legend")) for each in (*page.slider, *page.button_group))
    page.button_group("tradeoff_frontier_sheet").set_value("paper").run()
    height = page.slider("tradeoff_frontier_paper_height")
    assert height.min < height.value < height.max == pytest.approx(2 * height.min)
    height.set_value(height.min).run()
    page.button_group("tradeoff_frontier_paper_legend").set_value("right").run()
    beside = page.slider("tradeoff_frontier_paper_height")
    assert not page.exception and not page.error and beside.min < height.min, "no legend takes room below"
    page.button_group("tradeoff_frontier_sheet").set_value("slide").run()
    assert page.slider("tradeoff_frontier_slide_height").value == 7.5 and not page.error


def test_runs_that_cannot_be_drawn_are_not_blamed_on_filters(own_store: Path, open_page: Open) -> None:
    with open_store(str(own_store)) as store:
        told = {"epsilon": None, "epsilon_reason": "Noise that can be repeated.", "metrics": measured((0.3, 0.2))}
        finish(store, config(replay_noise=3), (), **told)
    first = open_page("tradeoffs").info[0].value
    assert first.startswith("These runs cannot be drawn") and "filter" not in first


def test_a_sweep_is_asked_for_by_a_form_and_found_again_by_its_address(own_store: Path, open_page: Open) -> None:
    page = open_page("tradeoffs")
    assert "No finished run yet" in said(page, "info") and not page.exception
    with open_store(str(own_store)) as store:
        page.multiselect("sweep.method").set_value(["pf_ld", "dp_fermi"]).run()
        page.text_input("sweep.epsilon").set_value("1, three").run()
        assert "got 'three'" in said(page, "error")
        page.text_input("sweep.epsilon").set_value("1, 3").run()
        assert ask_cost(page, store).get("private_evaluation") is None
        assert [metric.value for metric in page.metric][:2] == ["12", "12"]
        page.multiselect("sweep.method").set_value(["dp_fermi"]).run()
        page.selectbox("sweep.parameter1").set_value("multiplier").run()
        page.text_input("sweep.multiplier").set_value("0.5, 1").run()
        page.toggle("sweep.evaluates").set_value(False).run()
        asked = ask_cost(page, store)
        assert asked["axes"]["method.multiplier"] == [0.5, 1.0] and asked["axes"]["seed"] == [0, 1, 2]
        assert asked["private_evaluation"] is False
        click(page, "Launch 12 runs")
        name = address_of(page, "sweep")
        run_preview(str(own_store), str(store.previews.claim()))
        assert {row.config["method"]["multiplier"] for row in store.rows()} == {0.5, 1.0} and len(store.rows()) == 12
    again = open_page("tradeoffs", sweep=name)
    assert again.segmented_control("sweep.way").value == "launched" and "Cancel" in buttons(again).values()
    again.segmented_control("sweep.way").set_value("form").run()
    again.multiselect("sweep.method").set_value(["none"]).run()
    assert not again.toggle, "nothing covers an evaluation of a method that is not private"


def stop(*_: object) -> None:
    raise KeyboardInterrupt


def write_sweep(path: Path, notion: str, method: str, axes: str) -> str:
    """Write the file of a sweep on synthetic data; return its path."""
    data = '[data]\ndataset = "synthetic"\nsensitive = "group"\n'
    path.write_text(f'notion = "{notion}"\n{data}[method]\nname = "{method}"\nepochs = 1\n[axes]\n{axes}\n')
    return str(path)


def test_sweeps_of_the_command_line_are_listed_with_progress_cancel_and_resume(
    own_store: Path, open_page: Open, tmp_path: Path
) -> None:
    for epsilon in (1, 2):
        axes = f"epsilon = [{epsilon}]\nseed = [0, 1]"
        with pytest.raises(KeyboardInterrupt):
            run_sweep(write_sweep(tmp_path / "a.toml", "demographic_parity", "pf_ld", axes), Order(stop, 1), REPORTER)
    page = open_page("tradeoffs")
    page.segmented_control("sweep.way").set_value("launched").run()
    told = [bar.proto.text.replace("\\", "") for bar in page.get("progress")]
    assert any("Synthetic: label by group" in each and "PF-LD" in each for each in told)
    assert any("0 of 2 ended: 2 paused" in each for each in told)
    click(page, "Resume")
    with open_store(str(own_store)) as store:
        assert sorted(row.status for row in store.rows()) == ["paused", "paused", "queued", "queued"]
        click(page, "Cancel")
        assert {row.status for row in store.rows()} == {"paused"}


def test_settings_are_told_where_they_differ_on_the_same_question(own_store: Path) -> None:
    told = {"metrics": measured((0.3, 0.2))}
    with open_store(str(own_store)) as store:
        for notion, epochs in (("demographic_parity", 5), ("equalized_odds", 7), ("equalized_odds", 9)):
            finish(store, config({"name": "pf_ld", "epochs": epochs}, notion=notion), (), **told)
        [own] = (find_answers(store) or {}).values()
    said = {notion: sorted(answers.details.values()) for notion, answers in own.items()}
    assert said == {"demographic_parity": [""], "equalized_odds": ["epochs 7", "epochs 9"]}


@pytest.mark.usefixtures("with_runs")
def test_the_points_of_a_sweep_on_another_notion_are_a_click_away(open_page: Open, tmp_path: Path) -> None:
    path = write_sweep(tmp_path / "odds.toml", "equalized_odds", "none", "seed = [0]")
    run_sweep(path, Order(partial(run_here, workers=1), 1), REPORTER)
    page = open_page("tradeoffs", of_notion="demographic_parity")
    page.segmented_control("sweep.way").set_value("launched").run()
    assert page.selectbox("of_notion").value == "demographic_parity"
    click(page, SHOW)
    assert page.selectbox("of_notion").value == "equalized_odds" and SHOW not in buttons(page).values()


def test_a_pasted_file_is_a_sweep_and_may_not_read_this_machine(own_store: Path, open_page: Open) -> None:
    page = open_page("tradeoffs")
    page.segmented_control("sweep.way").set_value("paste").run()
    page.text_area("sweep.text").set_value("[axes]\nseed = [0]\n[data]\nfile = '/etc/passwd'").run()
    assert "A pasted sweep is about a benchmark" in said(page, "error")
    page.text_area("sweep.text").set_value("axes = 3").run()
    assert "axes must be a table" in said(page, "error").lower()
    for axes in ({"file": ["a"]}, {"data.file": ["a"]}, {"data": [{"file": "a"}]}, {"data": {"file": ["a"]}}):
        with pytest.raises(BadInput, match="about a benchmark"):
            refuse_files({"axes": axes})


def test_numbers_are_read_as_the_parameter_wants_them() -> None:
    assert json.dumps(read_values("1, 2", "epochs", as_int=True)) == "[1, 2]"
    with pytest.raises(BadInput, match="epochs takes whole numbers"):
        read_values("1.5", "epochs", as_int=True)
