"""Choosing a file: one of a person's uploads, one that is shared with them, or one of the operator's data folder."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import IO

import streamlit as st

from fairpriv_core.data.profile import FileReport
from fairpriv_core.data.reader_process import READER
from fairpriv_core.data.table_schema import UNSAID, TableSchema, write_statement
from fairpriv_core.errors import FairprivError
from fairpriv_core.files.folder import find_named, list_names
from fairpriv_core.files.forms import Stated
from fairpriv_core.store.carried import LIMIT_BYTES
from fairpriv_core.store.runs import RunStore
from fairpriv_core.store.uploads import Upload
from pages.widgets.shared.access import find_store
from pages.widgets.shared.person import find_person
from pages.widgets.shared.reference import write_file
from pages.widgets.shared.sentences import attempt
from pages.widgets.shared.session import stamp_file
from pages.widgets.shared.state import choose, draw_list, forget, label_apart
from pages.widgets.shared.uploader import offer_uploader, spell

_ROLES = (
    *("label", "positive", "image", "unreadable", "attributes", "group_ratio", "rows", "person"),
    *("schema", "values_from", "schema_share", "label_edge.", "edges.", "groups."),
)
_DIGITS = 12


def name_upload(upload: Upload) -> str:
    """Return what an upload is called in a list of files and in a reference: the start of its id."""
    return upload.id[:_DIGITS]


def offer_sharing(store: RunStore, upload: Upload) -> None:
    """Let a person who has signed in share their upload; a machine of one's own has nobody to share with."""
    if not find_person().name:
        return
    key = f"share.{name_upload(upload)}"
    st.toggle(
        "Share with everyone on this server",
        value=store.uploads.is_shared(upload.id, upload.owner),
        key=key,
        on_change=lambda: attempt(lambda: store.uploads.share(upload.id, upload.owner, shared=st.session_state[key])),
        help="Everyone who may sign in can then choose it, see its groups and train on it, until you take it back.",
    )


def _take(store: RunStore, source: IO[bytes], name: str) -> tuple[str, ...]:
    """Store a table and look into it; return its faults where no statement of its form would mend them.

    A table with such faults is not kept.
    """
    with st.spinner("Storing the file …"):
        upload = store.uploads.put(source, name, store.payer)
    try:
        report = look_into(upload.path, uploaded=True)
        faults = report.errors if report.form is None else ()
        if not report.errors:
            store.files.identify(upload.path)  # what takes too much to be digested is not kept either
    except FairprivError as error:
        faults = (str(error),)
    if faults:
        attempt(lambda: store.uploads.delete(upload.id, store.payer))
        return tuple(spell(fault.replace(upload.path.name, upload.name), (upload.name,)) for fault in faults)
    choose("file", name_upload(upload))
    return ()


def look_into(path: Path, schema: TableSchema = UNSAID, *, uploaded: bool) -> FileReport:
    """Return the report on a file, read once until the file changes; one that is `uploaded` has a limit of size."""
    return _inspect(str(path), stamp_file(str(path)), LIMIT_BYTES if uploaded else None, write_statement(schema))


@st.cache_data(max_entries=8, show_spinner="Reading the file …")
def _inspect(path: str, stamp: tuple[int, int] | None, limit_bytes: int | None, statement: str | None) -> FileReport:
    return READER.inspect(Path(path), limit_bytes=limit_bytes, stated=statement)


@dataclass(frozen=True)
class GivenFile:
    """A file that can be chosen: where it lies, what it is called, and its upload where it is one."""

    path: Path
    name: str
    upload: Upload | None = None


def choose_given_file() -> GivenFile | None:
    """Return the file that is chosen among the person's uploads, those shared with them, and the data folder's."""
    store = find_store()
    if store is None:
        return None
    about = "The file stays in the store until you delete it. Only you can read it."
    if offer_uploader(partial(_take, store), help=about):
        return None
    files_by_name = {_name_choice(item): item for item in _list_files(store)}
    if not files_by_name:
        st.caption("Nothing uploaded yet. The first line of a table names its columns.")
        return None
    left, right = st.columns([5, 1], vertical_alignment="bottom")
    with left:
        labels = label_apart({name: _format_file(item, store) for name, item in files_by_name.items()})
        file = files_by_name[draw_list("file", "File", files_by_name, labels.__getitem__)]
    begin_file(str(file.path))
    if file.upload is not None and file.upload.owner == store.payer:
        with right:
            about = "Deletes the file from the store"
            if st.button("Delete", key="delete_upload", icon=":material/delete:", help=about):
                attempt(partial(store.uploads.delete, file.upload.id, file.upload.owner))
                st.rerun()
        offer_sharing(store, file.upload)
    return file


def begin_file(path: str, *, from_link: bool = False) -> None:
    """Start from the guesses about the file at `path` where another was shown, unless its roles are `from_link`."""
    before, st.session_state["roles_of"] = st.session_state.get("roles_of"), path
    if before not in (None, path) and not from_link:
        forget("written.", "cells", *_ROLES)


def begin_reading(form: Stated, *, from_link: bool = False) -> None:
    """Start from the guesses where the file was read in another way before, unless its roles are `from_link`."""
    before, st.session_state["reading_of"] = st.session_state.get("reading_of"), form
    if before not in (None, form) and not from_link:
        forget(*_ROLES)


def _list_files(store: RunStore) -> list[GivenFile]:
    uploads = attempt(lambda: store.uploads.visible(store.payer)) or []
    names = attempt(list_names) or []
    brought = [GivenFile(item.path, item.name, item) for item in uploads]
    return [*brought, *(GivenFile(find_named(name), name) for name in names)]


def _name_choice(file: GivenFile) -> str:
    """Return what the choice is called in the session: an upload by its id's start, another as in a reference."""
    return name_upload(file.upload) if file.upload is not None else write_file(str(file.path))


def _format_file(file: GivenFile, store: RunStore) -> str:
    if file.upload is None:
        return f"{file.name} ({_size(file.path.stat().st_size)}, on this server)"
    note = "" if file.upload.owner == store.payer else ", shared by someone else"
    return f"{file.name} ({_size(file.upload.bytes)}{note})"


def _size(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1e5 else f"{math.ceil(count / 1e3)} kB"
