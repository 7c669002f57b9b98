"""The dashboard in a browser, across its pages: downloads and links."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import Page, expect

from tests.e2e.steps import CHART, keyed, open_page, submit, wait_for_runs


def test_a_figure_downloads_in_five_forms(tab: Page, site: Any, tmp_path: Path) -> None:
    open_page(tab, site)
    keyed(tab, "start_trade_off", CHART).wait_for()
    keyed(tab, "start_trade_off_save", "button").click()
    starts = {"png": b"\x89PNG", "svg": b"<svg", "pdf": b"%PDF", "html": b"<!doctype html", "csv": b"figure,"}
    for form, start in starts.items():
        with tab.expect_download(timeout=60_000) as waiting:
            keyed(tab, f"start_trade_off_{form}", "button").click()
        path = tmp_path / waiting.value.suggested_filename
        waiting.value.save_as(path)
        assert path.suffix == f".{form}"
        assert path.read_bytes().startswith(start)


def test_an_address_in_a_link_is_no_link_on_the_page(tab: Page, site: Any) -> None:
    """The site's Markdown makes links of addresses even where each of their signs is escaped."""
    wait_for_runs(site, submit(site, {"name": "none", "epochs": 1}, seed=391, epsilon=None))
    words = "https://b.example www.b.example a@b.example"
    open_page(tab, site, f"audit?{urlencode({'run': f'[x]({words})'})}")
    main = tab.locator("[data-testid=stMain]")
    expect(main).to_contain_text("b.example")
    assert main.locator("a[href*='b.example']").count() == 0
