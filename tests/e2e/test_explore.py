"""Explore in a browser: a slider moves the point, an edge drags what is wanted, and a point is kept."""

from __future__ import annotations

import re
from typing import Any

from playwright.sync_api import Page, expect

from tests.e2e.steps import keyed, nudge, open_page

_SECONDS = 90_000.0
_EDGE = """host => {
    const { shapes, xaxis, yaxis, _size } = host._fullLayout, box = host.getBoundingClientRect()
    const edge = shapes.find(one => one.name === "edge 0 x 1")
    return [box.left + _size.l + xaxis.d2p(edge.x0), box.top + _size.t + yaxis.d2p((edge.y0 + edge.y1) / 2)]
}"""

_GAP = "host => host._fullLayout.shapes.find(one => one.name === 'edge 0 x 1').x0"


def test_a_move_trains_in_the_background_and_a_point_can_be_kept(tab: Page, site: Any) -> None:
    errors: list[str] = []
    tab.on("pageerror", lambda error: errors.append(str(error)))
    open_page(tab, site, "tradeoffs?view=explore&data=synthetic:group&method=one_release&p.epochs=3")
    chart = keyed(tab, "explore_chart", ".fairpriv-plot")
    expect(chart).to_be_visible(timeout=_SECONDS)
    # until its point is there, one that was explored before may stand for it
    expect(chart).to_have_attribute("aria-label", re.compile("OneRelease, ε = 1"), timeout=_SECONDS)
    nudge(tab, "epsilon")
    expect(chart).to_have_attribute("aria-label", re.compile(r"OneRelease, ε = 1\.2: accuracy"), timeout=_SECONDS)
    expect(keyed(tab, "explore_groups", ".fairpriv-plot")).to_be_visible()
    keep = keyed(tab, "explore_keep", "button")
    expect(keep).to_be_enabled()
    keep.click()
    expect(tab.get_by_text("it is among your runs now")).to_be_visible()
    expect(keep).to_be_disabled()
    assert errors == []


def test_a_slider_keeps_its_place_and_the_keyboard_as_the_first_point_brings_a_release_to_use(
    tab: Page, site: Any
) -> None:
    address = "tradeoffs?view=explore&data=synthetic:group&method=one_release&p.epochs=3&seed=77"
    open_page(tab, site, address)  # a seed of its own, which has no release yet
    expect(tab).to_have_url(re.compile(r"p\.epochs=3.*seed=77|seed=77.*p\.epochs=3"))
    slider = keyed(tab, "epsilon", "input[type=range]")
    slider.focus()
    expect(keyed(tab, "reuse", "label").first).to_be_visible(timeout=_SECONDS)
    expect(slider).to_be_focused()
    release, moved = keyed(tab, "reuse", "label").first.bounding_box(), slider.bounding_box()
    assert release is not None and moved is not None and release["y"] > moved["y"]


def test_the_edge_of_what_is_wanted_drags(tab: Page, site: Any) -> None:
    open_page(tab, site, "tradeoffs?view=explore&data=synthetic:group&method=one_release&p.epochs=3")
    chart = keyed(tab, "explore_chart", ".fairpriv-plot")
    expect(chart).to_be_visible(timeout=_SECONDS)
    tab.wait_for_timeout(1500)  # the drawing has no end that could be waited for
    x, y = chart.evaluate(_EDGE)
    before = chart.evaluate(_GAP)
    tab.mouse.move(x, y)
    tab.mouse.down()
    tab.mouse.move(x + 20, y, steps=4)
    tab.mouse.move(x + 60, y, steps=6)
    tab.mouse.up()
    tab.wait_for_timeout(3000)  # long enough for the page to put it back, were it not taken
    assert chart.evaluate(_GAP) > before + 0.1
