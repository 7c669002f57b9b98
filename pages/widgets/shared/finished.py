"""Finished runs as every page asks for them: read and folded once, until another one finishes or one is deleted."""

from __future__ import annotations

import streamlit as st

from fairpriv_core.facts.finished import Finished, FinishedRuns
from fairpriv_core.facts.tables import TableRow
from fairpriv_core.store.runs import RunStore, Stamp
from pages.widgets.shared.access import find_store
from pages.widgets.shared.frame import link_to
from pages.widgets.shared.labels import leave_out_archived
from pages.widgets.shared.sentences import attempt


def find_rows(store: RunStore) -> tuple[TableRow, ...] | None:
    """Return finished runs with their seeds folded, newest first; None after showing why they cannot be had."""
    folded = _find(store)
    return None if folded is None else folded.rows


def list_rows() -> tuple[RunStore, tuple[TableRow, ...]] | None:
    """Return the store and its finished runs, archived ones if asked for; None after showing why they cannot be had."""
    store = find_store()
    folded = None if store is None else _find(store)
    if store is None or folded is None:
        return None
    if folded.damaged:
        subject = "1 run is" if folded.damaged == 1 else f"{folded.damaged:,} runs are"
        names = "it" if folded.damaged == 1 else "them"
        st.caption(f"{subject} damaged and left out; `fairpriv check` names {names}.")
    return store, leave_out_archived(folded.rows)


def open_rows() -> tuple[RunStore, tuple[TableRow, ...]] | None:
    """Return `list_rows` where there are any; None after showing why there are none."""
    opened = list_rows()
    if opened is None or opened[1]:
        return opened
    if find_rows(opened[0]):
        st.info("All finished runs are archived.", icon=":material/archive:")
        return None
    st.info("No finished run yet. Launch one on the Train page; it appears here when it is done.")
    link_to("train", "Go to Train")
    return None


def _find(store: RunStore) -> Finished | None:
    return attempt(lambda: _fold(str(store.database.url), store.owner, store.stamp(), store))


@st.cache_resource(max_entries=4, show_spinner="Reading finished runs …")
def _fold(place: str, owner: str | None, stamp: Stamp, _store: RunStore) -> Finished:
    return _keep(place, owner).read(_store)


@st.cache_resource(max_entries=4, show_spinner=False)
def _keep(place: str, owner: str | None) -> FinishedRuns:
    return FinishedRuns()
