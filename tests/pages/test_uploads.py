"""What Streamlit holds of files on their way: of sessions that were let in, as much as one table, and not for long."""

from __future__ import annotations

import time
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFileRec

from pages.widgets.shared.uploader import HELD_SESSIONS, LIMIT_BYTES, MOST_AT_ONCE, UploadGate


@pytest.fixture
def runtime() -> Any:
    """Return what the gate needs of a running Streamlit: its file manager, and which sessions are connected."""
    manager = MemoryUploadedFileManager("/upload")
    connected = {f"session {number}" for number in range(HELD_SESSIONS + 2)}
    found = SimpleNamespace(uploaded_file_mgr=manager, connected=connected)
    found.is_active_session = lambda session: session in connected
    return found


def put(runtime: Any, session: str, name: str = "a", content: bytes = b"1" * 10) -> list[str]:
    """Send a file as the upload address does, and return what the session holds then."""
    if runtime.is_active_session(session):
        runtime.uploaded_file_mgr.add_file(session, UploadedFileRec(name, f"{name}.csv", "text/csv", content))
    return list(runtime.uploaded_file_mgr.file_storage.get(session, {}))


def test_only_who_was_let_in_and_is_there_sends(runtime: Any) -> None:
    gate = UploadGate(runtime)
    assert put(runtime, "session 0") == []
    gate.let_in("session 0")
    assert put(runtime, "session 0") == ["a"] and put(runtime, "session 1") == []
    runtime.connected.remove("session 0")
    assert not runtime.is_active_session("session 0")
    gate.let_in("session 1")
    runtime.connected.add("session 0")
    assert not gate.admits("session 0")


def test_a_file_of_a_session_that_left_on_the_way_is_dropped(runtime: Any) -> None:
    UploadGate(runtime)
    runtime.uploaded_file_mgr.add_file("session 0", UploadedFileRec("a", "a.csv", "text/csv", b"1"))
    assert not runtime.uploaded_file_mgr.file_storage.get("session 0")


def test_a_session_holds_the_last_files_of_a_table_and_few_sessions_do(runtime: Any) -> None:
    gate = UploadGate(runtime)
    for session in sorted(runtime.connected):
        gate.let_in(session)
        put(runtime, session, "a")
        put(runtime, session, "b")
    held = [list(files) for files in runtime.uploaded_file_mgr.file_storage.values() if files]
    assert held == [["a", "b"]] * HELD_SESSIONS


def test_a_session_holds_no_more_than_one_table_may_have(runtime: Any) -> None:
    UploadGate(runtime).let_in("session 0")
    half = b"1" * (LIMIT_BYTES // 2)
    assert put(runtime, "session 0", "a", half) == ["a"]
    assert put(runtime, "session 0", "b", half) == ["a", "b"]
    assert put(runtime, "session 0", "c", half) == ["b", "c"]
    for number in range(MOST_AT_ONCE):
        held = put(runtime, "session 0", str(number))
    assert held == [str(number) for number in range(MOST_AT_ONCE)]


def test_a_file_goes_by_itself(runtime: Any) -> None:
    UploadGate(runtime, seconds=0.05).let_in("session 0")
    assert put(runtime, "session 0") == ["a"]
    ends = time.monotonic() + 30
    while runtime.uploaded_file_mgr.file_storage["session 0"]:
        assert time.monotonic() < ends
        time.sleep(0.01)
