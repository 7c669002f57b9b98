"""What Streamlit holds of files on their way: of sessions that were let in, as much as one table, and not for long."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import pytest
from streamlit import config
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager
from streamlit.runtime.uploaded_file_manager import UploadedFileRec
from streamlit.testing.v1 import AppTest
from streamlit.web.server.starlette import starlette_routes

from fairpriv_core.store.carried import LIMIT_BYTES
from pages.widgets.shared import uploader
from pages.widgets.shared.uploader import HELD_SESSIONS, MOST_AT_ONCE, UploadGate


@pytest.fixture
def runtime() -> Any:
    """Return what the gate needs of a running Streamlit: its file manager, and which sessions are connected."""
    manager = MemoryUploadedFileManager("/_stcore/upload_file")
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


def test_a_gate_stands_where_the_address_asks_it(runtime: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    gate = UploadGate(runtime)
    assert gate.stands and not runtime.uploaded_file_mgr.file_storage
    assert not gate.admits("session 0") and put(runtime, "session 0") == []


def _ask_elsewhere(runtime: Any, manager: Any) -> Any:
    """Return what the address needs, whose sessions it finds somewhere else."""
    return SimpleNamespace(is_active_session=lambda session: True), manager


def _keep_elsewhere(runtime: Any, manager: Any) -> Any:
    """Return what the address needs, which keeps files without asking anybody."""
    add = manager.add_file
    return runtime, SimpleNamespace(add_file=lambda session_id, file: add(session_id, file))


def _fail(*_: Any) -> Any:
    raise ImportError


@pytest.mark.parametrize("change", [_ask_elsewhere, _keep_elsewhere, _fail])
def test_a_gate_that_is_passed_by_lets_nobody_in(
    runtime: Any, monkeypatch: pytest.MonkeyPatch, change: Callable[..., Any]
) -> None:
    """Another version of Streamlit may ask or keep by other ways, or have no such address."""
    make = starlette_routes.create_upload_routes
    monkeypatch.setattr(
        starlette_routes, "create_upload_routes", lambda runtime, manager, base: make(*change(runtime, manager), base)
    )
    monkeypatch.setattr(uploader, "exists", lambda: True)
    monkeypatch.setattr(uploader, "get_instance", lambda: runtime)
    monkeypatch.setattr(uploader, "get_script_run_ctx", lambda: SimpleNamespace(session_id="session 0"))
    monkeypatch.setattr(uploader, "_stand_gate", UploadGate)
    before = config.get_option("server.maxUploadSize")
    page = AppTest.from_function(_draw).run()
    assert [each.value for each in page.error] and page.error[0].value.startswith("Uploads are off")
    assert not page.get("file_uploader") and config.get_option("server.maxUploadSize") == before
    assert not UploadGate(runtime).stands


def _draw() -> None:
    from pages.widgets.shared.uploader import offer_uploader

    assert not offer_uploader(lambda source, name: (), help="")


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
