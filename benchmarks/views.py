"""What a view of a page costs over 10,000 finished runs and one of 10⁶ values of curves: CPU time and memory.

    python benchmarks/views.py [--quick] [--json FILE]

On a SQLite file and on a PostgreSQL server of the script's own on the loopback. Each page is opened in a process of its
own, with the launcher's settings, first on a small store; then, on the large one, for the first time, once more, and
by a click. The long run is the newest, so that Run, Compare and Report show it. At last one process shows all pages.
CPU seconds of that process (what PostgreSQL computes is not in it), and the most memory that it held.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parent.parent))

from benchmarks.measuring import ROOT, build_parser, read_machine, say, start, write_result
from benchmarks.store import find_stores
from benchmarks.stored_runs import add_long_run, fill, mix_configs
from fairpriv_core.store.runs import open_store

RUNS, POINTS = 10_000, 1_000_000
QUICK = (250, 20_000)
SMALL = (30, 2_000)
PAGES = ("start", "run", "compare", "tradeoffs", "report", "audit")


def make_store(place: str, runs: int, points: int) -> None:
    """Store as many finished runs, and one of `points` values."""
    with open_store(place) as store:
        fill(store, mix_configs(runs))
        add_long_run(store, points)


def view(small: str, large: str, *pages: str) -> list[dict[str, Any]]:
    """Return what each of `pages` cost in one process, as `viewing.py` has it."""
    launcher = (ROOT / "fairpriv").read_text("utf-8")
    settings = dict(re.findall(r"(MALLOC_\w+)=(\d+)", launcher))
    flags = re.findall(r'"\$python" (-O+) -m streamlit', launcher)
    command = [sys.executable, *flags, str(ROOT / "benchmarks" / "viewing.py"), small, large, *pages]
    found = subprocess.run(command, env={**os.environ, **settings, "OMP_NUM_THREADS": "1"}, stdout=subprocess.PIPE)
    if found.returncode:
        raise SystemExit(f"the pages {', '.join(pages)} could not be shown.")
    return list(json.loads(found.stdout))


def main() -> None:
    """Measure and print."""
    options = start(build_parser(__doc__))
    say("; ".join(f"{name} {value}" for name, value in read_machine().items()))
    runs, points = QUICK if options.quick else (RUNS, POINTS)
    cells: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="fairpriv-views-") as folder, find_stores(folder) as stores:
        small = str(Path(folder) / "small.db")
        make_store(small, *SMALL)
        for kind, place in stores.items():
            make_store(place, runs, points)
            about = {"store": kind, "runs": runs, "points": points}
            for page in PAGES:
                cells += [{**about, "alone": True, **cell} for cell in view(small, place, page)]
                say(json.dumps(cells[-1]))
            whole = view(small, place, *PAGES)
            cells.append({**about, "alone": False, "page": "all", "peak_mb": whole[-1]["peak_mb"]})
            say(json.dumps(cells[-1]))
    write_result(options, {"cells": cells})


if __name__ == "__main__":
    main()
