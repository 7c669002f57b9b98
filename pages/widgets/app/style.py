"""The mark; and what the theme's settings cannot say: figures that line up, less empty space, texts that can be read.

The ground of a shaded region lets the pointer through to the points on it. Why a file was refused stands beside it, and
not under the pointer alone.
"""

from __future__ import annotations

from pathlib import Path

import streamlit as st

from pages.widgets.shared.session import theme_name

#: drawn here, so that no page fetches an icon from elsewhere
ICON = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 32 32"><rect width="32" height="32" rx="7" fill="#2E79B0"/>'
    '<path d="M7 24 L16 8 L25 24 M11 18 H21" fill="none" stroke="#fff" stroke-width="3" stroke-linecap="round"/></svg>'
)
#: the same with the name beside it, in the colour of the page's text
_MARK = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 124 32"><svg width="32" height="32">{icon}</svg>'
    '<text x="42" y="23" font-family="Arial, Helvetica, sans-serif" font-size="20" font-weight="bold" fill="{ink}">'
    "fairpriv</text></svg>"
)
_RULES = Path(__file__).with_suffix(".css").read_text(encoding="utf-8")


def show_style() -> None:
    """Apply the rules. On a dark ground the primary colour is light, so what is written on it is dark."""
    ink = "#14171A" if theme_name() == "dark" else "#FFFFFF"
    st.html(f"<style>.stApp {{ --fairpriv-ink: {ink}; }}\n{_RULES}</style>")


def show_mark() -> None:
    """Draw the name and the mark, left of the menu."""
    st.logo(_MARK.format(icon=ICON, ink="#ECEFF1" if theme_name() == "dark" else "#1F2328"))
