"""Files that nobody prepared, in a browser: from upload to a finished run by a few clicks, and corrected on the way."""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import FilePayload, FloatRect, Locator, Page, expect

from fairpriv_core.store.runs import open_store
from tests.e2e.steps import PATIENCE, drop, keyed, open_page, wait_for_state
from tests.unprepared import UNPREPARED

GRID = "[class*=st-key-columns_]"
QUICK = "stays"  # the others are long: one has a million rows


def bring(tab: Page, site: Any, name: str, folder: Path) -> None:
    """Upload one of the files that nobody prepared; return when its groups are drawn."""
    file, make, _, sensitive = UNPREPARED[name]
    open_page(tab, site, "data?source=file&method=pf_ld")  # whatever suits the file that is shown first
    drop(tab, str(make(folder / file)))
    heading = tab.get_by_role("heading", name=f"Groups of {sensitive}")
    expect(heading).to_be_visible(timeout=PATIENCE)


def find_still(tab: Page, grid: Locator) -> FloatRect:
    """Return where a canvas is once it has stayed there for a second: its drawing says nothing when it is done."""
    seen: list[FloatRect | None] = [None]
    for _ in range(30):
        grid.evaluate("each => each.scrollIntoView({block: 'center'})")  # at once: a page at work may draw it anew
        tab.wait_for_timeout(1000)
        seen.append(grid.locator("canvas").first.bounding_box())
        if seen[-1] is not None and seen[-1] == seen[-2]:
            return seen[-1]
    raise AssertionError(f"the grid never came to rest: {seen[-3:]}")


def snap(tab: Page, name: str) -> None:
    """Keep a picture of the whole page where one is asked for."""
    if folder := os.environ.get("SNAP"):
        tab.screenshot(path=f"{folder}/{name}.png", full_page=True)


@pytest.mark.parametrize(
    "name", [pytest.param(name, marks=() if name == QUICK else pytest.mark.long) for name in UNPREPARED]
)
def test_an_unprepared_file_is_trained_by_two_clicks(name: str, tab: Page, site: Any, tmp_path: Path) -> None:
    """The upload is one more. What was left out is told after the run too."""
    bring(tab, site, name, tmp_path)
    _, _, label, _ = UNPREPARED[name]
    expect(keyed(tab, "label", "input")).to_have_value(label)
    tab.locator("[data-testid=stMain]").evaluate("each => each.scrollTo(0, 1e6)")
    snap(tab, name)
    keyed(tab, "data_train", "button").click()
    tab.wait_for_url("**/train*")
    expect(keyed(tab, "launch", "button")).to_be_enabled(timeout=PATIENCE)
    assert tab.locator("[data-testid=stMain]").evaluate("each => each.scrollTop") == 0, "another page begins at its top"
    snap(tab, f"{name}_train")
    keyed(tab, "launch", "button").click()
    wait_for_state(tab, "finished", 300)  # of a million rows, on a machine that does other things too
    box = keyed(tab, "run_left_out")
    box.get_by_text("Left out, and why").click()
    expect(box.get_by_text("rows were read")).to_be_visible(timeout=PATIENCE)
    if name == "stays":
        expect(box.get_by_text("another row of the same patient_nbr is used")).to_be_visible()
    snap(tab, f"{name}_run")


def test_small_groups_are_put_together_and_columns_measured_with_noise(tab: Page, site: Any, tmp_path: Path) -> None:
    """By naming the large groups. A method for whole records pays for the columns with a part of epsilon."""
    bring(tab, site, "stays", tmp_path)
    for name in ("AfricanAmerican", "Caucasian"):
        keyed(tab, "groups-race", "input").click()
        tab.get_by_role("option", name=name).click()
    tab.keyboard.press("Escape")
    expect(tab).to_have_url(re.compile("Caucasian"), timeout=PATIENCE)
    tab.reload()
    expect(keyed(tab, "groups-race").get_by_text("Caucasian")).to_be_visible(timeout=PATIENCE)
    snap(tab, "together")
    keyed(tab, "values_from").get_by_text("Measured with noise").click()
    expect(keyed(tab, "schema_share")).to_be_visible(timeout=PATIENCE)
    snap(tab, "measured")
    keyed(tab, "data_train", "button").click()
    tab.wait_for_url("**/train*")
    refused = tab.get_by_text("private_schema is for methods that protect whole records; 'pf_ld' does not")
    expect(refused).to_be_visible(timeout=PATIENCE)
    expect(keyed(tab, "launch", "button")).to_be_disabled()
    open_page(tab, site, f"train?{tab.url.partition('?')[2]}&method=dp_sgd")
    expect(keyed(tab, "launch", "button")).to_be_enabled(timeout=PATIENCE)
    snap(tab, "measured_train")
    keyed(tab, "launch", "button").click()
    wait_for_state(tab, "finished", 120)
    snap(tab, "measured_run")
    with open_store(str(site.store)) as store:
        row = store.row(tab.url.partition("run=")[2].partition("&")[0])
        record = store.record(row.key)
        (charge,) = (line for line in store.ledger.lines(row.config["file_id"]) if line.status == "charged")
    assert charge.what == "schema" and '"release":"schema-' in row.config["data"]["schema"]
    assert row.config["data"]["sensitive"] == "race=AfricanAmerican,Caucasian"
    assert record is not None and record.data["group_names"] == ["AfricanAmerican", "Caucasian", "Other"]


def test_columns_are_left_out_in_the_grid_and_by_one_click(tab: Page, site: Any, tmp_path: Path) -> None:
    """The grid is a canvas: a cell is found by its place. The schema goes with the address, and can be dropped."""
    bring(tab, site, "payroll", tmp_path)
    grid = tab.locator(GRID).first
    expect(keyed(tab, "data_train", "button")).to_be_enabled(timeout=PATIENCE)  # below it nothing is drawn anew
    place = find_still(tab, grid)
    tab.mouse.click(place["x"] + 135, place["y"] + 35 * 3 + 17)
    snap(tab, "grid")
    out = tab.get_by_text("is left out by the schema")
    expect(out).to_have_count(3)
    expect(out.last).to_have_text("Column 'Hired on' is left out by the schema.")
    keyed(tab, "leave_out-Salary", "button").click()
    expect(out).to_have_count(4)
    tab.reload()
    expect(out).to_have_count(4)
    keyed(tab, "schema_file").get_by_text("Schema: as a file").click()
    with tab.expect_download() as taken:
        keyed(tab, "take", "button").click()
    text = Path(taken.value.path()).read_text()
    assert re.search(r'\[columns\."?Salary"?\]\nrole = "left out"', text) and 'role = "label"' in text
    keyed(tab, "drop_schema", "button").click()
    expect(out).to_have_count(0)
    keyed(tab, "schema_uploader", "input[type=file]").set_input_files(
        FilePayload(name="schema.toml", mimeType="application/toml", buffer=text.encode())
    )
    expect(out).to_have_count(4)
