"""What a run is held against: the same answer for everybody, and drawing lots between that and plain training."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from fairpriv_core.records.mixing import say_height, say_one_answer
from fairpriv_core.records.record import RunRecord
from fairpriv_core.runs.plain_run import find_plain_run
from fairpriv_core.store.runs import RunStore
from pages.widgets.shared.sentences import attempt


def list_heights(store: RunStore, record: Mapping[str, Any]) -> list[str]:
    """Return what the comparisons say of a run, a sentence each; `record` is its record's JSON."""
    reference = attempt(lambda: find_plain_run(store, record["config"]))
    height = None if reference is None else _say_height(record["key"], reference.key, record, reference)
    return [said for said in (say_one_answer(record), height) if said is not None]


@st.cache_data(max_entries=64, show_spinner=False)
def _say_height(key: str, other: str, _record: Mapping[str, Any], _reference: RunRecord) -> str | None:
    return say_height(_record, _reference.to_json())
