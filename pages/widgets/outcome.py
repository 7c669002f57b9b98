"""What a run that has ended leaves: its groups, its caveats, its record, config and model to take away."""

from __future__ import annotations

import json

import streamlit as st

from fairpriv_core.errors import FairprivError
from fairpriv_core.methods.catalog import methods
from fairpriv_core.report.wording import caveats, raw_text
from fairpriv_core.runs.certificate import describe_certificates
from fairpriv_core.runs.record import RunRecord, accuracy_is_public
from fairpriv_core.runs.rows import RunRow
from fairpriv_core.runs.store import RunStore
from fairpriv_core.runs.toml import write_toml
from pages.widgets.fairness import show_fairness
from pages.widgets.guard import plain


def show_outcome(store: RunStore, row: RunRow, record: RunRecord) -> None:
    """Draw the groups' rates, what must be said with the numbers, and the downloads."""
    show_fairness(record)
    if record.notes.get("certificates"):
        with st.expander("What the run certifies of its gap", expanded=True, key="run_certificates"):
            for name, sentence in describe_certificates(record.notes["certificates"]):
                st.markdown(f"- **{plain(name)}** · {plain(sentence)}")
    with st.expander("What must be said with these numbers", key="run_caveats"):
        for said in caveats(record.to_json(), say_raw(record)):
            st.markdown(f"- {plain(said)}")
    with st.container(horizontal=True, key="run_files"):
        _offer_files(store, row, record)


def say_raw(record: RunRecord) -> str:
    """Return what must be said with a run's accuracy and gap."""
    looks = methods()[record.config["method"]["name"]].info.needs_group_at_prediction
    return raw_text(public_accuracy=accuracy_is_public(record.to_json(), looks=looks))


def _offer_files(store: RunStore, row: RunRow, record: RunRecord) -> None:
    stored = json.dumps(record.to_json(), indent=1, ensure_ascii=False)
    config = write_toml(record.config)
    st.download_button("Record (JSON)", stored, f"{row.key}.json", "application/json", key="get_record")
    st.download_button("Config (TOML)", config, f"{row.key}.toml", "application/toml", key="get_config")
    for name in ("model.npz", "model.json"):
        content = _find_artifact(store, row.key, name)
        if content is not None:
            st.download_button(f"Model ({name})", content, f"{row.key}-{name}", key=f"get_{name}")


def _find_artifact(store: RunStore, key: str, name: str) -> bytes | None:
    try:
        return store.artifact(key, name)
    except FairprivError:
        return None
