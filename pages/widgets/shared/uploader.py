"""A place for files on a page: who may send some, how much is held and for how long, and who takes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache, partial
from secrets import token_hex
from tempfile import TemporaryFile
from threading import Lock, Timer
from typing import IO, cast

import streamlit as st
from streamlit import config
from streamlit.runtime import Runtime, exists, get_instance
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.scriptrunner import get_script_run_ctx
from streamlit.runtime.uploaded_file_manager import UploadedFile, UploadedFileRec

from fairpriv_core.errors import FairprivError
from fairpriv_core.files.several import join_files, name_joined
from fairpriv_core.store.carried import LIMIT_BYTES
from fairpriv_core.store.mode import is_demo, is_open
from pages.widgets.shared.demo import NO_UPLOAD, SENTENCE
from pages.widgets.shared.sentences import plain, sentence
from pages.widgets.shared.upload_address import build_address, send_empty

HELD_SECONDS = 120.0  # the page takes a file within seconds of its arrival, or never
HELD_SESSIONS = 10  # that have files on their way
MOST_AT_ONCE = 50  # files of one table
_LOST = "Some files did not arrive. Drop up to 50 files at once, of 50 MB together."
_KINDS = (
    "A table, at most 50 MB: CSV (also .gz or .zip), Excel, OpenDocument, Parquet, JSON or ARFF. Several CSV or "
    "Parquet files with the same columns are one table."
)
_OFF = (
    "Uploads are off: this version of Streamlit, {}, takes files past the limits on them. Install the version that "
    "requirements.txt names, and start again."
)
_GATE_LOCK = Lock()
#: stores a table from its bytes and its name, and returns what is wrong with it
Take = Callable[[IO[bytes], str], Sequence[str]]


class UploadGate:
    """Which sessions may send files to Streamlit's upload address, how many of them are held, and for how long.

    By itself Streamlit takes any number from every open session, whatever its page shows, and keeps them until the
    session ends. A session is let in when its page draws a place for files, so nobody is before sign-in or in a
    demonstration. It holds its last files, of LIMIT_BYTES and MOST_AT_ONCE at most. At most HELD_SESSIONS sessions hold
    files at a time, and each file goes after `seconds`.

    It takes the place of private parts of Streamlit, so it tries at its start what is sent by that address: `stands`
    says whether it was asked. Where it does not stand nobody may be let in.
    """

    def __init__(self, runtime: Runtime, seconds: float = HELD_SECONDS) -> None:
        self._seconds = seconds
        self._let_in: set[str] = set()
        self.stands = False
        with suppress(Exception):  # whatever another version of Streamlit lacks, or does
            self._stand(runtime)

    def _stand(self, runtime: Runtime) -> None:
        self._manager = cast(MemoryUploadedFileManager, runtime.uploaded_file_mgr)
        address = build_address(runtime, self._manager)  # before anything is replaced, as the server has built its own
        self._is_active, self._add = runtime.is_active_session, self._manager.add_file
        runtime.is_active_session = self.admits  # type: ignore[method-assign]  # asked by the upload address alone
        self._manager.add_file = self._take  # type: ignore[method-assign]  # all files pass there
        self.stands = self._is_asked(partial(send_empty, address, self._manager))

    def let_in(self, session_id: str) -> None:
        """Take files of this session from now on, while it is connected."""
        self._let_in = {session for session in self._let_in if self._is_active(session)} | {session_id}

    def admits(self, session_id: str) -> bool:
        """Return whether a file of this session is taken; asked before its first byte is read."""
        holders = [
            session for session, files in list(self._manager.file_storage.items()) if files and session != session_id
        ]
        has_room = len(holders) < HELD_SESSIONS
        return session_id in self._let_in and self._is_active(session_id) and has_room

    def _is_asked(self, send: Callable[[str], bool]) -> bool:
        """Return whether the address refuses an unknown session and takes one that is let in, both by this gate."""
        probe, took, (is_active, add) = token_hex(), [], (self._is_active, self._add)
        self._is_active = lambda session_id: session_id == probe or is_active(session_id)
        self._add = lambda session_id, file: took.append(session_id) if session_id == probe else add(session_id, file)
        try:
            if send(probe) or took:
                return False
            self._let_in.add(probe)
            return send(probe) and took == [probe] and not self._manager.file_storage.get(probe)
        finally:
            self._let_in.discard(probe)
            self._is_active, self._add = is_active, add

    def _take(self, session_id: str, file: UploadedFileRec) -> None:
        if not self.admits(session_id):
            return
        records = list(self._manager.file_storage.get(session_id, {}).values())
        while records and (
            len(records) == MOST_AT_ONCE or sum(len(record.data) for record in (*records, file)) > LIMIT_BYTES
        ):
            self._manager.remove_file(session_id, records.pop(0).file_id)
        self._add(session_id, file)
        timer = Timer(self._seconds, self._manager.remove_file, (session_id, file.file_id))
        timer.daemon = True
        timer.start()


_stand_gate = cache(UploadGate)


def offer_uploader(take: Take, *, key: str = "uploader", help: str) -> bool:
    """Have what is dropped here taken, or say what is wrong with it; return whether it was refused."""
    if not is_open():
        st.info(plain(sentence(SENTENCE if is_demo() else NO_UPLOAD)), icon=":material/visibility:")
        return False
    if not _let_in():
        st.error(_OFF.format(st.__version__), icon=":material/lock:")
        return False
    turns = f"{key}_turn"
    turn = st.session_state.get(turns, 0)  # another key is an empty uploader
    place = f"{key}_{turn}" if turn else key
    uploads = st.file_uploader(_KINDS, accept_multiple_files=True, key=place, help=help)
    sent = tuple(file.file_id for file in st.session_state.get(place) or ())  # those that are gone too
    if sent and sent != st.session_state.get(f"{key}_sent"):
        st.session_state[f"{key}_sent"] = sent
        st.session_state[f"{key}_faults"] = _take_new(take, uploads, sent, alone_key=f"{key}_alone")
        if not st.session_state[f"{key}_faults"]:
            st.session_state[turns] = turn + 1
            st.rerun()
    faults = st.session_state.get(f"{key}_faults", ()) if sent else ()
    for fault in faults:
        st.error(plain(fault), icon=":material/error:")
    if faults:
        go_on = partial(st.session_state.update, {turns: turn + 1})
        st.button("Go on without it", key="drop_refused", on_click=go_on)
    return bool(faults)


def _take_new(take: Take, files: Sequence[UploadedFile], sent: Sequence[str], *, alone_key: str) -> Sequence[str]:
    """Have what was dropped taken; the next drop replaces a file that was refused alone."""
    alone: set[str] = st.session_state.setdefault(alone_key, set())
    ids = [file_id for file_id in sent if file_id not in alone] or sent
    arrivals = [file for file in files if file.file_id in ids]
    if len(arrivals) < len(ids):
        return (_LOST,)
    faults = _take(take, arrivals)
    if faults and len(arrivals) == 1:
        alone.add(arrivals[0].file_id)
    if not faults:
        _forget(arrivals)
    return faults


def _take(take: Take, files: Sequence[UploadedFile]) -> Sequence[str]:
    """Have one file taken, or several of one shape together."""
    names = [file.name for file in files]
    try:
        if len(files) == 1:
            return take(cast(IO[bytes], files[0]), names[0])
        with TemporaryFile() as table:
            join_files([(file.name, cast(IO[bytes], file)) for file in files], table)
            table.seek(0)
            return take(table, name_joined(names))
    except FairprivError as error:
        return (spell(str(error), tuple(names)),)


def spell(fault: str, names: tuple[str, ...]) -> str:
    """Return a fault as a sentence with a capital letter, unless it begins with the name of a file."""
    return fault if fault.startswith(names) else sentence(fault)


def _let_in() -> bool:
    """Let this session send files, and return whether it may; False where no gate stands between it and the memory.

    The first one opens the address, which .streamlit/config.toml leaves closed.
    """
    context = get_script_run_ctx()
    if context is None or not exists():
        return True
    with _GATE_LOCK:
        gate = _stand_gate(get_instance())
        if gate.stands:
            gate.let_in(context.session_id)
            config.set_option("server.maxUploadSize", LIMIT_BYTES // 1_000_000)
        return gate.stands


def _forget(files: Sequence[UploadedFile]) -> None:
    """Free what Streamlit holds of files that are stored: it would keep them for as long as the session lives."""
    context = get_script_run_ctx()
    if context is not None and isinstance(context.uploaded_file_mgr, MemoryUploadedFileManager):
        for file in files:
            context.uploaded_file_mgr.remove_file(context.session_id, file.file_id)
            file.close()
