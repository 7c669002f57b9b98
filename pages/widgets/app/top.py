"""A page is drawn in its style, begins at its top, and is one step of the browser's history.

Streamlit leaves a person as far down as the page before it was read. It also takes the address of a page and the
choices that the page then writes into it for two steps: Back would lead to the same page.
"""

from __future__ import annotations

import time

import streamlit as st

_STYLE_SECONDS = 10.0  # patience with a browser that does not say that it has the rules of style.py

_SCRIPT = """function makeOneStep() {
  const push = history.pushState.bind(history)
  let untouched = true, chose = false // since the last press: whether a page is new, and whether a choice made a step
  for (const kind of ["pointerdown", "keydown"])
    addEventListener(kind, () => { untouched = chose = false }, { capture: true, passive: true })
  history.pushState = (state, title, url) => {
    const isAnother = new URL(url, location.href).pathname !== location.pathname
    // a page that comes may write its choices while the address is still that of the one before: one press, one step
    if (isAnother ? chose : untouched) history.replaceState(state, title, url)
    else push(state, title, url)
    chose = !isAnother && !untouched
    untouched ||= isAnother
  }
}

function sayWhenStyled(setStateValue) {
  const style = getComputedStyle(document.querySelector("[data-testid=stApp]"))
  if (style.getPropertyValue("--fairpriv-styled")) setStateValue("styled", true)
  else requestAnimationFrame(() => sayWhenStyled(setStateValue))
}

export default function ({ data, setStateValue }) {
  if (!data.styled) sayWhenStyled(setStateValue)
  if (window.fairprivPage === undefined) makeOneStep()
  const isAnother = window.fairprivPage !== undefined && window.fairprivPage !== data.page
  window.fairprivPage = data.page
  if (isAnother) document.querySelector("[data-testid=stMain]").scrollTo(0, 0)
}"""
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
