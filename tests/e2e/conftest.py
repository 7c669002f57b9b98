"""The real thing for the browser tests: the pages and the process that trains, on a store of their own."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

ROOT = Path(__file__).resolve().parents[2]
START_SECONDS = 60.0


class Site:
    """The two siblings that `./fairpriv app` starts, on a free port."""

    def __init__(self, folder: Path) -> None:
        self.store = folder / "runs.db"
        self.environment = {**os.environ, "FAIRPRIV_STORE": str(self.store), "OMP_NUM_THREADS": "1"}
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = int(probe.getsockname()[1])
        self.address = f"http://localhost:{self.port}"
        self.log = (folder / "log.txt").open("wb")
        self.supervisor = self.start_supervisor()
        self.pages = self._start("-m", "streamlit", "run", "app.py", "--server.port", str(self.port))

    def start_supervisor(self) -> subprocess.Popen[bytes]:
        """Start the process that trains."""
        self.supervisor = self._start("-m", "fairpriv_core.runs.supervisor")
        return self.supervisor

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
        for process in (self.pages, self.supervisor):
            process.terminate()
        for process in (self.pages, self.supervisor):
            process.wait(timeout=20)
        self.log.close()

    def _start(self, *arguments: str) -> subprocess.Popen[bytes]:
        command = [sys.executable, *arguments]
        return subprocess.Popen(command, cwd=ROOT, env=self.environment, stdout=self.log, stderr=self.log)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Site]:
    """Serve the dashboard for the tests of a module."""
    served = Site(tmp_path_factory.mktemp("site"))
    try:
        served.wait()
        yield served
    finally:
        served.stop()


@pytest.fixture(scope="module")
def browser(chromium: str) -> Iterator[Browser]:
    """Start Chromium for the tests of a module."""
    expect.set_options(timeout=20_000)
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        yield started
        started.close()


@pytest.fixture
def tab(browser: Browser) -> Iterator[Page]:
    """Open a window of a desktop's size."""
    context = browser.new_context(viewport={"width": 1440, "height": 1500}, accept_downloads=True)
    context.set_default_timeout(60_000)
    yield context.new_page()
    context.close()
