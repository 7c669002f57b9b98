"""A release that an earlier run has paid for, to train on again."""

from __future__ import annotations

from typing import Any

import streamlit as st

from fairpriv_core.data.catalog import default_split
from fairpriv_core.methods.base import MethodInfo
from fairpriv_core.records.source import key_split
from fairpriv_core.store.rows import RunRow
from fairpriv_core.text import epsilon_text
from pages.widgets.shared.guard import attempt
from pages.widgets.shared.session import find_store
from pages.widgets.shared.state import keep, mount_index

_NEW = "new"
_HELP = (
    "All that this method reads of the sensitive attribute is released once. Other notions, models and targets on the "
    "same rows can use that release again: it costs nothing more, and the ledger counts it once."
)
_MOST_RUNS = 200


def choose_release(info: MethodInfo, data: dict[str, Any], seed: int) -> str | None:
    """Draw the choice between a release of one's own and those there are; return a run's key, None for one's own.

    Nothing is drawn where `info`'s method has no release to use again, or the store none on `data` and `seed`.
    """
    store = find_store() if info.reuses else None
    rows = (attempt(lambda: store.rows(limit=_MOST_RUNS)) or []) if store is not None else []
    able = {row.key: row for row in rows if _is_able(row, info.name, data, seed)}
    if not able:
        return None
    labels = {_NEW: "a new one, within ε"} | {key: _describe(row) for key, row in able.items()}
    options = list(labels)
    mounted = mount_index("reuse", options, _NEW)
    chosen = keep("reuse", st.selectbox("Release", options, **mounted, format_func=labels.__getitem__, help=_HELP))
    return None if chosen == _NEW else str(chosen)


def _is_able(row: RunRow, name: str, data: dict[str, Any], seed: int) -> bool:
    config = row.config
    split, usual = (key_split(name, data["dataset"]) for name in (config["split"], default_split(data["dataset"])))
    asked = (config["method"]["name"], config["data"], config["seed"], split)
    ended = row.status == "finished" and row.epsilon is not None
    return ended and asked == (name, data, seed, usual) and config.get("reuse") is None


def _describe(row: RunRow) -> str:
    return f"that of run {row.key}, ε = {epsilon_text(row.epsilon)}: costs nothing more"
