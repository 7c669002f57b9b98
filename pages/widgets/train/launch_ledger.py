"""What a launch would add to the ledger of the data that it trains on."""

from __future__ import annotations

import streamlit as st

from fairpriv_core.data.dataset import Dataset
from fairpriv_core.ledger.launch import foresee_launch
from fairpriv_core.privacy.ledger import Entry
from fairpriv_core.records.config import RunConfig
from fairpriv_core.records.ledger_entry import identify_data, post_record
from fairpriv_core.records.record import list_columns, list_sensitive_columns
from fairpriv_core.store.runs import RunStore
from pages.widgets.shared.guard import attempt
from pages.widgets.shared.ledger import HELP, call_people, find_page, list_effects
from pages.widgets.train.plan import Plan


def show_effect(store: RunStore, config: RunConfig, plan: Plan, dataset: Dataset, *, runs_already: bool) -> None:
    """Draw the ledger of the data that is about to be trained on; with what a launch adds unless it has run."""
    asked = config.to_json()
    launch = None if runs_already else _read_plan(config, plan, dataset)
    page = attempt(lambda: find_page(store, identify_data(asked["data"], config.file_id)))
    if page is None:
        return
    effects = foresee_launch(page, launch, delta=config.delta)
    with st.container(border=True, key="ledger"):
        st.markdown(f"**Ledger** of {call_people(asked['data'])}, at δ = {config.delta:g}", help=HELP)
        list_effects(effects, launched=launch is not None)


def _read_plan(config: RunConfig, plan: Plan, dataset: Dataset) -> Entry:
    """Return what the run would be in the ledger, from its plan."""
    planned = {
        "key": "of this launch",
        "config": config.to_json(),
        "notes": plan.notes,
        "threat_model": plan.method.info.threat_model,
        "event": plan.releases,
        "epsilon": plan.epsilon[-1] if plan.epsilon else None,
        "epsilon_reason": plan.unproved,
        "data": {"columns": list_columns(dataset), "sensitive_columns": list_sensitive_columns(dataset)},
    }
    return post_record(planned).entry
