"""The dashboard in a browser, across its pages: downloads, links, and a phone."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlencode

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.steps import CHART, keyed, open_page, settle, submit, wait_for_runs

PAGES = {"": "What privacy and fairness cost in accuracy", "tradeoffs": "Trade-offs"}  # address -> heading
PAGES |= {
    page: page.capitalize()
    for page in ("data", "train", "run", "compare", "papers", "audit", "report", "present", "learn")
}
#: to another page as the browser's Back does, without loading the library for charts anew
WALK = "address => { history.pushState({}, '', address); dispatchEvent(new PopStateEvent('popstate')) }"


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


@pytest.mark.parametrize("scheme", ["light", pytest.param("dark", marks=pytest.mark.long)])
def test_nothing_overflows_at_phone_width(scheme: Literal["light", "dark"], tab: Page, site: Any) -> None:
    plain = submit(site, {"name": "none", "epochs": 3}, seed=390, epsilon=None)
    wait_for_runs(site, [*plain, *submit(site, {"name": "pf_ld", "epochs": 3}, seed=390)])
    tab.set_viewport_size({"width": 390, "height": 844})
    tab.emulate_media(color_scheme=scheme)
    open_page(tab, site)
    for page, heading in PAGES.items():
        tab.evaluate(WALK, f"/{page}")
        expect(tab.locator("[data-testid=stMainBlockContainer] h1").first).to_have_text(heading)
        settle(tab, 1500)
        wide = tab.evaluate("() => document.querySelector('[data-testid=stMain]').scrollWidth")
        assert wide <= 390, page


def test_an_address_in_a_link_is_no_link_on_the_page(tab: Page, site: Any) -> None:
    """The site's Markdown makes links of addresses even where each of their signs is escaped."""
    wait_for_runs(site, submit(site, {"name": "none", "epochs": 1}, seed=391, epsilon=None))
    words = "https://b.example www.b.example a@b.example"
    open_page(tab, site, f"audit?{urlencode({'run': f'[x]({words})'})}")
    main = tab.locator("[data-testid=stMain]")
    expect(main).to_contain_text("b.example")
    assert main.locator("a[href*='b.example']").count() == 0
