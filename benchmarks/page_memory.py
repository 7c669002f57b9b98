"""The pages with people before them: memory, and how soon each of five viewers sees what a run has written.

Starts what `./fairpriv app` starts, launches one long run and opens it in five tabs for as many minutes as asked. Then
one tab uploads a file of 50 MB. Wall clock, and resident memory of the pages' process alone.

    python benchmarks/page_memory.py --json docs/performance/page_memory.json
"""

from __future__ import annotations

import json
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
from playwright.sync_api import Browser, Page, sync_playwright

sys.path.insert(0, str(Path(__file__).parent.parent))
from benchmarks.measuring import ROOT, build_parser, say, start, write_result
from fairpriv_core.store.runs import RunStore, open_store

VIEWERS = 5
LONG = "p.epochs=1000&p.batch_size=16&p.hidden_layers=3&p.width=64&expert=True"  # half an hour and more
_START_SECONDS = 120.0
_LOOK_SECONDS = 10.0
_WARM_SECONDS = 120.0  # until then the process fills its caches
#: notes, in the browser, when the step that is shown changes
_WATCH = """() => {
    window.seen = [];
    const look = () => {
        const said = document.body.innerText.match(/step ([\\d,]+) of/);
        const last = window.seen.length ? window.seen[window.seen.length - 1][1] : null;
        if (said && said[1] !== last) window.seen.push([Date.now() / 1000, said[1]]);
    };
    window.setInterval(look, 100);
}"""


@contextmanager
def serve(folder: Path) -> Iterator[tuple[str, int]]:
    """Start the dashboard as a person does; give the address and the pages' process."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = str(probe.getsockname()[1])
    environment = {**os.environ, "FAIRPRIV_STORE": str(folder / "runs.db"), "OMP_NUM_THREADS": "1"}
    quiet = {"cwd": ROOT, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
    command = [sys.executable, "-m", "fairpriv_core", "app", "--server.port", port]
    pages = subprocess.Popen(command, env=environment, **quiet)
    try:
        _wait_for(f"http://localhost:{port}")
        yield f"http://localhost:{port}", pages.pid
    finally:
        pages.terminate()
        pages.wait()


def read_memory(process: int) -> float:
    """Return the resident memory of a process in MB."""
    line = next(line for line in Path(f"/proc/{process}/status").read_text().splitlines() if "VmRSS" in line)
    return round(int(line.split()[1]) * 1024 / 1e6, 1)


def launch(tab: Page, address: str) -> float:
    """Launch a long run; return the seconds from the click to a step that moves."""
    tab.goto(f"{address}/train?{LONG}")
    button = tab.locator(".st-key-launch button:enabled")
    button.wait_for()
    clicked = time.monotonic()
    button.click()
    tab.wait_for_function("() => /training/.test(document.body.innerText)")
    return round(time.monotonic() - clicked, 2)


def watch(tabs: list[Page], process: int, store: RunStore, minutes: float) -> tuple[list[float], dict[int, float]]:
    """Let all tabs note what they see; return the pages' MB over time, and when each step was seen in the store."""
    for tab in tabs:
        tab.evaluate(_WATCH)
    memory, written = [read_memory(process)], {}
    [row] = store.rows()
    ends, looked = time.monotonic() + 60 * minutes, time.monotonic()
    while time.monotonic() < ends:
        written.setdefault(store.row(row.key).step, time.time())
        time.sleep(0.05)
        if time.monotonic() - looked > _LOOK_SECONDS:
            memory, looked = [*memory, read_memory(process)], time.monotonic()
    return memory, written


def list_delays(seen: list[list[Any]], written: Mapping[int, float]) -> list[float]:
    """Return the seconds from a step's commit to its being shown, for the steps whose commit was noticed."""
    shown = [(at, int(step.replace(",", ""))) for at, step in seen]
    return [at - written[step] for at, step in shown if step in written]


