"""The dashboard in a real browser: from the first look to a trained, paused, resumed, stopped and compared run."""

from __future__ import annotations

import re
import time
from pathlib import Path
from typing import Any, Literal

import pytest
from playwright.sync_api import Browser, FilePayload, Locator, Page, expect

CHART = ".js-plotly-plot"
LONG = "p.epochs=1000&p.batch_size=64&expert=True"
READ_RANGE = "() => document.querySelector('.st-key-run_groups .js-plotly-plot').layout.xaxis.range.map(Number)"
READ_BOX = """() => {
    const plot = document.querySelector('.st-key-run_groups .nsewdrag');
    plot.scrollIntoView({block: 'center'});
    const box = plot.getBoundingClientRect();
    return {x: box.x, y: box.y, width: box.width, height: box.height};
}"""
PAGES = ("", "data", "train", "run", "compare")


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
    expect(button).to_be_enabled()
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


def zoom(tab: Page) -> list[float]:
    """Zoom into the group chart with the mouse and return the range of its steps; a refresh may break a drag off."""
    for _ in range(5):
        box = tab.evaluate(READ_BOX)
        tab.mouse.move(box["x"] + box["width"] * 0.3, box["y"] + box["height"] * 0.3)
        tab.mouse.down()
        tab.mouse.move(box["x"] + box["width"] * 0.6, box["y"] + box["height"] * 0.7, steps=3)
        tab.mouse.up()
        tab.wait_for_timeout(1300)
        if not tab.evaluate(
            "() => document.querySelector('.st-key-run_groups .js-plotly-plot').layout.xaxis.autorange"
        ):
            break
    found: list[float] = tab.evaluate(READ_RANGE)
    return found


def test_first_look_shows_a_titled_chart_with_bands(tab: Page, site: Any) -> None:
    outside: list[str] = []
    tab.on("request", lambda request: outside.append(request.url) if site.address not in request.url else None)
    started = time.monotonic()
    tab.goto(site.address)
    keyed(tab, "start_trade_off", CHART).wait_for(timeout=20_000)
    assert time.monotonic() - started < 20
    assert keyed(tab, "start_trade_off", ".g-gtitle").text_content()
    assert tab.locator("[role=figure][aria-label]").count() >= 1
    tab.wait_for_timeout(1000)
    assert [url for url in outside if url.startswith("http")] == []


def test_moving_epsilon_by_keyboard_changes_sentence_dots_and_address(tab: Page, site: Any) -> None:
    open_page(tab, site)
    sentence = keyed(tab, "epsilon_sentence")
    expect(sentence).to_contain_text("73 in 100")
    slider = keyed(tab, "epsilon", "input[type=range]")
    slider.focus()
    for _ in range(3):
        tab.keyboard.press("ArrowRight")
    expect(sentence).not_to_contain_text("73 in 100")
    expect(sentence).to_contain_text("88 in 100")
    assert tab.locator("[role=img][aria-label*='38 added']").count() == 1
    expect(tab).to_have_url(re.compile("epsilon=2(&|$)"))
    tab.reload()
    expect(keyed(tab, "epsilon_sentence")).to_contain_text("88 in 100")


def test_from_data_to_a_live_run_and_its_brakes(tab: Page, site: Any) -> None:
    open_page(tab, site, "data")
    keyed(tab, "data_train", "button").click()
    tab.wait_for_url("**/train*")
    expect(keyed(tab, "data", "input")).to_have_value("synthetic:group")
    launch(tab, site, LONG)
    waited = wait_for_state(tab, "training", 15)
    assert waited < 10
    keyed(tab, "run_quality", CHART).wait_for()
    before = read_step(tab)
    expect(tab.locator("[data-testid=stMetricValue]").first).to_contain_text("%")
    tab.wait_for_function(
        "before => !document.body.innerText.includes(`step ${before.toLocaleString('en')} of`)", arg=before
    )
    keyed(tab, "do_pause", "button").click()
    wait_for_state(tab, "paused", 15)
    paused = read_step(tab)
    tab.wait_for_timeout(1500)
    assert read_step(tab) == paused
    keyed(tab, "do_resume", "button").click()
    wait_for_state(tab, "training", 15)
    tab.reload()
    wait_for_state(tab, "training", 20)
    assert read_step(tab) >= paused
    expect(tab.locator(".st-key-strip")).to_contain_text("running")
    keyed(tab, "do_stop", "button").click()
    wait_for_state(tab, "stopped by hand", 15)
    expect(keyed(tab, "do_stop", "button")).to_be_disabled()


def test_a_double_click_launches_one_run(tab: Page, site: Any) -> None:
    open_page(tab, site, "train?method=none&expert=True&seed=77&p.epochs=3")
    button = keyed(tab, "launch", "button")
    expect(button).to_be_enabled()
    button.dblclick()
    tab.wait_for_url("**/run?run=*")
    wait_for_state(tab, "finished", 30)
    keyed(tab, "run").click()
    assert tab.get_by_role("option").filter(has_text="seed 77").count() == 1


def test_zoom_stays_through_ten_refreshes_and_the_histogram_shows_its_bound(tab: Page, site: Any) -> None:
    launch(tab, site, f"{LONG}&seed=5")
    keyed(tab, "run_gradient_norm", CHART).wait_for()
    expect(keyed(tab, "run_gradient_norm")).to_contain_text("clipped")
    expect(keyed(tab, "run_gradient_norm")).to_contain_text("C")
    zoomed = zoom(tab)
    steps = {read_step(tab)}
    ends = time.monotonic() + 60
    while len(steps) < 11 and time.monotonic() < ends:
        tab.wait_for_timeout(300)
        steps.add(read_step(tab))
    assert len(steps) >= 11
    assert tab.evaluate(READ_RANGE) == zoomed
    keyed(tab, "do_stop", "button").click()
    wait_for_state(tab, "stopped by hand", 15)


