"""The Run page in a browser: live charts, brakes, zoom, and a worker that is killed."""

from __future__ import annotations

import re
import time
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from fairpriv_core.store.runs import open_store
from tests.e2e.steps import (
    CHART,
    LONG,
    keyed,
    launch,
    open_page,
    read_step,
    submit,
    wait_for_runs,
    wait_for_state,
)

READ_RANGE = "() => document.querySelector('.st-key-run_groups .js-plotly-plot').layout.xaxis.range.map(Number)"
#: of the lines whose names stand at a step that is seen
READ_NAMES = """() => {
    const { layout } = document.querySelector('.st-key-run_groups .js-plotly-plot')
    const [low, high] = layout.xaxis.range
    return layout.annotations.filter(each => each.name === 'line' && each.x >= low && each.x <= high).length
}"""
#: on which sides of their lines' ends the names stand
READ_SIDES = """() => {
    const { layout } = document.querySelector('.st-key-run_groups .js-plotly-plot')
    const names = layout.annotations.filter(each => each.name === 'line')
    return [...new Set(names.map(each => each.xanchor === 'left' ? 'right' : 'left'))]
}"""
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
        tab.wait_for_timeout(1300)
        if not tab.evaluate(
            "() => document.querySelector('.st-key-run_groups .js-plotly-plot').layout.xaxis.autorange"
        ):
            break
    found: list[float] = tab.evaluate(READ_RANGE)
    return found


def watch_steps(tab: Page, count: int) -> None:
    """Return when the page has shown `count` steps."""
    steps = {read_step(tab)}
    ends = time.monotonic() + 60
    while len(steps) < count:
        assert time.monotonic() < ends, f"the page has shown {len(steps)} steps in a minute"
        tab.wait_for_timeout(300)
        steps.add(read_step(tab))


def test_from_data_to_a_live_run_and_its_brakes(tab: Page, site: Any) -> None:
    open_page(tab, site, "data")
    keyed(tab, "data_train", "button").click()
    tab.wait_for_url("**/train*")
    expect(keyed(tab, "data", "input")).to_have_value("Synthetic: label by group")
    launch(tab, site)
    waited = wait_for_state(tab, "training", 15)
    assert waited < 10
    keyed(tab, "run_quality", CHART).wait_for()
    before = read_step(tab)
    expect(tab.locator("[data-testid=stMetricValue]").first).to_contain_text("%")
    tab.wait_for_function(
        "before => !document.body.innerText.includes(`step ${before.toLocaleString('en')} of`)", arg=before
    )
    keyed(tab, "do_pause", "button").click()
    wait_for_state(tab, "paused", 15)
    paused = read_step(tab)
    tab.wait_for_timeout(1500)
    assert read_step(tab) == paused
    keyed(tab, "do_resume", "button").click()
    wait_for_state(tab, "training", 15)
    tab.reload()
    wait_for_state(tab, "training", 20)
    assert read_step(tab) >= paused
    expect(tab.locator(".st-key-strip")).to_contain_text("running")
    keyed(tab, "do_stop", "button").click()
    wait_for_state(tab, "stopped by hand", 15)
    expect(keyed(tab, "do_stop", "button")).to_be_disabled()


def test_zoom_and_names_stay_through_ten_refreshes_and_the_histogram_shows_its_bound(tab: Page, site: Any) -> None:
    (key,) = submit(site, LONG, seed=5)
    open_page(tab, site, f"run?run={key}")
    keyed(tab, "run_gradient_norm", CHART).wait_for()
    expect(keyed(tab, "run_gradient_norm")).to_contain_text("clipped")
    expect(keyed(tab, "run_gradient_norm")).to_contain_text("C")
    watch_steps(tab, 3)
    assert tab.evaluate(READ_SIDES) == ["right"], "nobody has zoomed, so names stand where the lines end"
    zoomed = zoom(tab)
    watch_steps(tab, 11)
    assert tab.evaluate(READ_RANGE) == zoomed
    assert tab.evaluate(READ_NAMES) == 2
    keyed(tab, "do_stop", "button").click()
    wait_for_state(tab, "stopped by hand", 15)


