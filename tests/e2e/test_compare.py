"""The Compare page in a browser: rows are chosen by clicks, filtered, and shown elsewhere by a link."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from fairpriv_core.privacy.event import Gaussian
from fairpriv_core.store.runs import open_store
from tests.e2e.steps import CHART, keyed, open_page, submit, wait_for_runs
from tests.launched import config, finish, measured

TABLE = "run_table"
ROW, HEAD = 35, 37  # pixels


@pytest.fixture(scope="module")
def keys(site: Any) -> list[str]:
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


def test_rows_are_filtered_and_chosen_by_clicks(tab: Page, site: Any, keys: list[str]) -> None:
    open_page(tab, site, f"compare?only.data=synthetic:region&runs={keys[0]}&runs={keys[1]}")
    keyed(tab, "compare_points", CHART).wait_for()
    assert set(read_column(tab, "key")) == set(keys), "seeds are folded and other data is filtered out"
    row = read_column(tab, "key").index(keys[2])
    click_row(tab, row)
    expect(tab).to_have_url(re.compile(keys[2]))
    expect(keyed(tab, "compare_points", ".legendtext")).to_be_visible()
    expect(tab.locator(f".st-key-compare_points {CHART} .legendtext")).to_have_count(3)
    click_row(tab, row)
    expect(tab).not_to_have_url(re.compile(keys[2]))


def test_chosen_runs_are_tested_against_the_reference_that_a_person_chooses(
    tab: Page, site: Any, keys: list[str]
) -> None:
    open_page(tab, site, f"compare?runs={keys[0]}&runs={keys[1]}&reference={keys[1]}")
    expect(tab.get_by_text("A is 2.00 percentage points below B on average over 2 seeds").first).to_be_visible()
    expect(tab.get_by_role("region", name="Inequality indices of each run")).to_be_visible()


def test_a_run_that_is_deleted_in_another_tab_leaves_a_sentence(tab: Page, site: Any, keys: list[str]) -> None:
    with open_store(str(site.store)) as store:
        two = [
            finish(store, config(seed=seed), (Gaussian(9.0),), variant="proved", metrics=measured((0.2, 0.4)))
            for seed in (901, 902)
        ]
        open_page(tab, site, f"compare?runs={two[0]}")
        keyed(tab, "runs").wait_for()
        for key in two:
            store.delete(key)
    tab.reload()
    expect(tab.get_by_text("is not among the finished runs").first).to_be_visible()


def test_two_runs_compared_by_a_link(tab: Page, site: Any) -> None:
    wait_for_runs(site, submit(site, *({"name": name, "epochs": 3} for name in ("none", "f_ld")), epsilon=None))
    open_page(tab, site, "compare")
    keyed(tab, "overlay_accuracy", CHART).wait_for()
    expect(tab.locator("[data-testid=stDataFrame]")).to_have_count(3)
    tab.get_by_role("button", name="Copy link").click()
    link = tab.locator("[data-testid=stCode]").last.inner_text().strip()
    assert "runs=" in link
    shown = keyed(tab, "runs").inner_text()
    tab.goto(link)
    keyed(tab, "overlay_accuracy", CHART).wait_for()
    assert keyed(tab, "runs").inner_text() == shown
