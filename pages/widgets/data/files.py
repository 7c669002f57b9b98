"""Choosing a file: one of a person's uploads, one that is shared with them, or one of the operator's data folder."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from tempfile import TemporaryFile
from threading import Lock, Timer
from typing import IO, cast

import streamlit as st
from streamlit import config
from streamlit.runtime import Runtime, exists, get_instance
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.uploaded_file_manager import UploadedFile, UploadedFileRec

from fairpriv_core.data.folder import find_named, list_names
from fairpriv_core.data.forms import Stated
from fairpriv_core.data.profile import FileReport
from fairpriv_core.data.reader_process import READER
from fairpriv_core.data.several import join_files, name_joined
from fairpriv_core.data.table_schema import UNSAID, TableSchema, write_statement
from fairpriv_core.errors import FairprivError
from fairpriv_core.runs.beside import is_demo
from fairpriv_core.store.runs import RunStore
from fairpriv_core.store.uploads import Upload
from pages.widgets.shared.access import find_store
from pages.widgets.shared.demo import SENTENCE
from pages.widgets.shared.person import find_person
from pages.widgets.shared.reference import write_file
from pages.widgets.shared.sentences import attempt, plain, sentence
from pages.widgets.shared.session import stamp_file
from pages.widgets.shared.state import choose, forget, keep, mount_index, tell_apart

LIMIT_BYTES = 50_000_000
_ROLES = (
    *("label", "positive", "image", "unreadable", "attributes", "group_ratio", "rows", "person"),
    *("schema", "values_from", "schema_share", "label_edge.", "edges.", "groups."),
)
HELD_SECONDS = 120.0  # the page takes a file within seconds of its arrival, or never
HELD_SESSIONS = 10  # that have files on their way
MOST_AT_ONCE = 50  # files of one table
_DIGITS = 12
_TURN = "uploader_turn"
_LOST = "Some files did not arrive. Drop up to 50 files at once, of 50 MB together."
_GATE_LOCK = Lock()


class UploadGate:
    """Which sessions may send files to Streamlit's upload address, how many of them are held, and for how long.

    By itself Streamlit takes any number from every open session, whatever its page shows, and keeps them until the
    session ends. A session is let in when its page draws a place for files, so nobody is before sign-in or in a
    demonstration. It holds its last files, of LIMIT_BYTES and MOST_AT_ONCE at most; so many as HELD_SESSIONS hold some
    at a time; each file goes after `seconds`.
    """

    def __init__(self, runtime: Runtime, seconds: float = HELD_SECONDS) -> None:
        self._manager = cast(MemoryUploadedFileManager, runtime.uploaded_file_mgr)
        self._seconds = seconds
        self._let_in: set[str] = set()
        self._is_active, self._add = runtime.is_active_session, self._manager.add_file
        runtime.is_active_session = self.admits  # type: ignore[method-assign]  # asked by the upload address alone
        self._manager.add_file = self._take  # type: ignore[method-assign]  # all files pass there

    def let_in(self, session_id: str) -> None:
        """Take files of this session from now on, while it is connected."""
        self._let_in = {known for known in self._let_in if self._is_active(known)} | {session_id}

    def admits(self, session_id: str) -> bool:
        """Return whether a file of this session is taken; asked before its first byte is read."""
        others = [known for known, files in list(self._manager.file_storage.items()) if files and known != session_id]
        has_room = len(others) < HELD_SESSIONS
        return session_id in self._let_in and self._is_active(session_id) and has_room

    def _take(self, session_id: str, file: UploadedFileRec) -> None:
        if not self.admits(session_id):
            return
        held = list(self._manager.file_storage.get(session_id, {}).values())
        while held and (len(held) == MOST_AT_ONCE or sum(len(each.data) for each in (*held, file)) > LIMIT_BYTES):
            self._manager.remove_file(session_id, held.pop(0).file_id)
        self._add(session_id, file)
        timer = Timer(self._seconds, self._manager.remove_file, (session_id, file.file_id))
        timer.daemon = True
        timer.start()


_stand_gate = cache(UploadGate)


def name_upload(upload: Upload) -> str:
    """Return what an upload is called in a list of files and in a reference: the start of its id."""
    return upload.id[:_DIGITS]


def offer_upload(store: RunStore) -> bool:
    """Take a file that is dropped here into the store, or say what is wrong with it; return whether it was refused."""
    _let_in()
    turn = st.session_state.get(_TURN, 0)  # another key is an empty uploader
    key = f"uploader_{turn}" if turn else "uploader"
    given = st.file_uploader(
        "A table, at most 50 MB: CSV (also .gz or .zip), Excel, OpenDocument, Parquet, JSON or ARFF. Several CSV or "
        "Parquet files with the same columns are one table.",
        accept_multiple_files=True,
        key=key,
        help="The file stays on this machine until you delete it. Only you can read it.",
    )
    sent = tuple(each.file_id for each in st.session_state.get(key) or ())  # those that are gone too
    if sent and sent != st.session_state.get("uploaded"):
        st.session_state["uploaded"] = sent
        st.session_state["upload_faults"] = _take_new(store, given, sent)
        if not st.session_state["upload_faults"]:
            st.session_state[_TURN] = turn + 1
            st.rerun()
    faults = st.session_state.get("upload_faults", ()) if sent else ()
    for fault in faults:
        st.error(plain(fault), icon=":material/error:")
    if faults:
        st.button("Go on without it", key="drop_refused", on_click=lambda: st.session_state.update({_TURN: turn + 1}))
    return bool(faults)


def offer_delete(store: RunStore, upload: Upload) -> None:
    """Draw the button that deletes the person's `upload`."""
    if st.button("Delete", key="delete_upload", icon=":material/delete:", help="Deletes the file from the store"):
        attempt(lambda: store.uploads.delete(upload.id, upload.owner))
        st.rerun()


