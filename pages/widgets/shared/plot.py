"""A Plotly chart that a refresh redraws in place.

Streamlit 1.67 makes the identity of its own Plotly chart from the chart's whole content, key or not: each refresh would
be another chart, which flickers, loses a person's zoom and breaks off a drag. This component keeps one drawing for one
key. The drawing library is the one that the plotly package brings, served by Streamlit from this machine.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib.resources import files
from pathlib import Path

import streamlit as st
from streamlit.runtime import exists, get_instance

from fairpriv_core.report.draw import CONFIG, Drawing

_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
_NAME = "fairpriv_plot"
_draw = st.components.v2.component(_NAME, js=_SCRIPT, isolate_styles=False)


def show_plot(
    drawing: Drawing,
    key: str,
    *,
    alt: str,
    on_pick: Callable[[str], None] | None = None,
) -> None:
    """Draw the `drawing` (Plotly's JSON) under `key`; `alt` is what a person who does not see it is told.

    `on_pick` is called with the key of a point that was clicked, before the page runs again.
    """
    data = {
        "figure": drawing,
        "alt": alt,
        "config": CONFIG,
        "plotly": st.session_state.get("library") or serve_library(),
        "pick": on_pick is not None,
    }
    if on_pick is None:
        _draw(key=key, data=data)
    else:
        _draw(key=key, data=data, on_picked_change=lambda: _report(key, on_pick))


def _report(key: str, on_pick: Callable[[str], None]) -> None:
    picked = st.session_state[key].get("picked")
    if picked:
        on_pick(str(picked))


def serve_library() -> str:
    """Return the address of the drawing library; the frame asks at each run, which keeps it there for the session."""
    folder = str(st.get_option("server.baseUrlPath") or "").strip("/")
    address = get_instance().media_file_mgr.add(_read_library(), "text/javascript", _NAME) if exists() else ""
    st.session_state["library"] = f"/{folder}{address}" if folder else address
    return str(st.session_state["library"])


@st.cache_resource
def _read_library() -> bytes:
    return files("plotly").joinpath("package_data/plotly.min.js").read_bytes()
