"""The Train page in a browser: what is on screen is what is launched, and once."""

from __future__ import annotations

import re
from functools import partial
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from fairpriv_core.store.runs import open_store
from tests.e2e.steps import CHART, PATIENCE, keyed, nudge, open_page, time_change, wait_for_state

ADULT = "train?data=adult:sex&expert=True&set_lambda=True&epsilon=2&p.epochs=7&seed=3"


def test_a_double_click_launches_one_run(tab: Page, site: Any) -> None:
    open_page(tab, site, "train?method=none&expert=True&seed=7878&p.epochs=3")
    button = keyed(tab, "launch", "button")
    expect(button).to_be_enabled(timeout=PATIENCE)
    button.dblclick()
    tab.wait_for_url("**/run?run=*")
    wait_for_state(tab, "finished", 30)
    keyed(tab, "run").click()
    assert tab.get_by_role("option").filter(has_text="seed 7878").count() == 1


def test_a_drag_answers_at_once_loses_no_entry_and_launch_takes_what_is_on_screen(tab: Page, site: Any) -> None:
    open_page(tab, site, ADULT)
    for bound in ("clip_primal", "clip_dual"):
        keyed(tab, f"plan_{bound}", CHART).wait_for()
    for bound in ("clip_primal", "clip_dual"):
        chosen = keyed(tab, f"plan_{bound}", ".annotation-text:has-text('chosen')")
        time_change(tab, chosen, partial(nudge, tab, f"p.{bound}"), seconds=5)
    numbers = keyed(tab, "plan_numbers")
    time_change(tab, numbers, partial(nudge, tab, "epsilon"), seconds=20)
    nudge(tab, "p.multiplier_max")
    shown = {name: _read(tab, name) for name in ("clip_primal", "clip_dual", "multiplier_max", "epochs")}
    expect(tab).to_have_url(re.compile("p.multiplier_max="))
    keyed(tab, "launch", "button").click()
    tab.wait_for_url("**/run?run=*")
    with open_store(str(site.store)) as store:
        config = store.row(tab.url.partition("run=")[2].partition("&")[0]).config
    assert {name: config["method"][name] for name in shown} == pytest.approx(shown)
    assert (config["epsilon"], config["seed"], config["method"]["epochs"]) == (2.5, 3, 7)
    keyed(tab, "do_stop", "button").click()


def test_a_notion_speaks_of_ones_own_groups_and_a_method_shows_its_own_parameters(tab: Page, site: Any) -> None:
    open_page(tab, site, "train?method=pf_ld&expert=True&set_lambda=True")
    expect(tab.get_by_text("The share predicted 'yes' should be the same for A and B.")).to_be_visible()
    expect(keyed(tab, "p.clip_dual")).to_be_visible()
    open_page(tab, site, "train?method=dp_sgd&expert=True")
    expect(keyed(tab, "p.clip_primal")).to_be_visible()
    expect(tab.get_by_text(re.compile(r"to .* · default .* · paper")).first).to_be_visible()
    expect(keyed(tab, "p.clip_dual")).to_have_count(0)


def test_settings_that_were_moved_survive_a_reload(tab: Page, site: Any) -> None:
    """A value between a slider's stops is shown as it is, before and after it was moved, and so after a reload."""
    open_page(tab, site, "train?method=pf_ld&expert=True&set_lambda=True&epsilon=2.2&p.clip_primal=0.123456&seed=5")
    assert (_read(tab, "clip_primal"), _read(tab, "epsilon", of="")) == (0.123456, 2.2)
    for name in ("p.clip_primal", "p.hidden_layers", "epsilon"):
        nudge(tab, name)
    keyed(tab, "private_evaluation", "label").click()
    for said in ("p.clip_primal=0.147", "p.hidden_layers=", "epsilon=2.5", "private_evaluation=False"):
        expect(tab).to_have_url(re.compile(re.escape(said)))
    shown = {name: _read(tab, name) for name in ("clip_primal", "hidden_layers")}
    tab.reload()
    keyed(tab, "p.clip_primal").wait_for()
    assert {name: _read(tab, name) for name in shown} == shown and _read(tab, "epsilon", of="") == 2.5
    expect(keyed(tab, "private_evaluation", "input")).not_to_be_checked()
    expect(keyed(tab, "seed", "input")).to_have_value("5")


def test_the_cost_stands_before_launch(tab: Page, site: Any) -> None:
    open_page(tab, site, ADULT)
    expect(keyed(tab, "plan_numbers")).to_contain_text("Primal noise")
    expect(keyed(tab, "plan_numbers")).to_contain_text("Sensitivity")
    expect(tab.get_by_text("Expected time:")).to_be_visible()
    expect(keyed(tab, "plan_epsilon", CHART)).to_be_visible()
    expect(keyed(tab, "plan_clip_primal", CHART)).to_contain_text("minimum")


def _read(tab: Page, name: str, of: str = "p.") -> float:
    """Return what the slider of a parameter says, or the field that its number is typed into."""
    keyed(tab, f"{of}{name}", "input").wait_for(state="attached")
    slider = keyed(tab, f"{of}{name}", "[data-testid=stSliderThumbValue]")
    said = slider.inner_text() if slider.count() else keyed(tab, f"{of}{name}", "input").input_value()
    found = re.search(r"[\d.]+", said)
    assert found is not None
    return float(found.group())
