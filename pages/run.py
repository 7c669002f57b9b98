"""Run: one run live. It survives a reload: its key stands in the address and everything else in the store."""

from __future__ import annotations

import streamlit as st

from fairpriv_core.methods.catalog import REFERENCE_METHOD
from fairpriv_core.store.rows import RunRow
from fairpriv_core.store.runs import RunStore
from pages.widgets.run.label import offer_ways
from pages.widgets.run.live import draw_run, watch_run
from pages.widgets.shared.access import find_row, find_store
from pages.widgets.shared.frame import link_to
from pages.widgets.shared.labels import Labels, choose_run, list_runs, name_run
from pages.widgets.shared.names import name_runs
from pages.widgets.shared.sentences import attempt, plain
from pages.widgets.shared.state import enter, publish, value

_MOST_RUNS = 200


def show() -> None:
    """Draw the page."""
    enter("run")
    st.title("Run", anchor=False)
    store = find_store()
    listing = None if store is None else list_runs(store, limit=_MOST_RUNS)
    if store is None or listing is None:
        return
    rows, labels = listing
    if not rows and not attempt(lambda: store.rows(limit=1)):
        _warn_of_missing(value("run"))
        st.info("No run yet. Choose a method and a budget on the Train page, and launch one.", icon=":material/info:")
        link_to("train", "Go to Train")
        return
    key = _choose(store, rows, labels)
    row = attempt(lambda: store.row(key)) if key else None
    publish(("run", "along", "archived", "only.tag"))
    if row is not None:
        offer_ways(store, row, labels)
        watch_run(store, row, draw_run)


def _choose(store: RunStore, rows: list[RunRow], run_labels: Labels) -> str:
    """Return the key of the run that is shown: the one in the address, else the first that is not plain training.

    "" where none is listed. Plain training is there beside another run, as what that one is held against.
    """
    rows_by_key = {row.key: row for row in rows}
    linked_key = value("run")
    if linked_key not in rows_by_key:
        linked = _warn_of_missing(linked_key)
        rows_by_key |= {} if linked is None else {linked.key: linked}
    if not rows_by_key:
        st.info("No run matches these filters. Change them above.", icon=":material/filter_alt:")
        return ""
    labels = {
        key: name_run(run_labels, key, description) for key, description in name_runs([*rows_by_key.values()]).items()
    }
    fair = (key for key in labels if rows_by_key[key].config["method"]["name"] != REFERENCE_METHOD)
    return choose_run(labels, first=next(fair, None), bare=True)


def _warn_of_missing(key: str) -> RunRow | None:
    """Return the run of that key; where there is none, say so."""
    row = find_row(key)
    if key and row is None:
        st.error(
            plain(f"Run {key} is not in this store. It was deleted, or the link is to another store."),
            icon=":material/link_off:",
        )
        st.caption("What a deleted run released stays in the ledger.")
    return row


show()
