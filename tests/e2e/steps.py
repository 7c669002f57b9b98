"""Steps that browser tests share: open a page, find a widget, launch a run, wait for its state."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlencode

from playwright.sync_api import FilePayload, Locator, Page, Response, expect

from fairpriv_core.store.runs import open_store
from tests.launched import config
from tests.patience import PATIENCE, wait_until

CHART = ".js-plotly-plot"
#: ends when the page's script has ended and nothing of the page has changed for `quiet` milliseconds; parts that look
#: again now and then may go on
STILL = """async ([quiet, patience]) => {
  const began = performance.now()
  let since = began, ended = false
  const observer = new MutationObserver(() => { since = performance.now() })
  observer.observe(document.querySelector('[data-testid=stMain]'), { subtree: true, childList: true })
  while (!ended || performance.now() - since < quiet) {
    ended ||= document.querySelector('[data-testid=stApp]').dataset.testScriptState === 'notRunning'
    if (performance.now() - began > patience) throw new Error('The page does not come to rest.')
    await new Promise(go => setTimeout(go, 50))
  }
  observer.disconnect()
}"""
IS_OTHER_STEP = """before => {
  const line = document.querySelector('.st-key-run_state')
  const found = /step ([\\d,]+)/.exec(line?.innerText ?? '')
  return found && found[1] !== before
}"""
#: more than two minutes of training, so that no test finds it finished
LONG = {"name": "pf_ld", "epochs": 1000, "batch_size": 64, "hidden_layers": 10, "width": 64}


def open_page(tab: Page, site: Any, address: str = "") -> None:
    """Open a page and wait for its heading; where data are chosen, with the small ones unless the address names any."""
    if re.match("(data|train|explore|tradeoffs)", address) and "data=" not in address:
        address += ("&" if "?" in address else "?") + "data=synthetic:group"
    tab.goto(f"{site.address}/{address}")
    tab.locator("[data-testid=stMainBlockContainer] h1").first.wait_for()


def settle(tab: Page) -> None:
    """Return when the page has drawn all and nothing of it has changed for 0.7 s."""
    tab.evaluate(STILL, [700, PATIENCE * 1000])


def drop(tab: Page, file: str | FilePayload) -> None:
    """Give a file to the Data page, once all of it is drawn, and return when the pages have it."""
    settle(tab)
    with tab.expect_response(_is_upload):
        tab.locator("input[type=file]").first.set_input_files(file)


def _is_upload(answer: Response) -> bool:
    return "upload_file" in answer.url and answer.request.method == "PUT"


def keyed(tab: Page, key: str, inside: str = "") -> Locator:
    """Return the element of a widget or chart by its key."""
    return tab.locator(f".st-key-{key.replace('.', '-')} {inside}".strip()).first


def launch(tab: Page, site: Any, **given: Any) -> str:
    """Launch, from the Train page, the method that LONG describes, and open its run; `given` the address says too."""
    said = {f"p.{name}": value for name, value in LONG.items() if name != "name"}
    open_page(tab, site, f"train?{urlencode({'expert': True, **said, **given})}")
    return start(tab)


def start(tab: Page) -> str:
    """Launch what Train shows, open its run and return its key."""
    expect(keyed(tab, "launch", "button")).to_be_enabled()
    keyed(tab, "launch", "button").click()
    keyed(tab, "open_run", "button").click()
    tab.wait_for_url("**/run?run=*")
    return tab.url.partition("run=")[2].partition("&")[0]


def submit(site: Any, *methods: dict[str, Any], **given: Any) -> list[str]:
    """Store runs of methods as the Train page's button does, for the site's own worker; return their keys."""
    with open_store(str(site.store)) as store:
        return [store.submit(config(method, **given)).key for method in methods]


def wait_for_runs(site: Any, keys: Sequence[str]) -> None:
    """Return when all runs are finished."""
    with open_store(str(site.store)) as store:
        wait_until(lambda: all(store.row(key).status == "finished" for key in keys), f"the end of {keys}")


def read_step(tab: Page) -> int:
    """Return the step that the page shows."""
    text = keyed(tab, "run_state").inner_text()
    found = re.search(r"step ([\d,]+)", text)
    return int(found.group(1).replace(",", "")) if found else -1


def wait_for_state(tab: Page, words: str) -> None:
    """Return when the run's line says `words`; fail if the run fails."""
    line = keyed(tab, "run_state")
    expect(line).to_contain_text(re.compile(f"{re.escape(words)}|^failed"))
    if words not in line.inner_text():
        raise AssertionError(f"the run failed: {tab.locator('[data-testid=stAlert]').all_inner_texts()}")


def watch_steps(tab: Page, count: int) -> None:
    """Return when the page has shown `count` other steps, one after the other."""
    for _ in range(count):
        tab.wait_for_function(IS_OTHER_STEP, arg=f"{read_step(tab):,}", polling=100)


def nudge(tab: Page, key: str, press: str = "ArrowRight") -> None:
    """Move the slider called `key` by one stop, with the keyboard."""
    slider = keyed(tab, key, "input[type=range]")
    slider.focus()
    tab.keyboard.press(press)


def choose(tab: Page, key: str, name: str) -> None:
    """Open the list of the select box called `key` and choose `name`; a list closes as the page scrolls: that first."""
    box = keyed(tab, key, "input")
    box.scroll_into_view_if_needed()
    settle(tab)
    box.click()
    tab.get_by_role("option", name=name).click()


def save(tab: Page, key: str, folder: Path) -> Path:
    """Click on the download button called `key`, once all is drawn, and return the file: a click on the way is lost."""
    settle(tab)
    with tab.expect_download() as started:
        keyed(tab, key, "button").click()
    path = folder / started.value.suggested_filename
    started.value.save_as(path)
    return path


def assert_keeps_to_itself(tab: Page) -> None:
    """Check that no chart of the page has a button that sends it elsewhere, or saves it without its mark."""
    buttons = tab.locator(".modebar-btn").evaluate_all("all => all.map(each => each.dataset.title)")
    assert buttons and not [title for title in buttons if re.search("share|loud|ownload", title, re.IGNORECASE)]
    told = tab.locator(CHART).evaluate_all("all => all.map(each => each._context)")
    assert told and not [each for each in told if each["showSendToCloud"]]
