"""Audit: attacks on a run's method and on its model, beside what is proved and what a paper claims."""

from __future__ import annotations

import streamlit as st

from fairpriv_core.store.rows import RunRow
from pages.widgets.audit.audits import show_audit, show_stored
from pages.widgets.shared.access import find_row, find_store
from pages.widgets.shared.frame import link_to
from pages.widgets.shared.labels import Labels, choose_run, list_runs, name_run
from pages.widgets.shared.names import name_runs
from pages.widgets.shared.sentences import plain
from pages.widgets.shared.state import enter, publish, value

_MOST_RUNS = 200


def show() -> None:
    """Draw the page."""
    enter("audit")
    st.title("Audit", anchor=False)
    st.markdown(
        "A proof says how much a method gives away **at most**. An audit attacks it and says how much it gives away "
        "**at least**."
    )
    store = find_store()
    runs = None if store is None else list_runs(store, limit=_MOST_RUNS)
    if store is None or runs is None:
        return
    rows, labels = runs
    finished_rows = [row for row in rows if row.status == "finished"]
    if finished_rows:
        key = _choose(finished_rows, labels)
        publish(("run", "archived", "only.tag"))
        if key:
            show_audit(store, store.row(key))
    else:
        st.info("No finished run yet. Launch one on the Train page; it can be audited when it is done.")
        link_to("train", "Go to Train")
    show_stored()


def _choose(rows: list[RunRow], run_labels: Labels) -> str:
    """Return the key of the run to audit: the one in the address, else the newest; "" where it is none of them."""
    linked_key = value("run")
    linked = find_row(linked_key)
    if linked is not None and linked.status == "finished" and linked_key not in {row.key for row in rows}:
        rows = [*rows, linked]
    labels = {key: name_run(run_labels, key, description) for key, description in name_runs(rows).items()}
    if linked_key and linked_key not in labels:
        st.warning(
            plain(f"Run {linked_key} cannot be audited: it is not among the finished runs of this store."),
            icon=":material/link_off:",
        )
    return choose_run(labels)


show()