def upload(tab: Page, address: str, size: int) -> None:
    """Upload a table of `size` bytes and wait for its groups."""
    generator, rows = np.random.default_rng(0), size // 24
    columns = [generator.integers(18, 90, rows), generator.choice(["f", "m"], rows), generator.integers(1, 60, rows)]
    columns += [generator.normal(size=rows).round(5), generator.choice(["low", "high"], rows)]
    lines = "\n".join(",".join(map(str, row)) for row in zip(*columns, strict=True))
    with tempfile.NamedTemporaryFile("w", suffix=".csv") as file:
        file.write(("age,sex,hours,score,income\n" + lines)[:size].rpartition("\n")[0] + "\n")
        file.flush()
        tab.goto(f"{address}/data?source=file")
        tab.locator("input[type=file]").first.set_input_files(file.name)
        tab.get_by_role("heading", name="Groups of sex").wait_for()


def measure(browser: Browser, address: str, process: int, store: RunStore, minutes: float) -> dict[str, Any]:
    """Return what was measured; one value for each viewer where there are several."""
    tabs = [browser.new_page(viewport={"width": 1280, "height": 900}) for _ in range(VIEWERS)]
    for tab in tabs:
        tab.set_default_timeout(180_000)
    idle, launched = read_memory(process), launch(tabs[0], address)
    for tab in tabs[1:]:
        tab.goto(tabs[0].url)
        tab.wait_for_function("() => /training/.test(document.body.innerText)")
    memory, written = watch(tabs, process, store, minutes)
    warm = memory[min(len(memory) - 1, round(_WARM_SECONDS / _LOOK_SECONDS))]
    seen = [tab.evaluate("() => window.seen") for tab in tabs]
    gaps = [sorted(later[0] - earlier[0] for earlier, later in pairwise(each)) for each in seen]
    delays = sorted(delay for each in seen for delay in list_delays(each, written))
    upload(tabs[0], address, 49_000_000)
    tabs[0].wait_for_timeout(5_000)
    return {
        "viewers": VIEWERS,
        "minutes": minutes,
        "launch_to_moving_s": launched,
        "update_median_s": max(_at(each, 0.5) for each in gaps),
        "update_p95_s": max(_at(each, 0.95) for each in gaps),
        "written_to_shown_median_s": _at(delays, 0.5),
        "written_to_shown_p95_s": _at(delays, 0.95),
        "memory_idle_mb": idle,
        "memory_start_mb": memory[0],
        "memory_warm_mb": warm,
        "memory_growth_mb": round(memory[-1] - warm, 1),
        "memory_end_mb": memory[-1],
        "memory_most_mb": max(memory),
        "memory_after_upload_mb": read_memory(process),
    }


def _at(ordered: list[float], share: float) -> float:
    """Return the value below which `share` of the ordered ones lie."""
    return round(ordered[min(len(ordered) - 1, int(share * len(ordered)))], 2) if ordered else float("nan")


def _wait_for(address: str) -> None:
    ends = time.monotonic() + _START_SECONDS
    while time.monotonic() < ends:
        try:
            urllib.request.urlopen(f"{address}/_stcore/health", timeout=1).close()
            return
        except OSError:
            time.sleep(0.2)
    raise SystemExit("the pages did not answer.")


def main() -> None:
    """Measure and print."""
    parser = build_parser(__doc__)
    parser.add_argument("--minutes", type=float, default=10.0, help="how long the viewers look (default 10)")
    options = start(parser)
    minutes = min(options.minutes, 0.5) if options.quick else options.minutes
    with tempfile.TemporaryDirectory() as folder, serve(Path(folder)) as (address, process):
        store = open_store(str(Path(folder) / "runs.db"))
        with sync_playwright() as driver:
            path = os.environ.get("BROWSER_PATH") or shutil.which("chromium")
            browser = driver.chromium.launch(executable_path=path, args=["--no-sandbox"])
            found = measure(browser, address, process, store, minutes)
            browser.close()
    say(json.dumps(found, indent=1))
    write_result(options, {"cells": [found]})


if __name__ == "__main__":
    main()