def offer_sharing(store: RunStore, upload: Upload) -> None:
    """Let a person who has signed in share their upload; a machine of one's own has nobody to share with."""
    if not find_person().name:
        return
    key = f"share.{name_upload(upload)}"
    st.toggle(
        "Share with everyone on this server",
        value=store.uploads.is_shared(upload.id, upload.owner),
        key=key,
        on_change=lambda: attempt(lambda: _share(store, upload, shared=st.session_state[key])),
        help="Everyone who may sign in can then choose it, see its groups and train on it, until you take it back.",
    )


def _share(store: RunStore, upload: Upload, *, shared: bool) -> None:
    store.uploads.share(upload.id, upload.owner, shared=shared)


def _take_new(store: RunStore, given: Sequence[UploadedFile], sent: Sequence[str]) -> tuple[str, ...]:
    """Take what was dropped, as `_take`; the next drop replaces a file that was refused alone."""
    alone: set[str] = st.session_state.setdefault("refused_alone", set())
    wanted = [each for each in sent if each not in alone] or sent
    held = [each for each in given if each.file_id in wanted]
    if len(held) < len(wanted):
        return (_LOST,)
    faults = _take(store, held)
    if faults and len(held) == 1:
        alone.add(held[0].file_id)
    return faults


def _take(store: RunStore, given: Sequence[UploadedFile]) -> tuple[str, ...]:
    """Store a table and look into it; what cannot be used is not kept. Return what is wrong with it."""
    names = tuple(each.name for each in given)
    try:
        with st.spinner("Storing the file …"):
            stored = _put(store, given)
    except FairprivError as error:
        return (_spell(str(error), names),)
    try:
        faults = look_into(stored.path, uploaded=True).errors
    except FairprivError as error:
        faults = (str(error),)
    if faults:
        attempt(lambda: store.uploads.delete(stored.id, store.payer))
        return tuple(_spell(fault.replace(stored.path.name, stored.name), (stored.name,)) for fault in faults)
    choose("file", name_upload(stored))
    _forget(given)
    return ()


def _spell(fault: str, names: tuple[str, ...]) -> str:
    """Return what is wrong with files as a sentence; the name of one stays as it is where the sentence begins."""
    return fault if fault.startswith(names) else sentence(fault)


