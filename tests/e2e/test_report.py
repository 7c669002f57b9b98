"""A report in a browser: downloaded, opened from the disk with no network, and shown to policy without raw numbers."""

from __future__ import annotations

import zipfile
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, Route, expect

from fairpriv_core.store.runs import open_store
from tests.e2e.steps import assert_keeps_to_itself, keyed, open_page, save, settle, submit, wait_for_runs

WIDTHS = (1280, 600, 390)
FITS = "width => [...document.querySelectorAll('.plot')].every(plot => plot._fullLayout.width < width)"
MEMBERS = [(row, "ABBA"[row % 4]) for row in range(800)]


@pytest.fixture(scope="module")
def own_keys(site: Any, tmp_path_factory: pytest.TempPathFactory) -> list[str]:
    """Return the keys of two such runs on a file of somebody's own, whose numbers are public to nobody."""
    rows = (
        f"{team},{row % 7},{row % 11},{'yes' if row % 7 + 2 * (team == 'A') > 4 else 'no'}" for row, team in MEMBERS
    )
    file = tmp_path_factory.mktemp("own") / "people.csv"
    file.write_text("\n".join(["team,first,second,hired", *rows]), encoding="utf-8")
    data = {"file": str(file), "label": "hired", "positive": "yes", "sensitive": "team"}
    private = submit(site, {"name": "pf_ld", "epochs": 4}, seed=77, private_evaluation=True, data=data)
    keys = [*private, *submit(site, {"name": "none", "epochs": 4}, seed=77, epsilon=None, data=data)]
    wait_for_runs(site, keys)
    return keys


def read_offline(browser: Browser, path: Path) -> str:
    """Open a file with every request but its own blocked, look at it in three widths, and return its text."""
    context = browser.new_context(viewport={"width": WIDTHS[0], "height": 900}, offline=True)
    asked: list[str] = []
    faults: list[str] = []

    def refuse(route: Route) -> None:
        asked.append(route.request.url)
        route.abort()

    page = context.new_page()
    page.on("pageerror", lambda error: faults.append(str(error)))
    page.on("console", lambda message: faults.append(message.text) if message.type == "error" else None)
    context.route(lambda url: not url.startswith(("file:", "data:", "blob:")), refuse)
    page.goto(path.as_uri())
    page.wait_for_selector("html[data-drawn=yes]")
    for details in page.locator(".more").all():
        details.locator("summary").first.click()
    for width in WIDTHS:
        page.set_viewport_size({"width": width, "height": 900})
        page.wait_for_function(FITS, arg=width)
        check_figures(page)
    text = page.inner_text("body")
    context.close()
    assert (asked, faults) == ([], [])
    return text


def check_figures(page: Page) -> None:
    """Check that figures are drawn, answer to the mouse, fit the window and have a text alternative."""
    drawn = page.locator(".plot .main-svg").count()
    figures = page.locator("figure").count()
    assert drawn >= figures > 1
    assert_keeps_to_itself(page)
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    protects = page.locator("th", has_text="protects").first.bounding_box()
    assert protects is not None and protects["x"] + protects["width"] <= (page.viewport_size or {"width": 0})["width"]
    assert page.locator("figure > [role=group][aria-label]:not([aria-label='']) .plot").count() == figures
    place = page.locator("figure", has_text="Accuracy against fairness gap")
    if place.count():
        place.scroll_into_view_if_needed()
        place.locator(".points path").first.hover(force=True)
        expect(place.locator(".hoverlayer .hovertext").first).to_be_visible()


def test_reports_open_without_a_network_and_policys_holds_no_raw_number(
    tab: Page, site: Any, browser: Browser, keys: list[str], own_keys: list[str], tmp_path: Path
) -> None:
    open_page(tab, site, "report?" + "&".join(f"runs={key}" for key in keys))
    tab.get_by_text("How to repeat it").wait_for()
    keyed(tab, "report_download", "button").click()
    path = save(tab, "report_html", tmp_path)
    text = read_offline(browser, path)
    for said in (
        "For the analyst. Synthetic is public.",
        "What privacy promises",
        "Settings",
        "Model card of Run 1",
        'dataset = "synthetic"',
        *keys,
    ):
        assert said in text, said
    open_page(tab, site, "report?audience=policy&" + "&".join(f"runs={key}" for key in own_keys))
    tab.get_by_text("In short").wait_for()
    keyed(tab, "report_download", "button").click()
    path = save(tab, "report_html", tmp_path)
    text = read_offline(browser, path)
    for form in ("pdf", "figures"):  # made on a click, which a page that is still drawing may not take
        settle(tab)
        keyed(tab, f"report_{form}", "button").click()
        keyed(tab, f"report_save_{form}", "button").wait_for()
    assert save(tab, "report_save_pdf", tmp_path).read_bytes().startswith(b"%PDF")
    with zipfile.ZipFile(save(tab, "report_save_figures", tmp_path)) as archive:
        assert {name.rpartition(".")[2] for name in archive.namelist()} == {"png", "svg", "pdf"}
    with open_store(str(site.store)) as store:
        raw, paid = [store.records(own_keys)[key] for key in own_keys], store.record(own_keys[0])
    whole = path.read_text(encoding="utf-8")
    for record in raw:
        found = record.metrics or {}
        for value in (found["demographic_parity_gap"], *(group["positive_rate"] for group in found["groups"])):
            assert f"{value:.6g}" not in whole and str(100 * value)[:9] not in whole
    assert paid is not None and paid.metrics_private is not None
    assert f"{100 * paid.metrics_private['demographic_parity_gap']:.2f}" in text
