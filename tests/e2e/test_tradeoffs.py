"""The Trade-offs page in a browser: a sweep from its cost to its points, a picked point, a zoom that stays."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.steps import CHART, keyed, open_page, settle, wait_for_state
from tests.patience import wait_until

SWEEP = """notion = "{notion}"
[data]
dataset = "synthetic"
sensitive = "group"
[method]
name = "pf_ld"
epochs = {epochs}
[axes]
epsilon = [1, 3]
seed = [{first}, {second}]
"""


def paste(tab: Page, site: Any, *, epochs: int, first: int, notion: str = "demographic_parity") -> None:
    """Paste a sweep of four runs and ask what it costs."""
    open_page(tab, site, "tradeoffs")
    tab.get_by_role("radio", name="Paste a sweep's file").click()
    field = keyed(tab, "sweep.text", "textarea")
    field.fill(SWEEP.format(epochs=epochs, notion=notion, first=first, second=first + 1))
    field.press("Control+Enter")
    tab.get_by_role("button", name="Show runs, time and ε cost").click()


def answer(tab: Page, *, accuracy: str, gap: str, says: str) -> None:
    """Ask which epsilon is enough for an accuracy and a gap, and expect `says` in the answer."""
    for key, number in (("wish_accuracy", accuracy), ("wish_gap", gap)):
        field = keyed(tab, key, "input")
        field.fill(number)
        field.press("Enter")
    expect(keyed(tab, "wish_answer")).to_contain_text(says)


def test_a_sweep_shows_its_cost_runs_once_and_its_points_can_be_opened(tab: Page, site: Any) -> None:
    """On a notion of its own: whose point lies under a click depends on all that is drawn."""
    paste(tab, site, epochs=3, first=500, notion="equal_opportunity")
    launch = tab.get_by_role("button", name="Launch 4 runs")
    expect(launch).to_be_visible()
    expect(tab.get_by_text("If all results are released")).to_be_visible()
    launch.dblclick()
    expect(tab.get_by_text("4 of 4 ended: 4 finished")).to_be_visible()
    open_page(tab, site, "tradeoffs?of_data=synthetic:group&of_notion=equal_opportunity")
    chart = keyed(tab, "tradeoff_frontier", CHART)
    expect(chart).to_be_visible()
    answer(tab, accuracy="1", gap="100", says="smallest")  # noise is drawn anew: 34 % was seen
    answer(tab, accuracy="99.9", gap="0.1", says="nearest")
    settle(tab)  # a chart that is drawn anew between the pointer's press and its end takes no click
    chart.scroll_into_view_if_needed()
    point, named = chart.locator(".points path").last, chart.locator(".hoverlayer .hovertext").first
    wait_until(lambda: point.hover(force=True) or named.is_visible(), "the name of a point under the pointer")
    point.click(force=True)
    expect(tab.get_by_text("its ε no longer covers it")).to_be_visible()
    tab.get_by_role("button", name="Open its run").click()
    tab.wait_for_url("**/run?run=*")
    wait_for_state(tab, "finished")


@pytest.mark.long
def test_cancel_keeps_what_has_finished_and_resume_goes_on(tab: Page, site: Any) -> None:
    paste(tab, site, epochs=400, first=600)
    launch = tab.get_by_role("button", name="Launch 4 runs")
    expect(launch).to_be_visible()
    launch.click()
    cancel = tab.get_by_role("button", name="Cancel")
    expect(cancel).to_be_visible()
    cancel.click()
    expect(tab.get_by_text("The rest is paused.")).to_be_visible()
    expect(tab).to_have_url(re.compile("sweep=[0-9a-f]{16}"))
    tab.reload()
    resume = tab.get_by_role("button", name="Resume")
    expect(resume).to_be_visible()
    resume.click()
    expect(tab.get_by_text("4 of 4 ended: 4 finished")).to_be_visible()
