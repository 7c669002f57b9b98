"""Which pages there are; and that a page stands in the frame of `app.py` also when its address is opened first."""

from __future__ import annotations

import gc
from pathlib import Path

import streamlit as st

from fairpriv_core.store.mode import is_trial
from pages.widgets.shared.sentences import plain

_FOLDER = Path(__file__).resolve().parents[2]
#: file name -> (title, icon of links to it), in the order of the menu; the first one is shown at the root
_PAGES = {
    "start": ("Start", ":material/home:"),
    "data": ("Data", ":material/table:"),
    "train": ("Train", ":material/tune:"),
    "run": ("Run", ":material/monitoring:"),
    "explore": ("Explore", ":material/joystick:"),
    "compare": ("Compare", ":material/compare:"),
    "tradeoffs": ("Trade-offs", ":material/scatter_plot:"),
    "papers": ("Papers", ":material/menu_book:"),
    "leaderboard": ("Leaderboard", ":material/leaderboard:"),
    "audit": ("Audit", ":material/policy:"),
    "present": ("Present", ":material/slideshow:"),
    "report": ("Report", ":material/description:"),
    "learn": ("Learn", ":material/school:"),
}
_NOT_ON_TRIAL = ("data", "tradeoffs", "audit", "report")


def list_pages() -> list[st.Page]:
    """Return the pages of the dashboard; on trial those that take files or much time are not there."""
    return [
        st.Page(_FOLDER / f"{name}.py", title=title, default=name == "start")
        for name, (title, _) in _PAGES.items()
        if is_offered(name)
    ]


def is_offered(name: str) -> bool:
    """Return whether a page is there."""
    return not (is_trial() and name in _NOT_ON_TRIAL)


def mark_framed() -> None:
    """Say, from the frame, that this session has it."""
    st.session_state["framed"] = True


def ask_for_frame() -> None:
    """Start once more where the frame is missing.

    Streamlit takes the files of pages/ for the whole app until `st.navigation` has been called once in the process; a
    link opened before that would show its page bare. A page that runs on its own (a test) is left as it is.
    """
    if "framed" not in st.session_state:
        st.session_state["framed"] = False
        st.navigation(list_pages(), position="hidden")
        st.rerun()


@st.cache_resource(show_spinner=False)
def set_aside(page: str) -> None:
    """Take what the process holds once `page` has been drawn, its modules above all, out of garbage collection.

    Streamlit collects after each run of a script, every second for each open run; through all modules that takes 50 ms.
    """
    gc.collect()
    gc.freeze()


def link_to(name: str, label: str) -> None:
    """Draw a link to the page called `name`, where it is there; a page that stands alone has nowhere to link to."""
    if not is_offered(name):
        return
    title, icon = _PAGES[name]
    if st.session_state.get("framed"):
        st.page_link(f"pages/{name}.py", label=label, icon=icon)
    else:
        st.caption(f"{plain(label)}: on the page {plain(title)}.")


def go_to(name: str, **address: str | list[str]) -> None:
    """Go to the page called `name`; a page that stands on its own stays."""
    if st.session_state.get("framed"):
        st.switch_page(f"pages/{name}.py", query_params=address)
