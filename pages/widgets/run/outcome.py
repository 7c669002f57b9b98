"""What a run that has ended leaves: its groups, its caveats, its record, config and model to take away."""

from __future__ import annotations

import streamlit as st

from fairpriv_core.methods.catalog import methods
from fairpriv_core.records.record import RunRecord, accuracy_is_public
from fairpriv_core.report.wording import caveats, raw_text
from fairpriv_core.runs.certificate import describe_certificates
from fairpriv_core.store.rows import RunRow
from fairpriv_core.store.runs import RunStore
from pages.widgets.run.fairness import show_fairness
from pages.widgets.run.takeaway import offer_files
from pages.widgets.shared.guard import plain


def show_outcome(store: RunStore, row: RunRow, record: RunRecord) -> None:
    """Draw the groups' rates, what must be said with the numbers, and the downloads."""
    show_fairness(record)
    certified = describe_certificates(record)
    if certified:
        with st.expander("What the run certifies of its gap", expanded=True, key="run_certificates"):
            for name, sentence in certified:
                st.markdown(f"- **{plain(name)}** · {plain(sentence)}")
    with st.expander("What must be said with these numbers", key="run_caveats"):
        for said in caveats(record.to_json(), say_raw(record)):
            st.markdown(f"- {plain(said)}")
    with st.container(horizontal=True, key="run_files"):
        offer_files(store, row, record)


def say_raw(record: RunRecord) -> str:
    """Return what must be said with a run's accuracy and gap."""
    looks = methods()[record.config["method"]["name"]].info.needs_group_at_prediction
    return raw_text(public_accuracy=accuracy_is_public(record.to_json(), looks=looks))
