"""Every page at a glance: few words, no moving, no wider than a phone, and nothing that only eyes could tell."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlencode

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, ViewportSize, expect

from tests.e2e.steps import CHART, assert_keeps_to_itself, choose, keyed, open_page, settle

FIRST_SCREEN: ViewportSize = {"width": 1280, "height": 900}
PHONE: ViewportSize = {"width": 390, "height": 844}
SIZES = {"desktop": FIRST_SCREEN, "phone": PHONE}
MOST_WORDS = 120
WORDY = ("Learn",)
#: what browsers call good; and how often a page may be loaded on a busy machine until it is
MOST_SHIFTED, LOADS = 0.1, 5
#: address -> title in the tab, and the key of what stands there once the page is drawn; {run} and {runs} are filled in
PAGES = {
    "": ("Start", "start_trade_off"),
    "data": ("Data", "data_train"),
    "train": ("Train", "launch"),
    "run?run={run}": ("Run", "run_accuracy_steps"),
    "compare?{runs}": ("Compare", "compare_points"),
    "tradeoffs": ("Trade-offs", "tradeoff_frontier"),
    "explore": ("Explore", "explore_chart"),
    "papers": ("Papers", "paper"),
    "papers?paper=pf_ld&preset=pf_ld.figure4": ("Papers", "paper_3"),
    "leaderboard": ("Leaderboard", "bench_curve"),
    "audit?run={run}": ("Audit", "run"),
    "present?{runs}": ("Present", "report_forms"),
    "report?{runs}": ("Report", "report_0_2"),
    "report?{runs}&audience=policy": ("Report", "report_0_2"),
    "learn": ("Learn", "learn_card"),
}
COUNT = """() => {
    const outside = "header, canvas, svg, style, script, .fairpriv-plot, .st-key-strip, .st-key-strip_buttons, " +
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
FONTS = """() => [...new Set([...document.querySelectorAll("h1, .fairpriv-plot text")].map(
    each => getComputedStyle(each).fontFamily))]"""
WIDTH = "() => document.querySelector('[data-testid=stMain]').scrollWidth"
#: a page is empty or a skeleton of Streamlit's when it takes its width, so that nothing to read moves then
SUM_SHIFTS = """() => new Promise(done => {
    const takesItsWidth = source => source.previousRect.width !== source.currentRect.width &&
        source.node?.matches?.("[data-testid=stMainBlockContainer]")
    const counts = each => !each.hadRecentInput && !each.sources.every(takesItsWidth)
    const add = list => list.getEntries().filter(counts).reduce((sum, each) => sum + each.value, 0)
    new PerformanceObserver(list => done(add(list))).observe({ type: "layout-shift", buffered: true })
    setTimeout(done, 500, 0)
})"""
WHAT_IS_BROKEN = {"resultTypes": ["violations"]}  # axe lists no place at which nothing is
Found = dict[str, list[tuple[str, list[Any]]]]  # what axe found, by rule: pages, and places on them


def fill(address: str, keys: list[str]) -> str:
    """Return an address with the runs that it shows."""
    return address.format(run=keys[0], runs=urlencode({"runs": keys}, doseq=True))


def load_still(tab: Page, site: Any, address: str, drawn: str) -> list[float]:
    """Return by how much a page's layout shifted on each load; the calmest of some counts."""
    found: list[float] = []
    while not found or (min(found) > MOST_SHIFTED and len(found) < LOADS):
        open_page(tab, site, address)
        keyed(tab, drawn).wait_for()
        settle(tab)
        found.append(tab.evaluate(SUM_SHIFTS))
    return found


def look(tab: Page, page: str, found: Found) -> None:
    """Add what axe finds on the page that is open, by rule."""
    for broken in Axe().run(tab, options=WHAT_IS_BROKEN).response["violations"]:
        places = [node["target"] for node in broken["nodes"]]
        found.setdefault(f"{broken['id']}: {broken['help']}", []).append((page, places[:3]))


def check_what_is_shown(tab: Page) -> None:
    """Check that charts, tables and pictures say what they show, and that charts keep to themselves."""
    for chart in tab.locator(".fairpriv-plot").all():
        expect(chart).to_have_attribute("aria-label", re.compile(".{20}"))
        expect(chart).to_have_attribute("role", "figure")
    for folded in tab.locator("details:not([open])", has=tab.locator("[data-testid=stDataFrame]")).all():
        folded.locator("summary").click()
    for table in tab.locator("[data-testid=stDataFrame]").all():
        expect(table.locator("[role=region][aria-label]")).to_have_attribute("aria-label", re.compile(".{20}"))
    assert tab.locator("img:not([alt])").count() == 0
    if tab.locator(CHART).count():
        tab.locator(f"{CHART} .modebar-btn").first.wait_for(state="attached")
        assert_keeps_to_itself(tab)
        assert len(tab.evaluate(FONTS)) == 1, "a chart has the page's typeface"


def check_at_a_glance(tab: Page, site: Any, page: str, address: str) -> None:
    """Check a page on a small laptop, and then on a phone."""
    title, drawn = PAGES[page]
    found: Found = {}
    shifted = load_still(tab, site, address, drawn)
    assert min(shifted) <= MOST_SHIFTED, f"moved by {shifted} while it was loaded"
    assert tab.title() == f"{title} · fairpriv"
    assert tab.locator("h1").count() == 1
    assert tab.get_by_text("not among the finished runs").count() == 0
    words = tab.evaluate(COUNT)
    assert title in WORDY or len(words) <= MOST_WORDS, f"{len(words)} words: {' '.join(words)}"
    look(tab, page, found)
    assert not found, json.dumps(found, indent=1)
    check_what_is_shown(tab)
    tab.set_viewport_size(PHONE)
    settle(tab)
    assert tab.evaluate(WIDTH) <= PHONE["width"]


def test_each_page_at_a_glance_and_on_a_phone(tab: Page, site: Any, keys: list[str]) -> None:
    """One by day, the next by night."""
    wrong = {}
    for place, page in enumerate(PAGES):
        tab.emulate_media(color_scheme="dark" if place % 2 else "light")
        tab.set_viewport_size(FIRST_SCREEN)
        try:
            check_at_a_glance(tab, site, page, fill(page, keys))
        except AssertionError as error:
            wrong[page] = str(error)
    assert not wrong, "\n".join(f"{page}: {said}" for page, said in wrong.items())
    assert "libtorch" not in Path(f"/proc/{site.pages.pid}/maps").read_text(), "the pages loaded PyTorch"


def test_each_page_is_one_step_of_the_browsers_history(tab: Page, site: Any) -> None:
    """And so is each choice that a person makes on it."""
    open_page(tab, site, "papers")
    settle(tab)
    for title in ("Data", "Learn"):
        tab.get_by_role("link", name=title, exact=True).first.click()
        expect(tab.locator("h1")).to_have_text(title)
        settle(tab)
    for title in ("Data", "Papers"):
        tab.go_back()
        expect(tab.locator("h1")).to_have_text(title)
        settle(tab)
    choose(tab, "paper", "DP-FERMI")
    expect(tab).to_have_url(re.compile("paper=dp_fermi"))
    tab.go_back()
    expect(tab).to_have_url(re.compile("papers.*paper=pf_ld"))


@pytest.mark.long
@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", SIZES)
def test_pages_that_are_loaded_so_hold_still_fit_and_are_for_everybody(
    size: str, scheme: Literal["light", "dark"], tab: Page, site: Any, keys: list[str], tmp_path: Path
) -> None:
    """What is exported too."""
    tab.set_viewport_size(SIZES[size])
    tab.emulate_media(color_scheme=scheme)
    moved, wide = dict[str, float](), dict[str, int]()
    found: Found = {}
    for address, (_, drawn) in PAGES.items():
        moved[address] = min(load_still(tab, site, fill(address, keys), drawn))
        wide[address] = tab.evaluate(WIDTH)
        look(tab, address, found)
    for form in ("html", "story"):
        out = tmp_path / f"{form}.html"
        command = [sys.executable, "-m", "fairpriv_core", "export", *keys, "--format", form, "--out", str(out)]
        subprocess.run(command, env=site.environment, check=True, capture_output=True)
        tab.goto(out.as_uri())
        if form == "html":
            tab.wait_for_selector("html[data-drawn=yes]")
        look(tab, form, found)
    assert not found, json.dumps(found, indent=1)
    assert {address: by for address, by in moved.items() if by > MOST_SHIFTED} == {}
    assert {address: width for address, width in wide.items() if width > SIZES[size]["width"]} == {}
