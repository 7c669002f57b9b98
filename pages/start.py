"""Start: what this is, three ways on, and what privacy and fairness cost together in earlier results."""

from __future__ import annotations

import os
from typing import Literal
from urllib.parse import urlsplit

import streamlit as st
from streamlit.delta_generator import DeltaGenerator

from fairpriv_core.figures.start import StartResults, draw_costs, format_settings, read_start_results
from fairpriv_core.methods.catalog import DEFAULT_METHOD
from fairpriv_core.runs.supervisor import SCHEDULER
from fairpriv_core.store.mode import is_demo, is_open
from pages.widgets.shared.charts import show_figure
from pages.widgets.shared.epsilon import choose_epsilon, explain_epsilon
from pages.widgets.shared.frame import go_to
from pages.widgets.shared.reference import write_config
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
    results = _read_results()
    _offer_ways(results)
    left, right = st.columns([3, 7], gap="large")
    with left:
        epsilon = choose_epsilon(help=_HELP, delta=results.delta)
        explain_epsilon(epsilon, results.delta, "attribute", of=results.data["sensitive"])
    with right:
        _show_results(results, epsilon)
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


@st.cache_data
def _read_results() -> StartResults:
    """Return the committed results."""
    return read_start_results()


def _show_results(results: StartResults, epsilon: float) -> None:
    """Draw what privacy and fairness cost, with the budget `epsilon` marked, and what makes the results again."""
    show_figure(draw_costs(results, epsilon), "start_trade_off", headed=True)
    with st.expander("How these results were made", key="start_made"):
        st.markdown(
            f"{len(results.outcomes)} runs of this software on {plain(results.made)}, with seeds "
            f"{', '.join(f'{seed:d}' for seed in sorted({run.seed for run in results.outcomes}))}. "
            "This makes the file again:"
        )
        st.code(results.command, language="sh")
        differing = format_settings(results).items()
        st.markdown("\n".join(f"- **{plain(title)}**: {plain(settings)}" for title, settings in differing))


show()
