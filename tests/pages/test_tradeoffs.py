"""The Trade-offs page: claims apart, dominated settings on demand, maps, the smallest ε, picks, sweeps from a form."""

from __future__ import annotations

import json
from collections.abc import Callable
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

Open = Callable[..., AppTest]
Charts = Callable[[AppTest], list[dict[str, Any]]]
DATA = {"dataset": "synthetic", "sensitive": "group"}


def ask_cost(page: AppTest, store: RunStore) -> AppTest:
    """Ask what the sweep on screen costs, and answer as a worker does."""
    page.button("tradeoffs_cost").click().run()
    answer(store)
    return page.run()


def answer(store: RunStore) -> None:
    """Do what a worker would: every preview that waits."""
    while (key := store.previews.claim()) is not None:
        run_preview(str(store.database.path), key)


def test_the_frontier_stands_with_its_claim_and_its_caveat(with_runs: Path, open_page: Open, charts_of: Charts) -> None:
    page = open_page("tradeoffs")
    assert not page.exception and not page.error
    over, chart = charts_of(page)
    assert "Synthetic: label by group" in over["figure"]["layout"]["title"]["text"] and over["drag"]
    titles = " ".join(note["text"] for note in chart["figure"]["layout"]["annotations"])
    assert "Attribute · proved · δ = 1 in 100,000" in titles
    assert "PF-LD, ε = 1" in chart["alt"]
    assert any("Synthetic is public. On your own data no ε covers such numbers" in each.value for each in page.caption)
    assert chart["pick"] and [trace["customdata"] for trace in chart["figure"]["data"] if "customdata" in trace]


