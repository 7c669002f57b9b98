"""Compare: finished runs, seeds folded; two to six of them laid over each other, and only what differs."""

from __future__ import annotations

from collections.abc import Sequence

import streamlit as st

from fairpriv_core.facts.tables import TableRow, varied_settings
from fairpriv_core.text import count_text
from pages.widgets.compare.comparison import show_comparison
from pages.widgets.shared.finished import open_rows
from pages.widgets.shared.frame import go_to
from pages.widgets.shared.headline import hold_headline
from pages.widgets.shared.picks import choose_runs, choose_usual, settle_runs
from pages.widgets.shared.run_table import FILTERS, MOST_CHOSEN, choose_rows, name_row, show_table
from pages.widgets.shared.sentences import plain
from pages.widgets.shared.state import choose, enter, publish, value
from pages.widgets.train.clone import offer_clone


def show() -> None:
    """Draw the page."""
    enter("compare")
    st.title("Compare", anchor=False)
    listing = open_rows()
    if listing is None:
        return
    store, rows = listing
    choose_usual(rows)
    settle_runs(rows, MOST_CHOSEN)
    questions = [
        (row.data, row.notion) for row in rows if row.keys[0] in value("runs")
    ]  # one headline is of one question
    top = hold_headline() if len(questions) > 1 and len(set(questions)) == 1 else st.container()
    with st.container(horizontal=True, vertical_alignment="center", key="compare_filters"):
        visible = choose_rows(rows)
        st.caption(_count(visible, rows))
    show_table(visible, varied_settings(visible))
    selection = choose_runs(rows, visible)
    _offer_ways(selection)
    if len(selection) < 2:
        st.info(f"Choose 2 to {MOST_CHOSEN} runs to lay them over each other.", icon=":material/compare:")
    else:
        show_comparison(store, selection, rows, top)
    publish(("runs", *FILTERS, "only.tag", "archived", "reference", "rate"))


def _offer_ways(selection: Sequence[TableRow]) -> None:
    """Draw the ways from one of the chosen runs: its page, or Train with its settings."""
    with st.popover("Open or clone one", icon=":material/more_horiz:", key="compare_ways", disabled=not selection):
        for row in selection:
            st.markdown(plain(name_row(row)))
            _offer_run(row.keys[0])


def _offer_run(key: str) -> None:
    with st.container(horizontal=True):
        if st.button("Open its run", key=f"open.{key}", icon=":material/monitoring:"):
            choose("run", key)
            go_to("run", run=key)
        offer_clone(key, f"clone.{key}")


def _count(visible: Sequence[TableRow], rows: Sequence[TableRow]) -> str:
    runs = sum(len(row.seeds) for row in visible)
    of = f" of {len(rows):,}" if len(visible) < len(rows) else ""
    settings = f"{len(visible):,}{of} setting{'' if len(rows) == 1 else 's'}"
    return f"{settings}, {count_text(runs, 'run')}"


show()
