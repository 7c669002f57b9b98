"""A demonstration: everything can be looked at, and every verb that writes is refused where the store is opened."""

from __future__ import annotations

from collections.abc import Callable
from io import BytesIO
from pathlib import Path

import pytest
from sqlalchemy import text, update

from fairpriv_core.errors import BadInput, StoreError
from fairpriv_core.ledger.selection import Criterion, select_run
from fairpriv_core.privacy.rdp import Cap
from fairpriv_core.records.config import build_config
from fairpriv_core.store.audits import AuditStore
from fairpriv_core.store.database import Database
from fairpriv_core.store.mode import DATA
from fairpriv_core.store.runs import RunStore, open_store
from fairpriv_core.store.sweeps import SweepStore
from fairpriv_core.store.tables import run
from pages.widgets.shared.demo import SENTENCE
from tests.pages.shown import PAGES, Open, open_frame, said, whole

BRAKES = {"launch", "do_pause", "do_resume", "do_stop", "do_audit", "choose"}
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
    "audit": lambda store, key: store.previews.ask({"audit": key, "runs": 200, "seed": 0}),
    "keep an audit": lambda store, key: AuditStore(store.database).keep(key, {}),
    "upload": lambda store, key: store.uploads.put(BytesIO(b"a,b\n1,2\n"), "a.csv", "local"),
    "decide": lambda store, key: store.decisions.put(BytesIO(b"a,b\n1,2\n"), "a.csv", run=key, limit_bytes=9),
    "sweep": lambda store, key: SweepStore(store).submit([(CONFIG, "a" * 16)]),
    "go on with a sweep": lambda store, key: SweepStore(store).go_on([key]),
    "cap": lambda store, key: store.ledger.set_cap("data", None, Cap(1.0, 1e-5), where="data"),
    "choose by raw numbers": lambda store, key: select_run(store, list_private(store), Criterion("raw")),
}


@pytest.fixture
def demo(monkeypatch: pytest.MonkeyPatch) -> None:
    """Make this test's dashboard a demonstration."""
    monkeypatch.setenv("FAIRPRIV_DEMO", "1")


def test_every_verb_is_refused(with_runs: Path) -> None:
    store = RunStore(Database(str(with_runs), frozen=SENTENCE))
    key = store.rows()[0].key
    before = sorted(path.name for path in with_runs.parent.rglob("*"))
    for verb, act in VERBS.items():
        with pytest.raises(BadInput, match="demonstration"):
            act(store, key)
        assert sorted(path.name for path in with_runs.parent.rglob("*")) == before, verb
        assert len(store.rows()) == 3, verb


def test_the_connection_itself_cannot_write(with_runs: Path) -> None:
    database = Database(str(with_runs), frozen=SENTENCE)
    with pytest.raises(StoreError, match="read-only"), database.read() as connection:
        connection.execute(text("DELETE FROM run"))


@pytest.mark.usefixtures("demo")
def test_every_page_opens_on_an_empty_store_and_launches_nothing(open_page: Open, own_store: Path) -> None:
    for name in PAGES:
        assert whole(open_page(name)).title
    assert "demonstration" in said(open_frame(), "info")
    assert open_page("train").button("launch").disabled
    own = open_page("data", source="file")
    assert not own.get("file_uploader") and "demonstration" in said(own, "info")
    assert len(open_page("data").selectbox("dataset").options) == 2
    assert open_store(str(own_store)).rows() == []


@pytest.mark.usefixtures("demo")
def test_every_page_opens_on_runs_and_its_verbs_are_off(with_runs: Path, open_page: Open) -> None:
    store = RunStore(Database(str(with_runs)))
    waiting, paused = (store.submit(build_config({**CONFIG.to_json(), "seed": seed})).key for seed in (98, 99))
    store.request(paused, "pause")
    shown = [(name, {}) for name in PAGES] + [("run", {"run": key}) for key in (waiting, paused)]
    verbs = set()
    for name, address in shown:
        page = whole(open_page(name, **address))
        offered = [each for each in page.button if each.key in BRAKES]
        assert page.title and all(button.disabled for button in offered), name
        verbs |= {str(button.key) for button in offered}
    assert verbs == BRAKES


@pytest.mark.usefixtures("demo")
def test_other_data_is_refused(open_page: Open) -> None:
    others = ("compas:race", "utkface:race", "file-0123456789ab:sex?label=y", "folder-../../etc/passwd:x", "nothing:x")
    for asked in others:
        for name in ("train", "data", "tradeoffs"):
            page = open_page(name, data=asked, source="file")
            assert not page.exception and not page.dataframe
            assert name == "tradeoffs" or any(
                "nly synthetic and adult are shown here" in item.value for item in page.error
            )


@pytest.mark.usefixtures("demo")
def test_runs_on_other_data_are_not_shown(open_page: Open, with_runs: Path, tmp_path: Path) -> None:
    own = tmp_path / "salaries.csv"
    own.write_text("a,sex,y\n1,f,0\n2,m,1\n", "utf-8")
    other = [{"dataset": "compas", "sensitive": "race"}, {"file": str(own), "label": "y", "sensitive": "sex"}]
    with open_store(str(with_runs)) as store:
        shown = {row.key for row in store.rows()}
        keys = []
        for data in other:
            row = store.submit(build_config({**CONFIG.to_json(), "data": data}))
            keys.append(row.key)
        record, brief = store.record(min(shown)), next(store.each_brief())
        assert record is not None
        with store.database.write() as connection:  # as finished, with all that a finished run has
            for key in keys:
                told = {**record.to_json(), "key": key, "config": store.row(key).config}
                change = {"status": "finished", "record": told, "brief": {**brief, "metrics": brief["metrics"]}}
                connection.execute(update(run).where(run.c.key == key).values(**change))
    frozen = RunStore(Database(str(with_runs), frozen=SENTENCE), "local", data_sets=DATA)
    assert {row.key for row in frozen.rows()} == {each["key"] for each in frozen.each_brief()} == shown
    assert frozen.records([*shown, *keys]).keys() == shown
    for key in keys:
        for ask in (frozen.row, frozen.record, lambda key: frozen.artifact(key, "model.safetensors")):
            with pytest.raises(BadInput, match="no run"):
                ask(key)
    for name, key in [*((name, keys[0]) for name in PAGES), ("run", keys[1]), ("audit", keys[1])]:
        page = open_page(name, run=key, runs=[*keys, *shown], reference=key, points=keys, data="adult:sex")
        drawn = [said(page), said(page, "text")]
        drawn += [option for item in (*page.selectbox, *page.multiselect) for option in item.options]
        assert not page.exception and not [text for text in drawn if "compas" in text.lower() or "salaries" in text]
