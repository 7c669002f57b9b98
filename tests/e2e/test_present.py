"""Present in a browser: five steps by arrow keys, on the page and from a file that is opened with no network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from playwright.sync_api import Browser, FrameLocator, Page, expect

from tests.e2e.steps import open_page, save

STEPS = 5
MOST_PRESSES = 2 * STEPS  # a curve lights its lines one after the other


def walk(tab: Page, story: Page | FrameLocator) -> list[str]:
    """Press the arrow from the first step to the last and back to the first; return the heading of each step."""
    place, shown = story.locator("#place"), story.locator(".step:visible h2")
    expect(place).to_have_text(f"1 of {STEPS}")
    headings = [shown.inner_text()]
    for _ in range(MOST_PRESSES):
        tab.keyboard.press("ArrowRight")
        headings.append(shown.inner_text())
    expect(place).to_have_text(f"{STEPS} of {STEPS}")
    for _ in range(MOST_PRESSES):
        tab.keyboard.press("ArrowLeft")
    expect(place).to_have_text(f"1 of {STEPS}")
    return list(dict.fromkeys(headings))


def test_arrow_keys_tell_the_story_on_the_page_and_from_a_file_without_a_network(
    tab: Page, site: Any, browser: Browser, keys: list[str], tmp_path: Path
) -> None:
    tab.set_viewport_size({"width": 800, "height": 800})
    open_page(tab, site, "present?" + "&".join(f"runs={key}" for key in keys))
    story = tab.frame_locator("[data-testid=stIFrame]")
    headings = walk(tab, story)  # without a click into it
    assert len(headings) == STEPS
    for control in ("back", "on", "notes", "full"):
        expect(story.locator(f"#{control}")).to_be_in_viewport()
    expect(story.locator(".notes:visible")).to_have_count(0)
    tab.keyboard.press("n")
    expect(story.locator(".notes:visible")).to_have_count(1)
    path = save(tab, "report_story", tmp_path)
    context = browser.new_context(offline=True)
    asked: list[str] = []
    context.on("request", lambda request: asked.append(request.url))
    page = context.new_page()
    page.goto(path.as_uri())
    assert walk(page, page) == headings
    assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")
    context.close()
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
