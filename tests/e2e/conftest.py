"""The real thing for the browser tests: the pages and the process that trains, on a store of their own."""

from __future__ import annotations

import fcntl
import os
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, Any

import pytest
from playwright.sync_api import Browser, Page, ViewportSize

from fairpriv_core.store.runs import open_store

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 60.0
DESKTOP: ViewportSize = {"width": 1440, "height": 1500}


class Site:
    """The pages on a free port, and the process that trains, which without `trains` the pages start themselves."""

    def __init__(self, folder: Path, *, trains: bool = True, base: str = "", **environment: str) -> None:
        self.store = folder / "runs.db"
        self.environment = {**os.environ, "FAIRPRIV_STORE": str(self.store), "OMP_NUM_THREADS": "1"}
        self.environment |= {"STREAMLIT_SERVER_BASE_URL_PATH": base, **environment}
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self.address = f"http://localhost:{self.port}{'/' if base else ''}{base}"
        self.log = (folder / "log.txt").open("wb")
        self.pages = self.start_pages()
        self.supervisor = self.start_supervisor() if trains else None
        self.place: IO[bytes] | None = None

    def start_supervisor(self) -> subprocess.Popen[bytes]:
        """Start the process that trains."""
        self.supervisor = self._start("-m", "fairpriv_core.runs.supervisor")
        return self.supervisor

    def end_training(self) -> None:
        """Kill the process that trains and take its place, so that the pages start no other until it is free."""
        assert self.supervisor is not None
        with open_store(str(self.store)) as store:
            self.place = store.database.open_lock("supervisor")
        next_one = threading.Thread(target=fcntl.flock, args=(self.place, fcntl.LOCK_EX))
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
        ends = time.monotonic() + START_SECONDS
        while time.monotonic() < ends:
            try:
                with urllib.request.urlopen(f"{self.address}/_stcore/health", timeout=1) as answer:
                    if answer.status == 200:
                        return
            except OSError:
                time.sleep(0.1)
        raise AssertionError(f"the pages did not answer within {START_SECONDS:.0f} s")

    def stop(self) -> None:
        """End both processes."""
        self.free_place()
        started = [process for process in (self.pages, self.supervisor) if process is not None]
        for process in started:
            process.terminate()
        for process in started:
            process.wait(timeout=20)
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


@pytest.fixture
def fresh_tab(browser: Browser) -> Iterator[Page]:
    """Open a window that has loaded nothing yet; a test may listen to what it asks for."""
    yield from open_window(browser)


@pytest.fixture(scope="session")
def window(browser: Browser) -> Iterator[Page]:
    """Open one window for all tests: each new one compiles the pages' scripts again, 4 s of a processor."""
    yield from open_window(browser)


@pytest.fixture
def tab(window: Page) -> Iterator[Page]:
    """Return an empty tab of a desktop's size; what the test leaves in it is cleared."""
    yield window
    for other in window.context.pages[1:]:
        other.close()
    if window.url.startswith("http"):
        window.evaluate("localStorage.clear(), sessionStorage.clear()")
    window.context.clear_cookies()
    window.goto("about:blank")
    window.set_viewport_size(DESKTOP)
    window.emulate_media(color_scheme="null")
    window.mouse.move(0, 0)


def open_window(browser: Browser) -> Iterator[Page]:
    """Open a window of a desktop's size, give its tab, and close it."""
    context = browser.new_context(viewport=DESKTOP, accept_downloads=True)
    context.set_default_timeout(60_000)
    yield context.new_page()
    context.close()
