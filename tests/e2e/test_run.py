"""The Run page in a browser: live charts for all who look, brakes, zoom, and a worker that is killed."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from fairpriv_core.store.runs import open_store
from tests.e2e.steps import CHART, keyed, launch, open_page, read_step, wait_for_state, watch_steps

READ_RANGE = "() => document.querySelector('.st-key-run_groups .js-plotly-plot').layout.xaxis.range.map(Number)"
#: as if the page had made this drawing anew, on which nobody has zoomed
REDRAW = """() => {
    const plot = document.querySelector('.st-key-run_groups .js-plotly-plot')
    const { data, layout } = structuredClone(plot.figure)
    return window.Plotly.react(plot, data, { ...layout, uirevision: 'another' }).then(() => plot.layout.xaxis.autorange)
}"""
IS_WHOLE = "() => document.querySelector('.st-key-run_groups .js-plotly-plot').layout.xaxis.autorange"
HAS_ZOOM = f"""(...zoomed) => {{
    const plot = document.querySelector('.st-key-run_groups .js-plotly-plot')
    return plot?._fullLayout && `${{({READ_RANGE})()}}` === `${{zoomed}}`
}}"""
READ_BOX = """() => {
    const plot = document.querySelector('.st-key-run_groups .nsewdrag');
    plot.scrollIntoView({block: 'center'});
    const box = plot.getBoundingClientRect();
    return {x: box.x, y: box.y, width: box.width, height: box.height};
}"""


def zoom(tab: Page) -> list[float]:
    """Zoom into some steps of the group chart and return their range; a refresh may break a drag off."""
    for _ in range(5):
        box = tab.evaluate(READ_BOX)
        tab.mouse.move(box["x"] + box["width"] * 0.3, box["y"] + box["height"] * 0.5)
        tab.mouse.down()
        tab.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + box["height"] * 0.51, steps=3)
        tab.mouse.up()
        watch_steps(tab, 2)
        if not tab.evaluate(IS_WHOLE):
            break
    assert not tab.evaluate(IS_WHOLE)
    found: list[float] = tab.evaluate(READ_RANGE)
    return found


def test_a_live_run_from_launch_to_its_end_for_all_who_look(tab: Page, site: Any) -> None:
    key = launch(tab, site, seed=5)
    wait_for_state(tab, "training")
    keyed(tab, "run_accuracy_steps", CHART).wait_for()
    expect(keyed(tab, "run_gradient_norm", CHART)).to_contain_text("clipped")
    expect(tab.locator("[data-testid=stMetricValue]").first).to_contain_text("%")
    other = tab.context.new_page()
    open_page(other, site, f"run?run={key}")
    other.bring_to_front()
    watch_steps(other, 2)
    expect(other.get_by_test_id("stProgress").filter(has_text="ε spent")).to_be_visible()
    other.close()
    tab.bring_to_front()
    zoomed = zoom(tab)
    assert tab.evaluate(REDRAW)
    tab.wait_for_function(f"({IS_WHOLE})() !== true")
    assert tab.evaluate(READ_RANGE) == zoomed
    for name in ("Data", "Run"):
        tab.get_by_test_id("stTopNavLink").filter(has_text=name).click()
        tab.get_by_role("heading", name=name, exact=True).wait_for()
    tab.wait_for_function(f"({HAS_ZOOM})({zoomed})")
    keyed(tab, "do_pause", "button").click()
    wait_for_state(tab, "paused")
    paused = read_step(tab)
    keyed(tab, "do_resume", "button").click()
    wait_for_state(tab, "training")
    watch_steps(tab, 2)
    assert tab.evaluate(READ_RANGE) == zoomed
    tab.reload()
    wait_for_state(tab, "training")
    assert read_step(tab) >= paused
    keyed(tab, "do_stop", "button").click()
    wait_for_state(tab, "stopped by hand")
    expect(keyed(tab, "brakes", "button")).to_have_count(0)
    name_it(tab)
    with open_store(str(site.store)) as store:
        store.delete(key)
    tab.reload()
    expect(tab.locator("[data-testid=stAlert]").first).to_contain_text(key)
    assert "Traceback" not in tab.locator("body").inner_text()


def name_it(tab: Page) -> None:
    """Give the run a name: the browser keeps the text of the chosen run, which is another one then."""
    keyed(tab, "run_label", "button").click()
    popover = tab.get_by_test_id("stPopoverBody")
    popover.get_by_role("textbox", name="Name").fill("Small <b>bound</b>")
    popover.get_by_role("button", name="Save").click()
    expect(keyed(tab, "run", "input")).to_have_value(re.compile("^Small <b>bound</b> · "))
    tab.keyboard.press("Escape")


@pytest.mark.long
def test_a_run_deleted_while_it_is_watched_gives_a_sentence(tab: Page, site: Any) -> None:
    key = launch(tab, site, seed=12)
    keyed(tab, "do_pause", "button").click()
    wait_for_state(tab, "paused")
    with open_store(str(site.store)) as store:
        store.delete(key)
    expect(tab.locator("[data-testid=stAlert]").first).to_contain_text(key)


@pytest.mark.long
def test_five_viewers_of_one_run_are_kept_up_to_date(tab: Page, site: Any) -> None:
    key = launch(tab, site, seed=11)
    viewers = [tab, *(tab.context.new_page() for _ in range(4))]
    for viewer in viewers[1:]:
        open_page(viewer, site, f"run?run={key}")
    for viewer in viewers:
        wait_for_state(viewer, "training")
    for viewer in (*viewers, *viewers):
        watch_steps(viewer, 1)
    expect(tab.get_by_test_id("stProgress").filter(has_text="ε spent")).to_be_visible()
    expect(tab.locator("body")).to_contain_text("protects the sensitive attribute of each person")
    keyed(tab, "do_stop", "button").click()
    wait_for_state(tab, "stopped by hand")


@pytest.mark.long
def test_the_page_survives_a_killed_worker_and_its_run_goes_on(tab: Page, own_site: Any) -> None:
    launch(tab, own_site, seed=9)
    keyed(tab, "run_accuracy_steps", CHART).wait_for()
    reached = read_step(tab)
    own_site.end_training()
    wait_for_state(tab, "lost")
    assert read_step(tab) >= reached
    expect(keyed(tab, "do_resume", "button")).to_be_enabled()
    own_site.free_place()  # the pages start another one
    keyed(tab, "do_resume", "button").click()
    wait_for_state(tab, "training")
    keyed(tab, "do_stop", "button").click()
    wait_for_state(tab, "stopped by hand")
