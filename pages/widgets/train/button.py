"""The button that launches exactly what is on screen; clicking it twice gives one run."""

from __future__ import annotations

import streamlit as st

from fairpriv_core.records.config import RunConfig
from fairpriv_core.store.runs import GOING_ON, RunStore
from pages.widgets.shared.frame import go_to
from pages.widgets.shared.guard import attempt, plain
from pages.widgets.shared.state import choose
from pages.widgets.train.costs import say_duration
from pages.widgets.train.plan import Plan


def offer_launch(store: RunStore, config: RunConfig, plan: Plan) -> bool:
    """Draw the button; return whether these settings have a run already, which it opens."""
    known = attempt(lambda: store.find(config.key))
    idle = not store.database.writable
    if st.button("Launch", key="launch", type="primary", icon=":material/rocket_launch:", disabled=idle):
        row = attempt(lambda: store.submit(config))
        if row is not None:
            choose("run", row.key)
            go_to("run", run=row.key)
    say_duration(config, plan, attempt(lambda: store.rows(limit=50)) or [])
    if known is None or known.status not in GOING_ON:
        return False
    st.caption(
        f"These very settings have a run already ({plain(known.status)}): Launch opens it, and nothing runs twice."
    )
    return True
