"""The Papers page in a browser: a figure made earlier, its verdicts, its numbers as a file, and a phone."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.steps import CHART, keyed, open_page

FIGURE = "papers?paper=pf_ld&preset=pf_ld.figure4"


def open_figure(tab: Page, site: Any) -> None:
    """Open the figure, and wait until the page is drawn to its end."""
    open_page(tab, site, FIGURE)
    expect(tab.get_by_text("fairpriv papers run pf_ld.figure4 --small")).to_be_visible()
    expect(keyed(tab, "paper_3", CHART)).to_be_visible()


def test_a_link_shows_a_figure_its_verdicts_and_what_the_claim_is_worth(tab: Page, site: Any) -> None:
    open_figure(tab, site)
    main = tab.locator("[data-testid=stMainBlockContainer]")
    expect(main).to_contain_text("Made earlier by this software, on 20")
    expect(main).to_contain_text("It does not hold")
    verdict = keyed(tab, "verdict_0")
    expect(verdict).to_contain_text("gradients above C_p")
    keyed(tab, "verdict_runs_0", "button").click()
    expect(tab.locator("[data-testid=stPopoverBody]")).to_contain_text("Made from the runs")


def test_another_figure_stands_in_the_address_and_comes_back(tab: Page, site: Any) -> None:
    open_figure(tab, site)
    keyed(tab, "preset", "input").click()
    tab.get_by_role("option", name="Figure 1: accuracy and fairness").click()
    heading = tab.get_by_role("heading", name="Figure 1: accuracy and fairness")
    expect(heading).to_be_visible()
    expect(tab).to_have_url(re.compile(r"preset=pf_ld\.figure1"))
    tab.reload()
    expect(heading).to_be_visible()


@pytest.mark.usefixtures("real_data")
def test_its_numbers_download_and_its_cost_is_told_before_anything_starts(tab: Page, site: Any, tmp_path: Path) -> None:
    open_figure(tab, site)
    keyed(tab, "paper_2_save", "button").click()
    with tab.expect_download() as waiting:
        tab.get_by_role("button", name="CSV (the numbers)").click()
    waiting.value.save_as(tmp_path / "figure.csv")
    lines = (tmp_path / "figure.csv").read_text(encoding="utf-8").splitlines()
    assert lines[0].startswith("figure,panel,series,x")
    assert len(lines) > 6 and all("Do not publish" in line for line in lines[1:])
    tab.keyboard.press("Escape")
    keyed(tab, "pf_ld_figure4_small_cost", "button").click()
    expect(keyed(tab, "pf_ld_figure4_small_sweep")).to_contain_text("Launch 36 runs", timeout=120_000)


def test_a_phone_shows_it_without_sideways_scrolling(tab: Page, site: Any) -> None:
    tab.set_viewport_size({"width": 390, "height": 844})
    open_figure(tab, site)
    assert tab.evaluate("document.querySelector('[data-testid=stMain]').scrollWidth") <= 390
