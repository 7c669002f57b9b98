"""Points that a person picked in a chart or a list: what they are, and where their runs can be opened."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import streamlit as st

from fairpriv_core.report.inverse import RAW_CHOICE, say_answer, smallest_epsilon
from fairpriv_core.report.tables import TableRow
from pages.widgets.shared.frame import go_to
from pages.widgets.shared.picks import settle
from pages.widgets.shared.run_table import MOST_CHOSEN, name_row
from pages.widgets.shared.sentences import attempt, plain
from pages.widgets.shared.state import choose, keep, mount_number, mount_several, value

_MOST_OFFERED = 300
_PICKED = (
    "A point that is picked by these numbers and published has no proved ε, whatever its own: the picking looked at "
    "protected data. It has one if the picking is paid for, which Compare offers."
)


def pick(key: str) -> None:
    """Add a point to those picked, by its row's first key; the oldest leaves where they would be too many."""
    others = [one for one in value("points") if one != key]
    choose("points", (*others, key)[-MOST_CHOSEN:])


def show_picked(rows: Sequence[TableRow], best: Sequence[TableRow], details: Mapping[str, str]) -> None:
    """Draw the list of picked points, of `rows`, and the ways to open their runs; of many rows it offers the `best`."""
    settle("points", rows)
    by_key = {row.keys[0]: row for row in rows}
    offered = [row.keys[0] for row in (rows if len(rows) <= _MOST_OFFERED else best[:_MOST_OFFERED])]
    listed = list(dict.fromkeys([*(key for key in value("points") if key in by_key), *offered]))
    picked = st.multiselect(
        "Points picked: click one in the chart, or choose here",
        listed,
        **mount_several("points", listed, ()),
        max_selections=MOST_CHOSEN,
        placeholder="none",
        format_func=lambda key: _name(by_key[key], details),
    )
    keep("points", tuple(picked))
    if not picked:
        return
    with st.container(horizontal=True):
        if st.button("Open in Compare", key="points_compare", icon=":material/compare:"):
            choose("runs", tuple(picked))
            go_to("compare", runs=list(picked))
        if st.button("Open its run", key="points_run", icon=":material/monitoring:", disabled=len(picked) != 1):
            choose("run", picked[0])
            go_to("run", run=picked[0])
    st.warning(_PICKED, icon=":material/visibility_lock:")


def _name(row: TableRow, details: Mapping[str, str]) -> str:
    return f"{name_row(row)} · {details[row.keys[0]]}" if details.get(row.keys[0]) else name_row(row)


def ask_for_epsilon(rows: Sequence[TableRow]) -> None:
    """Draw the question and its answer out of `rows`, of one data set, its groups and one notion."""
    st.subheader("Which ε is enough?", anchor=False)
    with st.container(horizontal=True, gap="medium"):
        wished = mount_number("wish_accuracy", 0, 100)
        least = st.number_input("Accuracy of at least (%)", step=0.5, width=210, **wished)
        most = st.number_input("Gap of at most (pp)", step=0.5, width=210, **mount_number("wish_gap", 0, 100))
    wanted = {"accuracy": keep("wish_accuracy", least) / 100, "gap": keep("wish_gap", most) / 100}
    answers = attempt(lambda: smallest_epsilon(rows, **wanted))
    if not answers:
        st.info("No finished run here has an ε.")
        return
    with st.container(key="wish_answer"):
        for index, answer in enumerate(answers):
            st.markdown(f"- {plain(say_answer(answer, **wanted))}")
            if answer.nearest is not None:
                label = "Pick it" if answer.found else "Pick the nearest"
                first, icon = answer.nearest.keys[0], ":material/add_location:"
                st.button(label, key=f"wish_pick_{index}", icon=icon, on_click=pick, args=(first,))
    st.caption(RAW_CHOICE)
