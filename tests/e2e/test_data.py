"""The Data page in a browser: files of one's own, right and wrong."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import FilePayload, Page, expect

from fairpriv_core.store.runs import open_store
from tests.e2e.steps import drop, keyed, open_page, wait_for_state

WRONG = {  # name -> content, words of the sentence
    "empty.csv": (b"", "empty.csv is empty"),
    "photo.csv": (b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "photo.csv"),
    "odd.csv": ("name,sex,y\nJosé,f,1\nJos".encode() + b"\xe9,m,0\n", "byte 0xE9 in line 3"),
    "half.zip": (b"PK\x03\x04and no more", "half.zip cannot be read"),
}


def test_a_wrong_file_gives_a_sentence(tab: Page, site: Any) -> None:
    open_page(tab, site, "data?source=file")
    for name, (content, words) in WRONG.items():
        upload = FilePayload(name=name, mimeType="text/csv", buffer=content)
        drop(tab, upload)
        expect(tab.locator("[data-testid=stAlert]").first).to_contain_text(words)
        assert "Traceback" not in tab.locator("body").inner_text()


def test_a_file_above_the_limit_is_refused_with_a_sentence(tab: Page, site: Any, tmp_path: Path) -> None:
    big = tmp_path / "big.csv"
    big.write_bytes(b"a,b\n" + b"1,2\n" * 15_000_000)
    open_page(tab, site, "data?source=file")
    tab.locator("input[type=file]").first.set_input_files(str(big))
    said = tab.locator(".stFileChip [role=alert]")
    expect(said).to_contain_text("must be 50.0MB or smaller")
    assert said.evaluate("each => each.clientWidth") > 100, "it stands under the pointer alone"
    assert "Traceback" not in tab.locator("body").inner_text()


def test_own_file_from_upload_to_a_finished_run(tab: Page, site: Any) -> None:
    lines = [f"{i % 50},{'f' if i % 3 else 'm'},{'high' if (i * 7) % 5 > 2 else 'low'}" for i in range(3000)]
    content = ("hours,sex,income\n" + "\n".join(lines) + "\n").encode()
    open_page(tab, site, "data?source=file")
    upload = FilePayload(name="own.csv", mimeType="text/csv", buffer=content)
    drop(tab, upload)
    expect(tab.get_by_role("heading", name="Groups of sex")).to_be_visible()
    expect(keyed(tab, "data_train", "button")).to_be_enabled()
    tab.wait_for_timeout(1000)  # until the page has drawn all: a click on what is drawn anew is lost
    keyed(tab, "data_train", "button").click()
    tab.wait_for_url("**/train*")
    expect(keyed(tab, "launch", "button")).to_be_enabled()
    keyed(tab, "launch", "button").click()
    wait_for_state(tab, "finished", 60)


def test_crossed_groups_are_counted_and_the_small_ones_flagged(tab: Page, site: Any) -> None:
    regions = [f"r{i % 7}" if i % 300 else "far" for i in range(3000)]
    rows = [f"{i % 50},{'fm'[i % 2]},{region},{'yes' if i % 3 else 'no'}" for i, region in enumerate(regions)]
    content = ("hours,sex,region,hired\n" + "\n".join(rows) + "\n").encode()
    open_page(tab, site, "data?source=file")
    upload = FilePayload(name="crossed.csv", mimeType="text/csv", buffer=content)
    drop(tab, upload)
    expect(keyed(tab, "file", "input")).to_have_value(re.compile("crossed.csv"))
    with open_store(str(site.store)) as store:
        [stored] = [item for item in store.uploads.rows() if item.name == "crossed.csv"]
    reference = f"file-{stored.id[:12]}:sex+region?label=hired&positive=yes"
    open_page(tab, site, f"data?{urlencode({'source': 'file', 'data': reference})}")
    expect(tab.get_by_role("heading", name="Groups of sex+region")).to_be_visible()
    expect(tab.get_by_text("groups are in the table and not drawn")).to_be_visible()
    expect(tab.get_by_text("Rates of so few rows say little").first).to_be_visible()
    expect(tab.locator("[data-testid=stDataFrame]").first).to_be_visible()


def test_markup_in_names_is_shown_as_text_on_every_page(tab: Page, site: Any) -> None:
    bad = '<img src=x onerror="window.ran=1">'
    quoted = '"' + bad.replace('"', '""') + '"'
    rows = [f"{i % 50},{quoted if i % 3 else 'm'},{quoted if (i * 7) % 5 > 2 else 'low'}" for i in range(2000)]
    content = (f'hours,{quoted},"paid {quoted[1:]}\n' + "\n".join(rows) + "\n").encode()
    open_page(tab, site, "data?source=file")
    upload = FilePayload(name=f"{bad.replace('/', '')}.csv", mimeType="text/csv", buffer=content)
    drop(tab, upload)
    expect(keyed(tab, "label", "input")).to_have_value(f"paid {bad}")
    keyed(tab, "attributes", "input").click()
    tab.get_by_role("option", name=bad).click()
    tab.keyboard.press("Escape")
    expect(tab.get_by_role("heading", name="Groups of")).to_contain_text(bad)
    _check_nothing_ran(tab)
    keyed(tab, "data_train", "button").click()
    tab.wait_for_url("**/train*")
    expect(keyed(tab, "launch", "button")).to_be_enabled()
    _check_nothing_ran(tab)
    keyed(tab, "launch", "button").click()
    wait_for_state(tab, "finished", 60)
    expect(keyed(tab, "run_groups")).to_contain_text("<img src=x")
    _check_nothing_ran(tab)
    open_page(tab, site, "compare")
    expect(tab.locator("[data-testid=stDataFrame]").first).to_be_visible()
    _check_nothing_ran(tab)


def _check_nothing_ran(tab: Page) -> None:
    assert tab.locator("img[src=x]").count() == 0
    assert tab.evaluate("() => window.ran") is None


def test_no_table_offers_to_be_saved(tab: Page, site: Any) -> None:
    open_page(tab, site, "data?data=synthetic:group")
    tables = tab.locator("[data-testid=stDataFrame]")
    expect(tables.first).to_be_visible()
    for number in range(tables.count()):
        tables.nth(number).hover()
        buttons = tab.locator("[data-testid=stElementToolbarButton]:visible")
        expect(buttons.first).to_be_visible()
        labels = " ".join(button.get_attribute("aria-label") or "" for button in tab.get_by_role("button").all())
        assert "Search" in labels and "as CSV" not in labels
