"""Finished runs as every page asks for them: read and folded once, until another one finishes or one is deleted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import streamlit as st

from fairpriv_core.report.tables import TableRow, run_table
from fairpriv_core.store.runs import RunStore, Stamp
from pages.widgets.shared.access import find_store
from pages.widgets.shared.frame import link_to
from pages.widgets.shared.sentences import attempt, plain

Briefs = tuple[Mapping[str, Any], ...]


def find_briefs(store: RunStore) -> Briefs | None:
    """Return finished runs in brief, newest first, for all to read; None after showing why they cannot be had."""
    return attempt(lambda: _read(*_identify(store), store))


def find_rows(store: RunStore) -> tuple[TableRow, ...] | None:
    """Return finished runs with their seeds folded, newest first; None after showing why they cannot be had."""
    return attempt(lambda: _fold(*_identify(store), store))


def open_rows(purpose: str) -> tuple[RunStore, tuple[TableRow, ...]] | None:
    """Return the store and its finished runs; None after showing why there are none, and where they come from.

    `purpose` is what becomes of a run here, such as "it can be reported".
    """
    store = find_store()
    rows = None if store is None else find_rows(store)
    if store is None or rows is None:
        return None
    if not rows:
        st.info(f"No finished run yet. Launch one on the Train page; {plain(purpose)} when it is done.")
        link_to("train", "Go to Train")
        return None
    return store, rows


def _identify(store: RunStore) -> tuple[str, str | None, Stamp]:
    return str(store.database.url), store.owner, store.stamp()


@st.cache_resource(max_entries=4, show_spinner=False)
def _read(place: str, owner: str | None, stamp: Stamp, _store: RunStore) -> Briefs:
    return tuple(_store.briefs())


@st.cache_resource(max_entries=4, show_spinner="Reading finished runs …")
def _fold(place: str, owner: str | None, stamp: Stamp, _store: RunStore) -> tuple[TableRow, ...]:
    return run_table(_read(place, owner, stamp, _store))
