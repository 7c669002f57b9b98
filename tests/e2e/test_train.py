"""Train in a browser: from a card that explains a method, by sliders, keyboard and links, to what is launched."""

from __future__ import annotations

import re
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from fairpriv_core.store.runs import open_store
from tests.e2e.steps import CHART, keyed, nudge, open_page, settle

#: a value between a slider's stops is shown as it is, before and after it was moved, and after a reload
SETTINGS = (
    "train?method=pf_ld&expert=True&set_lambda=True&p.surrogate=logit&epsilon=2.2&p.clip_primal=0.123456&seed=5&"
    "p.epochs=7"
)
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
#: where the thumb of a slider is, whose input has no size of its own
THUMB = """input => {
  while (input.getBoundingClientRect().width < 8) input = input.parentElement
  const { x, y, width, height } = input.getBoundingClientRect()
  return [x + width / 2, y + height / 2]
}"""


def test_settings_that_are_moved_stay_and_are_what_is_launched(tab: Page, site: Any) -> None:
    open_page(tab, site, SETTINGS)
    assert (read(tab, "clip_primal"), read(tab, "epsilon", of="")) == (0.123456, 2.2)
    chosen = {
        bound: keyed(tab, f"plan_{bound}", ".annotation-text:has-text('chosen')")
        for bound in ("clip_primal", "clip_dual")
    }
    numbers = keyed(tab, "plan_numbers")
    expect(numbers).to_contain_text("Primal noise")
    expect(tab.get_by_text(re.compile("Time alone: (about|roughly) "))).to_be_visible()
    expect(keyed(tab, "plan_epsilon", CHART)).to_be_visible()
    before = {bound: note.text_content() or "" for bound, note in chosen.items()}, numbers.inner_text()
    for name in ("p.clip_primal", "p.clip_dual", "p.hidden_layers", "epsilon"):
        nudge(tab, name)
    settle(tab)
    drag(tab, "p.multiplier_max")
    keyed(tab, "private_evaluation", "label").click()
    for bound, note in chosen.items():
        expect(note).not_to_have_text(before[0][bound])
    expect(numbers).not_to_have_text(before[1])
    for said in (
        "p.clip_primal=0.147",
        "p.hidden_layers=",
        "epsilon=2.5",
        "p.multiplier_max=",
        "private_evaluation=False",
    ):
        expect(tab).to_have_url(re.compile(re.escape(said)))
    shown = {
        name: read(tab, name) for name in ("clip_primal", "clip_dual", "hidden_layers", "multiplier_max", "epochs")
    }
    tab.reload()
    keyed(tab, "p.clip_primal").wait_for()
    assert {name: read(tab, name) for name in shown} == shown and read(tab, "epsilon", of="") == 2.5
    expect(keyed(tab, "private_evaluation", "input")).not_to_be_checked()
    expect(keyed(tab, "seed", "input")).to_have_value("5")
    keyed(tab, "launch", "button").click()
    for panel in ("accuracy_steps", "gap_steps", "gradient_norm", "output"):
        expect(keyed(tab, f"run_{panel}", CHART)).to_be_visible()
    assert "/train" in tab.url, "it fills beside the settings"
    nudge(tab, "p.clip_primal")
    expect(tab.get_by_text("Launch trains with Primal clipping bound")).to_be_visible()
    nudge(tab, "p.clip_primal", "ArrowLeft")
    keyed(tab, "open_run", "button").click()
    tab.wait_for_url("**/run?run=*")
    with open_store(str(site.store)) as store:
        config = store.row(tab.url.partition("run=")[2].partition("&")[0]).config
    assert {name: config["method"][name] for name in shown} == pytest.approx(shown)
    assert (config["epsilon"], config["seed"], config["method"]["epochs"]) == (2.5, 5, 7)
    keyed(tab, "run_clone", "button").click()
    tab.wait_for_url("**/train?*")
    expect(tab.get_by_text("All settings are those of the run you cloned.")).to_be_visible()
    assert {name: read(tab, name) for name in shown} == shown


def test_a_card_is_found_by_a_word_and_leads_to_settings_that_a_keyboard_reaches(tab: Page, site: Any) -> None:
    open_page(tab, site, "learn")
    search = keyed(tab, "learn_search", "input")
    card = keyed(tab, "learn_card").get_by_role("heading")
    search.fill("mozannar")
    search.press("Enter")
    expect(card).to_have_text("Randomised response")
    expect(keyed(tab, "learn_randomized_response", CHART)).to_be_visible()
    expect(tab).to_have_url(re.compile("card=randomized_response"))
    tab.reload()
    expect(card).to_have_text("Randomised response")
    keyed(tab, "learn_try", "button").click()
    tab.wait_for_url("**/train*")
    expect(keyed(tab, "method", "input")).to_have_value(re.compile("^Randomised response"))
    check_keyboard(tab)


def check_keyboard(tab: Page) -> None:
    """Check that Tab reaches every control of the page and shows where it is."""
    settle(tab)
    count = tab.evaluate(MARK)
    assert count >= 5
    for _ in range(count + 60):
        tab.keyboard.press("Tab")
        if tab.evaluate(STEP):
            break
    found = tab.evaluate(REPORT)
    assert [name for name, reached, _ in found if not reached] == []
    assert [name for name, _, seen in found if not seen] == []


def drag(tab: Page, key: str) -> None:
    """Move the slider called `key` with the mouse, from where its thumb is to the right."""
    slider = keyed(tab, key, "input[type=range]")
    slider.scroll_into_view_if_needed()
    x, y = slider.evaluate(THUMB)
    tab.mouse.move(x, y)
    tab.mouse.down()
    tab.mouse.move(x + 60, y, steps=6)
    tab.mouse.up()


@pytest.mark.long
@pytest.mark.parametrize(
    ("page", "ready"), [("train?expert=True&set_lambda=True", "plan_clip_dual"), ("", "start_trade_off")]
)
def test_tab_reaches_every_control_and_shows_where_it_is(page: str, ready: str, tab: Page, site: Any) -> None:
    open_page(tab, site, page)
    keyed(tab, ready, CHART).wait_for()
    check_keyboard(tab)


def read(tab: Page, name: str, of: str = "p.") -> float:
    """Return what the slider of a parameter says, or the field that its number is typed into."""
    keyed(tab, f"{of}{name}", "input").wait_for(state="attached")
    slider = keyed(tab, f"{of}{name}", "[data-testid=stSliderThumbValue]")
    said = slider.inner_text() if slider.count() else keyed(tab, f"{of}{name}", "input").input_value()
    found = re.search(r"[\d.]+", said)
    assert found is not None
    return float(found.group())
