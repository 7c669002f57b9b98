"""Files that nobody prepared, in a browser: from upload to a finished run by a few clicks, and corrected on the way."""

from __future__ import annotations

import os
import re
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import FilePayload, FloatRect, Locator, Page, expect

from fairpriv_core.records.model import Model
from fairpriv_core.store.runs import open_store
from tests.e2e.steps import choose, drop, keyed, open_page, save, settle, start, wait_for_state
from tests.unprepared import UNPREPARED

GRID = "[class*=st-key-columns_]"
#: ends when the canvas has been in the middle of the window for a second; a page at work may draw it anew
STAYS = """async grid => {
  for (let seen, still = 0; still < 20; await new Promise(go => setTimeout(go, 50))) {
    grid.scrollIntoView({block: 'center'})
    const box = JSON.stringify(grid.querySelector('canvas')?.getBoundingClientRect())
    still = box && box === seen ? still + 1 : 0
    seen = box
  }
}"""


def bring(tab: Page, site: Any, name: str, folder: Path) -> None:
    """Upload one of the files that nobody prepared; return when its groups are drawn."""
    file, make, _, sensitive = UNPREPARED[name]
    open_page(tab, site, "data?source=file&method=pf_ld")  # whatever suits the file that is shown first
    drop(tab, str(make(folder / file)))
    heading = tab.get_by_role("heading", name=f"Groups of {sensitive}")
    expect(heading).to_be_visible()


def find_still(grid: Locator) -> FloatRect:
    """Return where a canvas is once it stays there for a second: its drawing says nothing when it is done."""
    grid.evaluate(STAYS)
    place = grid.locator("canvas").first.bounding_box()
    assert place is not None
    return place


def snap(tab: Page, name: str) -> None:
    """Keep a picture of the whole page where one is asked for."""
    if folder := os.environ.get("SNAP"):
        tab.screenshot(path=f"{folder}/{name}.png", full_page=True)


def train(tab: Page, name: str) -> None:
    """Go from the Data page to a finished run by two clicks."""
    settle(tab)
    tab.locator("[data-testid=stMain]").evaluate("each => each.scrollTo(0, 1e6)")
    snap(tab, name)
    keyed(tab, "data_train", "button").click()
    tab.wait_for_url("**/train*")
    expect(keyed(tab, "launch", "button")).to_be_enabled()
    assert tab.locator("[data-testid=stMain]").evaluate("each => each.scrollTop") == 0, "another page begins at its top"
    snap(tab, f"{name}_train")
    start(tab)
    wait_for_state(tab, "finished")


@pytest.mark.long
@pytest.mark.parametrize("name", UNPREPARED)
def test_an_unprepared_file_is_trained_by_two_clicks(name: str, tab: Page, site: Any, tmp_path: Path) -> None:
    """The upload is one more. What was left out is told after the run too."""
    bring(tab, site, name, tmp_path)
    _, _, label, _ = UNPREPARED[name]
    expect(keyed(tab, "label", "input")).to_have_value(label)
    train(tab, name)
    box = keyed(tab, "run_left_out")
    box.get_by_text("Left out, and why").click()
    expect(box.get_by_text("rows were read")).to_be_visible()
    if name == "stays":
        expect(box.get_by_text("another row of the same patient_nbr is used")).to_be_visible()
    snap(tab, f"{name}_run")


@pytest.mark.long
def test_small_groups_are_put_together_and_columns_measured_with_noise(tab: Page, site: Any, tmp_path: Path) -> None:
    """By naming the large groups. A method for whole records pays for the columns with a part of epsilon."""
    bring(tab, site, "stays", tmp_path)
    for name in ("AfricanAmerican", "Caucasian"):
        choose(tab, "groups-race", name)
    tab.keyboard.press("Escape")
    expect(tab).to_have_url(re.compile("Caucasian"))
    tab.reload()
    expect(keyed(tab, "groups-race").get_by_text("Caucasian")).to_be_visible()
    snap(tab, "together")
    keyed(tab, "values_from").get_by_text("Measured with noise").click()
    expect(keyed(tab, "schema_share")).to_be_visible()
    snap(tab, "measured")
    keyed(tab, "data_train", "button").click()
    tab.wait_for_url("**/train*")
    refused = tab.get_by_text("private_schema is for methods that protect whole records; 'pf_ld' does not")
    expect(refused).to_be_visible()
    expect(keyed(tab, "launch", "button")).to_be_disabled()
    open_page(tab, site, f"train?{tab.url.partition('?')[2]}&method=dp_sgd")
    expect(keyed(tab, "launch", "button")).to_be_enabled()
    snap(tab, "measured_train")
    start(tab)
    wait_for_state(tab, "finished")
    snap(tab, "measured_run")
    with open_store(str(site.store)) as store:
        row = store.row(tab.url.partition("run=")[2].partition("&")[0])
        record = store.record(row.key)
        (charge,) = (line for line in store.ledger.lines(row.config["file_id"]) if line.status == "charged")
    assert charge.what == "schema" and '"release":"schema-' in row.config["data"]["schema"]
    assert row.config["data"]["sensitive"] == "race=AfricanAmerican,Caucasian"
    assert record is not None and record.data["group_names"] == ["AfricanAmerican", "Caucasian", "Other"]


def test_an_unprepared_file_is_corrected_in_the_grid_and_trained(tab: Page, site: Any, tmp_path: Path) -> None:
    """The grid is a canvas: a cell is found by its place. The schema goes with the address, and can be dropped."""
    bring(tab, site, "payroll", tmp_path)
    grid = tab.locator(GRID).first
    expect(keyed(tab, "data_train", "button")).to_be_enabled()  # below it nothing is drawn anew
    place = find_still(grid)
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
    text = save(tab, "take", tmp_path).read_text()
    assert re.search(r'\[columns\."?Salary"?\]\nrole = "left out"', text) and 'role = "label"' in text
    keyed(tab, "drop_schema", "button").click()
    expect(out).to_have_count(0)
    keyed(tab, "schema_uploader", "input[type=file]").set_input_files(
        FilePayload(name="schema.toml", mimeType="application/toml", buffer=text.encode())
    )
    expect(out).to_have_count(4)
    train(tab, "payroll")
    decide_on_next_month(tab, site, tmp_path)


def decide_on_next_month(tab: Page, site: Any, folder: Path) -> None:
    """Have the model decide on a file of another form, as the command does; Done deletes what was kept."""
    month = b"Grade;Weekly hours\n3;\xe2\x82\xac 38.50\n5;\xe2\x82\xac 40.00\n6;20.00\n"
    keyed(tab, "run_decide").get_by_text("Decide on a new file").click()
    given = FilePayload(name="next.csv", mimeType="text/csv", buffer=month)
    keyed(tab, "run_decide", "input[type=file]").set_input_files(given)
    expect(tab.get_by_text("is read as the number 38.5")).to_be_visible()
    snap(tab, "payroll_decided")
    decided = save(tab, "get_decisions", folder).read_bytes()
    (folder / "next.csv").write_bytes(month)
    with open_store(str(site.store)) as store:
        key = store.row(tab.url.partition("run=")[2].partition("&")[0]).key
        Model.read(partial(store.artifact, key)).predict_file(str(folder / "next.csv"), str(folder / "out.csv"))
        assert decided == (folder / "out.csv").read_bytes() and store.decisions.asked() is not None
        keyed(tab, "decide_done", "button").click()
        expect(keyed(tab, "get_decisions", "button")).to_have_count(0)
        assert store.decisions.asked() is None
