"""Present in a browser: five steps by arrow keys, on the page and from a file that is opened with no network."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, FrameLocator, Page, expect

from tests.e2e.steps import PATIENCE, keyed, open_page, submit, wait_for_runs

SEED = 78
STEPS = 5
MOST_PRESSES = 2 * STEPS  # a curve lights its lines one after the other


@pytest.fixture(scope="module")
def keys(site: Any) -> list[str]:
    """Return the keys of a private and fair run and of one without either."""
    private = submit(site, {"name": "pf_ld", "epochs": 4}, seed=SEED, private_evaluation=True)
    keys = [*private, *submit(site, {"name": "none", "epochs": 4}, seed=SEED, epsilon=None)]
    wait_for_runs(site, keys)
    return keys


def walk(tab: Page, story: Page | FrameLocator) -> list[str]:
    """Press the arrow from the first step to the last and back to the first; return the heading of each step."""
    place, shown = story.locator("#place"), story.locator(".step:visible h2")
    expect(place).to_have_text(f"1 of {STEPS}", timeout=PATIENCE)
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
    open_page(tab, site, "present?" + "&".join(f"runs={key}" for key in keys))
    story = tab.frame_locator("[data-testid=stIFrame]")
    story.locator("h1").click(timeout=PATIENCE)
    headings = walk(tab, story)
    assert len(headings) == STEPS
    expect(story.locator(".notes:visible")).to_have_count(0)
    tab.keyboard.press("n")
    expect(story.locator(".notes:visible")).to_have_count(1)
    with tab.expect_download() as started:
        keyed(tab, "report_story", "button").click()
    path = tmp_path / started.value.suggested_filename
    started.value.save_as(path)
    context = browser.new_context(offline=True)
    asked: list[str] = []
    context.on("request", lambda request: asked.append(request.url))
    page = context.new_page()
    page.goto(path.as_uri())
    assert walk(page, page) == headings
    context.close()
    assert [url for url in asked if not url.startswith(("file:", "data:"))] == []
