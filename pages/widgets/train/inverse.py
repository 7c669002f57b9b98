"""From the accuracy that is needed to the budget: the smallest ε among stored runs of the same question and method."""

from __future__ import annotations

import json
import math
from collections.abc import Sequence
from functools import partial

import streamlit as st

from fairpriv_core.data.problem import DataJson
from fairpriv_core.facts.tables import TableRow, varied_settings
from fairpriv_core.figures.inverse import Answer, format_answer, smallest_epsilon
from fairpriv_core.methods.base import MethodInfo
from fairpriv_core.methods.catalog import find_plugin
from fairpriv_core.records.record import accuracy_is_public
from pages.widgets.shared.access import find_store
from pages.widgets.shared.finished import find_rows
from pages.widgets.shared.names import name_settings
from pages.widgets.shared.sentences import plain
from pages.widgets.shared.state import choose, draw_switch, keep, mount_number, value

_NONE = (
    "No stored run yet on this data with this notion, method, accounting and δ. Launch some with several ε, or a "
    "sweep: then this shows the smallest ε that keeps the accuracy."
)
_PUBLIC = (
    "Accuracy needs only features and labels, which these methods take as public, and released models: choosing ε by "
    "it costs nothing more. The gap is raw, for the analyst: no ε covers a choice by it."
)
_RAW = (
    "Accuracy and gap are raw, for the analyst: protected data decide which ε reaches an accuracy, and no ε covers "
    "that choice."
)
_NAME = "least_accuracy"


def offer_inverse(data: DataJson, info: MethodInfo) -> None:
    """Draw the slider of the accuracy that is needed, the answer of stored runs, and a button that sets ε to it.

    `data` is a config's, `info` the method's; notion, accounting and δ are those that are chosen.
    """
    if not draw_switch("inverse", "Start from the accuracy I need"):
        return
    store = find_store()
    finished_rows = None if store is None else find_rows(store)
    if finished_rows is None:
        return
    accounting = value("variant") if value("variant") in info.variants else "proved"
    variant = accounting if find_plugin(info.name) is None else "published"
    rows = [
        row for row in finished_rows if (row.method, row.variant) == (info.name, variant) and _asks_the_same(row, data)
    ]
    shares = [row.accuracy.mean for row in rows if row.accuracy.mean is not None]
    if not shares:
        st.caption(_NONE)
        return
    accuracy = _choose_accuracy(shares)
    for answer in smallest_epsilon(rows, accuracy=accuracy):
        _show(answer, rows, accuracy)
    st.caption(_PUBLIC if all(_is_public(row, info) for row in rows) else _RAW)


def _is_public(row: TableRow, info: MethodInfo) -> bool:
    proved = row.epsilon if row.variant == "proved" else None
    return accuracy_is_public(row.threat_model, proved, uses_group=info.needs_group_at_prediction)


def _asks_the_same(row: TableRow, data: DataJson) -> bool:
    same = row.notion == value("notion") and row.epsilon is not None and row.delta == value("delta")
    return same and bool(json.loads(row.setting)["data"] == dict(data))


def _choose_accuracy(shares: Sequence[float]) -> float:
    """Draw the slider over what stored runs reach and return the share that is chosen."""
    low, high = math.floor(100 * min(shares)), math.ceil(100 * max(shares)) + 1
    points = st.slider("Accuracy of at least", step=0.1, format="%.1f %%", **mount_number(_NAME, low, high))
    return float(keep(_NAME, points)) / 100


def _show(answer: Answer, rows: Sequence[TableRow], accuracy: float) -> None:
    st.markdown(plain(format_answer(answer, accuracy=accuracy)))
    row = answer.nearest
    if row is None:
        return
    settings = name_settings(row.method, varied_settings(rows).get(row.keys[0], {}))
    if settings:
        st.caption(f"Reached with {plain(settings)}; with other settings another ε may be needed.")
    label, icon = ("Use" if answer.found is not None else "Use the nearest:"), ":material/south:"
    use = partial(choose, "epsilon", row.epsilon)
    st.button(f"{label} ε = {row.epsilon:g}", key="inverse_use", icon=icon, on_click=use)
