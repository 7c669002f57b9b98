"""Files sent to the address of a real server that takes them, without a browser, past the page."""

from __future__ import annotations

import asyncio
import http.client
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

from tests.patience import PATIENCE

BOUNDARY = "b"
HEAD = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="f"; filename="a.csv"\r\nContent-Type: text/csv\r\n\r\n'


def send(site: Any, session: str, content: bytes, count: int = 1) -> list[int]:
    """Send `count` files for a session, past its page; return what the server answers."""
    _, cookie = ask(site, "GET", "/_stcore/health")
    token = cookie.partition("=")[2].partition(";")[0]
    headers = {"Content-Type": f"multipart/form-data; boundary={BOUNDARY}", "X-Xsrftoken": token}
    headers |= {"Cookie": f"_streamlit_xsrf={token}"}
    body = HEAD.encode() + content + f"\r\n--{BOUNDARY}--\r\n".encode()
    addresses = [f"/_stcore/upload_file/{session}/file-{number}" for number in range(count)]
    return [ask(site, "PUT", address, body, headers)[0] for address in addresses]


def ask(
    site: Any, verb: str, address: str, body: bytes = b"", headers: dict[str, str] | None = None
) -> tuple[int, str]:
    """Return the status and the cookie of an answer."""
    with closing(http.client.HTTPConnection("localhost", site.port, timeout=PATIENCE)) as line:
        line.request(verb, urlsplit(site.address).path + address, body, headers or {})
        with closing(line.getresponse()) as answer:
            answer.read()
            return answer.status, answer.getheader("set-cookie") or ""


def read_memory(site: Any) -> float:
    """Return the megabytes of the pages' process."""
    lines = Path(f"/proc/{site.pages.pid}/status").read_text("ascii").splitlines()
    return next(int(line.split()[1]) / 1024 for line in lines if line.startswith("VmRSS"))


def run(work: Coroutine[Any, Any, Any]) -> Any:
    """Run in a thread of its own: a browser's loop may be running in this one."""
    with ThreadPoolExecutor(1) as pool:
        return pool.submit(asyncio.run, work).result()


async def visit(site: Any, page: str, act: Callable[[str], Any], query: str = "") -> Any:
    """Connect, open `page`, and return what `act` gives for the session while it is connected."""
    address, origin = f"ws{site.address.removeprefix('http')}/_stcore/stream", f"http://localhost:{site.port}"
    async with websockets.connect(address, origin=origin, subprotocols=["streamlit", "x"], max_size=None) as socket:
        session = ""
        opening = BackMsg()
        opening.rerun_script.query_string, opening.rerun_script.page_name = query, page
        await socket.send(opening.SerializeToString())
        message = ForwardMsg()
        while message.WhichOneof("type") != "script_finished":
            message.ParseFromString(await asyncio.wait_for(socket.recv(), PATIENCE))
            session = message.new_session.initialize.session_id or session
        return await asyncio.to_thread(act, session)


def try_to_send(site: Any, page: str, query: str = "") -> Sequence[int]:
    found: Sequence[int] = run(visit(site, page, lambda session: send(site, session, b"a,b\n1,2\n", 2), query))
    return found
