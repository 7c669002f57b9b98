"""Another page begins at its top: Streamlit leaves a person as far down as the page before it was read."""

from __future__ import annotations

import streamlit as st

_SCRIPT = """export default function ({ data }) {
  const isAnother = window.fairprivPage !== undefined && window.fairprivPage !== data.page
  window.fairprivPage = data.page
  if (isAnother) document.querySelector("[data-testid=stMain]").scrollTo(0, 0)
}"""
_follow = st.components.v2.component("fairpriv_top", js=_SCRIPT, isolate_styles=False)


def begin_at_top(page: str) -> None:
    """Show the page called `page` from its top, once each time it is opened; the rules of style.py hide this part."""
    _follow(key="top", data={"page": page}, height=1)