@pytest.mark.long
def test_five_viewers_of_one_run_are_kept_up_to_date(tab: Page, site: Any) -> None:
    key = launch(tab, site, seed=11)
    viewers = [tab, *(tab.context.new_page() for _ in range(4))]
    for viewer in viewers[1:]:
        open_page(viewer, site, f"run?run={key}")
    for viewer in viewers:
        wait_for_state(viewer, "training", 30)
    for _ in range(3):
        shown = [read_step(viewer) for viewer in viewers]
        ends = time.monotonic() + 10
        while any(read_step(viewer) == step for viewer, step in zip(viewers, shown, strict=True)):
            assert time.monotonic() < ends, "a viewer saw nothing new for 10 s"
            tab.wait_for_timeout(200)
    expect(tab.locator(".st-key-run_numbers")).to_contain_text("ε spent")
    expect(tab.locator("body")).to_contain_text("protects the sensitive attribute of each person")
    keyed(tab, "do_stop", "button").click()
    wait_for_state(tab, "stopped by hand", 15)


@pytest.mark.long
def test_the_page_survives_a_killed_worker_and_its_run_goes_on(tab: Page, own_site: Any) -> None:
    launch(tab, own_site, seed=9)
    keyed(tab, "run_quality", CHART).wait_for()
    reached = read_step(tab)
    own_site.end_training()
    wait_for_state(tab, "lost", 30)
    assert read_step(tab) >= reached
    expect(keyed(tab, "do_resume", "button")).to_be_enabled()
    own_site.free_place()  # the pages start another one
    keyed(tab, "do_resume", "button").click()
    wait_for_state(tab, "training", 30)
    keyed(tab, "do_stop", "button").click()
    wait_for_state(tab, "stopped by hand", 20)


def test_a_run_deleted_in_another_window_gives_a_sentence_and_the_page_goes_on(tab: Page, site: Any) -> None:
    (key,) = submit(site, LONG, seed=12)
    open_page(tab, site, f"run?run={key}")
    keyed(tab, "do_pause", "button").click()
    wait_for_state(tab, "paused", 30)
    with open_store(str(site.store)) as store:
        store.delete(key)
    expect(tab.locator("[data-testid=stAlert]").first).to_contain_text(f"o run '{key}'")
    expect(tab.get_by_text("It may have been deleted")).to_be_visible()
    open_page(tab, site, "run?run=0123456789abcdef")
    expect(tab.locator("[data-testid=stAlert]").first).to_contain_text("o run '0123456789abcdef'")
    assert "Traceback" not in tab.locator("body").inner_text()


def test_a_name_that_is_saved_stands_in_the_list_at_once_and_its_settings_open_train(tab: Page, site: Any) -> None:
    """The browser keeps the text of the chosen run, which is another one once the run has a name."""
    [key] = submit(site, {"name": "dp_sgd", "epochs": 2, "clip_primal": 0.377})
    wait_for_runs(site, [key])
    open_page(tab, site, f"run?run={key}")
    keyed(tab, "run_label", "button").click()
    popover = tab.get_by_test_id("stPopoverBody")
    popover.get_by_role("textbox", name="Name").fill("Small <b>bound</b>")
    popover.get_by_role("button", name="Save").click()
    expect(keyed(tab, "run", "input")).to_have_value(re.compile("^Small <b>bound</b> · "))
    tab.keyboard.press("Escape")
    keyed(tab, "run_clone", "button").click()
    tab.wait_for_url("**/train?*")
    expect(keyed(tab, "p.clip_primal", "[data-testid=stSliderThumbValue]")).to_have_text("0.377")
    expect(tab.get_by_text("All settings are those of the run you cloned.")).to_be_visible()
