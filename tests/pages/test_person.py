"""Who sees what: nobody without signing in where that is set up, and each person their own runs and uploads."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest
from streamlit.testing.v1 import AppTest

from fairpriv_core.errors import BadInput
from fairpriv_core.records.config import build_config
from fairpriv_core.store.runs import RunStore, open_store
from pages.widgets.shared.person import is_allowed
from tests.pages.shown import ROOT, address_of, make_csv, open_frame, said, upload

CONFIG = {
    "data": {"dataset": "synthetic", "sensitive": "group"},
    "notion": "demographic_parity",
    "method": {"name": "none", "epochs": 2},
}
See = Callable[..., AppTest]


def call(name: str, **told: Any) -> dict[str, Any]:
    """Return what a provider tells of a person."""
    return {"is_logged_in": True, "iss": "https://id.example.org", "sub": name, "email": f"{name}@example.org"} | told


@pytest.fixture
def see() -> See:
    """Return a function that opens a file of the app as somebody sees it."""

    def open_as(file: str, user: dict[str, Any], *, allowed: object = ("@example.org",), **address: str) -> AppTest:
        page = AppTest.from_file(str(ROOT / file), default_timeout=60)
        page.user = user
        page.secrets["people"] = {"allowed": allowed}
        for name, text in address.items():
            page.query_params[name] = text
        return page.run()

    return open_as


def text_of(page: AppTest) -> str:
    """Return all that a page says, without what keeps it from being markup or a link."""
    return said(page, "markdown", "text", "error", "caption").replace("\u2060", "")


def test_nobody_sees_anything_before_signing_in(see: See, with_runs: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    page = see("app.py", {"is_logged_in": False})
    assert not page.exception and [item.key for item in page.button] == ["sign_in"]
    assert "Sign in to use this dashboard" in text_of(page)
    assert not page.get("bidi_component") and not page.selectbox and not page.slider
    for name in ("run", "compare", "audit", "train"):
        bare = see(f"pages/{name}.py", {"is_logged_in": False})
        assert "Sign in" in bare.error[0].value and not bare.get("bidi_component") and not bare.exception
    monkeypatch.setenv("FAIRPRIV_TRY", "1")
    assert [item.key for item in see("app.py", {"is_logged_in": False}).button] == ["sign_in"], "on trial too"


def test_who_is_not_on_the_list_stays_outside(see: See) -> None:
    for allowed, words in (((), "nobody is let in yet"), (("@elsewhere.org", "bo@example.org"), "who may not use")):
        page = see("app.py", call("ana"), allowed=allowed)
        assert [item.key for item in page.button] == ["sign_out"] and words in text_of(page).casefold()
    assert "ana@example.org" in text_of(page)
    page = see("app.py", call("ana"))
    assert not page.exception and page.title[0].value.startswith("Train a")
    assert "Signed in as ana@example.org" in text_of(page) and "sign_out" in {item.key for item in page.button}
    assert not {"sign_in", "sign_out"} & {item.key for item in open_frame().button}, "the machine is one's own"


@pytest.mark.parametrize(
    ("told", "allowed", "is_let_in"),
    [
        ({"email": "Ana@Example.org"}, ["ana@example.org"], True),
        ({"email": "ana@example.org"}, ["@Example.org "], True),
        ({"email": "ana@example.org.evil.net"}, ["@example.org"], False),
        ({"email": "ana@sub.example.org"}, ["@example.org"], False),
        ({"email": "ana@example.org", "email_verified": "false"}, ["@example.org"], False),
        ({"email": "example.org"}, ["@example.org", "example.org"], False),
        ({}, ["", "@"], False),
        ({}, ["*"], True),
    ],
)
def test_the_list_names_addresses_and_domains(told: dict[str, Any], allowed: list[str], is_let_in: bool) -> None:
    assert is_allowed(told, allowed) is is_let_in


def test_each_person_has_their_own_list_and_opens_others_runs_by_link(see: See, own_store: Path) -> None:
    database = open_store(str(own_store)).database
    keys = {}
    for seed, name in enumerate(("ana", "bo")):
        store = RunStore(database, f"https://id.example.org#{name}")
        keys[name] = store.submit(build_config({**CONFIG, "seed": seed})).key
    mine = see("pages/run.py", call("ana"))
    assert mine.selectbox("run").value == keys["ana"] and len(mine.selectbox("run").options) == 1
    linked = see("pages/run.py", call("ana"), run=keys["bo"])
    assert linked.selectbox("run").value == keys["bo"] and not linked.error
    assert all(linked.button(f"do_{what}").disabled for what in ("pause", "stop"))
    assert not mine.button("do_pause").disabled


def test_a_wrong_key_lists_ones_own_keys_alone(see: See, own_store: Path) -> None:
    database = open_store(str(own_store)).database
    stores = {name: RunStore(database, f"https://id.example.org#{name}") for name in ("ana", "bo")}
    keys = {name: store.submit(build_config({**CONFIG, "seed": len(name)})).key for name, store in stores.items()}
    for name in ("run", "audit", "report", "compare"):
        page = see(f"pages/{name}.py", call("ana"), run="0123456789abcdef", runs="0123456789abcdef")
        assert keys["bo"] not in repr(page)
    for ask in (stores["ana"].row, stores["ana"].record, lambda key: stores["ana"].artifact(key, "model.safetensors")):
        with pytest.raises(BadInput, match=f"the newest are {keys['ana']}") as refused:
            ask("nothing")
        assert keys["bo"] not in str(refused.value)
    with pytest.raises(BadInput, match="you have no runs yet"):
        RunStore(database, "carl").row("nothing")


def test_a_launch_is_the_persons_own(see: See, own_store: Path) -> None:
    page = see("pages/train.py", call("ana"), method="none")
    page.button("launch").click().run()
    [row] = open_store(str(own_store)).rows()
    assert row.owner == "https://id.example.org#ana"


def list_shares(page: AppTest) -> list[str]:
    """Return the keys of the page's switches, but for those of a figure's downloads."""
    return [str(each.key) for each in page.toggle if not str(each.key).startswith("group_bars_")]


def test_an_upload_is_for_its_owner_until_it_is_shared(see: See, own_store: Path) -> None:
    page = see("pages/data.py", call("ana"), source="file")
    assert not upload(page, make_csv()).error and page.selectbox("file").options[0].startswith("people.csv")
    reference = address_of(page, "data")
    for name in ("data", "train"):
        other = see(f"pages/{name}.py", call("bo"), data=reference, source="file")
        assert "not among your uploads" in text_of(other) and not other.dataframe and not other.exception
    assert not [item for item in other.button if item.key == "launch" and not item.disabled]
    [share] = list_shares(page)
    page.toggle(share).set_value(True).run()
    shared = see("pages/data.py", call("bo"), data=reference, source="file")
    assert not shared.error and "shared by someone else" in shared.selectbox("file").options[0]
    assert "delete_upload" not in [item.key for item in shared.button] and not list_shares(shared)
    page.toggle(share).set_value(False).run()
    assert "not among your uploads" in text_of(see("pages/train.py", call("bo"), data=reference))


def test_what_was_left_out_of_a_run_is_for_its_owner_alone(see: See, own_store: Path) -> None:
    """It counts protected rows. Nor is a file read that is no longer shared with who launched the run."""
    database = open_store(str(own_store)).database
    anas, bos = (RunStore(database, f"https://id.example.org#{name}") for name in ("ana", "bo"))
    stored = anas.uploads.put(BytesIO(make_csv()), "people.csv", anas.payer)
    data = {"file": str(stored.path), "label": "income", "positive": "granted", "sensitive": "sex"}
    keys = {}
    for seed, store in enumerate((anas, bos)):
        asked = build_config({**CONFIG, "data": data, "file_id": stored.id, "seed": seed})
        keys[store] = store.submit(asked).key
        store.request(keys[store], "stop")
    for name, store, drawn in (("ana", anas, True), ("ana", bos, False), ("bo", bos, True)):
        page = see("pages/run.py", call(name), run=keys[store])
        assert not page.exception and ("Left out, and why" in repr(page)) == drawn


def test_an_upload_of_before_the_sign_in_is_nobodys(see: See, own_store: Path) -> None:
    stored = open_store(str(own_store)).uploads.put(BytesIO(make_csv()), "people.csv", "local")
    page = see("pages/train.py", call("ana"), data=f"file-{stored.id[:12]}:sex?label=income")
    assert "not among your uploads" in text_of(page)
