"""Points that a person picked in a chart or a list: what they are, and where their runs can be opened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import streamlit as st

from fairpriv_core.facts.tables import TableRow
from fairpriv_core.figures.figure import Region
from fairpriv_core.figures.frontier import Wanted
from fairpriv_core.figures.inverse import RAW_CHOICE, format_answer, smallest_epsilon
from fairpriv_core.figures.styles import method_style
from pages.widgets.shared.frame import go_to
from pages.widgets.shared.names import name_budget
from pages.widgets.shared.picks import settle
from pages.widgets.shared.run_table import MOST_CHOSEN
from pages.widgets.shared.sentences import attempt, plain
from pages.widgets.shared.state import (
    ahead,
    choose,
    draw_several,
    keep,
    label_apart,
    mount_number,
    value,
)
from pages.widgets.train.clone import offer_clone

_MOST_OFFERED = 300
_PICKED = (
    "If you choose a model by these numbers, its ε no longer covers it: they look at protected data without noise. "
    "Compare can choose with noise instead."
)


def pick(key: str) -> None:
    """Add a point to those picked, by its row's first key; the oldest leaves where they would be too many."""
    points = [point for point in value("points") if point != key]
    choose("points", (*points, key)[-MOST_CHOSEN:])


def show_picked(rows: Sequence[TableRow], best: Sequence[TableRow], details: Mapping[str, str]) -> None:
    """Draw the list of picked points, of `rows`, and the ways to open their runs; of many rows it offers the `best`."""
    settle("points", rows)
    by_key = {row.keys[0]: row for row in rows}
    offered = [row.keys[0] for row in (rows if len(rows) <= _MOST_OFFERED else best[:_MOST_OFFERED])]
    listed = list(dict.fromkeys([*(key for key in value("points") if key in by_key), *offered]))
    names = label_apart({key: _name(by_key[key], details) for key in listed})
    look: dict[str, Any] = {"max_selections": MOST_CHOSEN, "placeholder": "none", "format_func": names.__getitem__}
    keys = draw_several("points", "Chosen points", listed, **look)
    if not keys:
        return
    with st.container(horizontal=True):
        if st.button("Open in Compare", key="points_compare", icon=":material/compare:"):
            choose("runs", keys)
            go_to("compare", runs=list(keys))
        if st.button("Open its run", key="points_run", icon=":material/monitoring:", disabled=len(keys) != 1):
            choose("run", keys[0])
            go_to("run", run=keys[0])
        offer_clone(keys[0], "points_clone", disabled=len(keys) != 1)
    if any(by_key[key].kind != "released" for key in keys):  # ε covers what randomised answers tell
        st.warning(_PICKED, icon=":material/visibility_lock:")


def _name(row: TableRow, details: Mapping[str, str]) -> str:
    """Return a row as the list names it."""
    settings = f", {details[row.keys[0]]}" if details.get(row.keys[0]) else ""
    return f"{method_style(row.method).title}{name_budget(row.epsilon, row.variant)}{settings}"


def choose_wanted() -> Wanted:
    """Draw the fields of least accuracy and largest gap under the question which ε is enough, and return both."""
    st.header("Which ε is enough?", anchor=False)
    with st.container(horizontal=True, gap="medium"):
        wished = mount_number("wish_accuracy", 0, 100)
        accuracy = st.number_input("Accuracy of at least (%)", step=0.5, width=210, **wished)
        gap = st.number_input("Gap of at most (pp)", step=0.5, width=210, **mount_number("wish_gap", 0, 100))
    return Wanted(keep("wish_accuracy", accuracy) / 100, keep("wish_gap", gap) / 100)


def read_wanted() -> Wanted:
    """Return the wanted accuracy and gap before their fields are drawn below the charts, within the fields' ends."""
    accuracy, gap = (min(max(ahead(name), 0.0), 100.0) / 100 for name in ("wish_accuracy", "wish_gap"))
    return Wanted(accuracy, gap)


def take_wanted(region: Region) -> None:
    """Set the wanted accuracy and gap to the edges of the shaded region that was dragged."""
    gap_edge = region.x[1] if region.x[1] is not None else region.y[1]
    for name, edge in (("wish_accuracy", region.y[0]), ("wish_gap", gap_edge)):
        if edge is not None:
            choose(name, round(min(max(edge, 0.0), 100.0), 1))


def show_epsilon(rows: Sequence[TableRow], goal: Wanted) -> None:
    """Draw which ε is enough for a `goal`, out of `rows`, of one data set, its groups and one notion."""
    conditions = {"accuracy": goal.accuracy, "gap": goal.gap}
    answers = attempt(lambda: smallest_epsilon(rows, **conditions))
    if not answers:
        st.info("No finished run here has an ε.")
        return
    with st.container(key="wish_answer"):
        for index, answer in enumerate(answers):
            st.markdown(f"- {plain(format_answer(answer, **conditions))}")
            if answer.nearest is not None:
                label = "Choose it" if answer.found else "Choose the nearest"
                first, icon = answer.nearest.keys[0], ":material/add_location:"
                st.button(label, key=f"wish_pick_{index}", icon=icon, on_click=pick, args=(first,))
    if rows[0].kind == "raw":
        st.caption(RAW_CHOICE)
