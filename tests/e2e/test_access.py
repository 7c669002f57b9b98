"""Without a mouse and without eyes: Tab reaches every control and shows where it is, every chart says what it shows."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from tests.e2e.steps import CHART, assert_keeps_to_itself, keyed, open_page, settle

#: marks each control of the page with its look, to be compared when it has the focus
MARK = """() => {
  const parts = style => [style.outlineStyle, style.outlineWidth, style.boxShadow, style.borderColor,
                          style.backgroundColor, style.textDecorationLine, style.color].join()
  window.look = control => {
    const whole = control.closest('[class*=st-key-]') ?? control.closest('[data-testid]') ?? control
    return [whole, ...whole.querySelectorAll('*')].map(part => parts(getComputedStyle(part))).join(';')
  }
  const all = document.querySelectorAll('[data-testid=stMain] :is(a[href], button, input, textarea, [tabindex="0"])')
  const shown = [...all].filter(each => each.tabIndex >= 0 && !each.disabled && each.getClientRects().length &&
    each.type !== 'file' && !each.closest('details:not([open]), [data-testid=stDataFrame], .modebar') &&
    !each.closest('[aria-hidden=true], [role=radio][aria-checked=false]'))  // arrows move among radio buttons
  window.controls = new Map(shown.map(each => [each, {before: window.look(each), reached: false, seen: false}]))
  document.querySelector('[data-testid=stMain]').scrollTop = 0
  return shown.length
}"""
#: what has the focus may take a moment to show it
STEP = """async () => {
  const ends = performance.now() + 60
  for (let found; !found?.seen && performance.now() < ends; await new Promise(requestAnimationFrame)) {
    found = window.controls.get(document.activeElement)
    if (found) {
      found.reached = true
      found.seen ||= window.look(document.activeElement) !== found.before
    }
  }
  return [...window.controls.values()].every(each => each.seen)
}"""
REPORT = """() => [...window.controls].map(([each, found]) =>
  [each.getAttribute('aria-label') || each.textContent || each.outerHTML.slice(0, 120), found.reached, found.seen])"""
PAGES = {"Start": "What privacy and fairness cost in accuracy"}  # title in the menu -> heading
PAGES |= {title: title for title in ("Data", "Train", "Run", "Compare", "Trade-offs", "Audit", "Learn")}
DRAWN = ("Start", "Train", "Learn")  # pages that have charts before anything has run


@pytest.mark.parametrize(
    ("page", "ready"),
    [
        ("train?expert=True&set_lambda=True", "plan_clip_dual"),
        pytest.param("", "start_trade_off", marks=pytest.mark.long),
    ],
)
def test_tab_reaches_every_control_and_shows_where_it_is(page: str, ready: str, tab: Page, site: Any) -> None:
    open_page(tab, site, page)
    keyed(tab, ready, CHART).wait_for()
    tab.wait_for_timeout(1000)
    count = tab.evaluate(MARK)
    assert count >= 10
    for _ in range(count + 60):
        tab.keyboard.press("Tab")
        if tab.evaluate(STEP):
            break
    found = tab.evaluate(REPORT)
    assert [name for name, reached, _ in found if not reached] == []
    assert [name for name, _, seen in found if not seen] == []


def test_every_chart_and_table_says_what_it_shows_and_keeps_to_itself(tab: Page, site: Any) -> None:
    open_page(tab, site)
    for page, heading in PAGES.items():
        tab.get_by_role("link", name=page, exact=True).first.click()
        expect(tab.locator("[data-testid=stMainBlockContainer] h1").first).to_have_text(heading)
        tab.wait_for_load_state("networkidle")
        settle(tab, 2000)
        _check_what_is_shown(tab)
        if page in DRAWN:
            tab.locator(f"{CHART} .modebar-btn").first.wait_for(state="attached")
            assert_keeps_to_itself(tab)


def _check_what_is_shown(tab: Page) -> None:
    charts = tab.locator(".fairpriv-plot").all()
    said = [chart.get_attribute("aria-label") or "" for chart in charts]
    assert all(len(words) > 20 for words in said), said
    assert all(chart.get_attribute("role") == "figure" for chart in charts)
    for folded in tab.locator("details:not([open])", has=tab.locator("[data-testid=stDataFrame]")).all():
        folded.locator("summary").click()
    for table in tab.locator("[data-testid=stDataFrame]").all():
        expect(table.locator("[role=region][aria-label]")).to_have_attribute("aria-label", re.compile(".{20}"))
    assert tab.locator("img:not([alt])").count() == 0
