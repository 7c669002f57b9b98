"""The real thing for the browser tests: the pages and the process that trains, on a store of their own."""

from __future__ import annotations

import fcntl
import os
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any
from urllib.parse import urlsplit

import pytest
from playwright.sync_api import Browser, ConsoleMessage, Page, Request, ViewportSize

from benchmarks.postgres import find_port
from fairpriv_core.store.runs import open_store
from tests.e2e.steps import submit, wait_for_runs
from tests.patience import PATIENCE, wait_until

ROOT = Path(__file__).resolve().parents[2]
DESKTOP: ViewportSize = {"width": 1440, "height": 1500}
SEED = 77
#: what Streamlit asks for at the page's own address before it asks at the root
OWN_FAULTS = ("_stcore/health", "_stcore/host-config")


class Site:
    """The pages on a free port, and the process that trains; without `trains` its place is held and nothing trains."""

    def __init__(self, folder: Path, *, trains: bool = True, base: str = "", **environment: str) -> None:
        self.store = folder / "runs.db"
        self.environment = {**os.environ, "FAIRPRIV_STORE": str(self.store), "OMP_NUM_THREADS": "1"}
        self.environment |= {"STREAMLIT_SERVER_BASE_URL_PATH": base, **environment}
        self.port = find_port()
        self.address = f"http://localhost:{self.port}{'/' if base else ''}{base}"
        self.log = (folder / "log.txt").open("wb")
        self.place: IO[bytes] | None = None
        if not trains:
            fcntl.flock(self._find_place(), fcntl.LOCK_EX)
        self.supervisor = self.start_supervisor() if trains else None
        self.pages = self.start_pages()

    def _find_place(self) -> IO[bytes]:
        """Open the place of the process that trains, which whoever locks it has."""
        with open_store(str(self.store)) as store:
            self.place = store.database.open_lock("supervisor")
        return self.place

    def start_supervisor(self) -> subprocess.Popen[bytes]:
        """Start the process that trains."""
        self.supervisor = self._start("-m", "fairpriv_core.runs.supervisor")
        return self.supervisor

    def end_training(self) -> None:
        """Kill the process that trains and take its place, so that the pages start no other until it is free."""
        assert self.supervisor is not None
        next_one = threading.Thread(target=fcntl.flock, args=(self._find_place(), fcntl.LOCK_EX))
        next_one.start()
        self.supervisor.kill()
        self.supervisor.wait()
        next_one.join()

    def free_place(self) -> None:
        """Let whoever looks first train again."""
        if self.place is not None:
            self.place.close()

    def start_pages(self) -> subprocess.Popen[bytes]:
        """Start the pages, on the same port each time."""
        self.pages = self._start("-m", "streamlit", "run", "app.py", "--server.port", str(self.port))
        return self.pages

    def wait(self) -> None:
        """Return when the pages answer."""
        wait_until(self._answers, "the pages' answer")

    def _answers(self) -> bool:
        try:
            with urllib.request.urlopen(f"{self.address}/_stcore/health", timeout=PATIENCE) as answer:
                return bool(answer.status == 200)
        except OSError:
            return False

    def stop(self) -> None:
        """End both processes."""
        self.free_place()
        started = [process for process in (self.pages, self.supervisor) if process is not None]
        for process in started:
            process.terminate()
        for process in started:
            process.wait(timeout=PATIENCE)
        self.log.close()

    def _start(self, *arguments: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, *arguments]
        return subprocess.Popen(command, cwd=ROOT, env=self.environment, stdout=self.log, stderr=self.log)


@pytest.fixture(scope="session")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Serve one dashboard for all tests that leave its processes alone; their runs stay in its store."""
    yield from serve(tmp_path_factory.mktemp("site"))


@pytest.fixture
def own_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Serve a dashboard for one test that may kill what it likes, on an empty store."""
    yield from serve(tmp_path_factory.mktemp("own_site"))


@pytest.fixture
def make_site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Callable[..., Site]]:
    """Return a function that serves pages alone under the path `base`, with variables of the environment."""
    with ExitStack() as opened:
        yield lambda **settings: opened.enter_context(
            contextmanager(serve)(tmp_path_factory.mktemp("made_site"), trains=False, **settings)
        )


def serve(folder: Path, **settings: Any) -> Iterator[Site]:
    """Start a dashboard in `folder`, give it when it answers, and stop it."""
    served = Site(folder, **settings)
    try:
        served.wait()
        yield served
    finally:
        served.stop()


@pytest.fixture(scope="session")
def keys(site: Site) -> list[str]:
    """Return the keys of a finished private run with a private evaluation and of one without privacy, for all tests."""
    private = submit(site, {"name": "pf_ld", "epochs": 4}, seed=SEED, private_evaluation=True)
    made = [*private, *submit(site, {"name": "none", "epochs": 4}, seed=SEED, epsilon=None)]
    wait_for_runs(site, made)
    return made


@pytest.fixture
def fresh_tab(browser: Browser) -> Iterator[Page]:
    """Open a window that has loaded nothing yet; its faults are looked at too."""
    with open_window(browser) as (page, faults):
        yield page
        assert faults == []


@pytest.fixture(scope="session")
def window(browser: Browser) -> Iterator[tuple[Page, list[str]]]:
    """Open one window for all tests: each new one compiles the pages' scripts again, 4 s of a processor."""
    with open_window(browser) as opened:
        yield opened


@pytest.fixture
def faults(window: tuple[Page, list[str]]) -> list[str]:
    """Return what went wrong in the window since the test began; one that means it clears the list."""
    window[1].clear()
    return window[1]


@pytest.fixture
def tab(window: tuple[Page, list[str]], faults: list[str]) -> Iterator[Page]:
    """Return an empty tab of a desktop's size; what the test leaves in it is cleared, and its faults fail the test."""
    page = window[0]
    yield page
    said = [*faults]
    for other in page.context.pages[1:]:
        other.close()
    if page.url.startswith("http"):
        page.evaluate("localStorage.clear(), sessionStorage.clear()")
    page.context.clear_cookies()
    page.goto("about:blank")
    page.set_viewport_size(DESKTOP)
    page.emulate_media(color_scheme="null")
    page.mouse.move(0, 0)
    assert said == []


@contextmanager
def open_window(browser: Browser) -> Iterator[tuple[Page, list[str]]]:
    """Open a window of a desktop's size; give its tab and, as they come, errors of its pages and requests to others."""
    context = browser.new_context(viewport=DESKTOP, accept_downloads=True, reduced_motion="reduce")
    context.set_default_timeout(PATIENCE * 1000)
    faults: list[str] = []

    def hear(message: ConsoleMessage) -> None:
        if message.type == "error" and not message.location["url"].endswith(OWN_FAULTS):
            faults.append(f"{message.text} ({message.location['url']})")

    def see(request: Request) -> None:
        if urlsplit(request.url).hostname not in (None, "", "localhost"):
            faults.append(f"asked {request.url}")

    context.on("console", hear)
    context.on("weberror", lambda error: faults.append(str(error.error)))
    context.on("request", see)
    yield context.new_page(), faults
    context.close()
