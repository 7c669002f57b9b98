"""Streamlit's upload address, and a file sent to it: to see which parts of Streamlit such a file passes."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module
from typing import Any, cast

from streamlit.runtime import Runtime
from streamlit.runtime.memory_uploaded_file_manager import MemoryUploadedFileManager

Address = Callable[..., Awaitable[None]]
_SERVER = "streamlit.web.server.starlette"
_EMPTY_FILE = b'--b\r\nContent-Disposition: form-data; name="f"; filename="a.csv"\r\n\r\n\r\n--b--\r\n'


def build_address(runtime: Runtime, manager: MemoryUploadedFileManager) -> Address:
    """Return the upload address as Streamlit's server has it; any error where its version has none like that."""
    routes = import_module(f"{_SERVER}.starlette_routes").create_upload_routes(runtime, manager, None)
    return cast(Address, import_module("starlette.applications").Starlette(routes=routes))


def send_empty(address: Address, manager: MemoryUploadedFileManager, session: str) -> bool:
    """Send an empty file, which the address takes while it is closed to others; return whether it was taken."""
    token = import_module(f"{_SERVER}.starlette_app_utils").generate_xsrf_token_string().encode()
    (place,) = manager.get_upload_urls(session, ["a.csv"])
    headers = {b"content-type": b"multipart/form-data; boundary=b", b"x-xsrftoken": token}
    headers |= {b"cookie": b"_streamlit_xsrf=" + token}
    scope: dict[str, Any] = {"type": "http", "http_version": "1.1", "method": "PUT", "scheme": "http"}
    scope |= {"path": place.upload_url, "root_path": "", "query_string": b"", "headers": [*headers.items()]}
    statuses: list[int] = []

    async def receive() -> dict[str, object]:
        return {"type": "http.request", "body": _EMPTY_FILE, "more_body": False}

    async def answer(message: Mapping[str, Any]) -> None:
        statuses.extend([message["status"]] if message["type"] == "http.response.start" else [])

    async def ask() -> None:
        await address(scope, receive, answer)

    with ThreadPoolExecutor(1) as threads:  # whoever asks may be in an event loop already
        threads.submit(lambda: asyncio.run(ask())).result()
    return statuses == [204]
