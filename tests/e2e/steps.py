"""Steps that browser tests share: open a page, find a widget, launch a run, wait for its state."""

from __future__ import annotations

import re
import time
from collections.abc import Callable
from typing import Any

from playwright.sync_api import Locator, Page, expect

CHART = ".js-plotly-plot"
PATIENCE = 60_000  # milliseconds: the first drawing of a page on a busy machine
#: more than two minutes of training, so that no test finds it finished
LONG = "p.epochs=1000&p.batch_size=64&p.hidden_layers=10&p.width=64&expert=True"


def open_page(tab: Page, site: Any, address: str = "") -> None:
    """Open a page and wait for its heading."""
    tab.goto(f"{site.address}/{address}")
    tab.locator("[data-testid=stMainBlockContainer] h2").first.wait_for()


def keyed(tab: Page, key: str, inside: str = "") -> Locator:
    """Return the element of a widget or chart by its key."""
    return tab.locator(f".st-key-{key.replace('.', '-')} {inside}".strip()).first


def launch(tab: Page, site: Any, address: str) -> str:
    """Launch what `train?address` says and return the run's key."""
    open_page(tab, site, f"train?{address}")
    button = keyed(tab, "launch", "button")
    expect(button).to_be_enabled(timeout=PATIENCE)
    button.click()
    tab.wait_for_url("**/run?run=*")
    return tab.url.partition("run=")[2].partition("&")[0]


def read_step(tab: Page) -> int:
    """Return the step that the page shows."""
    text = tab.locator("[data-testid=stProgress]").first.inner_text()
    found = re.search(r"step ([\d,]+)", text)
    return int(found.group(1).replace(",", "")) if found else -1


def wait_for_state(tab: Page, words: str, seconds: float) -> float:
    """Wait until the run's line says `words` and return how long it took; fail after `seconds`."""
    started = time.monotonic()
    expect(tab.locator("[data-testid=stProgress]").first).to_contain_text(words, timeout=seconds * 1000)
    return time.monotonic() - started


def nudge(tab: Page, key: str, press: str = "ArrowRight") -> None:
    """Move the slider called `key` by one stop, with the keyboard."""
    slider = keyed(tab, key, "input[type=range]")
    slider.focus()
    tab.keyboard.press(press)


def time_change(tab: Page, target: Locator, act: Callable[[], None], seconds: float) -> float:
    """Return how long it takes from `act` until the text of `target` is another; fail after `seconds`."""
    before = target.text_content()
    started = time.monotonic()
    act()
    while target.text_content() == before:
        assert time.monotonic() - started < seconds, f"nothing changed within {seconds} s"
        tab.wait_for_timeout(10)
    return time.monotonic() - started


def assert_keeps_to_itself(tab: Page) -> None:
    """Check that no chart of the page has a button that sends it elsewhere."""
    buttons = tab.locator(".modebar-btn").evaluate_all("all => all.map(each => each.dataset.title)")
    assert buttons and not [title for title in buttons if "share" in title.lower() or "loud" in title]
    told = tab.locator(CHART).evaluate_all("all => all.map(each => each._context)")
    assert told and not [each for each in told if each["showSendToCloud"]]
