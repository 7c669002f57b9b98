"""Choosing one of the compared runs to publish, and what epsilon that leaves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import streamlit as st

from fairpriv_core.ledger.selection import WAYS, Wish, select_run
from fairpriv_core.report.tables import TableRow
from fairpriv_core.report.wording import metric_title
from fairpriv_core.store.runs import RunStore
from fairpriv_core.text import delta_text, epsilon_text
from pages.widgets.shared.guard import attempt, plain

_TITLES = {
    "released": "By what has been released: costs nothing more",
    "noisy": "By gaps with noise: paid for",
    "raw": "By raw gaps: no ε is proved for the chosen run",
}
_TAKEN = "From then on neither the chosen run nor this data set's ledger has a proved ε. This cannot be undone."


def offer_choice(store: RunStore, rows: Sequence[TableRow]) -> None:
    """Draw the ways to choose the run with the smallest gap among `rows` (all their seeds), and the choice made."""
    keys = [key for row in rows for key in row.keys]
    with st.expander("Choose one of these to publish", key="choice"):
        st.caption(
            "Which run has the smallest gap is itself told by protected data. Publishing the one chosen by raw "
            "numbers gives that away; by numbers that were released or paid for it does not."
        )
        by = st.radio("Smallest gap", WAYS, key="choice_by", format_func=_TITLES.__getitem__)
        price, ready = None, True
        if by == "noisy":
            price = st.number_input("Price ε of the choice", value=0.5, step=None, format="%.4g", key="choice_epsilon")
        if by == "raw":
            ready = st.checkbox(_TAKEN, key="choice_sure")
        if st.button(
            "Choose", key="choose", disabled=not ready or not store.database.writable, icon=":material/how_to_reg:"
        ):
            found = attempt(lambda: select_run(store, keys, Wish(by, epsilon=price)))
            if found is not None:
                _say(found)


def _say(found: dict[str, Any]) -> None:
    metric = metric_title(found["request"]["metric"]).lower()
    chosen = f"**{plain(found['selected'])}** has the smallest {plain(metric)} of {len(found['candidates'])} runs."
    if found["epsilon"] is None:
        st.warning(f"{chosen} No ε is proved for it: {plain(found['epsilon_reason'])}", icon=":material/warning:")
        return
    cost = f"ε = {epsilon_text(found['epsilon'])} (δ = {delta_text(found['delta'])})"
    st.info(f"{chosen} {cost}, proved: it covers all candidates and the choice.", icon=":material/how_to_reg:")
