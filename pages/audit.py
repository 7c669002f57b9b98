"""Audit: attacks on a run's method and on its model, beside what is proved and what a paper claims."""

from __future__ import annotations

import streamlit as st

from fairpriv_core.store.rows import RunRow
from pages.widgets.audit.audits import show_audit, show_stored
from pages.widgets.shared.access import find_store
from pages.widgets.shared.frame import link_to
from pages.widgets.shared.labels import Labels, list_runs, name_run
from pages.widgets.shared.names import name_runs
from pages.widgets.shared.sentences import plain
from pages.widgets.shared.state import enter, keep, mount_index, publish, value

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
    found = None if store is None else list_runs(store, most=_MOST_RUNS)
    if store is None or found is None:
        return
    rows, labels = found
    finished = [row for row in rows if row.status == "finished"]
    if finished:
        key = _choose(finished, labels)
        publish(("run", "archived", "only.tag"))
        show_audit(store, store.row(key))
    else:
        st.info("No finished run yet. Launch one on the Train page; it can be audited when it is done.")
        link_to("train", "Go to Train")
    show_stored()


def _choose(rows: list[RunRow], called: Labels) -> str:
    """Return the key of the run to audit: the one in the address, else the newest finished one."""
    labels = {key: name_run(called, key, told) for key, told in name_runs(rows).items()}
    wanted = value("run")
    if wanted and wanted not in labels:
        st.warning(f"Run {plain(wanted)} has not finished or is not in the store; another one is shown.")
    keys = list(labels)
    chosen = st.selectbox("Run", keys, **mount_index("run", keys, keys[0]), format_func=labels.__getitem__)
    return str(keep("run", chosen))


show()
