"""When the script of a chart draws, in a browser whose drawing library and sight are the test's own."""

from __future__ import annotations

from playwright.sync_api import Page

from tests.e2e.conftest import ROOT

PREPARE = """async (script) => {
    window.drawn = []
    window.Plotly = { react: async (host, data) => { host._fullLayout = {}; window.drawn.push(data) } }
    window.IntersectionObserver = class {
        constructor(tell) { window.cross = (...seen) => tell(seen.map((isIntersecting) => ({ isIntersecting }))) }
        observe() {}
    }
    const { default: show } = await import(`data:text/javascript,${encodeURIComponent(script)}`)
    const figure = (data) => ({ data, layout: { height: 100 } })
    window.show = (data) => show({ data: { key: "chart", figure: figure(data) }, parentElement: document.body })
    window.show("first")
}"""


def test_a_chart_is_drawn_by_its_newest_crossing_and_before_it_is_printed(tab: Page) -> None:
    tab.evaluate(PREPARE, (ROOT / "pages/widgets/shared/charts.js").read_text("utf-8"))
    tab.wait_for_function("() => window.cross")
    assert tab.evaluate("() => { cross(true); cross(false); show('second'); return drawn }") == ["first"]
    assert tab.evaluate("() => { cross(false, true); return drawn }") == ["first", "second"]
    assert tab.evaluate("() => { cross(true, false); show('third'); return drawn }") == ["first", "second"]
    printed = tab.evaluate("() => { dispatchEvent(new Event('beforeprint')); return drawn }")
    assert printed == ["first", "second", "third"]
