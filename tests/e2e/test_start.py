"""The Start page in a browser: the first chart, and a budget that answers at once."""

from __future__ import annotations

import re
import time
from functools import partial
from typing import Any

from playwright.sync_api import Page, expect

from tests.e2e.steps import CHART, keyed, nudge, open_page, time_change


def test_first_look_shows_a_titled_chart_with_bands(fresh_tab: Page, site: Any) -> None:
    outside: list[str] = []
    fresh_tab.on("request", lambda request: outside.append(request.url) if site.address not in request.url else None)
    started = time.monotonic()
    fresh_tab.goto(site.address)
    keyed(fresh_tab, "start_trade_off", CHART).wait_for(timeout=20_000)
    assert time.monotonic() - started < 20  # 10 s on a machine that does nothing else
    assert keyed(fresh_tab, "start_trade_off", ".g-gtitle").text_content()
    assert fresh_tab.locator("[role=figure][aria-label]").count() >= 1
    fresh_tab.wait_for_timeout(1000)
    assert [url for url in outside if url.startswith("http")] == []


def test_moving_epsilon_by_keyboard_changes_sentence_dots_and_address(tab: Page, site: Any) -> None:
    open_page(tab, site)
    sentence = keyed(tab, "epsilon_sentence")
    expect(sentence).to_contain_text("74 in 100")
    slider = keyed(tab, "epsilon", "input[type=range]")
    slider.focus()
    for _ in range(3):
        tab.keyboard.press("ArrowRight")
    expect(sentence).not_to_contain_text("74 in 100")
    expect(sentence).to_contain_text("89 in 100")
    assert tab.locator("[role=img][aria-label*='39 added']").count() == 1
    expect(tab).to_have_url(re.compile("epsilon=2(&|$)"))
    tab.reload()
    expect(keyed(tab, "epsilon_sentence")).to_contain_text("89 in 100")


def test_each_stop_of_epsilon_answers_at_once(tab: Page, site: Any) -> None:
    open_page(tab, site)
    sentence = keyed(tab, "epsilon_sentence")
    marker = keyed(tab, "start_trade_off", ".annotation-text:has-text('ε =')")
    expect(marker).to_contain_text("ε = 1")
    nudge(tab, "epsilon")
    expect(marker).not_to_contain_text("ε = 1.00")
    for _ in range(3):
        time_change(tab, sentence, partial(nudge, tab, "epsilon"), seconds=4)
        time_change(tab, marker, partial(nudge, tab, "epsilon"), seconds=4)


def test_both_ends_of_epsilon_carry_a_caution_and_delta_and_what_is_protected(tab: Page, site: Any) -> None:
    for epsilon, caution in (("20", "almost no guarantee"), ("0.05", "little about fairness")):
        open_page(tab, site, f"?epsilon={epsilon}")
        sentence = keyed(tab, "epsilon_sentence")
        expect(sentence).to_contain_text(caution)
        expect(sentence).to_contain_text("1 in 100,000")
        expect(sentence).to_contain_text("sensitive attribute")
        assert " safe" not in sentence.inner_text().lower()
