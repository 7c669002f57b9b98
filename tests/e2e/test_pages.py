"""Every page at a glance: few words on the first screen, one heading, no errors, no moving, no wider than a phone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import ConsoleMessage, Error, Page, ViewportSize

from tests.e2e.steps import keyed, open_page, settle, submit, wait_for_runs

FIRST_SCREEN: ViewportSize = {"width": 1280, "height": 900}
PHONE: ViewportSize = {"width": 390, "height": 844}
MOST_WORDS = 120
#: what browsers call good; and how often a page may be loaded on a busy machine until it is
MOST_SHIFTED, LOADS = 0.1, 5
SEED = 4711
#: address -> title in the tab, and the key of what stands there once the page is drawn; {run} and {runs} are filled in
PAGES = {
    "": ("Start", "start_trade_off"),
    "data": ("Data", "data_train"),
    "train": ("Train", "launch"),
    "run?run={run}": ("Run", "run_quality"),
    "compare?{runs}": ("Compare", "compare_points"),
    "tradeoffs": ("Trade-offs", "tradeoff_frontier"),
    "tradeoffs?view=explore": ("Trade-offs", "explore_what"),
    "papers": ("Papers", "paper"),
    "audit?run={run}": ("Audit", "run"),
    "present?{runs}": ("Present", "report_forms"),
    "report?{runs}": ("Report", "report_0_1"),
    "report?{runs}&audience=policy": ("Report", "report_0_1"),
    "learn": ("Learn", "learn_card"),
}
#: what Streamlit asks for at the page's own address before it asks at the root
OWN_FAULTS = ("_stcore/health", "_stcore/host-config")
COUNT = """() => {
    const outside = "header, canvas, svg, style, script, .fairpriv-plot, .st-key-strip, " +
        "[data-testid=stSkipToContent], [data-testid=stIconMaterial], [translate=no]"
    const walker = document.createTreeWalker(document.querySelector("[data-testid=stApp]"), NodeFilter.SHOW_TEXT)
    const range = document.createRange()
    const shown = []
    while (walker.nextNode()) {
        const node = walker.currentNode
        const place = node.parentElement
        if (place.closest(outside) || !place.checkVisibility({ opacityProperty: true, visibilityProperty: true }))
            continue
        for (const found of node.data.matchAll(/\\S+/g)) {
            range.setStart(node, found.index)
            range.setEnd(node, found.index + found[0].length)
            const box = range.getBoundingClientRect()
            if (/[\\p{L}\\p{N}]/u.test(found[0]) && box.height > 4 && box.top < innerHeight && box.bottom > 0)
                shown.push(found[0])
        }
    }
    return shown
}"""
WIDTH = "() => document.querySelector('[data-testid=stMain]').scrollWidth"
SUM_SHIFTS = """() => new Promise(done => {
    const add = list => list.getEntries().reduce((sum, each) => sum + (each.hadRecentInput ? 0 : each.value), 0)
    new PerformanceObserver(list => done(add(list))).observe({ type: "layout-shift", buffered: true })
    setTimeout(done, 500, 0)
})"""


@pytest.fixture(scope="module")
def keys(site: Any) -> list[str]:
    """Return the keys of a finished private run with a private evaluation and of one without privacy."""
    private = submit(site, {"name": "pf_ld", "epochs": 3}, seed=SEED, private_evaluation=True)
    keys = [*private, *submit(site, {"name": "none", "epochs": 3}, seed=SEED, epsilon=None)]
    wait_for_runs(site, keys)
    return keys


@pytest.fixture
def watched(tab: Page) -> Iterator[tuple[Page, list[str]]]:
    """Give a tab of a small laptop's size, and the errors that its console tells of."""
    faults: list[str] = []

    def hear(message: ConsoleMessage) -> None:
        if message.type == "error" and not message.location["url"].endswith(OWN_FAULTS):
            faults.append(f"{message.text} ({message.location['url']})")

    def catch(error: Error) -> None:
        faults.append(str(error))

    tab.on("console", hear)
    tab.on("pageerror", catch)
    tab.set_viewport_size(FIRST_SCREEN)
    yield tab, faults
    tab.remove_listener("console", hear)
    tab.remove_listener("pageerror", catch)


def fill(address: str, keys: list[str]) -> str:
    """Return an address with the runs that it shows."""
    return address.format(run=keys[0], runs="&".join(f"runs={key}" for key in keys))


def load_still(tab: Page, site: Any, address: str, drawn: str) -> list[float]:
    """Return by how much a page's layout shifted on each load; the calmest of some counts."""
    found: list[float] = []
    while not found or (min(found) > MOST_SHIFTED and len(found) < LOADS):
        open_page(tab, site, address)
        keyed(tab, drawn).wait_for()
        settle(tab, 2500)
        found.append(tab.evaluate(SUM_SHIFTS))
    return found


@pytest.mark.parametrize("address", PAGES)
def test_a_page_at_a_glance_and_on_a_phone(
    address: str, watched: tuple[Page, list[str]], site: Any, keys: list[str]
) -> None:
    tab, faults = watched
    title, drawn = PAGES[address]
    shifted = load_still(tab, site, fill(address, keys), drawn)
    assert min(shifted) <= MOST_SHIFTED, f"moved by {shifted} while it was loaded"
    assert tab.title() == f"{title} · fairpriv"
    assert tab.locator("h1").count() == 1
    words = tab.evaluate(COUNT)
    assert title == "Learn" or len(words) <= MOST_WORDS, f"{len(words)} words: {' '.join(words)}"
    tab.set_viewport_size(PHONE)
    settle(tab, 1500)
    assert tab.evaluate(WIDTH) <= PHONE["width"]
    assert faults == []
    assert "libtorch" not in Path(f"/proc/{site.pages.pid}/maps").read_text(), "the pages loaded PyTorch"


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_pages_hold_still_and_fit_on_a_phone_that_loads_them(
    scheme: Literal["light", "dark"], tab: Page, site: Any, keys: list[str]
) -> None:
    tab.set_viewport_size(PHONE)
    tab.emulate_media(color_scheme=scheme)
    moved, wide = {}, {}
    for address, (_, drawn) in PAGES.items():
        moved[address] = min(load_still(tab, site, fill(address, keys), drawn))
        wide[address] = tab.evaluate(WIDTH)
    assert {address: by for address, by in moved.items() if by > MOST_SHIFTED} == {}
    assert {address: width for address, width in wide.items() if width > PHONE["width"]} == {}
