"""The right half of Train: what the settings on screen will cost, and the button that launches exactly those."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.runs.config import RunConfig, build_config
from fairpriv_core.runs.store import RunStore
from pages.widgets.clipping import show_clipping
from pages.widgets.costs import say_duration, show_costs, warn_of_delta
from pages.widgets.frame import go_to
from pages.widgets.guard import attempt
from pages.widgets.plan import Plan, make_plan
from pages.widgets.session import find_store
from pages.widgets.state import choose

_GOING_ON = ("queued", "running", "paused", "finished")


def show_plan(raw: Mapping[str, Any], dataset: Dataset, slots: Mapping[str, Any]) -> None:
    """Draw the plan of the config `raw`; what is wrong with it stands at its field, and nothing can be launched."""
    config = attempt(lambda: build_config(raw), slots=slots)
    plan = None if config is None else attempt(lambda: make_plan(config, dataset), slots=slots)
    if config is None or plan is None:
        st.button("Launch", key="launch", type="primary", disabled=True, icon=":material/rocket_launch:")
        st.caption("Correct what is marked, then launch.")
        return
    with slots.get("delta", st.container()):
        warn_of_delta(config, plan)
    store = find_store()
    if store is not None:
        _offer_launch(store, config, plan)
    show_costs(config, plan)
    if store is not None:
        show_clipping(store, config, plan)


def _offer_launch(store: RunStore, config: RunConfig, plan: Plan) -> None:
    known = attempt(lambda: store.find(config.key))
    if st.button("Launch", key="launch", type="primary", icon=":material/rocket_launch:"):
        row = attempt(lambda: store.submit(config))
        if row is not None:
            choose("run", row.key)
            go_to("run", run=row.key)
    say_duration(config, plan, attempt(lambda: store.rows(limit=50)) or [])
    if known is not None and known.status in _GOING_ON:
        st.caption(f"These very settings have a run already ({known.status}): Launch opens it, and nothing runs twice.")
