"""Runs that pages can show: made once, by the project's own worker, in a store that each test gets a copy of."""

from __future__ import annotations

import functools
import shutil
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
from streamlit.components.v2 import manifest_scanner
from streamlit.testing.v1 import AppTest

from fairpriv_core.data.reader_process import READER
from fairpriv_core.records.config import RunConfig, build_config
from fairpriv_core.runs import beside
from fairpriv_core.runs.worker import work_on
from fairpriv_core.store.runs import RunStore, open_store
from fairpriv_core.store.work import WorkStore
from pages.widgets.app import top
from pages.widgets.shared import state, uploader
from pages.widgets.train import launch
from pages.widgets.train.plan import LaunchPlan
from tests.pages.shown import ROOT, Open

RAW = {"data": {"dataset": "synthetic", "sensitive": "group"}, "notion": "demographic_parity", "delta": 1e-5}
FEW = {"epochs": 3}
FIRST = state.DEFAULTS["data"]
_scan_once = functools.cache(manifest_scanner.scan_component_manifests)
_list_once = functools.cache(metadata.entry_points)


@pytest.fixture(autouse=True)
def own_main(monkeypatch: pytest.MonkeyPatch) -> None:
    """Give `__main__` back after a page, which Streamlit puts there: children of later tests would open that page."""
    monkeypatch.setitem(sys.modules, "__main__", sys.modules["__main__"])


@pytest.fixture(autouse=True)
def nothing_beside(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep the frame from starting a process that trains: it would outlive its test."""
    monkeypatch.setattr(beside, "train_beside", lambda: None)


@pytest.fixture(autouse=True)
def only_what_is_launched(monkeypatch: pytest.MonkeyPatch) -> None:
    """Keep Launch from having plain training done too: tests look at the newest run."""
    monkeypatch.setattr(launch, "train_plain_beside", lambda store, config: None)


@pytest.fixture(autouse=True)
def small_data(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pages begin with the small made-up data; `data_at_first` gives back what people begin with."""
    monkeypatch.setitem(state.DEFAULTS, "data", "synthetic:group")


@pytest.fixture
def data_at_first(small_data: None, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    """Begin with the data that people begin with, with no folder of data and no network; give their reference."""
    monkeypatch.setitem(state.DEFAULTS, "data", FIRST)
    for name, nowhere in (("FAIRPRIV_DATA", "/nowhere"), ("https_proxy", "http://127.0.0.1:9")):
        monkeypatch.setenv(name, nowhere)
    READER.close()
    yield FIRST
    READER.close()  # a process that reads has the environment in which it began


@pytest.fixture(autouse=True)
def components_scanned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look once for packages with components: each page tried would look again, for 0.1 s."""
    monkeypatch.setattr(manifest_scanner, "scan_component_manifests", _scan_once)


@pytest.fixture(autouse=True)
def packages_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Look once for what installed packages offer."""
    monkeypatch.setattr(metadata, "entry_points", _list_once)


@pytest.fixture(autouse=True)
def no_address_for_files(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pages know that no server is there: nobody can send a file past their limits."""
    monkeypatch.setattr(uploader, "exists", lambda: False)


@pytest.fixture(autouse=True)
def nothing_waits_for_style(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let pages not wait for a browser that is not there."""
    monkeypatch.setattr(top, "_STYLE_SECONDS", 0.0)


@pytest.fixture(scope="session")
def made_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a store's folder with finished runs: PF-LD with two seeds, the plain model with one."""
    folder = tmp_path_factory.mktemp("made")
    store = open_store(str(folder / "runs.db"))
    work = WorkStore(store.database)
    for method, epsilon, seed in (("pf_ld", 1.0, 0), ("pf_ld", 1.0, 1), ("none", None, 0)):
        config = build_config({**RAW, "method": {"name": method, **FEW}, "epsilon": epsilon, "seed": seed})
        work_on(work, work.claim(store.submit(config).key))
    assert {row.status for row in store.rows()} == {"finished"}
    store.database.close()
    return folder


@pytest.fixture
def with_runs(made_store: Path, own_store: Path) -> Path:
    """Put a copy of the finished runs where this test's store is."""
    shutil.copytree(made_store, own_store.parent, dirs_exist_ok=True)
    return own_store


@pytest.fixture
def open_page() -> Open:
    """Return a function that opens a page on its own, with an address if one is given."""

    def open_one(name: str, **address: str | list[str]) -> AppTest:
        page = AppTest.from_file(str(ROOT / "pages" / f"{name}.py"), default_timeout=60)
        for key, text in address.items():
            page.query_params[key.replace("__", ".")] = text
        return page.run()

    return open_one


@pytest.fixture
def offered(monkeypatch: pytest.MonkeyPatch) -> list[RunConfig]:
    """Return a list that grows by each config that Train offers to launch."""
    found: list[RunConfig] = []
    draw = launch.offer_launch

    def offer(store: RunStore, config: RunConfig, plan: LaunchPlan, **known: Any) -> None:
        found.append(config)
        draw(store, config, plan, **known)

    monkeypatch.setattr(launch, "offer_launch", offer)
    return found
