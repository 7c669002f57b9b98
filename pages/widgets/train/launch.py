"""The right half of Train: what the settings on screen will cost, and Launch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import streamlit as st

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.ledger.paid_schema import settle_schema
from fairpriv_core.records.config import RunConfig, build_config
from fairpriv_core.records.record import RAW
from fairpriv_core.store.runs import GOING_ON, RunStore
from pages.widgets.shared.access import find_store
from pages.widgets.shared.frame import go_to
from pages.widgets.shared.heights import find_closed
from pages.widgets.shared.sentences import attempt, plain
from pages.widgets.shared.session import identify_file
from pages.widgets.shared.state import choose
from pages.widgets.train.clipping import show_clipping
from pages.widgets.train.costs import (
    say_duration,
    show_costs,
    show_effect,
    warn_of_delta,
    warn_of_idling,
    warn_of_noise,
)
from pages.widgets.train.plan import Plan, make_plan


def offer_launch(store: RunStore, config: RunConfig, plan: Plan) -> bool:
    """Draw the button; return whether these settings have a run already, which it opens."""
    known = attempt(lambda: store.find(config.key))
    idle = not store.database.writable
    if st.button("Launch", key="launch", type="primary", icon=":material/rocket_launch:", disabled=idle):
        row = attempt(lambda: store.submit(settle_schema(store, config)))
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


def show_plan(raw: Mapping[str, Any], dataset: Dataset, slots: Mapping[str, Any]) -> None:
    """Draw the plan of the config `raw`; what is wrong with it stands at its field, and nothing can be launched."""
    store = find_store()
    config = attempt(lambda: _build(raw, store), slots=slots)
    plan = None if config is None else attempt(lambda: _plan(config, dataset, store), slots=slots)
    if config is None or plan is None:
        st.button("Launch", key="launch", type="primary", disabled=True, icon=":material/rocket_launch:")
        st.caption("Correct what is marked, then launch.")
        return
    with slots.get("delta", st.container()):
        warn_of_delta(config, plan)
    with slots.get("gap_target", st.container()):
        _say_closed(store, config)
    warn_of_idling(plan)
    warn_of_noise(config, plan)
    if store is not None:
        known = offer_launch(store, config, plan)
        show_effect(store, config, plan, dataset, runs_already=known)
    show_costs(config, plan)
    if store is not None:
        show_clipping(store, config, plan)


def _say_closed(store: RunStore | None, config: RunConfig) -> None:
    """Say under the gap that is accepted that plain training has no larger one, where a run has shown it."""
    pursues = config.method.info.pursues_notion
    closed = find_closed(store, config.to_json()) if store is not None and pursues else None
    if closed is not None:
        st.info(plain(closed), icon=":material/equal:")
        st.caption(RAW)


def _build(raw: Mapping[str, Any], store: RunStore | None) -> RunConfig:
    config = build_config(raw)
    return config if store is None else replace(config, file_id=identify_file(config.data.file, store))


def _plan(config: RunConfig, dataset: Dataset, store: RunStore | None) -> Plan:
    source = None if config.reuse is None or store is None else store.source(config.reuse)
    return make_plan(config, dataset, source)