def _put(store: RunStore, given: Sequence[UploadedFile]) -> Upload:
    """Return the upload that one file is, or several of one shape together."""
    if len(given) == 1:
        return store.uploads.put(cast(IO[bytes], given[0]), given[0].name, store.payer)
    with TemporaryFile() as joined:
        join_files([(each.name, cast(IO[bytes], each)) for each in given], joined)
        joined.seek(0)
        return store.uploads.put(joined, name_joined([each.name for each in given]), store.payer)


def look_into(path: Path, stated: TableSchema = UNSAID, *, uploaded: bool) -> FileReport:
    """Return what a file seems to hold, read once while it stays as it is; one that is `uploaded` has a limit."""
    return _inspect(str(path), stamp_file(str(path)), LIMIT_BYTES if uploaded else None, write_statement(stated))


@st.cache_data(max_entries=8, show_spinner="Reading the file …")
def _inspect(path: str, stamp: tuple[int, int] | None, limit_bytes: int | None, stated: str | None) -> FileReport:
    return READER.inspect(Path(path), limit_bytes=limit_bytes, stated=stated)


def _let_in() -> None:
    """Let this session send files; the first one opens the address, which .streamlit/config.toml leaves closed."""
    context = get_script_run_ctx()
    if context is None or not exists():
        return
    with _GATE_LOCK:
        _stand_gate(get_instance()).let_in(context.session_id)
        config.set_option("server.maxUploadSize", LIMIT_BYTES // 1_000_000)


def _forget(given: Sequence[UploadedFile]) -> None:
    """Free what Streamlit holds of files that are stored: it would keep them for as long as the session lives."""
    context = get_script_run_ctx()
    if context is not None and isinstance(context.uploaded_file_mgr, MemoryUploadedFileManager):
        for each in given:
            context.uploaded_file_mgr.remove_file(context.session_id, each.file_id)
            each.close()


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
    if is_demo():
        st.info(plain(sentence(SENTENCE)), icon=":material/visibility:")
        return None
    if offer_upload(store):
        return None
    given = {_name_choice(item): item for item in _list_files(store)}
    if not given:
        st.caption("Nothing uploaded yet. The first line of a table names its columns.")
        return None
    left, right = st.columns([5, 1], vertical_alignment="bottom")
    with left:
        labels = tell_apart({name: _describe(item, store) for name, item in given.items()})
        shown = st.selectbox("File", list(given), **mount_index("file", given), format_func=labels.__getitem__)
    chosen = given[keep("file", shown)]
    begin_file(str(chosen.path))
    if chosen.upload is not None and chosen.upload.owner == store.payer:
        with right:
            offer_delete(store, chosen.upload)
        offer_sharing(store, chosen.upload)
    return chosen


def begin_file(path: str, *, stated: bool = False) -> None:
    """Start from the guesses about the file at `path` where another was shown; unless a link has `told` its roles."""
    before, st.session_state["roles_of"] = st.session_state.get("roles_of"), path
    if before not in (None, path) and not stated:
        forget("written.", "cells", *_ROLES)


def begin_reading(stated: Stated, *, told: bool = False) -> None:
    """Start from the guesses where the file was read in another way before; unless a link has `told` its roles."""
    before, st.session_state["reading_of"] = st.session_state.get("reading_of"), stated
    if before not in (None, stated) and not told:
        forget(*_ROLES)


def _list_files(store: RunStore) -> list[GivenFile]:
    uploads = attempt(lambda: store.uploads.visible(store.payer)) or []
    names = attempt(list_names) or []
    brought = [GivenFile(item.path, item.name, item) for item in uploads]
    return [*brought, *(GivenFile(find_named(name), name) for name in names)]


def _name_choice(given: GivenFile) -> str:
    """Return what the choice is called in the session: an upload by its id's start, another as in a reference."""
    return name_upload(given.upload) if given.upload is not None else write_file(str(given.path))


def _describe(given: GivenFile, store: RunStore) -> str:
    if given.upload is None:
        return f"{given.name} ({_size(given.path.stat().st_size)}, on this server)"
    shared = "" if given.upload.owner == store.payer else ", shared by someone else"
    return f"{given.name} ({_size(given.upload.bytes)}{shared})"


def _size(count: int) -> str:
    return f"{count / 1e6:.1f} MB" if count >= 1e5 else f"{math.ceil(count / 1e3)} kB"
