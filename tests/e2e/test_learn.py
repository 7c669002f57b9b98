"""The Learn page in a browser: search, a card by its link, and the way to training with it."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import Page, expect

from tests.e2e.steps import CHART, keyed, open_page


def test_a_card_is_found_by_a_word_and_its_address_opens_it_again(tab: Page, site: Any) -> None:
    open_page(tab, site, "learn")
    search = keyed(tab, "learn_search", "input")
    search.fill("mozannar")
    search.press("Enter")
    expect(keyed(tab, "learn_card").get_by_role("heading")).to_have_text("Randomised response")
    expect(keyed(tab, "learn_randomized_response", CHART)).to_be_visible()
    expect(tab).to_have_url(re.compile("card=randomized_response"))
    tab.reload()
    expect(keyed(tab, "learn_card").get_by_role("heading")).to_have_text("Randomised response")


def test_a_card_leads_to_training_with_it(tab: Page, site: Any) -> None:
    open_page(tab, site, "learn?card=dp_fermi")
    keyed(tab, "learn_try", "button").click()
    tab.wait_for_url("**/train*")
    expect(keyed(tab, "method", "input")).to_have_value(re.compile("^DP-FERMI "))
