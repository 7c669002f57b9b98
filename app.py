"""The dashboard's frame: who may enter, the pages, and the strip that every page carries."""

from __future__ import annotations

import streamlit as st

from fairpriv_core.runs.beside import train_beside
from pages.widgets.app.strip import hold_strip, show_strip
from pages.widgets.app.style import ICON, show_mark, show_style
from pages.widgets.app.top import begin_at_top, wait_for_style
from pages.widgets.shared.access import wait_for_store
from pages.widgets.shared.demo import show_banner
from pages.widgets.shared.frame import list_pages, mark_framed, set_aside
from pages.widgets.shared.person import admit

st.set_page_config(page_icon=ICON, layout="wide")
train_beside()
mark_framed()
show_style()
show_mark()
if not admit():
    st.set_page_config(page_title="fairpriv")
    st.navigation(list_pages(), position="hidden")
    st.stop()
page = st.navigation(list_pages(), position="top")
begin_at_top(page.title)
st.set_page_config(page_title=f"{page.title} · fairpriv")
with st.container(key="page", height=1, border=False):  # the rules of style.py open it
    strip = hold_strip(page.title)
    wait_for_style(page.title)
    show_banner()
    page.run()
    show_strip(page.title, *strip)
set_aside(page.title)
wait_for_store()
