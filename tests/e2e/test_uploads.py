"""The address that takes files, on a real server and without a browser: closed until a page shows a place for one."""

from __future__ import annotations

import asyncio
import http.client
from collections.abc import Callable, Coroutine, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
import websockets
from streamlit.proto.BackMsg_pb2 import BackMsg
from streamlit.proto.ForwardMsg_pb2 import ForwardMsg

BOUNDARY = "b"
HEAD = f'--{BOUNDARY}\r\nContent-Disposition: form-data; name="f"; filename="a.csv"\r\nContent-Type: text/csv\r\n\r\n'
SECRETS = """[auth]
redirect_uri = "http://localhost/oauth2callback"
cookie_secret = "0123456789abcdef0123456789abcdef"
client_id = "a"
client_secret = "b"
server_metadata_url = "https://id.example.org/.well-known/openid-configuration"

[people]
allowed = ["*"]
"""


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
    with closing(http.client.HTTPConnection("localhost", site.port, timeout=60)) as line:
        line.request(verb, address, body, headers or {})
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
    address = f"ws://localhost:{site.port}/_stcore/stream"
    async with websockets.connect(
        address, origin=site.address, subprotocols=["streamlit", "x"], max_size=None
    ) as socket:
        session = ""
        opening = BackMsg()
        opening.rerun_script.query_string, opening.rerun_script.page_name = query, page
        await socket.send(opening.SerializeToString())
        message = ForwardMsg()
        while message.WhichOneof("type") != "script_finished":
            message.ParseFromString(await asyncio.wait_for(socket.recv(), 60))
            session = message.new_session.initialize.session_id or session
        return await asyncio.to_thread(act, session)


def try_to_send(site: Any, page: str, query: str = "") -> Sequence[int]:
    found: Sequence[int] = run(visit(site, page, lambda session: send(site, session, b"a,b\n1,2\n", 2), query))
    return found


def test_nothing_is_taken_in_a_demonstration(make_site: Callable[..., Any]) -> None:
    site = make_site(FAIRPRIV_DEMO="1")
    assert try_to_send(site, "data", "source=file") == [413, 413]
    assert try_to_send(site, "") == [413, 413]


def test_nothing_is_taken_before_sign_in(make_site: Callable[..., Any], tmp_path: Path) -> None:
    secrets = tmp_path / "secrets.toml"
    secrets.write_text(SECRETS, "utf-8")
    site = make_site(STREAMLIT_SECRETS_FILES=str(secrets))
    assert try_to_send(site, "data", "source=file") == [413, 413]


def test_a_session_is_let_in_by_its_page_and_holds_one_file(make_site: Callable[..., Any]) -> None:
    site, content = make_site(), b"x" * 20_000_000

    def stay_small(session: str) -> tuple[list[int], float]:
        before = read_memory(site)
        return send(site, session, content, 6), read_memory(site) - before

    assert try_to_send(site, "learn") == [413, 413]
    answers, grown = run(visit(site, "data", stay_small, "source=file"))
    assert answers == [204] * 6 and grown < 80, grown
    assert try_to_send(site, "learn") == [400, 400]  # open to the session above, and to it alone


@pytest.mark.parametrize("session", ["", "nobody"])
def test_a_session_that_is_not_there_sends_nothing(session: str, site: Any) -> None:
    assert send(site, session or "%00", b"a,b\n1,2\n") in ([400], [404], [413])
