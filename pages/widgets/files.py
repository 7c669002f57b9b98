"""Files that a person brings: uploaded, checked at once, kept in the store's folder until they are deleted."""

from __future__ import annotations

from typing import IO, cast

import streamlit as st

from fairpriv_core.data.profile import inspect_file
from fairpriv_core.runs.store import LOCAL_OWNER, RunStore
from fairpriv_core.runs.store_uploads import Upload
from pages.widgets.guard import attempt, plain
from pages.widgets.session import find_store
from pages.widgets.state import choose, keep, mount_index

LIMIT_BYTES = 50_000_000
_DIGITS = 12


def choose_upload() -> Upload | None:
    """Return the file that is chosen among those uploaded; None where there is none."""
    store = find_store()
    if store is None:
        return None
    given = st.file_uploader(
        "CSV or Parquet file, at most 50 MB",
        key="uploader",
        help="It stays on this machine, beside the run store, readable by you alone, until you delete it.",
    )
    if given is not None and given.file_id != st.session_state.get("uploaded"):
        st.session_state["uploaded"] = given.file_id
        st.session_state["upload_faults"] = _take(store, given, given.name)
    for fault in st.session_state.get("upload_faults", ()) if given is not None else ():
        st.error(plain(fault), icon=":material/error:")
    mine = {item.sha256[:_DIGITS]: item for item in attempt(lambda: store.uploads.rows(LOCAL_OWNER)) or ()}
    if not mine:
        st.caption("Nothing uploaded yet. The first line of a CSV file names its columns.")
        return None
    left, right = st.columns([5, 1], vertical_alignment="bottom")
    with left:
        shown = st.selectbox(
            "File", list(mine), **mount_index("file", mine), format_func=lambda digits: _name(mine[digits])
        )
    upload = mine[keep("file", shown)]
    if right.button("Delete", key="delete_upload", icon=":material/delete:", help="Deletes the file from the store"):
        attempt(lambda: store.uploads.delete(upload.sha256, LOCAL_OWNER))
        st.rerun()
    return upload


def _take(store: RunStore, source: object, name: str) -> tuple[str, ...]:
    """Store the file and look into it; what cannot be used is not kept. Return what is wrong with it."""
    stored = attempt(lambda: store.uploads.put(cast(IO[bytes], source), name, LOCAL_OWNER))
    if stored is None:
        return ()
    report = inspect_file(stored.path, limit_bytes=LIMIT_BYTES)
    if report.errors:
        attempt(lambda: store.uploads.delete(stored.sha256, LOCAL_OWNER))
        return tuple(fault.replace(stored.path.name, name) for fault in report.errors)
    choose("file", stored.sha256[:_DIGITS])
    return ()


def _name(upload: Upload) -> str:
    return f"{upload.name} ({upload.bytes / 1e6:.1f} MB)"
