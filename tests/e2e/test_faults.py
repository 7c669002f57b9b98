"""Something is gone (the store, the server, a run, the browser that paints images): the page says so and goes on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.sending import try_to_send
from tests.e2e.steps import CHART, keyed, launch, open_page, read_step, wait_for_state

ALERT = "[data-testid=stAlert]"
PARTS = ("", "-wal", "-shm")


def move_store(store: Path, to: Path) -> None:
    """Move a SQLite store with what belongs to it."""
    for part in PARTS:
        path = Path(f"{store}{part}")
        if path.exists():
            path.rename(f"{to}{part}")


@pytest.mark.long
def test_the_page_goes_on_after_the_server_and_after_the_store_come_back(
    tab: Page, faults: list[str], own_site: Any, tmp_path: Path
) -> None:
    launch(tab, own_site, seed=21)
    wait_for_state(tab, "training")
    reached = read_step(tab)
    own_site.pages.kill()
    own_site.pages.wait()
    own_site.start_pages()
    own_site.wait()
    tab.wait_for_function(
        "before => { const said = document.body.innerText.match(/step ([\\d,]+) of/);"
        " return said && Number(said[1].replaceAll(',', '')) > before; }",
        arg=reached,
    )
    own_site.end_training()
    wait_for_state(tab, "lost")
    move_store(own_site.store, tmp_path / "moved.db")
    expect(tab.locator(ALERT).first).to_contain_text("is gone; put it back")
    assert "Traceback" not in tab.locator("body").inner_text()
    move_store(tmp_path / "moved.db", own_site.store)
    wait_for_state(tab, "lost")
    expect(tab.get_by_text("is gone; put it back")).to_have_count(0)
    faults.clear()  # the browser tells that the server was gone


def test_a_demonstration_under_a_path_of_a_proxy_shows_figures_and_takes_no_file(
    fresh_tab: Page, make_site: Callable[..., Any]
) -> None:
    based = make_site(base="fairpriv", BROWSER_PATH="", PATH="", FAIRPRIV_DEMO="1")
    missing: list[str] = []
    fresh_tab.on("response", lambda answer: missing.append(answer.url) if answer.status == 404 else None)
    open_page(fresh_tab, based)
    keyed(fresh_tab, "start_trade_off", CHART).wait_for()
    assert [url for url in missing if "/media/" in url] == []
    keyed(fresh_tab, "start_trade_off_save", "button").click()
    expect(fresh_tab.get_by_text("an image needs Chromium", exact=False).last).to_be_visible()
    expect(keyed(fresh_tab, "start_trade_off_html", "button")).to_be_visible()
    expect(keyed(fresh_tab, "start_trade_off_png", "button")).to_have_count(0)
    fresh_tab.keyboard.press("Escape")
    fresh_tab.get_by_role("link", name="Compare").first.click()
    fresh_tab.wait_for_url("**/fairpriv/compare*")
    expect(fresh_tab.locator("h1").first).to_have_text("Compare")
    fresh_tab.get_by_role("button", name="Copy link").click()
    expect(fresh_tab.locator("[data-testid=stCode]").last).to_contain_text("/fairpriv/compare")
    assert try_to_send(based, "data", "source=file") == [413, 413]
    assert try_to_send(based, "") == [413, 413]
