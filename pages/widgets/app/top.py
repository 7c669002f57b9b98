"""A page is drawn in its style, begins at its top, and is one step of the browser's history.

Streamlit leaves a person as far down as the page before it was read. It also takes the address of a page and the
choices that the page then writes into it for two steps: Back would lead to the same page.
"""

from __future__ import annotations

import time
from pathlib import Path

import streamlit as st

_STYLE_SECONDS = 10.0  # patience with a browser that does not say that it has the rules of style.py

_SCRIPT = Path(__file__).with_suffix(".js").read_text(encoding="utf-8")
_follow = st.components.v2.component("fairpriv_top", js=_SCRIPT, isolate_styles=False)


def begin_at_top(page: str) -> None:
    """Show the page called `page` from its top, once each time it is opened; the rules of style.py hide this part."""
    styled = bool(st.session_state.get("styled"))
    part = _follow(key="top", data={"page": page, "styled": styled}, height=1, on_styled_change=lambda: None)
    st.session_state["styled"] = styled or bool(part.styled)


def wait_for_style(page: str) -> None:
    """Once a session wait until the browser has the rules of style.py, with the heading of `page` alone in its place.

    What is drawn before the rules would move when they come. The browser's answer begins the script anew.
    """
    if st.session_state["styled"]:
        return
    heading = st.empty()
    if page != "Start":  # whose heading is a sentence of its own
        heading.title(page, anchor=False)
    place, until = st.empty(), time.monotonic() + _STYLE_SECONDS
    while time.monotonic() < until:
        time.sleep(0.02)
        place.empty()  # lets an answer in
    heading.empty()  # the page draws its own
    st.session_state["styled"] = True
