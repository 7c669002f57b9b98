"""Start: what this is, three ways on, and what privacy and fairness cost together in earlier results."""

from __future__ import annotations

import os
from typing import Literal
from urllib.parse import urlsplit

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from fairpriv_core.figures.start import StartResults
from fairpriv_core.methods.catalog import DEFAULT_METHOD
from fairpriv_core.runs.supervisor import SCHEDULER
from fairpriv_core.store.mode import is_demo, is_open
from pages.widgets.shared.epsilon import choose_epsilon, explain_epsilon
from pages.widgets.shared.frame import go_to
from pages.widgets.shared.reference import write_config
from pages.widgets.shared.results import show_results, shown_results
from pages.widgets.shared.sentences import plain
from pages.widgets.shared.state import choose, enter, publish

_TITLE = "Train a classifier that is private and fair, watch it happen, and see what each promise costs."
_HELP = "How much an attacker may learn about one person from everything published. δ is the chance that it fails."
_HERE = (None, "localhost", "127.0.0.1", "::1")
_RESET = {"method": DEFAULT_METHOD, "variant": "proved", "reuse": "new", "cloned": ""}


def show() -> None:
    """Draw the page."""
    enter("start")
    st.title(_TITLE, anchor=False)
    if is_open():  # else the frame says what it is
        place = "this machine" if _is_here() else "machines of whoever serves this page"
        st.markdown(
            f"On your own table or a public one. Everything runs on {place}; a proved ε is one that the code keeps."
        )
    results = shown_results()
    _offer_ways(results)
    left, right = st.columns([3, 7], gap="large")
    with left:
        epsilon = choose_epsilon(help=_HELP, delta=results.delta)
        explain_epsilon(epsilon, results.delta, "attribute", of=results.data["sensitive"])
    with right:
        show_results(results, epsilon)
    publish(("epsilon",))


def _is_here() -> bool:
    """Return whether all that runs does so on the machine of whoever looks."""
    return urlsplit(st.context.url or "").hostname in _HERE and SCHEDULER not in os.environ


def _offer_ways(results: StartResults) -> None:
    """Draw three cards, each a button; a demonstration trains nothing, and only an open dashboard takes files."""
    drag, own, tell = st.container(key="ways").columns(3)
    trains = "." if is_demo() else "; watch it train."
    if _draw_card(drag, "Drag and see", f"Move ε, C_p, C_d and λ{trains}", key="go_train", first=True):
        choose("data", write_config(results.data))
        choose("notion", results.notion)
        for name, usual in _RESET.items():
            choose(name, usual)
        go_to("train")
    stays = "; it stays here." if _is_here() else "."
    takes = f"CSV, Excel or Parquet{stays}" if is_open() else "Install fairpriv for it."
    if _draw_card(own, "Your own data", takes, key="go_own", disabled=not is_open()):
        choose("source", "file")
        go_to("data")
    if _draw_card(tell, "Show it to others", "Five steps for people who decide.", key="go_present"):
        go_to("present")


def _draw_card(
    place: DeltaGenerator, title: str, text: str, *, key: str, first: bool = False, disabled: bool = False
) -> bool:
    """Draw a card, which style.py gives its shape, and return whether it was clicked."""
    kind: Literal["primary", "secondary"] = "primary" if first else "secondary"
    return place.button(
        f"**{plain(title)}** →  \n{plain(text)}", key=key, type=kind, disabled=disabled, width="stretch"
    )


show()
