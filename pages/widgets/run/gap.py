"""What a fairness gap is to be held against: the ideal, and the gap without privacy and fairness."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import streamlit as st

from fairpriv_core.methods.catalog import REFERENCE_METHOD
from fairpriv_core.notions.catalog import notions
from fairpriv_core.records.source import key_split
from fairpriv_core.store.runs import RunStore
from fairpriv_core.text import points_text
from pages.widgets.shared.finished import find_rows

_FRESH_SECONDS = 60.0  # a page that watches a run need not read all others at each look


def say_reference(store: RunStore, config: Mapping[str, Any]) -> str:
    """Return what the gap of a run of `config` is to be held against; the plain model's gap where a run has it."""
    notion = notions()[config["notion"]]
    constant = ", and the constant answer has 0" if notion.target == "score" else ""
    ideal = f"Fairness gap: 0 is ideal{constant}."
    if config["method"]["name"] == REFERENCE_METHOD:
        return ideal
    question = json.dumps(_ask(config))
    gap = _find_plain_gap(str(store.database.url), store.owner, question, store)
    return ideal if gap is None else f"{ideal} Without privacy and fairness it is {points_text(gap)} on the same data."


@st.cache_data(ttl=_FRESH_SECONDS, max_entries=64, show_spinner=False)
def _find_plain_gap(place: str, owner: str | None, question: str, _store: RunStore) -> float | None:
    """Return the mean gap of a finished run without privacy and fairness that was asked the same; None without one."""
    wanted = json.loads(question)
    for row in find_rows(_store) or ():
        if (
            row.method == REFERENCE_METHOD
            and row.notion == wanted["notion"]
            and _ask(json.loads(row.setting)) == wanted
        ):
            return row.gap.mean
    return None


def _ask(config: Mapping[str, Any]) -> dict[str, Any]:
    """Return what two runs share whose gaps may stand side by side."""
    split = key_split(config["split"], config["data"]["dataset"])
    return {"data": config["data"], "notion": config["notion"], "split": split}
