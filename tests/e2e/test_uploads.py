"""The address that takes files, on a real server and without a browser: closed until a page shows a place for one."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from tests.e2e.sending import read_memory, run, send, try_to_send, visit

SECRETS = """[auth]
redirect_uri = "http://localhost/oauth2callback"
cookie_secret = "0123456789abcdef0123456789abcdef"
client_id = "a"
client_secret = "b"
server_metadata_url = "https://id.example.org/.well-known/openid-configuration"

[people]
allowed = ["*"]
"""


def test_nothing_is_taken_before_sign_in(make_site: Callable[..., Any], tmp_path: Path) -> None:
    secrets = tmp_path / "secrets.toml"
    secrets.write_text(SECRETS, "utf-8")
    site = make_site(STREAMLIT_SECRETS_FILES=str(secrets))
    assert try_to_send(site, "data", "source=file") == [413, 413]


def test_a_session_is_let_in_by_its_page_and_holds_one_file(site: Any) -> None:
    content = b"x" * 20_000_000

    def stay_small(session: str) -> tuple[list[int], float]:
        before = read_memory(site)
        return send(site, session, content, 6), read_memory(site) - before

    assert try_to_send(site, "learn") in ([413, 413], [400, 400])  # as another session was let in before, or none
    answers, grown = run(visit(site, "data", stay_small, "source=file"))
    assert answers == [204] * 6 and grown < 80, grown
    assert try_to_send(site, "learn") == [400, 400]  # open to the session above, and to it alone
    for session in ("%00", "nobody"):  # that is not there
        assert send(site, session, b"a,b\n1,2\n") in ([400], [404], [413])