@pytest.mark.usefixtures("with_runs")
def test_a_figure_leaves_for_a_paper_without_the_shaded_region_unless_it_is_wanted(
    open_page: Open, chromium: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("BROWSER_PATH", chromium)
    page = open_page("tradeoffs")
    assert page.toggle("tradeoff_frontier_screen_shaded").value, "as on screen"
    page.button_group("tradeoff_frontier_sheet").set_value("paper").run()
    beside = page.toggle("tradeoff_frontier_paper_shaded")
    assert not beside.value and not any("Shaded:" in each.value for each in page.code)
    beside.set_value(True).run()
    [caption] = [each.value for each in page.code if "Shaded: accuracy of at least 80 %" in each.value]
    assert caption.endswith("Synthetic is public."), "readers of a paper have no data of their own here"


def test_runs_that_cannot_be_drawn_are_not_blamed_on_filters(own_store: Path, open_page: Open) -> None:
    own_store.parent.mkdir()
    with open_store(str(own_store)) as store:
        told = {"epsilon": None, "epsilon_reason": "Noise that can be repeated.", "metrics": measured((0.3, 0.2))}
        finish(store, config(replay_noise=3), (), **told)
    [said, *_] = open_page("tradeoffs").info
    assert said.value.startswith("These runs have no gap, no stated ε") and "filter" not in said.value


def test_a_pick_says_that_it_is_not_paid_for(with_runs: Path, open_page: Open) -> None:
    page = open_page("tradeoffs")
    assert not page.warning
    with open_store(str(with_runs)) as store:
        [key] = [row.key for row in store.rows() if row.config["seed"] == 0 and row.config["epsilon"] is not None]
    page.multiselect("points").set_value([key]).run()
    assert "its ε no longer covers it" in page.warning[0].value
    assert key in page.query_params["points"]
    assert {"Open in Compare", "Open its run"} <= {button.label for button in page.button}
    assert open_page("tradeoffs", points=key).multiselect("points").value == [key]


def test_the_smallest_epsilon_or_what_is_nearest(with_runs: Path, open_page: Open) -> None:
    page = open_page("tradeoffs", wish_accuracy="1.0", wish_gap="100.0")
    text = " ".join(item.value for item in page.markdown).replace("\\", "")
    assert "the smallest ε of 1 stored setting is ε = 1.00 (δ = 1 in 100,000, proved" in text
    page.number_input("wish_accuracy").set_value(99.9).run()
    text = " ".join(item.value for item in page.markdown).replace("\\", "")
    assert "none of 1 stored setting reaches it. The nearest misses by" in text
    page.button("wish_pick_0").click().run()
    assert len(page.multiselect("points").value) == 1


def test_filters_and_views_come_back_from_the_address(with_runs: Path, open_page: Open, charts_of: Charts) -> None:
    page = open_page("tradeoffs", of_method="none", view="space")
    assert "there is no third axis" in page.info[0].value
    page = open_page("tradeoffs", view="space")
    assert charts_of(page)[0]["figure"]["data"][0]["type"] == "scatter3d"
    assert "A map needs runs" in open_page("tradeoffs", view="map").info[0].value


def test_an_empty_store_offers_a_sweep(own_store: Path, open_page: Open) -> None:
    page = open_page("tradeoffs")
    assert "No finished run yet" in page.info[0].value and not page.exception
    page.multiselect("sweep.method").set_value(["pf_ld", "dp_fermi"]).run()
    page.text_input("sweep.epsilon").set_value("1, three").run()
    assert "got 'three'" in page.error[0].value.replace("\\", "")
    page.text_input("sweep.epsilon").set_value("1, 3").run()
    with open_store(str(own_store)) as store:
        ask_cost(page, store)
    assert [metric.value for metric in page.metric][:2] == ["12", "12"]


def test_a_launched_sweep_is_found_again_by_its_address(own_store: Path, open_page: Open) -> None:
    page = open_page("tradeoffs")
    page.text_input("sweep.epsilon").set_value("1").run()
    with open_store(str(own_store)) as store:
        ask_cost(page, store)
        next(button for button in page.button if button.label == "Launch 3 runs").click().run()
        [name] = (
            page.query_params["sweep"] if isinstance(page.query_params["sweep"], list) else [page.query_params["sweep"]]
        )
        answer(store)
    again = open_page("tradeoffs", sweep=name)
    assert again.segmented_control("sweep.way").value == "launched"
    assert "Cancel" in [button.label for button in again.button]


def stop(*_: object) -> None:
    raise KeyboardInterrupt


def test_sweeps_of_the_command_line_are_listed_with_progress_cancel_and_resume(
    own_store: Path, open_page: Open, tmp_path: Path
) -> None:
    for epsilon in (1, 2):
        path = tmp_path / f"{epsilon}.toml"
        data = '[data]\ndataset = "synthetic"\nsensitive = "group"\n'
        axes = f'[axes]\nmethod = ["pf_ld"]\nepsilon = [{epsilon}]\nseed = [0, 1]\n'
        path.write_text(f'notion = "demographic_parity"\n{data}{axes}')
        with pytest.raises(KeyboardInterrupt):
            run_sweep(str(path), Order(stop, 1), Reporter(say=str, show=str))
    page = open_page("tradeoffs")
    page.segmented_control("sweep.way").set_value("launched").run()
    told = [bar.proto.text.replace("\\", "") for bar in page.get("progress")]
    assert "Synthetic: label by group · methods PF-LD · ε 1 · seeds 0, 1: 0 of 2 ended" in " ".join(told)
    assert "0 of 2 ended: 2 paused" in told
    click(page, "Resume")
    with open_store(str(own_store)) as store:
        assert sorted(row.status for row in store.rows()) == ["paused", "paused", "queued", "queued"]
        click(page, "Cancel")
        assert {row.status for row in store.rows()} == {"paused"}


def test_settings_are_told_where_they_differ_on_the_same_question(own_store: Path) -> None:
    own_store.parent.mkdir()
    told = {"metrics": measured((0.3, 0.2))}
    with open_store(str(own_store)) as store:
        for notion, epochs in (("demographic_parity", 5), ("equalized_odds", 7), ("equalized_odds", 9)):
            finish(store, config({"name": "pf_ld", "epochs": epochs}, notion=notion), (), **told)
        [own] = (find_answers(store) or {}).values()
    said = {notion: sorted(answers.details.values()) for notion, answers in own.items()}
    assert said == {"demographic_parity": [""], "equalized_odds": ["epochs 7", "epochs 9"]}


@pytest.mark.usefixtures("with_runs")
def test_the_points_of_a_sweep_on_another_notion_are_a_click_away(open_page: Open, tmp_path: Path) -> None:
    path = tmp_path / "odds.toml"
    data = '[data]\ndataset = "synthetic"\nsensitive = "group"\n'
    path.write_text(f'notion = "equalized_odds"\n{data}[method]\nname = "none"\nepochs = 1\n[axes]\nseed = [0]\n')
    run_sweep(str(path), Order(partial(run_here, workers=1), 1), Reporter(say=str, show=str))
    page = open_page("tradeoffs", of_notion="demographic_parity")
    page.segmented_control("sweep.way").set_value("launched").run()
    assert page.selectbox("of_notion").value == "demographic_parity"
    click(page, "Show the points of this sweep")
    assert page.selectbox("of_notion").value == "equalized_odds"
    assert "Show the points of this sweep" not in [button.label for button in page.button]


def click(page: AppTest, label: str) -> None:
    next(button for button in page.button if button.label == label).click().run()
    assert not page.exception


def test_the_form_asks_for_no_evaluation_where_that_is_switched_off(own_store: Path, open_page: Open) -> None:
    page = open_page("tradeoffs")
    with open_store(str(own_store)) as store:
        for on, said in ((True, None), (False, False)):
            page.toggle("sweep.evaluates").set_value(on).run()
            page.button("tradeoffs_cost").click().run()
            request = store.previews.request(store.previews.claim() or "")
            assert request["sweep"].get("private_evaluation") is said
    page.multiselect("sweep.method").set_value(["none"]).run()
    assert not page.toggle, "nothing covers one of a method that is not private"


def test_parameters_become_axes_and_a_map_shows_them(own_store: Path, open_page: Open) -> None:
    page = open_page("tradeoffs")
    page.multiselect("sweep.method").set_value(["dp_fermi"]).run()
    page.selectbox("sweep.parameter1").set_value("multiplier").run()
    page.text_input("sweep.multiplier").set_value("0.5, 1, 2").run()
    with open_store(str(own_store)) as store:
        ask_cost(page, store)
        request = store.previews.request(next(iter(keys_of(store))))
    assert request["sweep"]["axes"]["method.multiplier"] == [0.5, 1.0, 2.0]
    assert request["sweep"]["axes"]["seed"] == [0, 1, 2]


def keys_of(store: RunStore) -> list[str]:
    with store.database.read() as connection:
        return [row[0] for row in connection.exec_driver_sql("select key from preview")]


def test_a_pasted_file_is_a_sweep_and_may_not_read_this_machine(own_store: Path, open_page: Open) -> None:
    page = open_page("tradeoffs")
    page.segmented_control("sweep.way").set_value("paste").run()
    page.text_area("sweep.text").set_value("[axes]\nseed = [0]\n[data]\nfile = '/etc/passwd'").run()
    assert "A pasted sweep is about a benchmark" in page.error[0].value.replace("\\", "")
    page.text_area("sweep.text").set_value("axes = 3").run()
    assert "axes must be a table" in page.error[0].value.lower()


@pytest.mark.parametrize(
    "raw",
    [
        {"data": {"file": "a"}},
        {"axes": {"file": ["a"]}},
        {"axes": {"data.file": ["a"]}},
        {"axes": {"data": [{"file": "a"}]}},
        {"axes": {"data": {"file": ["a"]}}},
    ],
)
def test_a_file_is_refused_wherever_it_stands(raw: dict[str, Any]) -> None:
    with pytest.raises(BadInput, match="about a benchmark"):
        refuse_files(raw)


def test_numbers_are_read_as_the_parameter_wants_them() -> None:
    assert json.dumps(read_values("1, 2", "epochs", whole=True)) == "[1, 2]"
    with pytest.raises(BadInput, match="epochs takes whole numbers"):
        read_values("1.5", "epochs", whole=True)
