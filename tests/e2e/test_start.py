"""The Start page in a browser: the first chart, a budget that moves it, a link that keeps it, and files to take."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.e2e.steps import CHART, keyed, nudge, open_page, save

STARTS = {"png": b"\x89PNG", "svg": b"<svg", "pdf": b"%PDF", "html": b"<!doctype html", "csv": b"figure,"}
MARKER = ".annotation-text:has-text('ε =')"


def test_a_first_visit_from_the_chart_to_its_files(tab: Page, site: Any, tmp_path: Path) -> None:
    open_page(tab, site)
    chart, sentence = keyed(tab, "start_trade_off", CHART), keyed(tab, "epsilon_sentence")
    chart.wait_for()
    heading = tab.get_by_text("What it costs on Adult")
    expect(heading).to_contain_text("at ε = 1, ")
    expect(sentence).to_contain_text("at most 74 % certain")
    expect(chart.locator(MARKER)).to_contain_text("ε = 1")
    for _ in range(3):
        nudge(tab, "epsilon")
    expect(sentence).to_contain_text("at most 89 % certain")
    expect(chart.locator(MARKER)).to_contain_text("ε = 2")
    expect(heading).to_contain_text("the nearest stored")
    expect(tab.locator("[role=img][aria-label*='39 added']")).to_have_count(1)
    expect(tab).to_have_url(re.compile("epsilon=2(&|$)"))
    tab.reload()
    expect(sentence).to_contain_text("at most 89 % certain")
    expect(sentence).to_contain_text("a person's sex")
    expect(keyed(tab, "epsilon")).to_contain_text("1 in 100,000")
    keyed(tab, "start_trade_off_save", "button").click()
    for form, start in STARTS.items():
        path = save(tab, f"start_trade_off_{form}", tmp_path)
        assert path.suffix == f".{form}" and path.read_bytes().startswith(start)
    keyed(tab, "go_train", "button").click()
    expect(keyed(tab, "launch", "button")).to_be_enabled()
    expect(keyed(tab, "data", "input")).to_have_value(re.compile("Adult"))
    expect(keyed(tab, "method", "input")).to_have_value(re.compile("PF-LD"))
    for epsilon, caution in (("20", "almost no guarantee"), ("0.05", "little about fairness")):
        open_page(tab, site, f"?epsilon={epsilon}")
        expect(sentence).to_contain_text(caution)


@pytest.mark.long
def test_each_stop_of_epsilon_answers_at_once(tab: Page, site: Any) -> None:
    """On a machine that does nothing else."""
    open_page(tab, site)
    chart, sentence = keyed(tab, "start_trade_off", CHART), keyed(tab, "epsilon_sentence")
    expect(chart.locator(MARKER)).to_contain_text("ε = 1")
    for _ in range(3):
        for shown in (sentence, chart.locator(MARKER)):
            assert time_change(tab, shown) < 4


def time_change(tab: Page, shown: Locator) -> float:
    """Return how long it takes from another stop of epsilon until the text of what is shown is another."""
    before = shown.text_content() or ""
    started = time.monotonic()
    nudge(tab, "epsilon")
    expect(shown).not_to_have_text(before)
    return time.monotonic() - started
