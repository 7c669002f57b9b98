"""The one way from a page to the run store: for the person who looks, and for reading alone in a demonstration."""

from __future__ import annotations

import os

import streamlit as st

from fairpriv_core.data.reader_process import READER
from fairpriv_core.errors import FairprivError, StoreError
from fairpriv_core.store.database import Database
from fairpriv_core.store.mode import DATA, is_demo, is_open
from fairpriv_core.store.rows import RunRow
from fairpriv_core.store.runs import RunStore
from pages.widgets.shared.demo import SENTENCE
from pages.widgets.shared.person import find_person
from pages.widgets.shared.polling import poll
from pages.widgets.shared.sentences import attempt

_LOOK_SECONDS = 2.0


def find_store() -> RunStore | None:
    """Return the run store of the person who looks; None after showing why there is none.

    All that a page shows of anybody comes through here: without a person there is no store, and in a demonstration it
    can only be read.
    """
    return attempt(_find)


def wait_for_store() -> None:
    """Where the store cannot be read, look again every other second, and draw the page anew once it can."""
    if not _is_there():
        poll(_look_again, every=_LOOK_SECONDS)


def find_row(key: str) -> RunRow | None:
    """Return the settings of the run that `key` names; None without one, about which the page itself has a word."""
    store = find_store() if key else None
    try:
        return None if store is None else store.glance(key)
    except FairprivError:
        return None


def _is_there() -> bool:
    try:
        with _find().database.read():
            return True
    except StoreError:
        return False


def _look_again() -> None:
    if _is_there():
        st.rerun()
    st.caption("The page goes on by itself when the store is back.")


def _find() -> RunStore:
    place = os.environ.get("FAIRPRIV_STORE")
    data_sets = None if is_open() else DATA
    database = _open(place, SENTENCE if is_demo() else "")
    return RunStore(database, find_person().owner, data_sets=data_sets, digest=READER.digest)


@st.cache_resource(show_spinner=False)
def _open(url: str | None, frozen: str) -> Database:
    return Database(url, frozen=frozen)
