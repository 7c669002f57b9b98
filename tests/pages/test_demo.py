"""A demonstration: everything can be looked at, and every verb that writes is refused where the store is opened."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest
from sqlalchemy import text
from streamlit.testing.v1 import AppTest

from fairpriv_core.errors import BadInput, StoreError
from fairpriv_core.privacy.filter import Cap
from fairpriv_core.runs.config import build_config
from fairpriv_core.runs.selection import Wish, select_run
from fairpriv_core.runs.store import RunStore, open_store
from fairpriv_core.runs.store_audits import AuditStore
from fairpriv_core.runs.store_database import Database
from fairpriv_core.runs.store_sweep import SweepStore
from pages.widgets.demo import SENTENCE

ROOT = Path(__file__).resolve().parents[2]
PAGES = sorted(path.stem for path in (ROOT / "pages").glob("*.py") if path.stem != "__init__")
CONFIG = build_config(
    {
        "data": {"dataset": "synthetic", "sensitive": "group"},
        "notion": "demographic_parity",
        "method": {"name": "none", "epochs": 2},
        "seed": 99,
    }
)


def list_private(store: RunStore) -> list[str]:
    return [row.key for row in store.rows() if row.epsilon is not None]


VERBS: dict[str, Callable[[RunStore, str], object]] = {
    "launch": lambda store, key: store.submit(CONFIG),
    "pause": lambda store, key: store.request(key, "pause"),
    "stop": lambda store, key: store.request(key, "stop"),
    "resume": lambda store, key: store.request(key, "resume"),
    "delete": lambda store, key: store.delete(key),
    "audit": lambda store, key: store.request_preview({"audit": key, "runs": 200, "seed": 0}),
    "keep an audit": lambda store, key: AuditStore(store.database).keep(key, {}),
    "upload": lambda store, key: store.uploads.put(BytesIO(b"a,b\n1,2\n"), "a.csv", "local"),
    "sweep": lambda store, key: SweepStore(store).submit([(CONFIG, "a" * 16)]),
    "go on with a sweep": lambda store, key: SweepStore(store).go_on([key]),
    "cap": lambda store, key: store.ledger.set_cap("data", None, Cap(1.0, 1e-5), where="data"),
    "choose by raw numbers": lambda store, key: select_run(store, list_private(store), Wish("raw")),
}


@pytest.fixture
def demo(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make this test's dashboard a demonstration."""
    monkeypatch.setenv("FAIRPRIV_DEMO", "1")


@pytest.mark.parametrize("verb", VERBS)
def test_every_verb_is_refused(verb: str, with_runs: Path) -> None:
    store = RunStore(Database(str(with_runs), frozen=SENTENCE))
    key = store.rows()[0].key
    before = sorted(path.name for path in with_runs.parent.rglob("*"))
    with pytest.raises(BadInput, match="demonstration"):
        VERBS[verb](store, key)
    assert sorted(path.name for path in with_runs.parent.rglob("*")) == before
    assert len(store.rows()) == 3


def test_the_connection_itself_cannot_write(with_runs: Path) -> None:
    database = Database(str(with_runs), frozen=SENTENCE)
    with pytest.raises(StoreError, match="read-only"), database.read() as connection:
        connection.execute(text("DELETE FROM run"))


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.usefixtures("demo")
def test_every_page_opens_on_an_empty_store(name: str, open_page: Callable[..., AppTest]) -> None:
    page = open_page(name)
    assert not page.exception and not page.error
    assert page.header


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.usefixtures("demo")
def test_every_page_opens_on_runs(name: str, with_runs: Path, open_page: Callable[..., AppTest]) -> None:
    page = open_page(name)
    assert not page.exception and not page.error
    assert page.header
    verbs = ("launch", "do_pause", "do_resume", "do_stop", "do_audit", "choose")
    assert all(button.disabled for button in page.button if button.key in verbs)


@pytest.mark.usefixtures("demo")
def test_the_banner_says_so_and_nothing_can_be_launched(open_page: Callable[..., AppTest], own_store: Path) -> None:
    frame = AppTest.from_file(str(ROOT / "app.py"), default_timeout=60).run()
    assert "demonstration" in frame.info[0].value
    assert open_page("train").button("launch").disabled
    own = open_page("data", source="file")
    assert not own.get("file_uploader") and any("demonstration" in item.value for item in own.info)
    benchmarks = open_page("data")
    assert len(benchmarks.selectbox("dataset").options) == 2
    assert open_store(str(own_store)).rows() == []


@pytest.mark.usefixtures("demo")
def test_other_data_is_refused(open_page: Callable[..., AppTest]) -> None:
    page = open_page("train", data="compas:race")
    assert any("synthetic and adult only" in item.value for item in page.error)
