"""The inverse question: which is the smallest ε that reaches a wanted accuracy and gap?"""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from fairpriv_core.report.inverse import RAW_CHOICE, say_answer, smallest_epsilon
from fairpriv_core.report.tables import TableRow
from pages.widgets.shared.guard import attempt, plain
from pages.widgets.shared.state import keep, mount
from pages.widgets.tradeoffs.points import pick


def ask_for_epsilon(rows: Sequence[TableRow]) -> None:
    """Draw the question and its answer out of `rows`, of one data set, its groups and one notion."""
    st.subheader("Which ε is enough?", anchor=False)
    with st.container(horizontal=True, gap="medium"):
        least = st.number_input("Accuracy of at least (%)", 0.0, 100.0, step=0.5, width=210, **mount("wish_accuracy"))
        most = st.number_input("Gap of at most (pp)", 0.0, 100.0, step=0.5, width=210, **mount("wish_gap"))
    wish = {"accuracy": keep("wish_accuracy", least) / 100, "gap": keep("wish_gap", most) / 100}
    answers = attempt(lambda: smallest_epsilon(rows, **wish))
    if not answers:
        st.info("No finished run here has an ε.")
        return
    with st.container(key="wish_answer"):
        for index, answer in enumerate(answers):
            st.markdown(f"- {plain(say_answer(answer, **wish))}")
            if answer.nearest is not None:
                label = "Pick it" if answer.found else "Pick the nearest"
                go = {"on_click": pick, "args": (answer.nearest.keys[0],)}
                st.button(label, key=f"wish_pick_{index}", icon=":material/add_location:", **go)
    st.caption(RAW_CHOICE)
