"""A figure on the page: drawn in the person's theme, with its caption, its text alternative and its downloads.

Streamlit 1.67 makes the identity of its own Plotly chart from the chart's whole content, key or not: each refresh would
be another chart, which flickers, loses a person's zoom and breaks off a drag. The component here keeps one drawing for
one key. The drawing library is the one that the plotly package brings, served by Streamlit from this machine.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from dataclasses import asdict, dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any

import streamlit as st
from streamlit.runtime import exists, get_instance
from streamlit.runtime.scriptrunner import add_script_run_ctx, get_script_run_ctx

from fairpriv_core.data.problem import DataJson
from fairpriv_core.figures.draw import CONFIG, Drawing, draw
from fairpriv_core.figures.figure import FigureData, Region
from fairpriv_core.figures.origin import find_origin
from fairpriv_core.records.source import find_answers, is_published
from pages.widgets.shared.saving import offer_downloads
from pages.widgets.shared.sentences import plain
from pages.widgets.shared.session import theme_name

_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
_NAME = "fairpriv_plot"
_HEADED = 572  # pixels: with its heading and its legend such a figure is in sight
_SMALL = (360, 220)  # pixels
_draw = st.components.v2.component(_NAME, js=_SCRIPT, isolate_styles=False)


@dataclass(frozen=True)
class Glide:
    """How one point follows sliders while they are moved.

    `name` is that of its series. `places` has for each slider, by the class of its widget, and each value that its
    entry can have: x with the ends of its whisker, and y with its own, as drawn.
    """

    name: str
    places: Mapping[str, Mapping[str, tuple[float, ...]]]


def show_plot(
    drawing: Drawing,
    key: str,
    *,
    alt: str,
    on_pick: Callable[[str], None] | None = None,
    on_drag: Callable[[Mapping[str, Any]], None] | None = None,
    glide: Glide | None = None,
) -> None:
    """Draw the `drawing` (Plotly's JSON) under `key`; `alt` is what a person who does not see it is told.

    A trace follows sliders as `glide` says. Before the page runs again `on_pick` is called with the key of a point that
    was clicked, and `on_drag` with the edge of a region that was dragged: "region", "axis", "end" (0 or 1) and the
    "value" where it is now.
    """
    data = {
        "key": key,
        "figure": drawing,
        "alt": alt,
        "config": CONFIG,
        "plotly": _address_library(),
        "pick": on_pick is not None,
        "drag": on_drag is not None,
        "glide": None if glide is None else asdict(glide),
    }
    options: dict[str, Any] = {}
    if on_pick is not None:
        options["on_picked_change"] = lambda: _report(key, "picked", lambda is_told: on_pick(str(is_told)))
    if on_drag is not None:
        options["on_dragged_change"] = lambda: _report(key, "dragged", on_drag)
    _draw(key=key, data=data, height=int(drawing["layout"]["height"]), **options)  # its place is held until it is drawn


def _report(key: str, what: str, tell: Callable[[Any], None]) -> None:
    event = st.session_state[key].get(what)
    if event:
        tell(event)


def _address_library() -> str:
    """Return the address of the drawing library, as a browser asks for it."""
    folder = str(st.get_option("server.baseUrlPath") or "").strip("/")
    address = _serve_library() if exists() else ""
    return f"/{folder}{address}" if folder else address


@st.cache_resource
def _serve_library() -> str:
    """Serve the drawing library for as long as the pages are, and return where.

    In the name of no person's session: Streamlit drops a session's files while its script begins anew, and whoever asks
    for them then gets none.
    """
    library = files("plotly").joinpath("package_data/plotly.min.js").read_bytes()
    nobody = copy(get_script_run_ctx())
    assert nobody is not None
    nobody.session_id = _NAME
    with ThreadPoolExecutor(1, initializer=lambda: add_script_run_ctx(ctx=nobody)) as executor:
        return str(executor.submit(get_instance().media_file_mgr.add, library, "text/javascript", _NAME).result())


def show_figure(
    figure: FigureData,
    key: str,
    *,
    in_set: bool = False,
    headed: bool = False,
    small: bool = False,
    cited: Sequence[str] = (),
    on_pick: Callable[[str], None] | None = None,
    on_drag: Callable[[Region], None] | None = None,
    glide: Glide | None = None,
) -> None:
    """Draw `figure` under `key`, and below it its caption and downloads; zoom stays while the key does.

    `in_set`: the page says once what holds for several figures, so that here stands what is of this one alone; what
    is downloaded has the whole caption. `headed`: the title is a sentence, and stands above the figure as text.
    `small`: one of several in a frame, with neither caption nor downloads. `cited`: works whose BibTeX stands beside.
    `on_pick` is called with what a clicked point stands for, by the `keys` of its series; `on_drag` with a region that
    was moved, as it is now. A point follows sliders as `glide` says.
    """

    def tell(edge: Mapping[str, Any]) -> None:
        if on_drag is not None and int(edge["region"]) < len(figure.regions):
            on_drag(_move(figure.regions[int(edge["region"])], edge))

    drag = None if on_drag is None or not figure.regions else tell
    if headed:
        st.markdown(f"**{plain(figure.title)}**")
    picture, height = (replace(figure, title=""), _HEADED) if headed else (figure, None)
    size = {"width": _SMALL[0], "height": _SMALL[1]} if small else {"height": height}
    show_plot(
        draw(picture, theme=theme_name(), **size), key, alt=figure.alt, on_pick=on_pick, on_drag=drag, glide=glide
    )
    if small:
        return
    with st.container(horizontal=True, vertical_alignment="top"):
        with st.container(width="stretch"):  # leaves room beside it, however long the words
            st.caption(plain(figure.own if in_set else _format_text(figure)))
        offer_downloads(figure, key, cited=cited)


def _format_text(figure: FigureData) -> str:
    """Return the text below a figure; where its rows are public, with what holds for a person's own."""
    return f"{figure.text}{figure.origin.aside}"


def show_origin(data: DataJson, *, is_told: bool = False) -> None:
    """Say whose numbers the figures below are, of a config's `data`: that everybody has them, or that they are raw.

    `is_told`: a headline says already that everybody has them.
    """
    if find_answers(data) is not None:
        return  # beside randomised answers no number is raw
    if not is_published(data):
        mark_raw()
    elif not is_told:
        st.caption(plain(find_origin([data]).text))


def mark_raw() -> None:
    """Say that numbers on the page are raw."""
    st.badge("raw: for the analyst, do not publish", color="orange", icon=":material/visibility_lock:")


def _move(region: Region, edge: Mapping[str, Any]) -> Region:
    """Return a region with one edge where it was dragged to."""
    low, high = region.y if edge["axis"] == "y" else region.x
    moved = (float(edge["value"]), high) if int(edge["end"]) == 0 else (low, float(edge["value"]))
    return replace(region, y=moved) if edge["axis"] == "y" else replace(region, x=moved)
