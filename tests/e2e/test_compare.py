"""The Compare page in a browser: rows are chosen by clicks, tested, handed on by a link, and deleted meanwhile."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from fairpriv_core.privacy.event import Gaussian
from fairpriv_core.store.runs import open_store
from tests.e2e.steps import CHART, keyed, open_page
from tests.launched import config, finish, measured

TABLE = "run_table"
ROW, HEAD = 35, 37  # pixels


@pytest.fixture(scope="module")
def chosen(site: Any) -> list[str]:
    """Store three settings of two seeds on an attribute that no other test has; return the keys of the first seeds."""
    found = {}
    with open_store(str(site.store)) as store:
        for epsilon, rates in ((1, (0.2, 0.4)), (2, (0.2, 0.6)), (4, (0.2, 0.8))):
            for seed in (0, 1):
                asked = config(sensitive="region", epsilon=epsilon, seed=seed)
                numbers = {**measured(rates), "accuracy": 0.7 + epsilon / 50 + seed / 100}
                found[epsilon, seed] = finish(store, asked, (Gaussian(9.0),), variant="proved", metrics=numbers)
    return [found[epsilon, 0] for epsilon in (1, 2, 4)]


def click_row(tab: Page, row: int) -> None:
    """Click the check box of a row of the run table."""
    keyed(tab, TABLE, ".stDataFrameGlideDataEditor").click(position={"x": 18, "y": HEAD + ROW * row + ROW / 2})


def read_column(tab: Page, column: str) -> list[str]:
    """Return what a column of the run table says, as a screen reader has it."""
    head = keyed(tab, TABLE).locator("canvas [role=columnheader]")
    head.first.wait_for(state="attached")
    heads = head.all_text_contents()
    cells = keyed(tab, TABLE).locator("canvas [role=gridcell]").all_text_contents()
    return cells[heads.index(column) :: len(heads)]


def test_rows_are_chosen_by_clicks_tested_and_handed_on_by_a_link(tab: Page, site: Any, chosen: list[str]) -> None:
    asked = "&".join(f"runs={key}" for key in chosen[:2])
    open_page(tab, site, f"compare?only.data=synthetic:region&{asked}&reference={chosen[1]}")
    keyed(tab, "compare_points", CHART).wait_for()
    assert set(read_column(tab, "key")) == set(chosen), "seeds are folded and other data is filtered out"
    expect(tab.get_by_text("A is 2.00 percentage points below B on average over 2 seeds").first).to_be_visible()
    expect(tab.get_by_role("region", name="Inequality indices of each run")).to_be_visible()
    row = read_column(tab, "key").index(chosen[2])
    click_row(tab, row)
    expect(tab).to_have_url(re.compile(chosen[2]))
    expect(tab.locator(f".st-key-compare_points {CHART} .legendtext")).to_have_count(3)
    tab.get_by_role("button", name="Copy link").click()
    link = tab.locator("[data-testid=stCode]").last.inner_text().strip()
    tab.keyboard.press("Escape")
    click_row(tab, row)
    expect(tab).not_to_have_url(re.compile(chosen[2]))
    tab.goto(link)
    expect(tab.locator(f".st-key-compare_points {CHART} .legendtext")).to_have_count(3)
    with open_store(str(site.store)) as store:
        for each in [row.key for row in store.rows() if row.key == chosen[2] or row.config["epsilon"] == 4]:
            store.delete(each)
    tab.reload()
    expect(tab.get_by_text("is not among the finished runs").first).to_be_visible()
