"""What a person calls a file of theirs: its own name, wherever a text would name it by its id."""

from __future__ import annotations

import re
from collections.abc import Mapping

import streamlit as st

from fairpriv_core.errors import FairprivError
from fairpriv_core.store.runs import RunStore
from pages.widgets.shared.door import find_store

_DIGITS = 12
_ID = re.compile(r"(?:file-)?\b([0-9a-f]{12})[0-9a-f]*(?:\.[a-z0-9]{1,8})?\b")
_FRESH_SECONDS = 2.0


def call_files(text: str) -> str:
    """Return `text` with the id of each file that the person may use, or what it starts with, as the file's name.

    Files of one name are told apart by the first digits of their ids. What is not a file stays as it is.
    """
    if not _ID.search(text):
        return text
    names = _find_names()
    return _ID.sub(lambda found: names.get(found[1], found[0]), text)


def _find_names() -> Mapping[str, str]:
    store = find_store()
    if store is None:
        return {}
    try:
        return _list_names(str(store.database.url), store.payer, store)
    except FairprivError:
        return {}


@st.cache_data(ttl=_FRESH_SECONDS, max_entries=32, show_spinner=False)
def _list_names(place: str, person: str, _store: RunStore) -> dict[str, str]:
    files = {item.id[:_DIGITS]: item.name for item in _store.uploads.visible(person)}
    called = list(files.values())
    return {digits: name if called.count(name) == 1 else f"{name} ({digits[:6]})" for digits, name in files.items()}
