"""Make pictures of the dashboard: every page at a desktop's and a phone's width, light and dark, on Adult's data.

    python examples/make_screenshots.py screenshots                  all, into the folder screenshots
    python examples/make_screenshots.py screenshots run learn-phone  those whose names begin so
    python examples/make_screenshots.py docs/screenshots {start,train,tradeoffs}-desktop-light

The last makes those of README and guide anew. Starts the dashboard on a free port with a store of its own, trains a few
models, and photographs the pages. It needs Chromium and the packages of the tests.
"""

from __future__ import annotations

import argparse
import io
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import product
from pathlib import Path
from typing import Any

from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from fairpriv_core.records.config import build_config
from fairpriv_core.store.runs import RunStore, open_store

ROOT = Path(__file__).resolve().parents[1]
WIDTHS = {"desktop": 1280, "phone": 390}
MOST_HEIGHT = {"desktop": 2000, "phone": 2600}
SCHEMES = ("light", "dark")
ADULT = {"data": {"dataset": "adult", "sensitive": "sex"}, "notion": "demographic_parity"}
SEEDS = (0, 1, 2)
EPSILONS = (0.5, 1.0, 3.0)
METHODS: Mapping[str, Mapping[str, Any]] = {
    "none": {"epochs": 10},
    "pf_ld": {},
    "one_release": {"epochs": 30},
    "dp_sgd": {"epochs": 10},
}
SETTLE_MS = 5000


def main() -> None:
    """Train, open each page in each look, and write the pictures."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path, help="Where the pictures go, such as: screenshots")
    parser.add_argument("names", nargs="*", help="Only pictures whose names begin so, such as: start run-phone")
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as folder:
        place = str(Path(folder) / "runs.db")
        with serve(place) as site, open_store(place) as store, sync_playwright() as playwright:
            shown = addresses(train(store))
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
            for page, device, scheme in choose(shown, asked.names):
                content = photograph(browser, f"{site}/{shown[page]}", device, scheme)
                write(content, asked.folder / f"{page}-{device}-{scheme}.png")


def choose(pages: Iterable[str], names: Sequence[str]) -> list[tuple[str, str, str]]:
    """Return page, device and scheme of each picture whose name begins as one of `names` does; of all, if none is."""
    pictures = product(pages, WIDTHS, SCHEMES)
    return [picture for picture in pictures if "-".join(picture).startswith(tuple(names) or "")]


@contextmanager
def serve(place: str) -> Iterator[str]:
    """Start the dashboard on the store at `place`; give its address when it answers, and stop it in the end."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = int(probe.getsockname()[1])
    command = [str(ROOT / "fairpriv"), "app", "--server.port", str(port)]
    app = subprocess.Popen(command, env={**os.environ, "FAIRPRIV_STORE": place}, start_new_session=True)
    try:
        wait_for(f"http://localhost:{port}/_stcore/health")
        yield f"http://localhost:{port}"
    finally:
        os.killpg(app.pid, signal.SIGTERM)
        app.wait()


def wait_for(address: str, seconds: float = 300.0) -> None:
    """Return when `address` answers."""
    ends = time.monotonic() + seconds
    while time.monotonic() < ends:
        try:
            with urllib.request.urlopen(address, timeout=1):
                return
        except OSError:
            time.sleep(0.2)
    raise SystemExit(f"{address} did not answer within {seconds:.0f} s")


def train(store: RunStore) -> dict[str, str]:
    """Train the models that the pages show; return a run's key by its method and epsilon, of seed 0."""
    keys = {}
    for name, settings in METHODS.items():
        for epsilon in (None,) if name == "none" else EPSILONS:
            for seed in SEEDS:
                method = {"name": name, **settings}
                asked = {**ADULT, "method": method, "epsilon": epsilon, "seed": seed}
                config = build_config({**asked, "private_evaluation": epsilon is not None})
                keys.setdefault(f"{name} {epsilon}", store.submit(config).key)
    while open_runs := [row for row in store.rows() if not row.ended]:
        print(f"{len(open_runs)} runs to go", flush=True)
        time.sleep(2)
    failed = [f"{row.key}: {row.error}" for row in store.rows() if row.status != "finished"]
    if failed:
        raise SystemExit("\n".join(failed))
    return keys


def addresses(keys: Mapping[str, str]) -> dict[str, str]:
    """Return each page's address, with the choices that make it worth looking at."""
    pf_ld, several = keys["pf_ld 1.0"], [keys[f"{name} 1.0"] for name in ("pf_ld", "one_release", "dp_sgd")]
    runs = "&".join(f"runs={key}" for key in several)
    return {
        "start": "",
        "data": "data?data=adult:sex",
        "train": "train?data=adult:sex&method=pf_ld",
        "run": f"run?run={pf_ld}",
        "explore": "explore?data=adult:sex",
        "compare": f"compare?{runs}",
        "tradeoffs": "tradeoffs?data=adult:sex",
        "papers": "papers",
        "audit": f"audit?run={pf_ld}",
        "present": f"present?{runs}",
        "report": f"report?{runs}",
        "learn": "learn",
    }


def photograph(browser: Browser, address: str, device: str, scheme: str) -> bytes:
    """Return a page's picture, as high as the page is, within reason."""
    width = WIDTHS[device]
    context = browser.new_context(viewport={"width": width, "height": 1000}, color_scheme=scheme)
    tab = context.new_page()
    tab.goto(address)
    tab.locator("[data-testid=stMainBlockContainer] h1").first.wait_for(timeout=60_000)
    tab.wait_for_load_state("networkidle")
    tab.wait_for_timeout(SETTLE_MS)
    height = tab.evaluate("() => document.querySelector('[data-testid=stMainBlockContainer]').scrollHeight")
    tab.set_viewport_size({"width": width, "height": min(height + 80, MOST_HEIGHT[device])})
    tab.wait_for_timeout(SETTLE_MS)
    content: bytes = tab.screenshot()
    context.close()
    return content


def write(content: bytes, path: Path) -> None:
    """Write a PNG with 128 colours: small enough for a repository, and fine for flat colours and text."""
    with Image.open(io.BytesIO(content)) as picture:
        picture.convert("RGB").quantize(128).save(path, optimize=True)
    print(path, f"{path.stat().st_size // 1000} kB", flush=True)


if __name__ == "__main__":
    main()
