"""The files of a run that has ended: its record, its config and its model."""

from __future__ import annotations

import streamlit as st

from fairpriv_core.data.catalog import problems
from fairpriv_core.errors import FairprivError
from fairpriv_core.records.config import write_toml
from fairpriv_core.records.record import RunRecord
from fairpriv_core.store.rows import RunRow
from fairpriv_core.store.runs import RunStore
from pages.widgets.shared.guard import plain


def offer_files(store: RunStore, row: RunRow, record: RunRecord) -> None:
    """Draw the buttons; a model stays here where it was trained on data whose terms ask for that."""
    config = write_toml(record.to_document()["config"])
    st.download_button("Record (JSON)", record.to_text(), f"{row.key}.json", "application/json", key="get_record")
    st.download_button("Config (TOML)", config, f"{row.key}.toml", "application/toml", key="get_config")
    problem = problems().get(record.config["data"]["dataset"] or "")
    for name in () if problem is not None and problem.terms else ("model.npz", "model.json"):
        content = _find_artifact(store, row.key, name)
        if content is not None:
            st.download_button(f"Model ({plain(name)})", content, f"{row.key}-{name}", key=f"get_{name}")


def _find_artifact(store: RunStore, key: str, name: str) -> bytes | None:
    try:
        return store.artifact(key, name)
    except FairprivError:
        return None