@pytest.mark.parametrize("form", ["png", "svg", "pdf", "html", "csv"])
def test_a_figure_downloads(form: str, tab: Page, site: Any, tmp_path: Path) -> None:
    open_page(tab, site)
    keyed(tab, "start_trade_off", CHART).wait_for()
    keyed(tab, "start_trade_off_save", "button").click()
    with tab.expect_download(timeout=60_000) as waiting:
        keyed(tab, f"start_trade_off_{form}", "button").click()
    path = tmp_path / waiting.value.suggested_filename
    waiting.value.save_as(path)
    starts = {"png": b"\x89PNG", "svg": b"<svg", "pdf": b"%PDF", "html": b"<!doctype html", "csv": b"figure,"}
    assert path.suffix == f".{form}"
    assert path.read_bytes().startswith(starts[form])


@pytest.mark.parametrize(
    ("name", "content", "words"),
    [
        ("empty.csv", b"", "empty.csv is empty"),
        ("photo.csv", b"\x89PNG\r\n\x1a\n" + bytes(range(256)), "photo.csv"),
        ("odd.csv", "name,sex,y\nJosé,f,1\n".encode("latin-1"), "not UTF-8"),
        ("tabs.csv", b"a\tb\n1\t2\n", "tabs"),
    ],
)
def test_a_wrong_file_gives_a_sentence(name: str, content: bytes, words: str, tab: Page, site: Any) -> None:
    open_page(tab, site, "data?source=file")
    upload = FilePayload(name=name, mimeType="text/csv", buffer=content)
    tab.locator("input[type=file]").set_input_files(upload)
    expect(tab.locator("[data-testid=stAlert]").first).to_contain_text(words)
    assert "Traceback" not in tab.locator("body").inner_text()


def test_a_file_above_the_limit_is_refused_with_a_sentence(tab: Page, site: Any, tmp_path: Path) -> None:
    big = tmp_path / "big.csv"
    big.write_bytes(b"a,b\n" + b"1,2\n" * 15_000_000)
    open_page(tab, site, "data?source=file")
    tab.locator("input[type=file]").set_input_files(str(big))
    expect(tab.locator(".stFileUploader")).to_contain_text("50")
    assert "Traceback" not in tab.locator("body").inner_text()


def test_own_file_from_upload_to_a_finished_run(tab: Page, site: Any) -> None:
    lines = [f"{i % 50},{'f' if i % 3 else 'm'},{'high' if (i * 7) % 5 > 2 else 'low'}" for i in range(3000)]
    content = ("hours,sex,income\n" + "\n".join(lines) + "\n").encode()
    open_page(tab, site, "data?source=file")
    upload = FilePayload(name="own.csv", mimeType="text/csv", buffer=content)
    tab.locator("input[type=file]").set_input_files(upload)
    expect(tab.get_by_role("heading", name="Groups of sex")).to_be_visible()
    keyed(tab, "data_train", "button").click()
    tab.wait_for_url("**/train*")
    expect(keyed(tab, "launch", "button")).to_be_enabled()
    keyed(tab, "launch", "button").click()
    wait_for_state(tab, "finished", 60)


def test_two_runs_compared_by_a_link(tab: Page, site: Any, browser: Browser) -> None:
    for address in ("method=none&p.epochs=3&seed=1", "method=f_ld&p.epochs=3&seed=1"):
        launch(tab, site, f"{address}&expert=True")
        wait_for_state(tab, "finished", 60)
    open_page(tab, site, "compare")
    keyed(tab, "overlay_accuracy", CHART).wait_for()
    expect(tab.locator("[data-testid=stDataFrame]")).to_have_count(2)
    tab.get_by_role("button", name="Copy link").click()
    link = tab.locator("[data-testid=stCode]").last.inner_text().strip()
    assert "runs=" in link
    other = browser.new_page()
    other.goto(link)
    keyed(other, "overlay_accuracy", CHART).wait_for()
    assert keyed(other, "runs").inner_text() == keyed(tab, "runs").inner_text()
    other.close()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_nothing_overflows_at_phone_width(scheme: Literal["light", "dark"], site: Any, browser: Browser) -> None:
    context = browser.new_context(viewport={"width": 390, "height": 844}, color_scheme=scheme)
    phone = context.new_page()
    for page in PAGES:
        open_page(phone, site, page)
        phone.wait_for_timeout(1500)
        wide = phone.evaluate("() => document.querySelector('[data-testid=stMain]').scrollWidth")
        assert wide <= 390, page
    context.close()


def test_the_page_survives_a_killed_worker_and_its_run_goes_on(tab: Page, site: Any) -> None:
    launch(tab, site, f"{LONG}&seed=9")
    keyed(tab, "run_quality", CHART).wait_for()
    reached = read_step(tab)
    site.supervisor.kill()
    site.supervisor.wait()
    wait_for_state(tab, "lost", 30)
    assert read_step(tab) >= reached
    expect(keyed(tab, "do_resume", "button")).to_be_enabled()
    site.start_supervisor()
    keyed(tab, "do_resume", "button").click()
    wait_for_state(tab, "training", 30)
    keyed(tab, "do_stop", "button").click()
    wait_for_state(tab, "stopped by hand", 20)
