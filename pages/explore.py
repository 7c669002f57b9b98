"""Explore: sliders beside one chart, whose point moves with them."""

from __future__ import annotations

import streamlit as st

from fairpriv_core.methods.catalog import methods
from pages.widgets.explore.explore import show_explore
from pages.widgets.shared.access import find_store
from pages.widgets.shared.state import enter, publish, value
from pages.widgets.train.form import list_choices

_PUBLISHED = ("data", "notion", "method", "epsilon", "delta", "seed", "gap", "set_lambda", "reuse", "wish_accuracy")


def show() -> None:
    """Draw the page."""
    enter("explore")
    st.title("Explore", anchor=False)
    store = find_store()
    if store is not None:
        show_explore(store)
    publish((*_PUBLISHED, *list_choices(methods()[value("method")])))


show()
