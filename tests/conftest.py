"""What every test may ask for: the real data, a browser, and a run store of its own."""

from __future__ import annotations

import gc
import os
import shutil
from collections.abc import Generator, Iterator
from itertools import count
from pathlib import Path

import pytest
from hypothesis import settings
from playwright.sync_api import Browser, expect, sync_playwright

from fairpriv_core.data.catalog import problems
from tests.cli.commands import Call, make_call
from tests.cpu import Meter
from tests.guard import start_guard
from tests.patience import PATIENCE

pytest_plugins = ["tests.stores"]
_NUMBERS = count()
_METER = Meter()
SLOW = frozenset({"e2e", "plugins"})  # folders whose tests take longest
#: a page is looked at for seconds: to optimise its scripts and to collect their garbage often costs more than it gives
CHROMIUM = ("--no-sandbox", "--disable-gpu", "--js-flags=--no-opt --min-semi-space-size=64")
os.environ.setdefault("OMP_NUM_THREADS", "1")  # read when torch loads; more threads than cores stall each other
if "CI" not in os.environ:  # where it is set, hypothesis is patient, and repeatable too, by itself
    settings.register_profile("patient", deadline=None)
    settings.load_profile("patient")


@pytest.fixture(scope="session")
def real_data() -> Path:
    """Return the folder that FAIRPRIV_DATA names, with the benchmarks' original files."""
    named = os.environ.get("FAIRPRIV_DATA")
    if not named or not (Path(named) / "adult" / "adult.data").is_file():
        pytest.skip("needs FAIRPRIV_DATA to name a folder with the benchmarks' original files.")
    return Path(named).resolve()


@pytest.fixture
def files(request: pytest.FixtureRequest) -> None:
    """Skip a test whose parameter `dataset`, or else `name`, is a data set that neither ships nor is in that folder."""
    given = request.node.callspec.params
    problem = problems()[given.get("dataset", given.get("name"))]
    if problem.generate is None and problem.shipped is None:
        request.getfixturevalue("real_data")


@pytest.fixture(scope="session")
def chromium() -> str:
    """Return the path of a Chromium or Chrome."""
    names = (os.environ.get("BROWSER_PATH"), "chromium", "chromium-browser", "google-chrome")
    found = next((path for name in names if name and (path := shutil.which(name))), None)
    if found is None:
        pytest.skip("needs Chromium on the PATH, or BROWSER_PATH to name one.")
    return found


@pytest.fixture(scope="session")
def browser(chromium: str) -> Iterator[Browser]:
    """Start Chromium for all tests; there can be but one Playwright in a process."""
    expect.set_options(timeout=PATIENCE * 1000)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, args=list(CHROMIUM))
        yield started
        started.close()


@pytest.fixture(scope="session")
def stores(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the folder of all tests' stores: a folder of each test's own is made slowly, and most need none."""
    return tmp_path_factory.mktemp("stores")


@pytest.fixture(autouse=True)
def own_store(stores: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep each test away from the person's own runs; return where its store would be."""
    path = stores / str(next(_NUMBERS)) / "runs.db"
    monkeypatch.setenv("FAIRPRIV_STORE", str(path))
    return path


@pytest.fixture
def own_rows(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the rows of every data set count as a person's own."""
    monkeypatch.setattr("fairpriv_core.records.source.own_problems", dict)


@pytest.fixture
def call(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Call:
    """Return a function that runs one command in this process."""
    return make_call(monkeypatch, capsys)


def pytest_configure() -> None:
    """Watch over this process, before it starts others."""
    start_guard()
    if "PYTEST_XDIST_WORKER" not in os.environ and not _METER.is_alive():  # the first process looks at all
        _METER.start()


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Begin with what takes longest: at the end no process waits for another's last test. A random order wins."""
    items.sort(key=lambda item: SLOW.isdisjoint(item.path.parts))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Generator[None, object, object]:
    """Look for no garbage among tests and modules, now and later: each look through all of them takes 0.4 s."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport() -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    _refuse_skip(report)
    return report


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report() -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    report = yield
    _refuse_skip(report)
    return report


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say what the tests took of the machine."""
    terminalreporter.write_line(f"CPU: {_METER.sum():.0f} s, servers and browsers too")


def _refuse_skip(report: pytest.TestReport | pytest.CollectReport) -> None:
    """Make a skipped test a failed one where FAIRPRIV_NO_SKIP is set: what CI does not run, it has not shown."""
    if report.skipped and os.environ.get("FAIRPRIV_NO_SKIP"):
        report.outcome = "failed"
        report.longrepr = f"skipped, and FAIRPRIV_NO_SKIP allows no skip: {report.longreprtext}"
