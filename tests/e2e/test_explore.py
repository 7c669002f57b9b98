"""Explore in a browser: a slider moves the point, an edge drags what is wanted, and a point is kept."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import Locator, Page, expect

from tests.e2e.steps import keyed, nudge, open_page, settle

ADDRESS = "explore?data=synthetic:group&method=one_release&p.epochs=3"
_EDGE = """host => {
    const { shapes, xaxis, yaxis, _size } = host._fullLayout, box = host.getBoundingClientRect()
    const edge = shapes.find(one => one.name === "edge 0 x 1")
    return [box.left + _size.l + xaxis.d2p(edge.x0), box.top + _size.t + yaxis.d2p((edge.y0 + edge.y1) / 2)]
}"""

_GAP = "host => host._fullLayout.shapes.find(one => one.name === 'edge 0 x 1').x0"

_POINT = "host => host.data.find(trace => trace.name === host.glide.name).y[0]"


def test_a_slider_moves_the_point_an_edge_is_dragged_and_a_point_is_kept(tab: Page, site: Any) -> None:
    open_page(tab, site, f"{ADDRESS}&seed=77")  # a seed of its own, which has no release yet
    expect(tab).to_have_url(re.compile(r"p\.epochs=3.*seed=77|seed=77.*p\.epochs=3"))
    slider = keyed(tab, "epsilon", "input[type=range]")
    slider.focus()
    expect(keyed(tab, "reuse", "label").first).to_be_visible()
    expect(slider).to_be_focused()
    release, moved = keyed(tab, "reuse", "label").first.bounding_box(), slider.bounding_box()
    assert release is not None and moved is not None and release["y"] > moved["y"], "a release stands below the slider"
    chart = keyed(tab, "explore_chart", ".fairpriv-plot")
    # until its point is there, one that was explored before may stand for it
    expect(chart).to_have_attribute("aria-label", re.compile("OneRelease, ε = 1"))
    nudge(tab, "epsilon")
    expect(chart).to_have_attribute("aria-label", re.compile(r"OneRelease, ε = 1\.2: accuracy"))
    expect(keyed(tab, "explore_groups", ".fairpriv-plot")).to_be_visible()
    drag_edge(tab, chart)
    keep = keyed(tab, "explore_keep", "button")
    expect(keep).to_be_enabled()
    keep.click()
    expect(tab.get_by_text("it is now in your list of runs")).to_be_visible()
    expect(keep).to_be_disabled()


def test_the_point_follows_a_slider_that_is_held(tab: Page, site: Any) -> None:
    open_page(tab, site, "explore?data=adult:sex")
    chart = keyed(tab, "explore_chart", ".fairpriv-plot")
    expect(chart).to_have_attribute("aria-label", re.compile("PF-LD, ε = 1:"))
    chart.locator(".modebar-btn").first.wait_for(state="attached")
    settle(tab)
    thumb = keyed(tab, "epsilon", "[data-rac]:has(> * > input[type=range])").bounding_box()
    assert thumb is not None
    x, y = thumb["x"] + thumb["width"] / 2, thumb["y"] + thumb["height"] / 2
    before = chart.evaluate(_POINT)
    tab.mouse.move(x, y)
    tab.mouse.down()
    tab.mouse.move(x + 60, y, steps=6)
    tab.wait_for_function(f"([host, before]) => ({_POINT})(host) !== before", arg=[chart.element_handle(), before])
    held = chart.evaluate(_POINT)
    expect(chart).to_have_attribute("aria-label", re.compile("PF-LD, ε = 1:"))  # the page has not been drawn anew
    tab.mouse.up()
    expect(chart).not_to_have_attribute("aria-label", re.compile("PF-LD, ε = 1:"))
    settle(tab)
    assert chart.evaluate(_POINT) == held


def drag_edge(tab: Page, chart: Locator) -> None:
    """Drag the edge of what is wanted; the page takes it over, and says so below it."""
    settle(tab)
    x, y = chart.evaluate(_EDGE)
    before, said = chart.evaluate(_GAP), tab.get_by_text("Shaded: accuracy of at least")
    shaded = said.inner_text()
    tab.mouse.move(x, y)
    tab.mouse.down()
    tab.mouse.move(x + 20, y, steps=4)
    tab.mouse.move(x + 60, y, steps=6)
    tab.mouse.up()
    expect(said).not_to_have_text(shaded)
    settle(tab)
    assert chart.evaluate(_GAP) > before + 0.1, "the page puts it back"
