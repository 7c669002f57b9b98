"""The dashboard's frame: which pages there are, and the strip that every page carries."""

from __future__ import annotations

import streamlit as st

from pages.widgets.strip import show_strip
from pages.widgets.style import ICON, show_style

st.set_page_config(page_title="fairpriv", page_icon=ICON, layout="wide")
show_style()
page = st.navigation(
    [
        st.Page("pages/start.py", title="Start", icon=":material/home:", default=True),
        st.Page("pages/data.py", title="Data", icon=":material/table:"),
        st.Page("pages/train.py", title="Train", icon=":material/tune:"),
        st.Page("pages/run.py", title="Run", icon=":material/monitoring:"),
        st.Page("pages/compare.py", title="Compare", icon=":material/compare:"),
    ],
    position="top",
)
strip = st.container(key="strip")
page.run()
with strip:
    show_strip(page.title)
