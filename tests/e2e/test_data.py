"""A file of one's own in a browser: a wrong one is refused in words, a right one is trained on, and none does harm."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import FilePayload, Page, expect

from fairpriv_core.store.runs import open_store
from tests.e2e.steps import choose, drop, keyed, open_page, settle, wait_for_state

WRONG = {  # name -> content, words of the sentence
    "photo.csv": (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "photo.csv"),
    "odd.csv": ("name,sex,y\nJosé,f,1\nJos".encode() + b"\xe9,m,0\n", "byte 0xE9 in line 3"),
}
BAD = '<img src=x onerror="window.ran=1">'
ADDRESSES = "[x](https://b.example www.b.example a@b.example)"


def test_own_file_from_refusals_to_a_finished_run(tab: Page, site: Any, tmp_path: Path) -> None:
    """Its names hold markup, which is text on every page."""
    open_page(tab, site, "data?source=file")
    for name, (content, words) in WRONG.items():
        drop(tab, FilePayload(name=name, mimeType="text/csv", buffer=content))
        expect(tab.get_by_test_id("stAlert").filter(has_text=words)).to_be_visible()
    drop(tab, FilePayload(name="hat.csv", mimeType="text/csv", buffer=b"sex^x^y\n" + b"f^1^1\nm^2^0\n" * 50))
    expect(tab.get_by_text("hat.csv has one column, 'sex^x^y'")).to_be_visible()
    settle(tab)
    keyed(tab, "written-separator", "input").fill("^")
    keyed(tab, "written-separator", "input").press("Enter")
    expect(tab.get_by_text("100 rows. Confirm")).to_be_visible()
    open_page(tab, site, "data?source=file")
    drop(tab, FilePayload(name=f"{BAD.replace('/', '')}.csv", mimeType="text/csv", buffer=write_bad()))
    expect(keyed(tab, "label", "input")).to_have_value(f"paid {BAD}")
    choose(tab, "attributes", BAD)
    tab.keyboard.press("Escape")
    expect(tab.get_by_role("heading", name="Groups of")).to_contain_text(BAD)
    check_no_table_is_saved(tab)
    check_nothing_ran(tab)
    expect(keyed(tab, "data_train", "button")).to_be_enabled()
    keyed(tab, "data_train", "button").click()
    tab.wait_for_url("**/train*")
    button = keyed(tab, "launch", "button")
    expect(button).to_be_enabled()
    check_nothing_ran(tab)
    with open_store(str(site.store)) as store:
        before = len(store.rows())
        button.dblclick()
        wait_for_state(tab, "finished")
        assert len(store.rows()) == before + 1, "a double click launches one run"
    keyed(tab, "open_run", "button").click()
    expect(keyed(tab, "run_groups")).to_contain_text("<img src=x")
    check_nothing_ran(tab)
    open_page(tab, site, "compare")
    expect(tab.locator("[data-testid=stDataFrame]").first).to_be_visible()
    check_nothing_ran(tab)
    open_page(tab, site, f"audit?{urlencode({'run': ADDRESSES})}")
    expect(tab.locator("[data-testid=stMain]")).to_contain_text("b.example")
    assert tab.locator("[data-testid=stMain] a[href*='b.example']").count() == 0, "an address in a link is no link"


def write_bad() -> bytes:
    """Return a table whose names and groups are markup."""
    quoted = '"' + BAD.replace('"', '""') + '"'
    rows = [f"{i % 50},{quoted if i % 3 else 'm'},{quoted if (i * 7) % 5 > 2 else 'no'}" for i in range(2000)]
    return (f'hours,{quoted},"paid {quoted[1:]}\n' + "\n".join(rows) + "\n").encode()


def check_nothing_ran(tab: Page) -> None:
    assert tab.locator("img[src=x]").count() == 0
    assert tab.evaluate("() => window.ran") is None


def check_no_table_is_saved(tab: Page) -> None:
    """Check that a table offers to be searched and not to be saved, which Streamlit would do with formulas in it."""
    tab.locator("[data-testid=stDataFrame]").first.hover()
    expect(tab.get_by_role("button", name="Search").first).to_be_visible()
    assert tab.get_by_role("button", name="as CSV").count() == 0


def test_a_file_above_the_limit_is_refused_with_a_sentence(tab: Page, site: Any, tmp_path: Path) -> None:
    big = tmp_path / "big.csv"
    with big.open("wb") as file:
        file.truncate(60_000_000)
    open_page(tab, site, "data?source=file")
    tab.locator("input[type=file]").first.set_input_files(str(big))
    said = tab.locator(".stFileChip [role=alert]")
    expect(said).to_contain_text("must be 50.0MB or smaller")
    assert said.evaluate("each => each.clientWidth") > 100, "it stands under the pointer alone"
